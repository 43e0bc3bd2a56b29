"""MPM, the multinomial preference model: normalisers, compiled Ops, and exact draws.

This wing may import the wing ops.
"""

from bayesrank.likelihoods.mpm.graph import differences, mpm_logp
from bayesrank.likelihoods.mpm.op import (
    CountsDraw,
    NetCountsDraw,
    agreement,
    log_normaliser_table,
)

__all__ = [
    "CountsDraw",
    "NetCountsDraw",
    "agreement",
    "differences",
    "log_normaliser_table",
    "mpm_logp",
]
