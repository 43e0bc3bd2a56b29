"""Has the sampler converged? The answer in words."""

from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import xarray as xr

from bayesrank.results.draws import posterior_utilities

__all__ = ["Convergence", "convergence"]

WORST_RHAT = 1.01  # Vehtari et al. 2021, Bayesian Analysis 16(2)
LEAST_DRAWS = 4  # for R-hat of split chains; ArviZ gives NaN below
LEAST_ESS = 400.0  # the same: for R-hat and quantiles to be reliable


@dataclass(frozen=True)
class Convergence:
    """Convergence figures and what they mean.

    Attributes
    ----------
    rhat : float
        The largest R-hat of any item; NaN with a single chain.
    ess_bulk, ess_tail : float
        The smallest effective sample sizes of any item.
    divergences : int
        Number of diverging transitions.
    ok : bool
        Whether nothing is wrong.
    sentences : tuple of str
        What is wrong and what to do about it, or that nothing is; `str()` joins them.
    """

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
    data : DataTree, Dataset or DataArray
        What `pm.sample` returned; divergences are known only to the whole DataTree.
    var, dim : str
        The variable that is read, and the dim of its items. An item whose value never changes,
        such as a reference fixed at zero, is not checked.

    Returns
    -------
    Convergence
        Figures, whether all is well (R-hat at most 1.01, effective sample sizes of 400 and more,
        no divergences), and sentences saying so.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there is no draw, or one is not finite.

    Examples
    --------
    >>> import xarray as xr
    >>> u = np.random.default_rng(0).normal(size=(4, 500, 2))
    >>> print(convergence(xr.DataArray(u, dims=("chain", "draw", "item"))))
    The chains agree (largest R-hat 1.00...) and there are at least ... effective draws of every ...
    """
    utility = posterior_utilities(data, var, dim)
    divergences = 0
    if "sample_stats" in getattr(data, "children", {}) and "diverging" in data["sample_stats"]:
        divergences = int(data["sample_stats"]["diverging"].sum())
    n_chains, n_draws = utility.sizes["chain"], utility.sizes["draw"]
    if n_draws < LEAST_DRAWS:
        sentence = (
            "This is one point, such as a MAP estimate, and no posterior: intervals have no width "
            "and probabilities are 0 or 1."
            if n_chains * n_draws == 1
            else f"There are only {n_draws} draws per chain, too few to check; raise the number."
        )
        return Convergence(np.nan, np.nan, np.nan, divergences, False, (sentence,))

    values = utility.transpose("chain", "draw", ...).values.reshape(n_chains, n_draws, -1)
    moving = values[..., np.ptp(values, axis=(0, 1)) > 0]
    if not moving.size:
        sentence = f"{var!r} is the same in all draws: the sampler did not move."
        return Convergence(np.nan, np.nan, np.nan, divergences, False, (sentence,))
    checked = xr.DataArray(moving, dims=("chain", "draw", "entry"))
    several = n_chains > 1
    rhat = float(az.rhat(checked).max()) if several else np.nan
    bulk = float(az.ess(checked, method="bulk").min())
    tail = float(az.ess(checked, method="tail").min())

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
        transitions = "1 transition" if divergences == 1 else f"{divergences} transitions"
        sentences.append(
            f"{transitions} diverged: part of the posterior may be missing; raise target_accept or "
            "use a tighter prior."
        )
    ok = not sentences
    if ok:
        sentences.append(
            f"The chains agree (largest R-hat {rhat:.3f}) and there are at least "
            f"{min(bulk, tail):,.0f} effective draws of every {var}."
        )
    return Convergence(rhat, bulk, tail, divergences, ok, tuple(sentences))
