"""Leave-one-out, with a warning in words where it cannot be trusted."""

import warnings
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.evaluation.baseline import baseline_elpd
from bayesrank.results.evaluation.groups import (
    group_log_likelihood,
    grouped,
    observed_dim,
    pointwise_log_likelihood,
)
from bayesrank.results.evaluation.psis import good_pareto_k, leave_each_out
from bayesrank.schema import COUNTS, RANKS, WEIGHT, Kept, label_text

__all__ = ["ParetoKWarning", "loo_by_ranker", "loo_of"]

LEAST_DRAWS = 100  # a tail of 20, of which a Pareto distribution can be told
SAME = 1e-10  # log-likelihoods this close are one number, up to rounding
_PACKAGE = str(Path(__file__).parents[2])


class ParetoKWarning(UserWarning):
    """Leaving out some rankings changes the posterior too much for importance sampling."""


def loo_by_ranker(data: xr.DataTree, *, var: str = "y", group: str = "ranker") -> pd.DataFrame:
    """Tell how well each ranker is predicted from the others, worst first.

    All rankings of a ranker are left out together.

    Parameters
    ----------
    data : DataTree
        What `pm.sample` returned, with the group log_likelihood (`pm.compute_log_likelihood`).
    var : str
        The observed variable.
    group : str
        What to leave out, as in `group_log_likelihood`: "judge" of pairs, for one.

    Returns
    -------
    DataFrame
        Indexed by the labels of the group, those predicted worst first:

        n
            Rankings (their weights added up) or matches; of counts 1.
        elpd
            Expected log predictive density of all of them together, without them.
        elpd_random
            The same if rankings were random: `baseline_elpd`.
        gain
            Gain over that, per ranking or match, in nats. Below zero the ranker disagrees with the
            others, or ranks at random where the others do not. NaN of no match.
        pareto_k
            `elpd` is reliable up to 0.7. NaN where all draws say the same.

    Raises
    ------
    ValueError
        If there is no log-likelihood or no such group, a number is not finite, draws are few, or
        random ranking gives the outcomes no probability.

    Warns
    -----
    ParetoKWarning
        If some Pareto k are too large.

    Examples
    --------
    >>> worst = loo_by_ranker(posterior).head()  # doctest: +SKIP
    """
    random = baseline_elpd(data, var=var)
    n = _how_many(data, var, random)
    found = loo_of(group_log_likelihood(data, group, var=var), var)
    if random.dims != (group,):
        random, n = (grouped(x, data, group, var=var) for x in (random, n))
    elpd, counted = found.elpd_i.to_numpy(), n.to_numpy()
    whole = bool((counted == counted.round()).all())
    gain = np.divide(
        elpd - random.to_numpy(), counted, out=np.full(len(elpd), np.nan), where=counted > 0
    )
    table = pd.DataFrame(
        {
            "n": counted.astype(np.int64 if whole else np.float64),
            "elpd": elpd,
            "elpd_random": random.to_numpy(),
            "gain": gain,
            "pareto_k": found.pareto_k.to_numpy(),
        },
        index=pd.Index(found.elpd_i[group].to_numpy(), name=group),
    )
    return table.sort_values("gain", kind="stable")


def _how_many(data: xr.DataTree, var: str, each: xr.DataArray) -> xr.DataArray:
    """Count the rankings or matches behind each number."""
    kept = Kept(data, var)
    if RANKS in kept:
        return kept[WEIGHT]
    if COUNTS in kept:
        return xr.zeros_like(each) + kept[COUNTS].to_numpy().sum(axis=-1)
    return xr.ones_like(each)


