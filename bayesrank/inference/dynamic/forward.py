r"""Forward validation: learn from the past, predict the next outcomes, and move on.

The first part of the data, in the order of time, determines the hyperparameters. Then, day after
day, all earlier matches predict the matches of the day. The day joins the past, and the search for
the new mode starts from the last one. The score is the usual score of a forecaster:

.. math:: \text{log loss} = -\frac1n \sum_k \log \int p(y_k \mid \theta)\,
          p(\theta \mid \text{data before the day of } k)\, \mathrm d\theta
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

from bayesrank.data import Pairs, Rankings
from bayesrank.inference.approximation.modes import fixed_seed
from bayesrank.inference.approximation.nodes import node_of_draws
from bayesrank.inference.dynamic.chains import (
    Chains,
    covariance_root,
    find_mode,
    nearest_normal,
    row_moments,
)
from bayesrank.inference.dynamic.fit import (
    Moments,
    Problem,
    learned,
    mixed_probabilities,
    moved_dual,
)
from bayesrank.likelihoods.plackett_luce.per_slot_kernel import per_slot_kernel
from bayesrank.utility.dynamics import Dynamics

__all__ = ["ForwardValidation", "forward_validation"]

Floats = NDArray[np.float64]

DRAWS = 200  # draws of the utilities in a future ranking
OUTCOMES = ("first", "second", "tie")


@dataclass(frozen=True, eq=False, repr=False)
class ForwardValidation:
    """Predictions of later data from earlier data, which `forward_validation` returns.

    Attributes
    ----------
    predictions : DataFrame
        One row per match or ranking, in the order of time. Columns for matches: first, second,
        time, p_first, p_second, p_tie (in models with ties), outcome, count and log_p. Columns for
        rankings: ranking, time, log_p, and at_random, the log-probability if all orders were
        equally likely.
    hyperparameters : dict
        Hyperparameters of the dynamics, learned from the first part.

    See Also
    --------
    forward_validation

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame({"x": "a", "y": "b", "day": np.arange(60),
    ...                       "won": np.where(rng.random(60) < 0.8, "first", "second")})
    >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
    >>> given = {"scale": 1.0, "drift": 0.01}
    >>> found = br.forward_validation(pairs, time="day", start=0.9, hyperparameters=given)
    >>> found.predictions.columns.tolist()
    ['first', 'second', 'time', 'p_first', 'p_second', 'outcome', 'count', 'log_p']
    >>> found.calibration(bins=2)["n"].tolist()
    [6, 6]
    """

    predictions: pd.DataFrame
    hyperparameters: dict[str, float]

    @property
    def log_loss(self) -> float:
        """Mean negative log-probability of a match or ranking."""
        return -float(np.average(self.predictions["log_p"], weights=self._counts))

    @property
    def error(self) -> float:
        """Standard error of the log loss, assuming independent days."""
        n = float(self._counts.sum())
        off = (-self.predictions["log_p"] - self.log_loss) * self._counts
        days = off.groupby(self.predictions["time"]).sum()
        return float(np.sqrt((days**2).sum()) / n)

    @property
    def accuracy(self) -> float:
        """Share of matches whose most probable outcome occurred."""
        probability, came = self._match_probabilities()
        right = probability.to_numpy().argmax(axis=1) == came
        return float(np.average(right, weights=self._counts))

    def calibration(self, bins: int = 10) -> pd.DataFrame:
        """Compare predicted probabilities with observed frequencies of outcomes.

        Parameters
        ----------
        bins : int
            Number of bins, each with about equally many predictions.

        Returns
        -------
        DataFrame
            One row per bin. ``predicted`` is the mean predicted probability, and ``came`` is the
            observed share. ``error`` is the standard error of this share if the probabilities are
            right. ``n`` is the number of predictions: every possible outcome of every match is one.
        """
        probability, came = self._match_probabilities()
        n_outcomes = probability.shape[1]
        p, n = probability.to_numpy().ravel(), np.repeat(self._counts.to_numpy(), n_outcomes)
        is_outcome = (came[:, None] == np.arange(n_outcomes)).ravel()
        sums = pd.DataFrame(
            {"predicted": n * p, "came": n * is_outcome, "error": n * p * (1 - p), "n": n}
        )
        found = sums.groupby(pd.qcut(p, bins, labels=False, duplicates="drop")).sum()
        found["error"] = np.sqrt(found["error"])
        return found.div(found["n"], axis=0).assign(n=found["n"]).rename_axis("bin")

    @property
    def _counts(self) -> pd.Series:
        if "count" in self.predictions:
            return self.predictions["count"]
        return pd.Series(1.0, index=self.predictions.index)

    def _match_probabilities(self) -> tuple[pd.DataFrame, NDArray[np.int64]]:
        names = [f"p_{outcome}" for outcome in OUTCOMES if f"p_{outcome}" in self.predictions]
        if not names:
            raise ValueError(
                "Expected predictions of matches; predictions of rankings have only a log loss."
            )
        came = pd.Index(OUTCOMES).get_indexer(pd.Index(self.predictions["outcome"]))
        return self.predictions[names], came

    def __repr__(self) -> str:
        """Describe the quality of the predictions."""
        n = int(self._counts.sum())
        loss = f"{self.log_loss:.4f} ± {self.error:.4f}"
        return f"ForwardValidation: log loss {loss} for {n} predictions"


def forward_validation(
    data: Pairs | Rankings,
    *,
    time: str,
    start: Any = 0.7,
    dynamics: str = "random_walk",
    likelihood: str | None = None,
    hyperparameters: Mapping[str, float] | None = None,
    unit: str = "year",
    step: float = 0.0,
    order_effect: bool = True,
    covariates: Mapping[str, ArrayLike] | None = None,
    watch: Callable[[int, int], None] | None = None,
    random_seed: int | None = None,
) -> ForwardValidation:
    """Predict matches or rankings period by period, each from all earlier data.

    Parameters
    ----------
    data, time, dynamics, likelihood, hyperparameters, unit
        As in `fit_dynamic`. Hyperparameters are learned from the data before `start`. Predictions
        average over two values of each hyperparameter.
    start : float below 1, or date
        Share of the matches or rankings in the first part, or the first time to predict.
    step : float
        Length of the predicted periods, in units of time; by default, each label of `time` is one
        period.
    order_effect, covariates, watch, random_seed
        As in `fit_dynamic`. After the fit, `watch` counts predicted rows.

    Returns
    -------
    ForwardValidation

    Raises
    ------
    ValueError
        For the reasons of `fit_dynamic`, or if no data are before or after the start.

    See Also
    --------
    fit_dynamic, kfold

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame({"x": "a", "y": "b", "day": np.arange(60),
    ...                       "won": np.where(rng.random(60) < 0.8, "first", "second")})
    >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
    >>> given = {"scale": 1.0, "drift": 0.01}
    >>> found = br.forward_validation(pairs, time="day", start=0.5, hyperparameters=given)
    >>> bool(found.log_loss < np.log(2))
    True
    """
    problem = Problem.read(data, time, unit, likelihood, order_effect, covariates or {})
    problem = _taken(problem, np.argsort(problem.time, kind="stable"))
    when = problem.time
    n_first = _first_part(problem, start)
    random_seed = fixed_seed(random_seed)
    first = _taken(problem, np.arange(n_first))
    fit = learned(first, Dynamics(dynamics), hyperparameters or {}, random_seed, watch)
    old, (nodes, weight) = fit.observations, fit.few_nodes()
    rng = np.random.default_rng(random_seed)
    tables, n = [], n_first
    while n < len(when):
        end = int(np.searchsorted(when, when[n] + step, side="right" if step == 0 else "left"))
        part = _taken(problem, np.arange(end))
        if watch is not None:
            watch(n - n_first, len(when) - n_first)
        whole = part.observations()
        known, to_come, moments = whole.head(n), whole.tail(n), []
        for k, node in enumerate(nodes):
            chains = Chains(whole.nodes, whole.common, fit.dynamics, node.values)
            mode = find_mode(chains, known, moved_dual(old, node.dual, whole))
            normal = nearest_normal(mode, random_seed=random_seed)
            nodes[k] = node._replace(dual=normal.dual)
            moments.append(row_moments(normal, to_come))
        old = whole
        tables.append(_predicted(part, n, moments, weight, rng))
        n = end
    return ForwardValidation(pd.concat(tables, ignore_index=True), fit.hyperparameters)


def _taken(problem: Problem, rows: NDArray[Any]) -> Problem:
    """Take rows, in this order."""
    data: Any = problem.data
    if isinstance(data, Pairs):
        names = ("first", "second", "counts", "weight", "judge_idx")
        groups = {name: group.take(rows) for name, group in data.groups.items()}
        data = replace(data, **{name: getattr(data, name)[rows] for name in names}, groups=groups)
    else:
        data = data.subset(rows)
    covariates = {name: x[rows] for name, x in problem.covariates.items()}
    return replace(problem, data=data, covariates=covariates)


def _first_part(problem: Problem, start: Any) -> int:
    """Count the rows before the start."""
    when = problem.time
    if isinstance(start, float) and 0 < start < 1:
        begin = when[int(start * len(when))]
    else:
        begin = problem.read_times(start)[0][0]
    n = int(np.searchsorted(when, begin))
    if not 0 < n < len(when):
        raise ValueError(
            f"`start` is {start!r}; no data are {'before' if n == 0 else 'at or after'} it. Give a "
            "share between 0 and 1, or a time within the data."
        )
    return n


def _predicted(
    problem: Problem, n: int, moments: list[Moments], weight: Floats, rng: np.random.Generator
) -> pd.DataFrame:
    """Predict the rows from the n-th on."""
    data: Any = problem.data
    group = data.groups[problem.group]
    time = group.labels.take(group.idx[n:])
    if isinstance(data, Pairs):
        probability = mixed_probabilities(moments, weight, problem.likelihood)
        return _predicted_matches(data, n, time, probability)
    ranks, mask = data.ranks[n:], data.mask[n:]
    node = node_of_draws(np.log(weight), DRAWS, rng)
    ends, log_p = np.append(0, mask.sum(axis=1).cumsum()), []
    for k, (used, row) in enumerate(zip(mask, ranks, strict=True)):
        utility = np.zeros((DRAWS, len(row)))
        for number, (mean, covariance) in enumerate(moments):
            root = covariance_root(covariance[k][None])[0]
            noise = rng.normal(size=((node == number).sum(), len(root)))
            utility[np.ix_(node == number, used)] = mean[ends[k] : ends[k + 1]] + noise @ root.T
        found, _ = per_slot_kernel(utility, np.tile(row.astype(np.int64), (DRAWS, 1)))
        log_p.append(logsumexp(found) - np.log(DRAWS))
    sizes = data.block_sizes[n:]
    random = gammaln(sizes + 1.0).sum(axis=1) - gammaln(sizes.sum(axis=1) + 1.0)
    return pd.DataFrame(
        {"ranking": data.labels[n:], "time": time, "log_p": log_p, "at_random": random}
    )


def _predicted_matches(pairs: Pairs, n: int, time: Any, probability: Floats) -> pd.DataFrame:
    row, outcome = np.nonzero(pairs.counts[n:])
    table = pd.DataFrame(
        {
            "first": pairs.items.take(pairs.first[n:])[row],
            "second": pairs.items.take(pairs.second[n:])[row],
            "time": time[row],
        }
    )
    table[[f"p_{name}" for name in OUTCOMES[: probability.shape[1]]]] = probability[row]
    table["outcome"] = np.array(OUTCOMES)[outcome]
    table["count"] = pairs.counts[n:][row, outcome]
    table["log_p"] = np.log(probability[row, outcome])
    return table
