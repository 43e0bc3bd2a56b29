"""Leave-one-out cross-validation, with a warning where it is not reliable."""

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
    observed_dim,
    pointwise_log_likelihood,
    sum_by_group,
)
from bayesrank.results.evaluation.psis import good_pareto_k, leave_each_out
from bayesrank.schema import COUNT, COUNTS, RANKS, WEIGHT, Kept, spell_label

__all__ = ["ParetoKWarning", "loo", "loo_by_ranker", "loo_of"]

LEAST_DRAWS = 100  # a tail of 20 draws, enough to fit a Pareto distribution
SAME = 1e-10  # log-likelihoods this close are equal, up to rounding
_PACKAGE = str(Path(__file__).parents[2])


class ParetoKWarning(UserWarning):
    """Some rankings are too influential to leave out by importance sampling."""


def loo(
    data: xr.DataTree, var_name: str = "y", *, group: str | None = None
) -> Any:  # ELPDDataLOO, for which ArviZ has no types
    r"""Estimate how well each observation is predicted from the others.

    .. math:: \text{elpd} = \sum_r \log p(y_r \mid y_{-r})

    where :math:`y_r` is one ranking, pair or ranker and :math:`y_{-r}` are the others. The
    terms are computed by Pareto smoothed importance sampling, as in `arviz.loo`.

    There are two differences. `arviz.loo` stops if an observation has the same log-likelihood in
    all draws, as a ranking of one item or one block has. Here its term is that log-likelihood, and
    its Pareto k is NaN. A ranking with a count of n is n observations, left out one at a time.

    Parameters
    ----------
    data : DataTree
        Results of `pm.sample`, with the group log_likelihood (`pm.compute_log_likelihood`).
    var_name : str
        The observed variable.
    group : str, optional
        Group to leave out as a whole, such as "ranker" or "judge". By default one observation.

    Returns
    -------
    arviz.ELPDDataLOO
        With the pointwise values `elpd_i` and `pareto_k`. `arviz.compare` and `bayesrank.compare`
        take it. `arviz.loo_moment_match` needs the weights that only `arviz.loo` returns.

    Raises
    ------
    ValueError
        If there is no log-likelihood, values are not finite, or there are fewer than 100 draws.

    Warns
    -----
    ParetoKWarning
        If some Pareto k are too large.

    See Also
    --------
    loo_by_ranker, compare, kfold, baseline_elpd

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(0)
    >>> logp = np.zeros((2, 100, 3))  # the third ranking is one block
    >>> logp[..., :2] = -1 + 0.1 * rng.normal(size=(2, 100, 2))
    >>> tree = xr.DataTree.from_dict(
    ...     {"log_likelihood": xr.Dataset({"y": (("chain", "draw", "ranking"), logp)})}
    ... )
    >>> br.loo(tree).elpd_i.values.round(1).tolist()
    [-1.0, -1.0, 0.0]
    """
    tree = data if group is None else group_log_likelihood(data, var_name, group=group)
    return loo_of(tree, var_name)


def loo_by_ranker(data: xr.DataTree, var_name: str = "y", *, group: str = "ranker") -> pd.DataFrame:
    """Compute how well each ranker is predicted from the others, worst first.

    All rankings of a ranker are left out together. A row of rankers without names stands for as
    many rankers as its count, which are left out one at a time.

    Parameters
    ----------
    data : DataTree
        Results of `pm.sample`, with the group log_likelihood (`pm.compute_log_likelihood`).
    var_name : str
        The observed variable.
    group : str
        Group to leave out: "ranker" for rankings, "judge" for pairs, or a column named in ``by`` of
        `Pairs.from_frame`.

    Returns
    -------
    DataFrame
        Indexed by the labels of the group, the worst predicted first. The columns are

        n
            Number of rankings (sum of count times weight) or matches; 1 for counts.

        elpd
            Expected log predictive density of the ranker's data, given the other rankers.

        elpd_random
            Log-probability under random ranking, from `baseline_elpd`.

        gain
            Difference of these two per ranking or match, in nats. If it is negative, the ranker
            disagrees with the others, or ranks at random while they do not. NaN if there are no
            matches.

        pareto_k
            `elpd` is reliable up to 0.7. NaN if the log-likelihood is the same in all draws.

    Raises
    ------
    ValueError
        If the log-likelihood or the group does not exist, values are not finite, or there are too
        few draws. Also if the outcomes have no probability under random ranking.

    Warns
    -----
    ParetoKWarning
        If some Pareto k are too large.

    See Also
    --------
    loo, compare, adherence_summary

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "a", "b"]] * 3)
    >>> with pm.Model(coords=rankings.coords):
    ...     utility = pm.ZeroSumNormal("utility", dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    ...     idata = pm.sample(draws=100, tune=100, chains=2, cores=1, random_seed=1,
    ...                       progressbar=False)
    ...     _ = pm.compute_log_likelihood(idata, progressbar=False)
    >>> br.loo_by_ranker(idata).head(3).index.tolist()  # the rankers predicted worst
    [7, 8, 9]
    """
    random = baseline_elpd(data, var_name)
    n = _count(data, var_name, random)
    found = loo_of(group_log_likelihood(data, var_name, group=group), var_name)
    if random.dims != (group,):
        random, n = (sum_by_group(x, data, group, var_name=var_name) for x in (random, n))
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


def _count(data: xr.DataTree, var_name: str, values: xr.DataArray) -> xr.DataArray:
    """Count the rankings or matches behind each value."""
    kept = Kept(data, var_name)
    if RANKS in kept:
        return kept[WEIGHT]
    if COUNTS in kept:
        return xr.zeros_like(values) + kept[COUNTS].to_numpy().sum(axis=-1)
    return xr.ones_like(values)


