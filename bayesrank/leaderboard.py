r"""The leaderboard: which item is best by matches, of several judges and in several categories.

It is the model of ``bayesrank matches``. A match of the items i and j, i shown first, by judge k in
category c has the outcome of a Davidson model (Bradley-Terry, if the data have no ties) with

.. math:: \text{lead} = a_k (w_{ci} + u_{gi} - w_{cj} - u_{gj}) + o_k
          + \sum_f \beta_{kf} x_f / s_f

and tie parameter :math:`\nu_k`, where :math:`w_{ci}` is the utility of an item in a category,
:math:`a_k` the adherence of a judge, :math:`o_k` what being shown first gains with that judge, and
:math:`\nu_k / (2 + \nu_k)` how often the judge calls equal items a tie. Beside the items there may
be

* *features* x of the match, by which the first is ahead: a longer answer, more markdown. Then the
  utilities are those of answers that are alike in them, style held equal, and :math:`\beta_{kf}`
  is what a difference of the usual size :math:`s_f`, the root mean square, adds to the log odds;
* *groups* g of matches that go together, such as prompts or users: an item may be better or worse
  at one prompt, by :math:`u_{gi}`, whoever judges it, and a prompt may see ties more often. Without
  this each of five votes on two answers counts as if it were on two new ones, and intervals are
  too narrow;
* *ties* that depend on the items, :math:`\nu_k e^{t_i + t_j}`: one that hedges may tie more often
  with whoever it meets, or the strong more often among themselves than the weak;
* *opinions* of judges, who are such a group themselves: :math:`u_{ki}` is what judge k thinks of an
  item beyond what all judges share. Adherence alone takes for the best judge who is the surest, and
  a judge who is sure of an order of its own would decide alone.

========================  ==============  ========================================  ================
variable                  dims            prior                                     in models of
========================  ==============  ========================================  ================
``utility``               item            Normal(0, utility_scale), the sum zero    all
``utility_scale``                         HalfNormal(3), unless it is given         all
``category_utility``      category, item  utility + category_spread × Normal(0, 1)  categories
``category_spread``                       HalfNormal(utility_scale / 2)             categories
``adherence``             judge           exp(adherence_spread × Normal(0, 1))      judges
``adherence_spread``                      HalfNormal(1/2)                           judges
``order_effect``                          Normal(0, 1/2)                            all
``judge_order_effect``    judge           the mean + order_spread × Normal(0, 1)    judges
``order_spread``                          HalfNormal(1/2)                           judges
``nu``                                    LogNormal(0, 1)                           ties
``judge_nu``              judge           nu × exp(tie_spread × Normal(0, 1))       ties, judges
``tie_spread``                            HalfNormal(1)                             ties, judges
``feature_effect``        feature         StudentT(3, 0, 0.3)                       features
``judge_feature_effect``  feature, judge  the mean + feature_spread × Normal(0, 1)  features, judges
``feature_spread``                        HalfNormal(0.2)                           features, judges
``feature_slope``         feature, judge  the effect over the root mean square s    features
``g_deviation``           g_item          g_spread × Normal(0, 1)                   a group g
``g_spread``                              HalfNormal(utility_scale / 2)             a group g
``judge_deviation``       judge_item      judge_spread × Normal(0, 1)               opinions
``judge_spread``                          HalfNormal(utility_scale / 2)             opinions
``g_tie_effect``          g               g_tie_spread × Normal(0, 1)               a group g, ties
``g_tie_spread``                          HalfNormal(1)                             a group g, ties
``item_tie_effect``       item            item_tie_spread × Normal(0, 1)            ties by either
``item_tie_spread``                       HalfNormal(1/2)                           ties by either
``strength_tie_slope``                    Normal(0, 1/2)                            ties by strength
``category_tie_effect``   category, item  item_tie_effect, by utilities there       ties, categories
========================  ==============  ========================================  ================

The effects on ties are added to the logarithm of ``nu``, those of both items. The slope is by the
mean utility of the two: ``item_tie_effect`` has half of it times the utility in it as well. Beside
it items have effects of their own. Without these a made-up board of eight systems, some of which
tied more than others, had its seventh system first: judges' opinions said who wins, and the
utilities who ties.

The normal deviations sum to zero, over the judges, and over the categories and over the items, as
do the effects of items on ties; those of groups, opinions among them, do not, as prompts and users
are a sample of many. So the geometric mean of the adherences is one, that of the judges' tie
parameters is ``nu``, ``order_effect`` is the mean over the judges, and ``utility`` that over the
categories, each of which counts the same, by construction.

Judges need a tie parameter each: with one for all, those who call ties readily pass for careless.
Four judges of adherence 1, with tie parameters from 0.05 to 3, were given adherences from 1.37 to
0.58 (standard deviation 0.06); with a parameter each it is 1.02 to 0.99.

Judges have opinions where one has a twentieth of the matches or more. A judge of an order of its
own, of which it is sure, and of less than that was outvoted by the others on all made-up boards of
1,800 matches that were tried, by adherence alone; with a twentieth it took over one of two boards
of utilities from -1/4 to 1/4, with a fifteenth one of two from -1/2 to 1/2, and with a sixth both
from -1 to 1. What opinions are worth there, and cost where all judges are honest, on boards of six
systems (correlation of the utilities with the truth; mean standard deviation of their posterior;
share of them in their intervals of probability 0.9):

=======================================  =================  =================
judges, each with 100 to 150 matches     without opinions   with them
=======================================  =================  =================
three, and one sure of another order     0.08, 0.15, 0.08   0.94, 0.58, 1.00
three honest ones                        0.99, 0.17, 1.00   0.99, 0.18, 1.00
three of adherence 0.4, and one of 4     0.98, 0.15, 1.00   0.98, 0.19, 1.00
five of adherences from 0.3 to 3         1.00, 0.16, 1.00   1.00, 0.18, 1.00
five who differ by 0.5 in each system    0.98, 0.16, 0.83   0.97, 0.22, 0.94
=======================================  =================  =================

So it is with few votes: of 19 boards of three honest judges with 15 matches each, 0.89 of the
utilities were in their intervals without opinions and 0.90 with them (0.01 apart, standard error
0.02), at the same distance from the truth.

Adherences that are bounded (between 1/2 and 2) leave the correlation of the first row at 0.50, a
prior of them five times as narrow at 0.35, and both have the utilities of the third row in their
intervals less often (0.75 and 0.92).

What fixes the scales: the data know the products of adherences and differences of utilities only.
With the geometric mean of the adherences at one, a difference of utilities is the log odds with a
typical judge, and ``utility_scale`` says how large such log odds are; it is learned unless given.
The data say nothing of the sum of the utilities, which is therefore zero; in ranks, and in
differences, the prior is the same as one of independent utilities.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.multivariate import ZeroSumNormalRV
from pytensor.tensor import TensorVariable

from bayesrank.data import Pairs
from bayesrank.data.read import coord_values
from bayesrank.distributions import BradleyTerry, Davidson
from bayesrank.priors import deviations, utility_prior
from bayesrank.schema import FEATURE, JUDGE, name_of

__all__ = ["have_opinions", "leaderboard_model", "may_decide_alone", "nuts_settings"]


# From where judges are many. 472 judges with three matches each: two chains take 71 s with a
# diagonal mass matrix, 266 s with a low-rank one. Four judges with 2,000 each: 240 and 640
# effective draws of the slowest parameter; some ten of 2,000 transitions diverge with the default
# target of 0.8, none with 0.95. With 300 judges none diverges with 0.8, in half as many steps.
MANY_JUDGES = 100

# Labels up to which a group is of few, whose spread is hardly known: three families of judges had
# 7 to 271 of 4,000 steps diverging with a target of 0.8 (eight runs), 1 to 14 with 0.95, 0 to 2
# with 0.98 or 0.99, in twice the time of 0.8; beside six judges 1 to 4 with 0.95, 0 to 1 with 0.99.
FEW_LABELS = 20

TIES_BY = ("item", "strength")  # what ties depend on, if asked for

MAY_DECIDE = 1 / 20  # share of the matches from which a judge who is sure may outvote all others
MOST_OPINIONS = 2000  # what judges think of items: a parameter each

OWN = frozenset({"adherence", "category", "feature", "order", "tie", "utility", "y"})
"""What variables of the model are called after, so that no group of matches can be."""


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
    order_effect: bool = True,
    neutral: str | None = None,
    ties_by: Sequence[str] = (),
) -> pm.Model:
    """Build the model of a leaderboard.

    Parameters
    ----------
    pairs : Pairs
        Matches. With ties among them the model is `Davidson`, without any `BradleyTerry`. With
        several judges each has an adherence, an order effect and a tie parameter.
    category : str, optional
        The group of the pairs that has utilities of its own, partially pooled: with one label
        only, nothing is added. By default none: other groups keep pairs apart for LOO alone.
    groups : sequence of str
        Groups of the pairs whose matches go together: prompts, users, days, families of judges. At
        each label an item deviates from its utility, and ties may be more or less frequent.
        "judge" among them is ``opinions=True``.
    features : bool
        Whether the features that the pairs have, if any, are held equal.
    opinions : bool, optional
        Whether each judge has an opinion of every item that it judged, so that none who is sure
        decides alone. By default as `have_opinions` says: where one could, unless judges and items
        are very many; not with `contrary`, as who has opinions need not be contrary to differ.
    contrary : bool
        Whether a judge may prefer what all others think worse: adherences are then one plus a
        normal deviation, and may be negative. By default they are positive, the deviation being
        that of the logarithm.
    prior : {"normal", "zero-sum"}
        Of the utilities: independent, or with the sum zero.
    utility_scale : float, optional
        Standard deviation of the utilities, positive, as log odds with a typical judge. By default
        it is learned.
    order_effect : bool
        Whether being the first may be an advantage, or with which judges. False where the order
        of the items means nothing: winner and loser, or the two in alphabetical order.
    neutral : str, optional
        The group of the pairs, with the labels "no" and "yes", that says on which of them being
        the first is no advantage, as on neutral ground.
    ties_by : sequence of {"item", "strength"}
        What ties depend on, beside judges and `groups`: "item", some systems tie more often than
        others with whoever they meet; "strength", the same, and ties are more or less frequent
        among the strong.

    Returns
    -------
    pm.Model
        With the variables of the table above and the observed ``y``, whose matches
        `bayesrank.set_observed` replaces. The dim called category above has the name of the group.

    Raises
    ------
    ValueError
        If there is no such group or prior, the scale is not positive, `neutral` has other labels,
        a feature never differs, opinions are both asked for and not, or ties are to depend on
        something else, or there are none.

    Examples
    --------
    >>> pairs = Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 1], [1, 0]], items=["a", "b"])
    >>> [rv.name for rv in leaderboard_model(pairs, order_effect=False).free_RVs]
    ['utility_scale', 'utility_z', 'nu']
    """
    if utility_scale is not None and not 0 < utility_scale < np.inf:
        raise ValueError(f"`utility_scale` is {utility_scale}; it must be positive and finite.")
    if category is not None and len(pairs.group_labels(category)) == 1:
        category = None
    if isinstance(groups, str):
        raise ValueError(f"`groups` is {groups!r}; give a list, [{groups!r}].")
    for group in OWN.intersection(groups):
        raise ValueError(
            f"`groups` has {group!r}, which the model calls something else. Rename that column."
        )
    judges, styled = len(pairs.judges) > 1, features and pairs.features is not None
    if JUDGE in groups:
        if opinions is False:
            raise ValueError("`groups` has 'judge', which asks for opinions; `opinions` is False.")
        opinions = True
    _check_ties_by(pairs, ties_by)
    groups = [group for group in groups if group != JUDGE]
    by_default = have_opinions(pairs) and not contrary
    if judges and (by_default if opinions is None else opinions):
        groups.append(JUDGE)

    with pm.Model(coords=pairs.coords) as model:
        utility = utility_prior(prior, "utility", sigma=utility_scale, dims="item")
        size = model["utility_scale"] if utility_scale is None else utility_scale
        order = pm.Normal("order_effect", 0, 0.5) if order_effect else None
        nu = pm.LogNormal("nu", 0, 1) if pairs.counts[:, 2].any() else None
        if category is not None:
            by_category = deviations(utility, "category", size / 2, (category, "item"))
            utility = pm.Deterministic("category_utility", by_category, dims=(category, "item"))
        own: dict[str, Any] = {}
        if judges:
            adherence = deviations(float(contrary), "adherence", 0.5, ("judge",))
            adherence = adherence if contrary else pt.exp(adherence)
            own["adherence"] = pm.Deterministic("adherence", adherence, dims="judge")
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
            # the data of y, so that these follow the matches that it observes
            home = pt.as_tensor([float(label == "no") for label in labels])
            of_judge = order[_codes(JUDGE, pairs.judge_idx)] if judges else order
            order = of_judge * home[_codes(neutral, pairs.group_idx(neutral))]
        if styled:
            own["slope"] = _slope(pairs, judges)
        own["deviation"] = [_deviation(pairs, group, size / 2) for group in groups]
        if nu is None:
            BradleyTerry("y", utility, order_effect=order, observed=pairs, **own)
        else:
            ties = [_tie_effect(group) for group in groups if group != JUDGE]
            if ties_by:
                ties.append(_item_tie_effect(ties_by, model["utility"], utility, category))
            own["tie_effect"] = ties
            Davidson("y", utility, nu=nu, order_effect=order, observed=pairs, **own)
    return model


def may_decide_alone(pairs: Pairs) -> bool:
    """Say whether a judge has matches enough to decide alone, by adherence, if it is sure.

    Parameters
    ----------
    pairs : Pairs
        Matches.

    Returns
    -------
    bool
        Whether there are several judges, and one has a twentieth of the matches or more.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": ["a", "b"], "y": ["b", "a"], "won": ["first"] * 2})
    >>> columns = {"first": "x", "second": "y", "outcome": "won"}
    >>> may_decide_alone(Pairs.from_frame(table, **columns))
    False
    >>> may_decide_alone(Pairs.from_frame(table.assign(who=["ann", "ben"]), **columns, judge="who"))
    True
    """
    n = np.bincount(pairs.judge_idx, pairs.counts.sum(axis=1), len(pairs.judges))
    return len(pairs.judges) > 1 and bool(n.max() >= MAY_DECIDE * n.sum())


def have_opinions(pairs: Pairs) -> bool:
    """Say whether judges have opinions by default: where one `may_decide_alone`, if affordable.

    Parameters
    ----------
    pairs : Pairs
        Matches.

    Returns
    -------
    bool
        False as well if the judges have judged more than 2,000 items, of which each judge counts
        its own.

    Examples
    --------
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
        Low-rank mass matrix with a few judges, whose parameters go together, and where a prior of
        independent utilities leaves their sum to itself; not beside deviations of groups or
        opinions, which are many: with a diagonal one two boards of 300 parameters took a fiftieth
        and a ninth of the time, three small ones two thirds. Short steps where a spread is to be
        learned of a few: judges, or categories; the shortest of the few labels of a group, such as
        families.

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
    low_rank = {"adaptation": "low_rank"} if (few or stiff) and not many else {}
    short = {"target_accept": 0.95} if few or "category_utility" in dims else {}
    groups = {name.removesuffix("_deviation") for name in dims if name.endswith("_deviation")}
    if any(len(model.coords[group]) <= FEW_LABELS for group in groups - {JUDGE}):
        short = {"target_accept": 0.99}
    return low_rank | short


