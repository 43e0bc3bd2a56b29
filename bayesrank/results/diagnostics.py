"""Has the sampler converged? The answer in words."""

from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np

from bayesrank.results.ranks import posterior_utilities

__all__ = ["Convergence", "convergence"]

WORST_RHAT = 1.01  # Vehtari et al. 2021, Bayesian Analysis 16(2)
LEAST_ESS = 400.0  # the same: for R-hat and quantiles to be reliable


@dataclass(frozen=True)
class Convergence:
    """Convergence figures and what they mean."""

    rhat: float
    ess_bulk: float
    ess_tail: float
    divergences: int
    ok: bool
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def convergence(data: Any, var: str = "utility", *, dim: str = "item") -> Convergence:
    """Check a posterior by R-hat, effective sample sizes and divergences.

    Parameters
    ----------
    data : DataTree
        What `pm.sample` returned.
    var, dim : str
        The variable that is read, and the dim of its items.

    Returns
    -------
    Convergence
        Figures, whether all is well (R-hat at most 1.01, effective sample sizes of 400 and more,
        no divergences), and sentences saying so.
    """
    utility = posterior_utilities(data, var, dim)
    several = utility.sizes["chain"] > 1
    rhat = float(az.rhat(utility).max()) if several else np.nan
    bulk = float(az.ess(utility, method="bulk").min())
    tail = float(az.ess(utility, method="tail").min())
    divergences = 0
    if "sample_stats" in getattr(data, "children", {}) and "diverging" in data["sample_stats"]:
        divergences = int(data["sample_stats"]["diverging"].sum())

    sentences = []
    if not several:
        sentences.append(
            "Only one chain was run, so whether chains agree cannot be checked; use two or more."
        )
    elif not rhat <= WORST_RHAT:
        sentences.append(
            f"The chains disagree (largest R-hat {rhat:.3f}, should be at most {WORST_RHAT}): "
            "do not trust the table; raise the number of tuning steps and draws."
        )
    if not min(bulk, tail) >= LEAST_ESS:
        sentences.append(
            f"There are only {min(bulk, tail):.0f} effective draws (should be {LEAST_ESS:.0f} or "
            "more): probabilities are rough; raise the number of draws."
        )
    if divergences:
        sentences.append(
            f"{divergences} transitions diverged: part of the posterior may be missing; raise "
            "target_accept or use a tighter prior."
        )
    ok = not sentences
    if ok:
        sentences.append(
            f"The chains agree (largest R-hat {rhat:.3f}) and there are at least "
            f"{min(bulk, tail):,.0f} effective draws of every utility."
        )
    return Convergence(rhat, bulk, tail, divergences, ok, tuple(sentences))
