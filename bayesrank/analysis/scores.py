r"""A model of the scores themselves, for cases whose scores have the same units.

Item i has the score :math:`z_{icf}` in fold f of case c, a case of the family g:

.. math:: z_{icf} = a_c + w_i + d_{gi} + e_{ic} + \varepsilon_{icf} .

The deviations have the scale of their case.

.. math::

    e_{ic} \sim \operatorname{Normal}(0, \tau \sqrt{\lambda_c}), \qquad
    \lambda_c \sim \operatorname{InverseGamma}(\nu / 2, \nu / 2) .

So the differences between two items by case follow a t-distribution with :math:`\nu` degrees of
freedom. The items of a case share its :math:`\lambda_c`: in some cases all items differ more. Folds
share training data, so their noise is correlated (Nadeau and Bengio 2003):

.. math::

    \operatorname{Var}(\varepsilon_{icf}) = \sigma_c^2, \qquad
    \operatorname{Cov}(\varepsilon_{icf}, \varepsilon_{icf'}) = \rho_c \sigma_c^2 .

Let :math:`\omega_c = (1 - \rho_c) \sigma_c^2` and n be the number of folds of an item. Two
statistics contain everything that the folds tell, and they are independent:

.. math::

    \bar z_{ic} \sim \operatorname{Normal}(a_c + w_i + d_{gi}, \sqrt{v_{ic}}), \qquad
    v_{ic} = \tau^2 \lambda_c + \omega_c (1/n + \rho_c / (1 - \rho_c)) .

The second one, :math:`S_c`, is the sum of squares within the items of a case, after the effects of
its folds were subtracted. Divided by :math:`\omega_c`, it has a chi-squared distribution.

Take two items, one case, n folds, :math:`\tau = 0` and :math:`p(\omega) \propto 1 / \omega`. Then
:math:`w_1 - w_2` has the posterior of the correlated t-test (Corani and Benavoli 2015). It is a
Student's t with n - 1 degrees of freedom. Its squared scale is
:math:`(1/n + \rho / (1 - \rho)) s^2`, with the variance :math:`s^2` of the differences.

==================  =============  ==============================  ==========================
variable            dims           prior                           in models of
==================  =============  ==============================  ==========================
``utility``         item           Normal(0, utility_scale),       all
                                   the sum zero
``utility_scale``                  HalfNormal(s)                   all
``level``           case           Normal(mean score, 10 s)        all
``deviation_sd``                   HalfNormal(s)                   all
``degrees``                        Gamma(2, 0.1)                   all
``case_factor``     case           InverseGamma(ν / 2, ν / 2)      all
``family_spread``                  HalfNormal(s)                   families
``g_deviation``     family, item   family_spread × Normal(0, 1)    families, g is their column
``fold_sd``         case           LogNormal, location and         folds
                                   spread learned
==================  =============  ==============================  ==========================

Here s is the standard deviation of the scores minus the mean of their case, so that the units do
not matter.

References
----------
Corani and Benavoli (2015). A Bayesian approach for comparing cross-validated algorithms on multiple
data sets. Machine Learning 100, 285-304.

Corani, Benavoli, Demšar, Mangili and Zaffalon (2017). Statistical comparison of classifiers through
Bayesian hierarchical modelling. Machine Learning 106, 1817-1837.

Nadeau and Bengio (2003). Inference for the generalization error. Machine Learning 52, 239-281.
"""

from typing import Any, NamedTuple

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from bayesrank.analysis.registry import find_group
from bayesrank.data import Rankings
from bayesrank.data.read import label_repr
from bayesrank.priors import sampled_deviations