def _slope(pairs: Pairs, judges: bool) -> TensorVariable:
    """Add what features are worth, in units in which their root mean square is one."""
    assert pairs.features is not None  # for the type checker: they are asked for
    assert pairs.feature_names is not None
    n = pairs.weight * pairs.counts.sum(axis=1)
    unit = np.sqrt(n @ pairs.features**2 / max(n.sum(), 1.0))
    if not unit.all():
        name = str(pairs.feature_names[int(unit.argmin())])
        raise ValueError(
            f"The feature {name!r} is 0 in all matches: nothing can be said of it. Leave it out."
        )
    unit = pm.Data("feature_unit", unit, dims=FEATURE)
    # heavy tails: what does little is drawn to nothing, and what does much is left as it is
    effect = pm.StudentT("feature_effect", nu=3, mu=0, sigma=0.3, dims=FEATURE)
    if not judges:
        return pm.Deterministic("feature_slope", effect / unit, dims=FEATURE)
    each = deviations(effect[:, None], "feature", 0.2, (FEATURE, "judge"), over=1)
    each = pm.Deterministic("judge_feature_effect", each, dims=(FEATURE, "judge"))
    return pm.Deterministic("feature_slope", each / unit[:, None], dims=(FEATURE, "judge"))


def _deviation(pairs: Pairs, group: str, scale: Any) -> TensorVariable:
    """Add by how much the items are better or worse at each label of a group."""
    dim = f"{group}_item"
    pm.modelcontext(None).add_coord(dim, coord_values(pairs.seen(group).labels))
    spread = pm.HalfNormal(f"{group}_spread", scale)
    z = pm.Normal(f"{dim}_z", 0, 1, dims=dim)
    return pm.Deterministic(f"{group}_deviation", spread * z, dims=dim)


