"""Functions that name the package travel to other processes, by cloudpickle and by joblib."""

import ast
import pickle
import subprocess
import sys
import types

import cloudpickle
import pytest

import bayesrank as br
from tests.builders import PACKAGE, ROOT
from tests.verbs import FAMILIES

# What a user writes: functions of a script are pickled by value, with the modules that they name.
SCRIPT = """
import joblib
import pandas as pd
import bayesrank as br

def fires(order):
    rows = [("ale", "bock", "first"), ("bock", "cider", "first"), ("cider", "ale", "second")]
    frame = pd.DataFrame(rows, columns=["a", "b", "won"])
    pairs = br.Pairs.from_frame(frame, first="a", second="b", outcome="won")
    return type(br).__name__, len(br.audit(pairs, order_effect=order, probes=["cycles"]))

if __name__ == "__main__":
    br.audit  # loaded here first, which sets the module beside the function
    print(joblib.Parallel(n_jobs=2)(joblib.delayed(fires)(order) for order in (False, True)))
"""


def function():
    """Make a function that cloudpickle writes by value, as it does for functions of scripts."""
    namespace = {"br": br, "__name__": "__main__"}
    exec(
        "def n_items(orderings):\n    return br.Rankings.from_orderings(orderings).n_items",
        namespace,
    )
    return namespace["n_items"]


def test_a_function_that_names_the_package_is_pickled():
    again = cloudpickle.loads(cloudpickle.dumps(function()))
    assert again([["a", "b"], ["b", "c"]]) == 3
    assert again.__globals__["br"] is br


def test_the_package_is_pickled_after_the_audit_is_loaded():
    assert br.audit.__module__ == "bayesrank.analysis.auditing"
    assert cloudpickle.loads(cloudpickle.dumps(function())).__globals__["br"] is br


def test_no_public_name_is_the_name_of_a_module():
    # lazy_loader guards such a name with a class of modules that cannot be pickled
    assert type(br) is types.ModuleType
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    rooms = {path.stem for path in PACKAGE.iterdir()}
    names = {
        name.name for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names
    }
    assert names & rooms == {"jax", "utility"}  # rooms that are imported by name


@pytest.mark.parametrize("name", FAMILIES)
def test_the_random_variable_of_every_family_is_pickled_by_the_name_of_its_class(name):
    family = FAMILIES[name]()
    op = family.observed(family.data)["y"].owner.op
    again = pickle.loads(pickle.dumps(op))
    assert type(again) is type(op)
    assert again == op


@pytest.mark.slow
def test_a_worker_of_joblib_runs_a_function_that_names_the_package(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "[('module', 1), ('module', 1)]"
