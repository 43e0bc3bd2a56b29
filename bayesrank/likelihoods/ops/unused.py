r"""Inputs that a scan no longer uses: they are not computed.

PyMC takes a matrix of second derivatives row by row, in a scan over the entries of the gradient.
Of the gradient itself only the length is used inside, but PyTensor finds that out last of all, when
it optimises the inside, and goes on to compute it: a kernel compiled and called for nothing. Its
own rewrite, which drops such inputs, is applied here once more after that.
"""

from pytensor.compile.mode import optdb
from pytensor.graph.rewriting.basic import dfs_rewriter
from pytensor.scan.rewriting.io import scan_remove_unused

__all__ = ["drop_unused_inputs"]

AFTER_THE_INSIDE = 100.1  # PyTensor optimises it at 100

drop_unused_inputs = dfs_rewriter(scan_remove_unused, ignore_newtrees=True)
optdb.register(
    "bayesrank_scan_remove_unused",
    drop_unused_inputs,
    "fast_run",
    "scan",
    position=AFTER_THE_INSIDE,
)