def _check_ties_by(pairs: Pairs, ties_by: Sequence[str]) -> None:
    """Raise for what ties cannot depend on."""
    if isinstance(ties_by, str):
        raise ValueError(f"`ties_by` is {ties_by!r}; give a list, [{ties_by!r}].")
    for what in ties_by:
        if what in TIES_BY and what in pairs.groups:
            raise ValueError(
                f"`ties_by` has {what!r}, which is a group of the pairs, too. Rename that column: "
                f"groups=[...] then has ties depend on it, and ties_by=[{what!r}] on the items."
            )
        if what not in TIES_BY:
            known = f"`ties_by` has {what!r}; ties depend on any of {', '.join(map(repr, TIES_BY))}"
            if what == JUDGE:
                raise ValueError(
                    f"{known}. They depend on the judges as soon as there are several."
                )
            if what in pairs.groups:
                raise ValueError(f"{known}. groups=[{what!r}] has them depend on the {what}, too.")
            raise ValueError(f"{known}, and on groups=[...].")
    if ties_by and not pairs.counts[:, 2].any():
        raise ValueError(
            f"`ties_by` is {[*ties_by]}, but there are no ties in these matches. Leave it out."
        )


def _tie_effect(group: str) -> TensorVariable:
    """Add by how much ties are more or less frequent at each label of a group."""
    spread = pm.HalfNormal(f"{group}_tie_spread", 1.0)
    z = pm.Normal(f"{group}_tie_z", 0, 1, dims=group)
    return pm.Deterministic(f"{group}_tie_effect", spread * z, dims=group)


def _item_tie_effect(
    ties_by: Sequence[str], mean: TensorVariable, utility: TensorVariable, category: str | None
) -> TensorVariable:
    """Add by how much ties of each item are more or less frequent."""
    # also beside strength: what is of single items would bend the utilities to its slope otherwise
    effect = deviations(0.0, "item_tie", 0.5, ("item",))
    by_category = None
    if "strength" in ties_by:
        half = pm.Normal("strength_tie_slope", 0, 0.5) / 2
        # from the mean of the items, of which a prior of independent utilities leaves the data out
        by_category = effect + half * (utility - pt.mean(utility, axis=-1, keepdims=True))
        effect = effect + half * (mean - pt.mean(mean))
    effect = pm.Deterministic("item_tie_effect", effect, dims="item")
    if category is None or by_category is None:
        return effect
    return pm.Deterministic("category_tie_effect", by_category, dims=(category, "item"))


def _codes(part: str, codes: NDArray[np.integer]) -> TensorVariable:
    """Register data of every match under the name that ``y`` would give them."""
    return pm.Data(name_of("y", part), codes, dims="pair")
