"""MPM, the multinomial preference model: normalisers, compiled Ops and exact draws."""

from bayesrank.likelihoods.mpm.draws import CountsDraw, NetCountsDraw
from bayesrank.likelihoods.mpm.graph import differences, mpm_given_pairs_logp, mpm_logp
from bayesrank.likelihoods.mpm.op import agreement, log_normaliser_table

__all__ = [
    "CountsDraw",
    "NetCountsDraw",
    "agreement",
    "differences",
    "log_normaliser_table",
    "mpm_given_pairs_logp",
    "mpm_logp",
]
