r"""The leaderboard: a model of matches with several judges and categories.

It is the model of ``bayesrank matches``. Judge k compares the items i and j in category c, i shown
first. The outcome follows a Davidson model (Bradley-Terry if the data have no ties). More than
three ordered grades, such as A>>B, follow a cumulative logit model. All have

.. math:: \text{lead} = a_k (w_{ci} + u_{gi} - w_{cj} - u_{gj}) + o_k
          + \sum_f \beta_{kf} x_f / s_f

where :math:`w_{ci}` is the utility of an item in a category. A judge has the adherence :math:`a_k`,
and gives the first item the advantage :math:`o_k`. A judge calls equal items a tie with probability
:math:`\nu_k / (2 + \nu_k)`. A model may also have

* *features* x of the match, such as a difference in length. A difference of one root mean square
  :math:`s_f` changes the log odds by :math:`\beta_{kf}`. Utilities are adjusted for it.
* *groups* g of matches, such as prompts or users. An item deviates by :math:`u_{gi}` at a label,
  and ties may be more frequent there. Matches at one label are then not independent.
* *opinions*: the judges are such a group. With adherence only, a judge with a different order
  and little noise would decide the ranks.
* *a target*: the utilities are those of one kind of judge, such as people. Judges of another kind,
  such as machines, see :math:`w_i + b_i`, with a bias :math:`b_i` that they share. Each deviates
  from it, unless it is the only judge of its kind. Each other kind has a separate mean adherence.
* *swapped orders*. Votes of a judge on the same two items i and j for the same prompt, in both
  orders, share a deviation :math:`v` of :math:`w_i - w_j`. So they are not two independent votes.
* *ties by item or strength*. The tie parameter is :math:`\nu_k e^{t_i + t_j}`.
* *grades* y. The log odds of a grade better for the first item than the boundary b are
  :math:`\text{lead} - c_{kb}`. The cutpoints of a judge are symmetric, and their gaps vary by
  judge. If only the winner counts, the grades are wins and ties of Rao and Kupper, with the tie
  parameter ``tie_theta``. It is 1 if the number of grades is even: there are no ties.
* *both bad*, an outcome of its own, if the pairs tell it from a tie. The model is then
  `GroundedRaoKupper` with ties ``tie_theta``. An item is more often good than bad if its utility is
  above the threshold :math:`\tau_k` of the judge. Utilities still sum to zero, because the
  threshold is learned: the level of the items is their distance to it.

========================  ==============  ========================================  ================
variable                  dims            prior                                     in models of
========================  ==============  ========================================  ================
``utility``               item            Normal(0, utility_scale), the sum zero    all
``utility_scale``                         HalfNormal(3), unless it is given         all
``category_utility``      category, item  utility + category_spread × Normal(0, 1)  categories
``category_spread``                       HalfNormal(utility_scale)                 categories
``adherence``             judge           exp(adherence_spread × Normal(0, 1))      judges
``adherence_spread``                      HalfNormal(1/2)                           judges
``order_effect``                          Normal(0, 1/2)                            all
``judge_order_effect``    judge           the mean + order_spread × Normal(0, 1)    judges
``order_spread``                          HalfNormal(1/2)                           judges
``nu``                                    LogNormal(0, 1)                           ties
``judge_nu``              judge           nu × exp(tie_spread × Normal(0, 1))       ties, judges
``tie_spread``                            HalfNormal(1)                             ties, judges
``cutpoint_gap``          gap             HalfNormal(1)                             grades
``cutpoint_margin``                       LogNormal(log 2, 1)                       margins
``cutpoint``              boundary        sums of the gaps, or margins, symmetric   grades
``judge_cutpoint``        judge, …        gaps × exp(cutpoint_spread × N(0, 1))     grades, judges
``cutpoint_spread``                       HalfNormal(1)                             grades, judges
``tie_theta``                             exp(the cutpoint next to the middle)      grades
``tie_gap``                               HalfNormal(1), the log of tie_theta        both bad
``judge_theta``           judge           exp(tie_gap × exp(tie_spread × N(0, 1)))  both bad, judges
``threshold``                             Normal(0, 2)                              both bad
``judge_threshold``       judge           threshold + threshold_spread × N(0, 1)    both bad, judges
``threshold_spread``                      HalfNormal(1)                             both bad, judges
``p_bad``                 item            1 / (1 + exp(utility - threshold))        both bad
``feature_effect``        feature         StudentT(3, 0, 0.3)                       features
``judge_feature_effect``  feature, judge  the mean + feature_spread × Normal(0, 1)  features, judges
``feature_spread``                        HalfNormal(0.2)                           features, judges
``feature_slope``         feature, judge  the effect over the root mean square s    features
``g_deviation``           g_item          g_spread × Normal(0, 1)                   a group g
``g_spread``                              HalfNormal(utility_scale)                 a group g
``judge_deviation``       judge_item      judge_spread × Normal(0, 1)               opinions
``judge_spread``                          HalfNormal(utility_scale)                 opinions
``bias``                  other_kind, …   bias_spread × Normal(0, 1)                a target
``kind_deviation``        kind_item       the bias, and 0 for the target            a target
``bias_spread``                           HalfNormal(utility_scale)                 a target
``other_adherence``       other_kind      Normal(0, 1)                              a target
``other_spread``                          HalfNormal(utility_scale)                 a target
``swap_deviation``        swap            swap_spread × Normal(0, 1)                swapped orders
``swap_spread``                           HalfNormal(utility_scale)                 swapped orders
``g_tie_effect``          g               g_tie_spread × Normal(0, 1)               a group g, ties
``g_tie_spread``                          HalfNormal(1)                             a group g, ties
``item_tie_effect``       item            item_tie_spread × Normal(0, 1)            ties by either
``item_tie_spread``                       HalfNormal(1/2)                           ties by either
``strength_tie_slope``                    Normal(0, 1/2)                            ties by strength
``category_tie_effect``   category, item  item_tie_effect, by utilities there       ties, categories
========================  ==============  ========================================  ================

Opinions may differ as much as the items do, so the spreads of deviations have the prior
HalfNormal(utility_scale). With half this scale, intervals were too narrow if few judges differed
much: three judges can agree by chance.

Effects on ties add to the logarithm of ``nu``; the slope multiplies the mean utility of the two
items. Models of grades or both bad have none. Each judge has a tie parameter, because judges who
call many ties would otherwise seem careless. For the same reason, each judge has cutpoints, or a
threshold.

Deviations over judges, categories and items sum to zero, and so do effects of items on ties.
Deviations of groups do not, because prompts and users are samples. So the geometric mean of the
adherences is one, and a difference of utilities is the log odds with a typical judge. With a
target, it is one over the judges of the target, and a typical judge is one of them. The sum of the
utilities, which the data do not identify, is zero, and so is the sum of the biases of a kind.

With a target, ``judge_deviation`` has the deviations of all judges. Those of the target have the
scale ``judge_spread``, if they have opinions, and the others ``other_spread``. The deviations by
kind, ``kind_deviation``, are the biases, and zero for the target.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.multivariate import ZeroSumNormalRV
from pytensor.tensor import TensorVariable

from bayesrank.analysis.registry import find_group, remember
from bayesrank.analysis.targets import biases, kinds_of, log_adherences, of_kinds
from bayesrank.analysis.targets import opinions as judge_opinions
from bayesrank.data import Pairs
from bayesrank.data.read import BOUNDARY, SWAP, coord_values
from bayesrank.distributions import (
    BradleyTerry,
    Davidson,
    GroundedRaoKupper,
    OrderedPairs,
    cutpoints,
)
from bayesrank.distributions.core.observed import hold_data
from bayesrank.distributions.pairs.ordered import edges_of, symmetric
from bayesrank.priors import deviations, sampled_deviations, utility_prior
from bayesrank.schema import FEATURE, JUDGE, name_of

__all__ = [
    "are_graded",
    "have_opinions",
    "leaderboard_model",
    "may_decide_alone",
    "nuts_settings",
]


MANY_JUDGES = 100  # a low-rank mass matrix slows sampling down from here on
MANY_DEVIATIONS = 100  # with a target, deviations from which on it does so
FEW_LABELS = 20  # the spread of a group with fewer labels is poorly known, and steps diverge
DIFFER_CLEARLY = 100.0  # points vary this many times more than by chance: utilities are well known
TIES_BY = ("item", "strength")
ADHERENCE = 0.5  # scale of the spread of log adherences
GAP = "upper_boundary"  # boundaries on the side of the first item
WIDEST = 500.0  # logarithm of a tie parameter from which all matches tie
MAY_DECIDE = 1 / 20  # with this share of the matches a judge with little noise may outvote all
MOST_OPINIONS = 2000  # parameters of opinions
RESERVED = frozenset(
    {
        "adherence",
        "bias",
        "category",
        "cutpoint",
        "feature",
        "order",
        "other",
        "swap",
        "threshold",
        "tie",
        "utility",
        "y",
    }
)
"""First words of the model's variables; no group of matches may have such a name."""