def loo_of(
    data: xr.DataTree, var_name: str, *, name: str | None = None
) -> Any:  # ELPDDataLOO, for which ArviZ has no types
    """Leave out one ranking, pair or ranker at a time, as `arviz.loo` does, with pointwise values.

    A row with a count of n is n observations. Its pointwise value is the sum over them, and
    ``elpd_i.attrs["count"]`` has the counts.

    Observations with the same log-likelihood in all draws have this log-likelihood as their elpd.
    """
    whose = "The results" if name is None else f"The results of {name!r}"
    pointwise = pointwise_log_likelihood(data, var_name, whose=whose)
    dim = observed_dim(pointwise, var_name)
    elpd_i = pointwise.mean(("chain", "draw")).rename("elpd_i")
    pareto_k = xr.full_like(elpd_i, np.nan).rename("pareto_k")
    logp = pointwise.to_numpy().reshape(-1, elpd_i.size)
    _check_draws(logp, elpd_i[dim], var_name, whose)
    n_draws, p, moves = len(logp), 0.0, np.ptp(logp, axis=0) > SAME
    good_k = good_pareto_k(n_draws)
    known = Kept(data, var_name).times(dim)
    times = np.ones(elpd_i.size) if known is None else known.sel({dim: elpd_i[dim]}).to_numpy()
    if known is not None:
        elpd_i.attrs[COUNT] = times
    if moves.any():
        # one of n equal rankings is predicted from the others
        one = logp[:, moves] / times[moves]
        found = leave_each_out(one, _relative_efficiency(data, n_draws))
        elpd_i[moves], pareto_k[moves] = times[moves] * found.elpd, found.pareto_k
        p = float(times[moves] @ (found.lppd - found.elpd))
    _warn_of_pareto_k(pareto_k, good_k, dim, name)
    return az.ELPDDataLOO(
        elpd=float(elpd_i.sum()), se=standard_error(elpd_i), p=p, n_data_points=int(times.sum()),
        n_samples=n_draws, scale="log",
        warning=bool((pareto_k > good_k).any()), good_k=good_k, elpd_i=elpd_i, pareto_k=pareto_k,
    )  # fmt: skip


def _relative_efficiency(data: xr.DataTree, n_draws: int) -> float:
    """Compute the effective draws of the mean per draw, averaged over all parameters."""
    posterior = data["posterior"].to_dataset() if "posterior" in data.children else xr.Dataset()
    if (effective := posterior.attrs.get("effective_draws")) is not None:  # resampled draws
        return float(effective / n_draws)
    independent = "approximation" in posterior.attrs  # as from `fit_inla`
    if independent or not posterior.data_vars or posterior.sizes["chain"] == 1:
        return 1.0
    ess = az.ess(posterior, method="mean")
    return float(np.concatenate([x.to_numpy().ravel() for x in ess.values()]).mean() / n_draws)


def standard_error(elpd_i: xr.DataArray) -> float:
    """Return the standard error of the sum, as in ArviZ; NaN for a single value."""
    values = one_by_one(elpd_i)
    n = values.size
    return float(np.sqrt(n * values.var(ddof=1))) if n > 1 else np.nan


def one_by_one(elpd_i: xr.DataArray) -> NDArray[np.float64]:
    """Return one value per observation, where a row may stand for several."""
    times = elpd_i.attrs.get(COUNT)
    values = elpd_i.to_numpy()
    return values if times is None else np.repeat(values / times, np.asarray(times))


def _check_draws(
    logp: NDArray[np.float64], labels: xr.DataArray, var_name: str, whose: str
) -> None:
    """Raise if log-likelihoods (n_draws, n) are not finite, or draws are too few."""
    wrong = ~np.isfinite(logp)
    if wrong.any():
        k = int(wrong.any(axis=0).argmax())
        raise ValueError(
            f"{whose} have the log-likelihood {logp[wrong[:, k], k][0]:g} for {labels.name} "
            f"{spell_label(labels.to_numpy()[k])} of {var_name!r}, in {wrong[:, k].sum()} of "
            f"{len(logp)} draws. It must be finite. Check the parameters in these draws."
        )
    if len(logp) < LEAST_DRAWS:
        raise ValueError(
            f"{whose} have {len(logp)} draws; leave-one-out by importance sampling needs "
            f"{LEAST_DRAWS} or more. It needs posterior draws, not a point estimate."
        )


def _warn_of_pareto_k(pareto_k: xr.DataArray, good_k: float, dim: str, name: str | None) -> None:
    """Warn about observations with a large Pareto k."""
    k = pareto_k.to_numpy()
    n_bad = int((k > good_k).sum())
    if not n_bad:
        return
    worst = int(np.nanargmax(k))
    label = spell_label(pareto_k[dim].to_numpy()[worst])
    model = "" if name is None else f" of {name!r}"
    one = n_bad == 1
    verb, their, them = ("has", "Its", "it") if one else ("have", "Their", "them")
    example = f"{k[worst]:.2f}: {label}" if one else f"the largest, {k[worst]:.2f}, is {label}"
    warnings.warn(
        f"{n_bad} of {k.size} {dim}s{model} {verb} Pareto k above {good_k:.2f} ({example}). "
        f"Leaving {them} out changes the posterior too much for importance sampling. {their} part "
        f"of elpd is not reliable. Refit without {them}, using bayesrank.kfold, or improve the "
        "weights with arviz.loo_moment_match.",
        ParetoKWarning,
        skip_file_prefixes=(_PACKAGE,),
    )
