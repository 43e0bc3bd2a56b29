"""Models of rankings, of choices and of dated data, for `bayesrank.fit`.

`bayesrank.leaderboard_model` is their sibling for matches.
"""

from typing import Any

import pandas as pd
import pymc as pm

from bayesrank.analysis.analysis import Analysis
from bayesrank.analysis.dynamic import DynamicAnalysis
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.analysis.mixtures import MixtureAnalysis
from bayesrank.analysis.rankings import RankingAnalysis
from bayesrank.analysis.registry import find_group, recall, remember
from bayesrank.data import Pairs, Rankings

__all__ = ["analysis_of", "analysis_with", "choice_model", "dynamic_model", "ranking_model"]

KINDS: dict[str, Any] = {
    one.KIND: one for one in (RankingAnalysis, MixtureAnalysis, MatchAnalysis, DynamicAnalysis)
}


def ranking_model(
    rankings: Rankings,
    *,
    category: str | None = None,
    cluster: str | None = None,
    opinions: bool | None = None,
    components: int | None = None,
    prior: str = "normal",
    utility_scale: float | None = None,
) -> pm.Model:
    r"""Build a model of rankings: Plackett-Luce with categories and opinions, or a mixture.

    Ranker r chooses the items of a ranking in category c one after the other. The probability of
    item i among the remaining items R is

    .. math:: P(i \mid R) = \frac{e^{w_{ci} + u_{ri}}}{\sum_{j \in R} e^{w_{cj} + u_{rj}}}

    where :math:`w_{ci}` is the utility of an item in a category and :math:`u_{ri}` the opinion of
    a ranker. The order inside ties is unknown, and the model sums over all of them.

    =====================  ==================  ====================================  ==============
    variable               dims                prior                                 in models of
    =====================  ==================  ====================================  ==============
    ``utility``            item                Normal(0, utility_scale)              all
    ``utility_scale``                          HalfNormal(3), unless it is given     all
    ``category_utility``   category, item      utility + spread × Normal(0, 1)       categories
    ``category_spread``                        HalfNormal(utility_scale)             categories
    ``ranker_deviation``   ranker, item        spread × Normal(0, 1)                 opinions
    ``ranker_spread``                          HalfNormal(utility_scale)             opinions
    ``share``              component           Dirichlet(2, ..., 2)                  components
    ``component_utility``  component, item     ZeroSumNormal(utility_scale)          components
    =====================  ==================  ====================================  ==============

    With `cluster`, its labels take the place of the rankers.

    Parameters
    ----------
    rankings : Rankings
    category : str, optional
        Group of the rankings with separate utilities, partially pooled. It is the name of a group,
        or of the column that `read_rankings` read as ``by``.
    cluster : str, optional
        Group of rankings that are not independent, such as sessions or schools. Its labels have
        opinions instead of the rankers.
    opinions : bool, optional
        Whether each ranker has separate opinions of the items. By default, True if at least five
        rankers have several rankings, and rankers times items are at most 5,000. Folds of
        `Rankings.from_scores` are an exception: they share the weight of one ranking.
    components : int, optional
        Number of components of a mixture, each with separate utilities; instead of `category`,
        `cluster` and `opinions`.
    prior : {"normal", "zero-sum"}
        Prior of the utilities: independent, or with the sum zero. A mixture has the latter.
    utility_scale : float, optional
        Standard deviation of the utilities, positive. By default it is learned.

    Returns
    -------
    pm.Model
        With the observed variable ``y``, for `bayesrank.fit` or `pm.sample`.

    Raises
    ------
    ValueError
        If a group does not exist, or arguments exclude each other.

    See Also
    --------
    choice_model, leaderboard_model, dynamic_model, fit, PlackettLuce

    Examples
    --------
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "c"]])
    >>> [rv.name for rv in br.ranking_model(rankings).free_RVs]
    ['utility_scale', 'utility_z']
    >>> [rv.name for rv in br.ranking_model(rankings, components=2, utility_scale=1.0).free_RVs]
    ['share', 'component_utility']
    """
    return _build(rankings, False, False, category, cluster, opinions, components, prior,
                  utility_scale)  # fmt: skip