def leaderboard_model(
    pairs: Pairs,
    *,
    category: str | None = None,
    groups: Sequence[str] = (),
    features: bool = True,
    opinions: bool | None = None,
    contrary: bool = False,
    prior: str = "zero-sum",
    utility_scale: float | None = None,
    order_effect: bool | None = None,
    neutral: str | None = None,
    ties_by: Sequence[str] = (),
    target: str | None = None,
    kind: str | None = None,
    swaps: bool | None = None,
) -> pm.Model:
    """Build the model of a leaderboard: a PyMC model of matches, judges and categories.

    The module `bayesrank.analysis.leaderboard` describes the model and its variables.

    Parameters
    ----------
    pairs : Pairs
        Matches. With several judges, each has an adherence, an order effect and a tie parameter.
        With more than three grades, each has cutpoints instead. If they tell "both bad" from ties,
        it is an outcome, and each judge has a threshold.
    category : str, optional
        The group of the pairs with separate utilities, partially pooled; ignored with one label.
    groups : sequence of str
        Groups of correlated matches, such as prompts, users, days or families of judges. Each item
        deviates at each label. "judge" means ``opinions=True``.
    features : bool
        Whether to adjust for the features of the pairs, if any.
    opinions : bool, optional
        Whether each judge deviates at every item that it judged. By default, True if one of several
        judges has at least a twentieth of the matches, and there are at most 2,000 such deviations.
        By default False with `contrary`.
    contrary : bool
        Whether adherences may be negative: one plus a normal deviation, instead of its exponential.
    prior : {"normal", "zero-sum"}
        Prior of the utilities: independent, or with the sum zero.
    utility_scale : float, optional
        Standard deviation of the utilities, positive, as log odds with a typical judge. By default
        it is learned.
    order_effect : bool, optional
        Whether the first item may have an advantage; by default ``pairs.ordered``. False if the
        order of the items means nothing, as with winner and loser.
    neutral : str, optional
        A group of the pairs with the labels "no" and "yes". In matches labelled "yes", such as
        those on neutral ground, the first item has no advantage.
    ties_by : sequence of {"item", "strength"}
        What ties depend on in addition to judges and `groups`. With "item", the tie rate varies by
        item. With "strength", it varies by item and with the strength of both items. Not with
        more than three grades or "both bad".
    target : str, optional
        The kind of judge whose utilities are sought, such as "people". Votes of judges of other
        kinds, such as machines, are evidence with a bias. Needs votes of both.
    kind : str, optional
        With `target`, the group of the pairs with the kind of each judge; "kind" by default, which
        `read_matches` makes of ``kind=`` or ``machines=``.
    swaps : bool, optional
        Whether votes of a judge on the same pair and prompt in both orders share a deviation. By
        default, True if the pairs have the group "swap", which ``prompt=`` of `read_matches` makes.

    Returns
    -------
    pm.Model
        With the variables of the table in `bayesrank.analysis.leaderboard`, and the observed
        ``y``, whose matches `bayesrank.set_observed` replaces. The dim "category" of the table
        has the name of the group.

    Raises
    ------
    ValueError
        If an option is invalid, a group does not exist, or a feature is always 0. With `target`,
        also if it is not a kind of judge, a judge is of two kinds, or all votes are of one kind.

    See Also
    --------
    target_check, votes_worth, ranking_model, dynamic_model, fit, fit_pairs, Davidson

    Examples
    --------
    >>> import bayesrank as br
    >>> pairs = br.Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 1], [1, 0]], items=["a", "b"])
    >>> [rv.name for rv in br.leaderboard_model(pairs, order_effect=False).free_RVs]
    ['utility_scale', 'utility_z', 'nu']
    """
    category = find_group(pairs, "category", category)
    kinds = None if target is None else kinds_of(pairs, target, kind)
    if kinds is None and kind is not None:
        raise ValueError(
            f"`kind` is {kind!r}, but no `target` says which kind of judge is sought. Give both, "
            "or neither."
        )
    if kinds is not None and kinds.group in groups:
        raise ValueError(
            f"`groups` has {kinds.group!r}, but `target` already lets the items deviate by it. "
            "Leave it out of `groups`."
        )
    if swaps and SWAP not in pairs.groups:
        raise ValueError(
            "`swaps` is True, but the pairs do not say which votes are on the same prompt. Name "
            "the column of prompts with `prompt` when you read the table."
        )
    joins = SWAP in pairs.groups if swaps is None else swaps
    order_effect = pairs.ordered if order_effect is None else order_effect
    arguments = {
        "category": category, "groups": list(groups), "features": features, "opinions": opinions,
        "contrary": contrary, "prior": prior, "utility_scale": utility_scale,
        "order_effect": order_effect, "neutral": neutral, "ties_by": list(ties_by),
        "swaps": swaps, "target": target, "kind": None if kinds is None else kinds.group,
    }  # fmt: skip
    if utility_scale is not None and not 0 < utility_scale < np.inf:
        raise ValueError(f"`utility_scale` is {utility_scale}; it must be positive and finite.")
    if category is not None and len(pairs.group_labels(category)) == 1:
        category = None
    if isinstance(groups, str):
        raise ValueError(f"`groups` is {groups!r}; give a list, [{groups!r}].")
    for group in RESERVED.intersection(groups):
        raise ValueError(
            f"`groups` has {group!r}, which is a name of the model. Rename that column."
        )
    judges, styled = len(pairs.judges) > 1, features and pairs.features is not None
    if JUDGE in groups:
        if opinions is False:
            raise ValueError(
                "`groups` has 'judge', which means opinions=True, but `opinions` is False."
            )
        opinions = True
    _check_ties_by(pairs, ties_by)
    groups = [group for group in groups if group != JUDGE]
    mine = pairs if kinds is None else of_kinds(pairs, kinds)[0]
    by_default = have_opinions(mine) and not contrary
    differ = judges and (by_default if opinions is None else opinions)
    if differ and kinds is None:
        groups.append(JUDGE)

    with pm.Model(coords=pairs.coords) as model:
        utility = utility_prior(
            prior, "utility", sigma=utility_scale, dims="item", centred=_differ_clearly(pairs)
        )
        size = model["utility_scale"] if utility_scale is None else utility_scale
        order = pm.Normal("order_effect", 0, 0.5) if order_effect else None
        graded = are_graded(pairs)
        grounded = pairs.both_bad is not None
        tied = not graded and not grounded and pairs.counts[:, 2].any()
        nu = pm.LogNormal("nu", 0, 1) if tied else None
        if category is not None:
            by_category = deviations(utility, "category", size, (category, "item"))
            utility = pm.Deterministic("category_utility", by_category, dims=(category, "item"))
        parts: dict[str, Any] = {}
        if judges:
            if kinds is None:
                adherence = deviations(float(contrary), "adherence", ADHERENCE, ("judge",))
            else:
                adherence = float(contrary) + log_adherences(kinds, ADHERENCE)
            adherence = adherence if contrary else pt.exp(adherence)
            parts["adherence"] = pm.Deterministic("adherence", adherence, dims="judge")
            if nu is not None:
                log_nu = deviations(pt.log(nu), "tie", 1.0, ("judge",))
                nu = pm.Deterministic("judge_nu", pt.exp(log_nu), dims="judge")
            if order is not None:
                order = deviations(order, "order", 0.5, ("judge",))
                order = pm.Deterministic("judge_order_effect", order, dims="judge")
        if order is not None and neutral is not None:
            labels = [str(label) for label in pairs.group_labels(neutral)]
            if not {"no", "yes"}.issuperset(labels):
                raise ValueError(
                    f"The group {neutral!r} must have the labels 'no' and 'yes'; it has {labels}."
                )
            # data of y, so that these follow the observed matches
            home = pt.as_tensor([float(label == "no") for label in labels])
            judge_order = order[_codes(JUDGE, pairs.judge_idx)] if judges else order
            order = judge_order * home[_codes(neutral, pairs.group_idx(neutral))]
        if styled:
            parts["slope"] = _slope(pairs, judges)
        parts["deviation"] = [_deviation(pairs, group, size) for group in groups]
        if kinds is not None:
            parts["deviation"].append(biases(pairs, kinds, size))
            apart = judge_opinions(pairs, kinds, size, of_target=differ)
            parts["deviation"] += [] if apart is None else [apart]
        if joins:
            parts["deviation"].append(sampled_deviations(SWAP, size, SWAP))
        if graded:
            cut = _cutpoints(pairs, judges)
            OrderedPairs("y", utility, cutpoints=cut, order_effect=order, observed=pairs, **parts)
        elif grounded:
            parts |= _both_bad(pairs, judges)
            GroundedRaoKupper("y", utility, order_effect=order, observed=pairs, **parts)
        elif nu is None:
            BradleyTerry("y", utility, order_effect=order, observed=pairs, **parts)
        else:
            ties = [_tie_effect(group) for group in groups if group != JUDGE]
            if ties_by:
                ties.append(_item_tie_effect(ties_by, model["utility"], utility, category))
            parts["tie_effect"] = ties
            Davidson("y", utility, nu=nu, order_effect=order, observed=pairs, **parts)
    remember(model, "matches", pairs, arguments)
    return model