def loo_of(
    data: xr.DataTree, var: str, *, name: str | None = None
) -> Any:  # ELPDDataLOO, for which ArviZ has no types
    """Leave out one ranking, pair or ranker at a time, as `arviz.loo`, with pointwise values.

    What has the same log-likelihood in all draws (a ranking of one item, a model without
    parameters), which ArviZ refuses, has that log-likelihood.
    """
    whose = "The results" if name is None else f"The results of {name!r}"
    pointwise = pointwise_log_likelihood(data, var, whose=whose)
    dim = observed_dim(pointwise, var)
    elpd_i = pointwise.mean(("chain", "draw")).rename("elpd_i")
    pareto_k = xr.full_like(elpd_i, np.nan).rename("pareto_k")
    logp = pointwise.to_numpy().reshape(-1, elpd_i.size)
    _check_draws(logp, elpd_i[dim], var, whose)
    n_draws, p, moves = len(logp), 0.0, np.ptp(logp, axis=0) > SAME
    good_k = good_pareto_k(n_draws)
    if moves.any():
        found = leave_each_out(logp[:, moves], _relative_efficiency(data, n_draws))
        elpd_i[moves], pareto_k[moves] = found.elpd, found.pareto_k
        p = float((found.lppd - found.elpd).sum())
    _warn_of_pareto_k(pareto_k, good_k, dim, name)
    return az.ELPDDataLOO(
        elpd=float(elpd_i.sum()), se=standard_error(elpd_i), p=p, n_data_points=elpd_i.size,
        n_samples=n_draws, scale="log",
        warning=bool((pareto_k > good_k).any()), good_k=good_k, elpd_i=elpd_i, pareto_k=pareto_k,
    )  # fmt: skip


def _relative_efficiency(data: xr.DataTree, n_draws: int) -> float:
    """Effective draws of the mean, as a share of the draws: the mean over all parameters."""
    posterior = data["posterior"].to_dataset() if "posterior" in data.children else xr.Dataset()
    if not posterior.data_vars or posterior.sizes["chain"] == 1:
        return 1.0
    ess = az.ess(posterior, method="mean")
    return float(np.concatenate([x.to_numpy().ravel() for x in ess.values()]).mean() / n_draws)


def standard_error(elpd_i: xr.DataArray) -> float:
    """Return the standard error of the sum, as ArviZ has it; 0 of a single number."""
    n = elpd_i.size
    return float(np.sqrt(n * elpd_i.var(ddof=1))) if n > 1 else 0.0


def _check_draws(logp: NDArray[np.float64], labels: xr.DataArray, var: str, whose: str) -> None:
    """Raise for log-likelihoods (n_draws, n) that are not numbers, and for too few draws."""
    wrong = ~np.isfinite(logp)
    if wrong.any():
        k = int(wrong.any(axis=0).argmax())
        raise ValueError(
            f"{whose} have the log-likelihood {logp[wrong[:, k], k][0]:g} of {var!r} in "
            f"{labels.name} {label_text(labels.to_numpy()[k])}, in {wrong[:, k].sum()} of "
            f"{len(logp)} draws: it must be finite. Look at the parameters in these draws."
        )
    if len(logp) < LEAST_DRAWS:
        raise ValueError(
            f"{whose} have {len(logp)} draws: leaving out by importance sampling needs "
            f"{LEAST_DRAWS} or more. A point estimate has no posterior to leave anything out of."
        )


def _warn_of_pareto_k(pareto_k: xr.DataArray, good_k: float, dim: str, name: str | None) -> None:
    """Say in words which cannot be trusted."""
    k = pareto_k.to_numpy()
    n_bad = int((k > good_k).sum())
    if not n_bad:
        return
    worst = int(np.nanargmax(k))
    label, of = label_text(pareto_k[dim].to_numpy()[worst]), "" if name is None else f" of {name!r}"
    one = n_bad == 1
    has, their, them = ("has", "its", "it") if one else ("have", "their", "them")
    example = f"{k[worst]:.2f}: {label}" if one else f"the largest, {k[worst]:.2f}, is {label}"
    warnings.warn(
        f"{n_bad} of {k.size} {dim}s{of} {has} Pareto k above {good_k:.2f} ({example}): leaving "
        f"{them} out changes the posterior too much for importance sampling, and {their} part of "
        f"elpd is not reliable. Refit for {them} with bayesrank.kfold, or improve the weights with "
        "arviz.loo_moment_match.",
        ParetoKWarning,
        skip_file_prefixes=(_PACKAGE,),
    )