def choice_model(
    tasks: Rankings,
    *,
    category: str | None = None,
    opinions: bool | None = None,
    components: int | None = None,
    threshold: bool | None = None,
    prior: str = "normal",
    utility_scale: float | None = None,
) -> pm.Model:
    """Build a model of best-worst tasks or choices: the one of `ranking_model`, named for surveys.

    Parameters
    ----------
    tasks : Rankings
        From `read_choices`, `Rankings.from_best_worst` or `Rankings.from_choices`.
    category, components, prior, utility_scale
        As in `ranking_model`.
    opinions : bool, optional
        Whether each respondent has separate utilities. By default, True if at least five
        respondents have several tasks, and respondents times items are at most 50,000.
    threshold : bool, optional
        Whether the item "threshold" stands for a further question. By default, True if
        `read_choices` read such a question.

    Returns
    -------
    pm.Model
        As from `ranking_model`.

    Raises
    ------
    ValueError
        As `ranking_model`.

    See Also
    --------
    ranking_model, fit, read_choices, MaxDiff

    Examples
    --------
    >>> import bayesrank as br
    >>> tasks = br.Rankings.from_orderings([["tea", {"milk", "cola"}], ["milk", "cola"]], rest=())
    >>> [rv.name for rv in br.choice_model(tasks, utility_scale=1.0).free_RVs]
    ['utility']
    """
    threshold = "threshold" in tasks.roles if threshold is None else threshold
    return _build(tasks, True, threshold, category, None, opinions, components, prior,
                  utility_scale)  # fmt: skip


def dynamic_model(
    data: Pairs | Rankings,
    *,
    time: str = "date",
    since: str | None = None,
    coming: pd.DataFrame | None = None,
    order_effect: bool | None = None,
    neutral: str | None = None,
    utility_scale: float | None = None,
) -> DynamicAnalysis:
    """Describe strengths that change over time, for `bayesrank.fit`.

    The strengths follow random walks, as in `bayesrank.fit_dynamic`. The ranks are those at the
    latest time. It is not a PyMC model: `fit` smooths the strengths itself.

    Parameters
    ----------
    data : Pairs or Rankings
    time : str
        The group whose labels are dates or numbers.
    since : str, optional
        Leave out items that were last seen before this date.
    coming : DataFrame, optional
        Future matches (first, second, date and perhaps neutral) or rankings (ranking, date, item)
        to forecast.
    order_effect : bool, optional
        For matches: whether the first item may have an advantage; by default ``data.ordered``.
    neutral : str, optional
        For matches: the group with the label "yes" where the first item has no advantage.
    utility_scale : float, optional
        Standard deviation of the strengths, positive. By default it is learned.

    Returns
    -------
    DynamicAnalysis

    Raises
    ------
    ValueError
        If the group does not exist.

    See Also
    --------
    fit, fit_dynamic, ranking_model, leaderboard_model

    Examples
    --------
    >>> import bayesrank as br
    >>> pairs = br.Pairs.from_frame([{"first": "a", "second": "b", "outcome": "first", "day": 1}],
    ...                          first="first", second="second", outcome="outcome", by=["day"])
    >>> br.dynamic_model(pairs, time="day").accuracy[:41]
    'The posterior of the strengths is approxi'
    """
    if time not in data.groups:
        known = ", ".join(map(repr, data.groups)) or "none"
        raise ValueError(f"`time` is {time!r}, but the groups of the data are {known}.")
    return DynamicAnalysis(
        data, time=time, since=since, coming=coming, order_effect=order_effect, neutral=neutral,
        utility_scale=utility_scale,
    )  # fmt: skip


def analysis_with(kind: str, data: Any, arguments: Any) -> Analysis:
    """Make the analysis of a kind, with recorded arguments."""
    analysis: Analysis = KINDS[kind](data, **arguments)
    return analysis


def analysis_of(model: Any) -> Analysis:
    """Return the analysis that a model belongs to.

    Raises
    ------
    ValueError
        If no function of bayesrank built the model.
    """
    if isinstance(model, Analysis):
        return model
    made = recall(model)
    analysis = analysis_with(made.kind, made.data, made.arguments)
    analysis.model = model
    return analysis


def _build(
    rankings: Rankings,
    tasks: bool,
    threshold: bool,
    category: str | None,
    cluster: str | None,
    opinions: bool | None,
    components: int | None,
    prior: str,
    utility_scale: float | None,
) -> pm.Model:
    """Build a model of rankings or of tasks."""
    about: dict[str, Any] = {"utility_scale": utility_scale, "tasks": tasks, "threshold": threshold}
    groups: dict[str, Any] = {
        "category": find_group(rankings, "category", category),
        "cluster": find_group(rankings, "cluster", cluster),
    }
    analysis: RankingAnalysis
    if components is None:
        analysis = RankingAnalysis(rankings, **groups, opinions=opinions, prior=prior, **about)
    else:
        given = {**groups, "opinions": opinions}
        for name in (name for name, value in given.items() if value is not None):
            raise ValueError(
                f"`components` finds unknown groups of rankers, so leave `{name}` out."
            )
        analysis = MixtureAnalysis(rankings, components=components, **about)
    model: pm.Model = analysis.model
    remember(model, analysis.KIND, rankings, analysis.arguments)
    return model