def are_graded(pairs: Pairs) -> bool:
    """Tell whether outcomes have more than three grades, so that they say more than who won.

    >>> are_graded(Pairs.from_matrix([[0, 3], [1, 0]]))
    False
    """
    return pairs.grades is not None and len(pairs.grades) > 3


def may_decide_alone(pairs: Pairs) -> bool:
    """Tell whether one of several judges has a twentieth of the matches or more.

    With adherence only, such a judge may decide the ranks.

    >>> may_decide_alone(Pairs.from_matrix([[0, 3], [1, 0]]))
    False
    """
    n = np.bincount(pairs.judge_idx, pairs.matches, len(pairs.judges))
    return len(pairs.judges) > 1 and bool(n.max() >= MAY_DECIDE * n.sum())


def have_opinions(pairs: Pairs) -> bool:
    """Tell whether judges have opinions by default: a judge may dominate, and the number is small.

    There are at most 2,000 opinions, and `may_decide_alone` is true.

    >>> have_opinions(Pairs.from_matrix([[0, 3], [1, 0]]))
    False
    """
    return may_decide_alone(pairs) and len(pairs.seen(JUDGE).labels) <= MOST_OPINIONS


def nuts_settings(model: pm.Model) -> dict[str, Any]:
    """Choose settings of nutpie that suit a leaderboard, for ``pm.sample(nuts=...)``.

    Parameters
    ----------
    model : pm.Model
        From `leaderboard_model`.

    Returns
    -------
    dict
        A low-rank mass matrix with few judges, whose parameters correlate, or independent
        utilities, unless there are many deviations of groups. Short steps if a spread is learned
        from few judges, categories or labels.

    Examples
    --------
    >>> pairs = Pairs.from_matrix([[0, 3], [1, 0]])
    >>> nuts_settings(leaderboard_model(pairs))
    {}
    >>> nuts_settings(leaderboard_model(pairs, prior="normal"))
    {'adaptation': 'low_rank'}
    """
    dims = model.named_vars_to_dims
    n_judges = len(model.coords["judge"]) if "adherence" in dims else 0
    few = 0 < n_judges <= MANY_JUDGES
    drawn = model["utility" if "utility" in {rv.name for rv in model.free_RVs} else "utility_z"]
    stiff = not isinstance(drawn.owner.op, ZeroSumNormalRV) and not n_judges
    many = any(name.endswith("_deviation") for name in dims)
    if "bias" in dims:  # the biases and the utilities of people correlate
        apart = [dim for name in dims if name.endswith("_deviation") for dim in dims[name]]
        many = sum(len(model.coords[dim]) for dim in apart) > MANY_DEVIATIONS
    low_rank = {"adaptation": "low_rank"} if (few or stiff) and not many else {}
    short = {"target_accept": 0.95} if few or "category_utility" in dims else {}
    groups = {name.removesuffix("_deviation") for name in dims if name.endswith("_deviation")}
    groups = {group for group in groups if f"{group}_spread" in model.named_vars}
    if any(len(model.coords[group]) <= FEW_LABELS for group in groups - {JUDGE}):
        short = {"target_accept": 0.99}
    return low_rank | short


