"""Posteriors of adherences, and rankers who do not follow the consensus.

Halving an adherence halves the log odds of every preference. The data identify ratios of
adherences; their size depends on the scale of the scores. So each ranker is compared with the
median ranker in every draw, which does not depend on the scale.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.results.draws import (
    check_probability,
    described,
    interval_probability,
    single_group,
)

__all__ = ["adherence_draws", "adherence_summary", "effective_judges", "summarise_adherences"]


def adherence_summary(
    data: Any,
    var_name: str = "adherence",
    *,
    dim: str = "ranker",
    ci_prob: float | None = None,
    factor: float = 2.0,
    outlier_prob: float = 0.95,
    contrary: bool = False,
) -> pd.DataFrame:
    r"""Summarise the posterior of adherences, highest mean first.

    In draw :math:`t`, let :math:`m_t` be the median of the adherences :math:`\theta_{nt}` of all
    rankers. A ranker is an outlier, and does not follow the consensus, if

    .. math:: P(\theta_n < m / f) \ge p

    where :math:`f` is `factor` and :math:`p` is `outlier_prob`. The posterior of a ranker without
    data is the prior, which may lie below the others.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the rankers, as in `rank_draws`, without other dims.
    ci_prob : float, optional
        Probability of the interval, in (0, 1): equal tails. By default
        ``arviz.rcParams["stats.ci_prob"]``.
    factor : float
        An adherence is far from the median if the two differ by this factor, at least 1.
    outlier_prob : float
        Least probability at which a ranker is an outlier, in (0.5, 1).
    contrary : bool
        Whether adherences may be negative. If the median of a draw is negative, no ranker is far
        from it.

    Returns
    -------
    DataFrame
        One row per ranker. The columns are mean, sd, low and high (ends of the interval),
        p_below_median, p_far_below, p_far_above and outlier. With `contrary` there is also
        p_contrary, the probability that the adherence is negative.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if the variable has other dims, or an adherence is
        negative. If `ci_prob`, `factor` or `outlier_prob` are out of range.

    See Also
    --------
    plot_adherence, effective_judges, MPM

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> a = xr.DataArray(
    ...     [[[0.1, 1.0, 1.2], [0.2, 2.0, 1.8], [0.3, 1.0, 1.1], [0.2, 1.0, 1.1]]],
    ...     dims=("chain", "draw", "ranker"), coords={"ranker": ["ann", "bob", "cy"]})
    >>> br.adherence_summary(a)[["mean", "p_below_median", "p_far_below", "outlier"]]
            mean  p_below_median  p_far_below  outlier
    ranker
    cy      1.30             0.0          0.0    False
    bob     1.25             0.0          0.0    False
    ann     0.20             1.0          1.0     True
    """
    draws = adherence_draws(data, var_name, dim, contrary=contrary)
    return summarise_adherences(draws, ci_prob, factor, outlier_prob, contrary=contrary)


def adherence_draws(data: Any, var_name: str, dim: str, *, contrary: bool) -> pd.DataFrame:
    """Return checked draws of the adherences, one column per ranker."""
    values, labels = single_group(data, var_name, dim)
    lowest = values.min(axis=0)
    if lowest.min() < 0 and not contrary:
        subject, _ = described(data, var_name)
        raise ValueError(
            f"{subject} of {dim} {labels[lowest.argmin()]} is {lowest.min():.3g} in one draw; "
            "adherences must not be negative. Use contrary=True to allow it, or name the variable "
            "of the adherences with var_name=."
        )
    return pd.DataFrame(values, columns=pd.Index(labels, name=dim))


def summarise_adherences(
    draws: pd.DataFrame,
    ci_prob: float | None,
    factor: float,
    outlier_prob: float,
    *,
    contrary: bool = False,
) -> pd.DataFrame:
    """Summarise draws (n_draws, n_rankers), highest mean first."""
    ci_prob = interval_probability(ci_prob)
    check_probability("outlier_prob", outlier_prob, 0.5)
    if not 1 <= factor < np.inf:
        raise ValueError(f"`factor` is {factor}; it must be finite, 1 or more.")

    theta = draws.to_numpy()
    median = np.median(theta, axis=1, keepdims=True)
    tail = (1 - ci_prob) / 2
    low, high = np.quantile(theta, [tail, 1 - tail], axis=0)
    far_below = ((theta < median / factor) & (median > 0)).mean(0)
    table = pd.DataFrame(
        {
            "mean": theta.mean(0),
            "sd": theta.std(0, ddof=1) if len(theta) > 1 else np.nan,
            "low": low,
            "high": high,
            "p_below_median": (theta < median).mean(0),
            "p_far_below": far_below,
            "p_far_above": ((theta > median * factor) & (median >= 0)).mean(0),
            "outlier": far_below >= outlier_prob,
        },
        index=draws.columns,
    )
    if contrary:
        table["p_contrary"] = (theta < 0).mean(0)
    return table.sort_values("mean", ascending=False, kind="stable")


def effective_judges(
    data: Any,
    families: Mapping[Any, Hashable],
    *,
    judge: str = "judge",
    family: str = "family",
) -> xr.DataArray:
    r"""Compute how many independent judges the judges of a few families are worth.

    Judges err in their opinion of an item. The error of a judge has two parts: one shared by its
    family, with standard deviation :math:`\tau_f`, and a separate one, with :math:`\tau_j`. Let
    :math:`s_f` be the share of family f among J judges. The mean of these judges has the same
    error as the mean of n judges from n different families, with

    .. math:: n = \frac{\tau_f^2 + \tau_j^2}{\tau_f^2 \sum_f s_f^2 + \tau_j^2 / J}

    Parameters
    ----------
    data : DataTree or Dataset
        Posterior of `leaderboard_model` with ``groups=["judge", "family"]``: ``judge_spread`` and
        ``family_spread``, with the dims chain and draw.
    families : mapping
        The family of every judge.
    judge, family : str
        Names of the groups.

    Returns
    -------
    DataArray
        One value per draw.

    Raises
    ------
    ValueError
        If there are no judges, or the posterior lacks one of the spreads.

    See Also
    --------
    adherence_summary

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> spreads = {"judge_spread": 0.3, "family_spread": 0.6}
    >>> draws = xr.Dataset({name: (("chain", "draw"), [[x]]) for name, x in spreads.items()})
    >>> found = br.effective_judges(draws, {"a1": "a", "a2": "a", "b1": "b", "b2": "b"})
    >>> round(found.item(), 2)
    2.22
    """
    if not families:
        raise ValueError("`families` is empty; give the family of every judge.")
    draws = data.get("posterior", data)
    spreads = [f"{judge}_spread", f"{family}_spread"]
    for name in spreads:
        if name not in draws:
            raise ValueError(
                f"The posterior has no variable {name!r}. Pass the posterior of leaderboard_model "
                f"with groups=[{judge!r}, {family!r}]."
            )
    individual, shared = (draws[name] ** 2 for name in spreads)
    share = pd.Series(list(families.values())).value_counts(normalize=True).to_numpy()
    error = individual / len(families) + shared * (share**2).sum()
    found = (individual + shared) / error
    return found.rename("effective_judges")
