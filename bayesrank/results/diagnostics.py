"""Convergence diagnostics of a posterior, explained in sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import xarray as xr

from bayesrank.results.draws import described, posterior_utilities
from bayesrank.results.ranks.rank_table import rank_draws

__all__ = ["Convergence", "convergence", "precise"]

WORST_RHAT = 1.01  # Vehtari et al. 2021, Bayesian Analysis 16(2)
LEAST_DRAWS = 4  # for R-hat of split chains; ArviZ returns NaN for fewer
LEAST_ESS = 400.0  # also Vehtari et al.: for R-hat and quantiles to be reliable
# Largest Monte Carlo standard errors for a table of ranks: of probabilities, one unit in the second
# digit; of mean ranks, this share of the standard deviation of the rank
PROBABILITY_ERROR, RANK_ERROR = 0.01, 1 / 30
SHOWN = 20  # number of best items that must be precise


@dataclass(frozen=True)
class Convergence:
    """Convergence diagnostics and what they mean.

    Attributes
    ----------
    rhat : float
        Largest R-hat of any item; NaN with a single chain.
    ess_bulk, ess_tail : float
        Smallest effective sample sizes of any item.
    divergences : int
        Number of divergent transitions.
    ok : bool
        Whether there are no problems.
    sentences : tuple of str
        Problems and their remedies, or a sentence that there are none. `str()` joins them.
    """

    rhat: float
    ess_bulk: float
    ess_tail: float
    divergences: int
    ok: bool
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def convergence(data: Any, var_name: str = "utility", *, dim: str = "item") -> Convergence:
    """Check a posterior by R-hat, effective sample sizes and divergences.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        What `pm.sample` returned. Only the whole DataTree contains divergences.
    var_name, dim : str
        The variable to check, and the dim of its items. Constant items, such as a reference fixed
        at zero, are not checked.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there are no draws, or some are not finite.

    See Also
    --------
    rank_summary, ranking_checks, match_checks

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> u = np.random.default_rng(0).normal(size=(4, 500, 2))
    >>> print(br.convergence(xr.DataArray(u, dims=("chain", "draw", "item"))))
    The chains agree (largest R-hat 1.00...), with at least ... effective draws of every ...
    """
    utility = posterior_utilities(data, var_name, dim)
    divergences = 0
    if "sample_stats" in getattr(data, "children", {}) and "diverging" in data["sample_stats"]:
        divergences = int(data["sample_stats"]["diverging"].sum())
    n_chains, n_draws = utility.sizes["chain"], utility.sizes["draw"]
    if n_draws < LEAST_DRAWS:
        sentence = (
            "This is a single point, such as a MAP estimate, not a posterior. Intervals have no "
            "width, and probabilities are 0 or 1."
            if n_chains * n_draws == 1
            else f"There are only {n_draws} draws per chain, too few to check. Use more draws."
        )
        return Convergence(np.nan, np.nan, np.nan, divergences, False, (sentence,))

    values = utility.transpose("chain", "draw", ...).values.reshape(n_chains, n_draws, -1)
    moving = values[..., np.ptp(values, axis=(0, 1)) > 0]
    if not moving.size:
        subject = described(data, var_name)[0]
        sentence = f"{subject} is constant over all draws, so the sampler did not move."
        return Convergence(np.nan, np.nan, np.nan, divergences, False, (sentence,))
    checked = xr.DataArray(moving, dims=("chain", "draw", "entry"))
    several = n_chains > 1
    rhat = float(az.rhat(checked).max()) if several else np.nan
    bulk = float(az.ess(checked, method="bulk").min())
    tail = float(az.ess(checked, method="tail").min())
    attrs = _attrs(data)
    if (effective := attrs.get("effective_draws")) is not None:  # repeated draws look independent
        bulk, tail = min(bulk, effective), min(tail, effective)

    sentences = []
    if not several:
        sentences.append(
            "With only one chain, convergence cannot be checked. Use two chains or more."
        )
    elif not rhat <= WORST_RHAT:
        sentences.append(
            f"The chains disagree (largest R-hat {rhat:.3f}, should be at most {WORST_RHAT}). "
            "Do not trust the table. Use more tuning steps and draws."
        )
    if not min(bulk, tail) >= LEAST_ESS:
        sentences.append(
            f"There are only {min(bulk, tail):.0f} effective draws (should be {LEAST_ESS:.0f} or "
            "more), so probabilities are inaccurate. Use more draws."
        )
    if divergences:
        sentences.append(
            f"{divergences:,} of {n_chains * n_draws:,} steps of the sampler diverged, so a part "
            "of the posterior may be missing. Try more tuning steps or a tighter prior."
        )
    ok = not sentences
    if ok and effective is not None and "approximation" not in attrs:
        sentences.append(
            f"The draws are exact to Monte Carlo error: {min(bulk, tail):,.0f} effective draws by "
            "importance sampling."
        )
    elif ok:
        sentences.append(
            f"The chains agree (largest R-hat {rhat:.3f}), with at least "
            f"{min(bulk, tail):,.0f} effective draws of every {var_name}."
        )
    return Convergence(rhat, bulk, tail, divergences, ok, tuple(sentences))


def _attrs(data: Any) -> Mapping[str, Any]:
    """Return the attributes of a posterior, which name its method."""
    given = data["posterior"] if "posterior" in getattr(data, "children", {}) else data
    attrs: Mapping[str, Any] = getattr(given, "attrs", {})
    return attrs


def precise(data: Any, var_name: str = "utility", *, dim: str = "item", top: int = 3) -> bool:
    """Return whether there are enough draws for a table of ranks.

    The Monte Carlo standard errors of the 20 items with the best mean ranks must be small. The
    probabilities of being best, and among the best `top`, need an error of at most 0.01. Mean ranks
    need an error of at most one thirtieth of the standard deviation of the rank.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`.
    top : int
        Number of best items.

    Raises
    ------
    ValueError
        If the variable or a dim is missing, there are no draws, or some are not finite.

    Examples
    --------
    >>> import xarray as xr
    >>> u = np.random.default_rng(0).normal(size=(4, 1000, 2)) + [0.0, 1.0]
    >>> u = xr.DataArray(u, dims=("chain", "draw", "item"))
    >>> precise(u), precise(u[:, :100])
    (True, False)
    """
    ranks = rank_draws(data, var_name, dim=dim)
    others = [d for d in ranks.dims if d not in ("chain", "draw", dim)]
    best = ranks.mean(("chain", "draw", *others)).argsort()[:SHOWN].to_numpy()
    ranks = ranks.isel({dim: best})
    shown = xr.Dataset({"rank": ranks, "best": ranks == 1, "top": ranks <= top}).astype(float)
    moving = shown.std(("chain", "draw")) > 0
    # values that are the same in all draws have no Monte Carlo error
    error = az.mcse(shown, method="mean").where(moving, 0.0)
    if (effective := _attrs(data).get("effective_draws")) is not None:
        error *= np.sqrt(ranks.sizes["chain"] * ranks.sizes["draw"] / effective)
    spread = ranks.std(("chain", "draw"))
    close = (error[["best", "top"]] <= PROBABILITY_ERROR).all()
    return bool(close["best"] & close["top"] & (error["rank"] <= RANK_ERROR * spread).all())