def _differ_clearly(pairs: Pairs) -> bool:
    """Tell whether points of the items differ far more than by chance, in many matches."""
    first, second, _ = (pairs.counts * pairs.weight[:, None]).T
    n = first + second
    points = np.bincount(pairs.first, first - second, pairs.n_items)
    points -= np.bincount(pairs.second, first - second, pairs.n_items)
    matches = pairs.sum_by_item(n)
    return bool(np.mean(points**2 / np.maximum(matches, 1)) > DIFFER_CLEARLY)


def _slope(pairs: Pairs, judges: bool) -> TensorVariable:
    """Add effects of features, in units in which their root mean square is one."""
    assert pairs.features is not None  # for the type checker
    assert pairs.feature_names is not None
    n = pairs.weight * pairs.counts.sum(axis=1)
    unit = np.sqrt(n @ pairs.features**2 / max(n.sum(), 1.0))
    if not unit.all():
        name = str(pairs.feature_names[int(unit.argmin())])
        raise ValueError(
            f"The feature {name!r} is 0 in all matches, so that it has no effect. Leave it out."
        )
    unit = pm.Data("feature_unit", unit, dims=FEATURE)
    # heavy tails shrink small effects and leave large ones alone
    effect = pm.StudentT("feature_effect", nu=3, mu=0, sigma=0.3, dims=FEATURE)
    if not judges:
        return pm.Deterministic("feature_slope", effect / unit, dims=FEATURE)
    effects = deviations(effect[:, None], "feature", 0.2, (FEATURE, "judge"), over=1)
    effects = pm.Deterministic("judge_feature_effect", effects, dims=(FEATURE, "judge"))
    return pm.Deterministic("feature_slope", effects / unit[:, None], dims=(FEATURE, "judge"))


