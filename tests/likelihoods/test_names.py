"""Names under which numba caches compiled kernels."""

import subprocess
import sys

LAST_NAMES = """
import {module}
from numba.core.bytecode import FunctionIdentity
print(FunctionIdentity.from_function(lambda: 0).unique_id)
"""


def number_of_the_first_function(module):
    code = LAST_NAMES.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_kernels_have_names_that_other_processes_do_not_give():
    # or two that are loaded from the cache are taken for one another: a crash
    assert number_of_the_first_function("numba") < 1000
    assert number_of_the_first_function("bayesrank.likelihoods.pmop.subset_kernels") > 2**32
