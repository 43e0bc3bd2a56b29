r"""The leaderboard: which item is best by matches, of several judges and in several categories.

It is the model of ``bayesrank matches``. A match of the items i and j, i shown first, by judge k in
category c has the outcome of a Davidson model (Bradley-Terry, if the data have no ties) with

.. math:: \text{lead} = a_k (w_{ci} - w_{cj}) + o_k

and tie parameter :math:`\nu_k`, where :math:`w_{ci}` is the utility of an item in a category,
:math:`a_k` the adherence of a judge, :math:`o_k` what being shown first gains with that judge, and
:math:`\nu_k / (2 + \nu_k)` how often the judge calls equal items a tie.

======================  ==============  ==========================================  ============
variable                dims            prior                                       in models of
======================  ==============  ==========================================  ============
``utility``             item            Normal(0, utility_scale), the sum zero      all
``utility_scale``                       HalfNormal(3), unless it is given           all
``category_utility``    category, item  utility + category_spread × Normal(0, 1)    categories
``category_spread``                     HalfNormal(utility_scale / 2)               categories
``adherence``           judge           exp(adherence_spread × Normal(0, 1))        judges
``adherence_spread``                    HalfNormal(1/2)                             judges
``order_effect``                        Normal(0, 1/2)                              all
``judge_order_effect``  judge           order_effect + order_spread × Normal(0, 1)  judges
``order_spread``                        HalfNormal(1/2)                             judges
``nu``                                  LogNormal(0, 1)                             ties
``judge_nu``            judge           nu × exp(tie_spread × Normal(0, 1))         ties, judges
``tie_spread``                          HalfNormal(1)                               ties, judges
======================  ==============  ==========================================  ============

The normal deviations sum to zero: over the judges, and over the categories and over the items. So
the geometric mean of the adherences is one, that of the judges' tie parameters is ``nu``,
``order_effect`` is the mean over the judges, and ``utility`` that over the categories, each of
which counts the same, by construction.

Judges need a tie parameter each: with one for all, those who call ties readily pass for careless.
Four judges of adherence 1, with tie parameters from 0.05 to 3, were given adherences from 1.37 to
0.58 (standard deviation 0.06); with a parameter each it is 1.02 to 0.99.

What fixes the scales: the data know the products of adherences and differences of utilities only.
With the geometric mean of the adherences at one, a difference of utilities is the log odds with a
typical judge, and ``utility_scale`` says how large such log odds are; it is learned unless given.
The data say nothing of the sum of the utilities, which is therefore zero; in ranks, and in
differences, the prior is the same as one of independent utilities.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.multivariate import ZeroSumNormalRV
from pytensor.tensor import TensorVariable

from bayesrank.data import Pairs
from bayesrank.distributions import BradleyTerry, Davidson
from bayesrank.priors import deviations, utility_prior
from bayesrank.schema import JUDGE, name_of

__all__ = ["leaderboard_model", "nuts_settings"]


# From where judges are many. 472 judges with three matches each: two chains take 71 s with a
# diagonal mass matrix, 266 s with a low-rank one. Four judges with 2,000 each: 240 and 640
# effective draws of the slowest parameter; some ten of 2,000 transitions diverge with the default
# target of 0.8, none with 0.95. With 300 judges none diverges with 0.8, in half as many steps.
MANY_JUDGES = 100


def leaderboard_model(
    pairs: Pairs,
    *,
    category: str | None = None,
    prior: str = "zero-sum",
    utility_scale: float | None = None,
    order_effect: bool = True,
    neutral: str | None = None,
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

    Returns
    -------
    pm.Model
        With the variables of the table above and the observed ``y``, whose matches
        `bayesrank.set_observed` replaces. The dim called category above has the name of the group.

    Raises
    ------
    ValueError
        If there is no such group or prior, the scale is not positive, or `neutral` has other
        labels.

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
    judges = len(pairs.judges) > 1

    with pm.Model(coords=pairs.coords) as model:
        utility = utility_prior(prior, "utility", sigma=utility_scale, dims="item")
        order = pm.Normal("order_effect", 0, 0.5) if order_effect else None
        nu = pm.LogNormal("nu", 0, 1) if pairs.counts[:, 2].any() else None
        if category is not None:
            spread = model["utility_scale"] if utility_scale is None else utility_scale
            by_category = deviations(utility, "category", spread / 2, (category, "item"))
            utility = pm.Deterministic("category_utility", by_category, dims=(category, "item"))
        own: dict[str, Any] = {}
        if judges:
            log_adherence = deviations(0.0, "adherence", 0.5, ("judge",))
            own["adherence"] = pm.Deterministic("adherence", pt.exp(log_adherence), dims="judge")
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
        if nu is None:
            BradleyTerry("y", utility, order_effect=order, observed=pairs, **own)
        else:
            Davidson("y", utility, nu=nu, order_effect=order, observed=pairs, **own)
    return model


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
        independent utilities leaves their sum to itself. Short steps where a spread is to be
        learned of a few: judges, or categories.

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
    low_rank = {"adaptation": "low_rank"} if few or stiff else {}
    short = {"target_accept": 0.95} if few or "category_utility" in dims else {}
    return low_rank | short


def _codes(part: str, codes: NDArray[np.integer]) -> TensorVariable:
    """Register data of every match under the name that ``y`` would give them."""
    return pm.Data(name_of("y", part), codes, dims="pair")