def _deviation(pairs: Pairs, group: str, scale: Any) -> TensorVariable:
    """Add deviations of the items at each label of a group."""
    dim = f"{group}_item"
    pm.modelcontext(None).add_coord(dim, coord_values(pairs.seen(group).labels))
    return sampled_deviations(group, scale, dim, f"{dim}_z")


def _check_ties_by(pairs: Pairs, ties_by: Sequence[str]) -> None:
    """Raise for names that ties cannot depend on."""
    if isinstance(ties_by, str):
        raise ValueError(f"`ties_by` is {ties_by!r}; give a list, [{ties_by!r}].")
    for name in ties_by:
        if name not in TIES_BY:
            raise ValueError(
                f"`ties_by` has {name!r}; it takes 'item' and 'strength'. Ties depend on several "
                "judges in any case, and on groups=[...]."
            )
        if name in pairs.groups:
            raise ValueError(
                f"`ties_by` has {name!r}, which is also a group of the pairs. Rename that column."
            )
    if ties_by and are_graded(pairs):
        raise ValueError(
            f"`ties_by` is {[*ties_by]}, but the outcomes have {len(pairs.boundaries) + 1} grades. "
            "The tie rate follows from the cutpoints between the grades. Leave `ties_by` out, or "
            "read the outcomes as who won, without `grades`."
        )
    if ties_by and pairs.both_bad is not None:
        raise ValueError(
            f"`ties_by` is {[*ties_by]}, but the votes may say that both items are bad. Ties then "
            "depend on the items and the threshold. Leave `ties_by` out, or read these votes as "
            "ties, without `both_bad`."
        )
    if ties_by and not pairs.counts[:, 2].any():
        raise ValueError(
            f"`ties_by` is {[*ties_by]}, but there are no ties in these matches. Leave it out."
        )