__all__ = ["ScoreCells", "score_cells", "scores_model"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FLAT = 10.0  # standard deviations of the scores by which levels of cases may differ


class ScoreCells(NamedTuple):
    """Mean scores of items in cases, and how much folds differ."""

    score: Floats  # (n_cells,) mean over the folds of an item in a case, adjusted for the folds
    item: Ints  # (n_cells,)
    case: Ints  # (n_cells,)
    n_folds: Ints  # (n_cells,)
    squares: Floats  # (n_cases,) sum of squares within items and folds
    dof: Ints  # (n_cases,) its degrees of freedom


def score_cells(rankings: Rankings) -> ScoreCells:
    """Reduce the scores of each case to one per item, and a sum of squares within the items.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"model": ["a", "b"] * 4, "task": ["x"] * 4 + ["y"] * 4,
    ...                       "seed": [1, 1, 2, 2] * 2, "score": [3.0, 2, 5, 2, 1, 0, 1, 0]})
    >>> cells = score_cells(Rankings.from_scores(table, item="model", case="task", score="score",
    ...                                          fold="seed"))
    >>> cells.score.tolist(), cells.squares.tolist(), cells.dof.tolist()
    ([4.0, 2.0, 1.0, 0.0], [1.0, 0.0], [1, 1])
    """
    assert rankings.scores is not None
    values = rankings.scores.of(rankings.items)
    parts = [_case(values[rankings.ranker_idx == case], case) for case in range(rankings.n_rankers)]
    columns = zip(*(part[:4] for part in parts), strict=True)
    score, item, case, n_folds = (np.concatenate(column) for column in columns)
    squares = np.array([part.squares[0] for part in parts])
    return ScoreCells(score, item, case, n_folds, squares, np.array([p.dof[0] for p in parts]))


def _case(values: Floats, case: int) -> ScoreCells:
    """Reduce the scores (n_folds, n_items) of one case."""
    run = ~np.isnan(values)
    item = np.flatnonzero(run.any(axis=0))
    values, run = values[:, item], run[:, item]
    n = run.sum(axis=0)
    if run.all():
        mean = values.mean(axis=0)
        left = values - mean - values.mean(axis=1, keepdims=True) + values.mean()
        squares, dof = (left**2).sum(), (len(values) - 1) * (len(item) - 1)
    else:  # least squares, with effects of items and of folds that sum to zero
        fold, column = np.nonzero(run)
        effect = np.eye(len(values))[fold][:, 1:] - (fold == 0)[:, None]
        design = np.hstack([np.eye(len(item))[column], effect])
        y = values[run]
        found, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
        mean = found[: len(item)]
        squares, dof = ((y - design @ found) ** 2).sum(), len(y) - int(rank)
    one = np.full(len(item), case)
    return ScoreCells(mean, item, one, n, np.array([squares if dof else 0.0]), np.array([dof]))


def scores_model(
    rankings: Rankings,
    *,
    family: str | None = None,
    fold_correlation: float | None = None,
) -> pm.Model:
    """Build a model of the scores that rankings were made from.

    A difference of two scores must mean the same in all cases, as one of two accuracies may. If
    not, use `ranking_model`, which needs only the order in each case. The utility of an item is its
    mean score over cases like those in the table, minus the mean of all items. It has the units
    of the scores. So ``win_probability(posterior, rope=0.01)`` computes the probability that one
    item is better than another by more than 0.01. The formulas are in
    `bayesrank.analysis.scores`.

    Parameters
    ----------
    rankings : Rankings
        From `read_scores` or `Rankings.from_scores`.
    family : str, optional
        Group of the cases that are not independent, such as variants of one data set. By default,
        the families that `read_scores` read.
    fold_correlation : float, optional
        Correlation between the folds of a case, at least 0 and below 1. By default 1 / n for n
        folds, as in cross-validation. Give 0 if folds are independent repetitions.

    Returns
    -------
    pm.Model
        With the variable ``utility`` and the observed variable ``score``, for `pm.sample`.

    Raises
    ------
    ValueError
        If the rankings have no scores, no case has two items, cases have different weights, or an
        argument is invalid.

    See Also
    --------
    ranking_model, read_scores, win_probability, tied_sets

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> table = pd.DataFrame({"model": ["a", "b", "c"], "mnli": [0.91, 0.90, 0.80],
    ...                       "qnli": [0.85, 0.86, None], "rte": [0.66, 0.65, 0.61]})
    >>> model = br.scores_model(br.Rankings.from_scores(table, item="model"))
    >>> [rv.name for rv in model.free_RVs]
    ['utility_scale', 'utility', 'level', 'deviation_sd', 'degrees', 'case_factor']
    """
    if rankings.scores is None:
        raise ValueError(
            "The rankings have no scores, because they were not made from scores or their rows "
            "were merged. Read the table with br.read_scores or br.Rankings.from_scores."
        )
    if fold_correlation is not None and not 0 <= fold_correlation < 1:
        raise ValueError(
            f"`fold_correlation` is {fold_correlation}; it must be at least 0 and below 1."
        )
    if family is None and "cluster" in rankings.roles:
        family = "cluster"
    family = find_group(rankings, "cluster", family)
    _refuse_weights(rankings)
    cells = _comparable(score_cells(rankings))
    centred = cells.score - _means(cells)[cells.case]
    s = float(centred.std()) or float(np.abs(cells.score).max()) or 1.0
    coords = {"item": rankings.coords["item"], "case": rankings.coords["ranker"]}
    with pm.Model(coords=coords) as model:
        scale = pm.HalfNormal("utility_scale", s)
        utility = pm.ZeroSumNormal("utility", sigma=scale, dims="item")
        level = pm.Normal("level", _means(cells), FLAT * s, dims="case")
        mean = level[cells.case] + utility[cells.item]
        if family is not None:
            of_case = _of_case(rankings, family)
            model.add_coords({family: rankings.coords[family]})
            apart = sampled_deviations(family, s, (family, "item"))
            mean = mean + apart[of_case[cells.case], cells.item]
        deviation = pm.HalfNormal("deviation_sd", s)
        degrees = pm.Gamma("degrees", 2.0, 0.1)
        factor = pm.InverseGamma("case_factor", degrees / 2, degrees / 2, dims="case")
        # cells of one case and number of folds share a variance, so there are fewer roots
        first, kind = np.unique(
            np.stack([cells.case, cells.n_folds]), axis=1, return_index=True, return_inverse=True
        )[1:]
        variance = (deviation**2 * factor)[cells.case[first]]
        if (cells.dof > 0).any():
            per_fold = _per_fold(cells, fold_correlation)[first]
            variance = variance + _within(cells)[cells.case[first]] * per_fold
        pm.Normal("score", mean, (variance**0.5)[kind], observed=cells.score)
    return model


def _within(cells: ScoreCells) -> Any:
    """Add the variances of folds within a case to the model in context."""
    some = cells.dof > 0
    pooled = float(cells.squares.sum() / cells.dof.sum()) or 1.0
    mean = pm.Normal("log_fold_sd", np.log(pooled) / 2, 1.0)
    spread = pm.HalfNormal("fold_sd_spread", 1.0)
    z = pm.Normal("fold_z", 0.0, 1.0, dims="case")
    sd = pm.Deterministic("fold_sd", (mean + spread * z).exp(), dims="case")
    pm.Gamma("within", cells.dof[some] / 2, 1 / (2 * sd[some] ** 2), observed=cells.squares[some])
    return sd**2


def _per_fold(cells: ScoreCells, correlation: float | None) -> Floats:
    """Return the variance of the mean of the folds of each cell, in units of omega."""
    most = np.zeros(len(cells.dof), dtype=np.int64)
    np.maximum.at(most, cells.case, cells.n_folds)
    rho = 1 / most if correlation is None else np.full(len(most), correlation)
    # cases with one fold: the noise is part of the deviation of the case
    odds = np.where(most > 1, rho / np.where(most > 1, 1 - rho, 1.0), 0.0)
    found: Floats = np.where(most > 1, 1.0, 0.0)[cells.case] / cells.n_folds + odds[cells.case]
    return found


def _refuse_weights(rankings: Rankings) -> None:
    """Refuse cases with different weights; folds share the weight of their case."""
    weight = np.bincount(rankings.ranker_idx, rankings.evidence, rankings.n_rankers)
    if not np.allclose(weight, weight[0]):
        case = int(np.abs(weight - weight[0]).argmax())
        one, other = (label_repr(rankings.rankers[k]) for k in (0, case))
        raise ValueError(
            f"Cases must have equal weights in a model of scores; case {one} has {weight[0]:g} and "
            f"case {other} has {weight[case]:g}. If cases are variants of one data set, name their "
            "family instead of weights."
        )


def _comparable(cells: ScoreCells) -> ScoreCells:
    """Leave out cases with a single item, which compare nothing."""
    several = np.bincount(cells.case, minlength=len(cells.dof)) > 1
    if not several.any():
        raise ValueError("No case has scores of two items, so no items can be compared.")
    keep = several[cells.case]
    return cells._replace(
        score=cells.score[keep], item=cells.item[keep], case=cells.case[keep],
        n_folds=cells.n_folds[keep],
    )  # fmt: skip


def _means(cells: ScoreCells) -> Floats:
    """Return the mean score of each case; of all cases, for cases that compare nothing."""
    n = np.bincount(cells.case, minlength=len(cells.dof))
    total = np.bincount(cells.case, cells.score, len(cells.dof))
    return np.where(n > 0, total / np.maximum(n, 1), cells.score.mean())


def _of_case(rankings: Rankings, family: str) -> Ints:
    """Return the position of the family of each case; folds of a case share it."""
    idx = rankings.groups[family].idx
    found = np.zeros(rankings.n_rankers, dtype=np.int64)
    found[rankings.ranker_idx] = idx
    other = np.flatnonzero(found[rankings.ranker_idx] != idx)
    if len(other):
        case = rankings.rankers[rankings.ranker_idx[other[0]]]
        raise ValueError(
            f"Each case must belong to one family; case {label_repr(case)} has several labels of "
            f"{family!r}. Correct them, or name another column."
        )
    return found
