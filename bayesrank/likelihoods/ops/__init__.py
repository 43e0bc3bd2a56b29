"""Tools for all families: the base of compiled Ops, terms with known sums, stable functions.

This wing may not import any other wing.
"""

from bayesrank.likelihoods.ops.arrays import (
    NOTHING,
    as_rows_or_none,
    broadcast_batch,
    every_row,
    over_rows,
    segment_sum,
    valid_ranks,
)
from bayesrank.likelihoods.ops.compiled import CompiledOp, KernelOp
from bayesrank.likelihoods.ops.only_sum import only_sum
from bayesrank.likelihoods.ops.splitmix import uniform
from bayesrank.likelihoods.ops.stable import log_ndtr, log_sigmoid, safe_log, softplus
from bayesrank.likelihoods.ops.stop_gradient import stop_gradient
from bayesrank.likelihoods.ops.vector_exp import vector_exp, vector_expm1
from bayesrank.likelihoods.ops.with_sum import with_sum

__all__ = [
    "NOTHING",
    "CompiledOp",
    "KernelOp",
    "as_rows_or_none",
    "broadcast_batch",
    "every_row",
    "log_ndtr",
    "log_sigmoid",
    "only_sum",
    "over_rows",
    "safe_log",
    "segment_sum",
    "softplus",
    "stop_gradient",
    "uniform",
    "valid_ranks",
    "vector_exp",
    "vector_expm1",
    "with_sum",
]