def _cutpoints(pairs: Pairs, judges: bool) -> TensorVariable:
    """Add cutpoints between the grades, of each judge if there are several."""
    cut, model = cutpoints("cutpoint", pairs), pm.modelcontext(None)
    n = len(pairs.boundaries)
    pm.Deterministic("tie_theta", pt.exp(cut[n // 2]) if n % 2 == 0 else pt.ones(()))
    if not judges:
        return cut
    if pairs.edges is not None:  # judges differ in the scale of their scores
        margin = deviations(pt.log(model["cutpoint_margin"]), "cutpoint", 1.0, (JUDGE,))
        upper = pt.exp(margin)[:, None] * edges_of(pairs)
    else:
        model.add_coord(GAP, coord_values(pairs.boundaries)[(n + 1) // 2 :])
        gap = pt.log(model["cutpoint_gap"])[:, None]
        # a judge who never calls a tie may still use all other grades, so every gap has its own
        upper = pt.cumsum(pt.exp(deviations(gap, "cutpoint", 1.0, (GAP, JUDGE), over=1)), axis=0).T
    return pm.Deterministic("judge_cutpoint", symmetric(upper, n), dims=(JUDGE, BOUNDARY))


def _both_bad(pairs: Pairs, judges: bool) -> dict[str, Any]:
    """Add ties and thresholds of votes that may say that both items are bad."""
    threshold, model = pm.Normal("threshold", 0, 2), pm.modelcontext(None)
    pm.Deterministic("p_bad", pt.sigmoid(threshold - model["utility"]), dims="item")
    tied = bool(pairs.with_both_bad[:, 2].any())
    gap = pm.HalfNormal("tie_gap", 1.0) if tied else pt.zeros(())
    theta = pm.Deterministic("tie_theta", _theta(gap))
    if judges:
        bar = deviations(threshold, "threshold", 1.0, (JUDGE,))
        threshold = pm.Deterministic("judge_threshold", bar, dims=JUDGE)
    if judges and tied:
        log_gap = deviations(pt.log(gap), "tie", 1.0, (JUDGE,))
        theta = pm.Deterministic("judge_theta", _theta(pt.exp(log_gap)), dims=JUDGE)
    return {"theta": theta, "threshold": threshold}


def _theta(gap: TensorVariable) -> TensorVariable:
    """Return the tie parameter of a gap; draws of the prior may be so large that it overflows."""
    return pt.exp(pt.minimum(gap, WIDEST))


def _tie_effect(group: str) -> TensorVariable:
    """Add effects on ties of each label of a group."""
    spread = pm.HalfNormal(f"{group}_tie_spread", 1.0)
    z = pm.Normal(f"{group}_tie_z", 0, 1, dims=group)
    return pm.Deterministic(f"{group}_tie_effect", spread * z, dims=group)


def _item_tie_effect(
    ties_by: Sequence[str], mean: TensorVariable, utility: TensorVariable, category: str | None
) -> TensorVariable:
    """Add effects on ties of each item."""
    # also with strength: otherwise tie rates of single items would distort utilities by the slope
    effect = deviations(0.0, "item_tie", 0.5, ("item",))
    by_category = None
    if "strength" in ties_by:
        half = pm.Normal("strength_tie_slope", 0, 0.5) / 2
        # centred, because the data do not identify the mean of independent utilities
        by_category = effect + half * (utility - pt.mean(utility, axis=-1, keepdims=True))
        effect = effect + half * (mean - pt.mean(mean))
    effect = pm.Deterministic("item_tie_effect", effect, dims="item")
    if category is None or by_category is None:
        return effect
    return pm.Deterministic("category_tie_effect", by_category, dims=(category, "item"))


def _codes(part: str, codes: NDArray[np.integer]) -> TensorVariable:
    """Register data of every match under the name that ``y`` uses."""
    return hold_data(name_of("y", part), codes, ["pair"])
