r"""Pair outcomes as PyMC distributions: matches, comparisons and judgements, with ties or without.

The value holds counts of outcomes, the last axis being the outcomes (first wins, second wins and,
in models that have them, ties); `logp` is one number per pair, the multinomial of its counts given
how many there are.

=============== ============================================ ==========================
`BradleyTerry`  :math:`P(\text{first}) = \sigma(d)`          no ties
`Thurstone`     :math:`P(\text{first}) = \Phi(d)`            no ties
`Davidson`      Bradley-Terry if one wins                    a third outcome
`RaoKupper`     a threshold on the difference                small differences
=============== ============================================ ==========================

Two forms share each class. With arrays, `utility` has the first and the second item on its last
axis. With ``observed=`` a `Pairs`, the class registers the data, names the dims, and takes one
utility per item.

>>> import pymc as pm
>>> round(float(pm.logp(BradleyTerry.dist([np.log(3.0), 0.0]), [1, 0]).exp().eval()), 6)
0.75
"""

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorVariable

from bayesrank.data.pairs import Pairs
from bayesrank.distributions.observed import refuse_single_precision
from bayesrank.distributions.observed_pairs import observe_pairs
from bayesrank.distributions.pair_outcomes import (
    ANY,
    BradleyTerryRV,
    DavidsonRV,
    RaoKupperRV,
    ThurstoneRV,
    as_double,
    check_outcomes,
    check_tie_parameter,
    observed_options,
)

__all__ = ["BradleyTerry", "Davidson", "RaoKupper", "Thurstone"]


class _PairOutcomes(Discrete):
    """Counts of outcomes; `rv_type` says of which model."""

    def __new__(
        cls, name: str, utility: Any, *, observed: Any = None, **kwargs: Any
    ) -> TensorVariable:
        refuse_single_precision()
        if isinstance(observed, Pairs):
            options = observed_options(cls.rv_type, cls.__name__, kwargs)
            return observe_pairs(cls.rv_type, name, utility, observed, **options)
        if observed is not None:
            check_outcomes(cls.rv_type, observed)
            if kwargs.get("total") is None:
                known = observed if isinstance(observed, Variable) else np.asarray(observed)
                kwargs["total"] = known.sum(axis=-1)
        return super().__new__(cls, name, utility, observed=observed, **kwargs)

    @classmethod
    def _dist(
        cls, utility: Any, order_effect: Any, tie: Any, total: Any, **kwargs: Any
    ) -> TensorVariable:
        refuse_single_precision()
        check_tie_parameter(cls.rv_type, tie)
        utility = as_double(utility)
        if utility.ndim == 0 or utility.type.shape[-1] not in (None, 2):
            raise ValueError(
                f"`utility` has shape {utility.type.shape}; its last axis must be the first and "
                "the second item of each pair, (..., 2). One utility per item goes with "
                "observed=Pairs."
            )
        lead = utility[..., 0] - utility[..., 1]
        if order_effect is not None:
            lead = lead + as_double(order_effect)
        total = pt.cast(pt.as_tensor_variable(ANY if total is None else total), "int64")
        return super().dist([lead, as_double(tie), total], **kwargs)


class BradleyTerry(_PairOutcomes):
    r"""Bradley-Terry log-likelihood of matches that one of two items wins.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{\phi_1 + \phi_2} = \sigma(d), \qquad
              d = w_1 - w_2 + \delta, \qquad \phi = e^w

    where w are the utilities of the items and :math:`\delta` the order effect. The outcomes of a
    pair that met n times are binomial, and the number of orders they can come in is included:
    counts have the posterior of their matches one by one, and every pair one log-likelihood.

    ========  ==================================================================
    Support   counts >= 0 of (first wins, second wins) with the given total
    Axes      the last one is outcomes; the ones before it are pairs
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Log worth of the first and of the second item, or of every item. Only differences matter.
        A default prior: ``pm.Normal("utility", 0, sd, dims="item")`` or `pm.ZeroSumNormal`, with
        ``sd = pm.HalfNormal("sd", 1)``. One row per pair is how features and judges enter.
    order_effect : tensor_like of float, (...), or with `Pairs` () or (n_pairs,), optional
        What the utility of the first item gains by being the first: home, white, shown on the
        left. A default prior: ``pm.Normal("order_effect", 0, 0.5)``. Without it there is none.
    total : tensor_like of int, (...), optional
        Matches of each pair, for draws. Default: those of the value, and draws of one match.
        Observed data bring their own.
    observed : Pairs or array_like of int, (..., 2), optional
        Counts. A `Pairs` registers its data as ``{name}_counts``, ``{name}_first``,
        ``{name}_second`` and ``{name}_weight``, its judges and groups as ``{name}_judge`` and so
        on, and names the dims (pair, result), or what `dims` says.

    Returns
    -------
    TensorVariable of int, (..., 2)
        The counts; `logp` and the pointwise log-likelihood have one number per pair, times its
        evidence weight.

    Raises
    ------
    ValueError
        If there are ties, which the model does not know, shapes do not fit, or counts are
        negative or not whole.
    TypeError
        On unknown arguments.

    References
    ----------
    Bradley & Terry, Rank analysis of incomplete block designs I, Biometrika 39, 1952.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> pairs = br.Pairs.from_matrix([[0, 3, 2], [1, 0, 1], [0, 1, 0]], items=["a", "b", "c"])
    >>> with pm.Model(coords=pairs.coords) as model:
    ...     utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
    ...     y = br.BradleyTerry("y", utility, observed=pairs)
    >>> model.named_vars_to_dims["y"]
    ('pair', 'result')
    """

    rv_type = BradleyTerryRV
    rv_op = BradleyTerryRV.rv_op

    @classmethod
    def dist(
        cls, utility: Any, *, order_effect: Any = None, total: Any = None, **kwargs: Any
    ) -> TensorVariable:
        return cls._dist(utility, order_effect, 0.0, total, **kwargs)


class Thurstone(_PairOutcomes):
    r"""Thurstone's log-likelihood of matches that one of two items wins (probit).

    .. math:: P(\text{first wins}) = \Phi(d), \qquad d = w_1 - w_2 + \delta

    The first item wins where :math:`d` plus standard normal noise is positive. Noise of variance
    one on each *item* (Thurstone's case V with unit variances) is the same model with utilities
    divided by :math:`\sqrt 2`. One unit is about 1.7 of those of
    `BradleyTerry`.

    ========  ==================================================================
    Support   counts >= 0 of (first wins, second wins) with the given total
    Axes      the last one is outcomes; the ones before it are pairs
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        In standard deviations of the noise on a difference; only differences matter. A default
        prior: ``pm.Normal("utility", 0, sd, dims="item")`` with ``sd = pm.HalfNormal("sd", 0.6)``.
    order_effect, total, observed
        As in `BradleyTerry`; a default prior is ``pm.Normal("order_effect", 0, 0.3)``.

    Returns
    -------
    TensorVariable of int, (..., 2)
        The counts; one log-probability per pair.

    Raises
    ------
    ValueError, TypeError
        As `BradleyTerry`.

    References
    ----------
    Thurstone, A law of comparative judgment, Psychological Review 34, 1927.

    Examples
    --------
    >>> import pymc as pm
    >>> round(float(pm.logp(Thurstone.dist([1.96, 0.0]), [1, 0]).exp().eval()), 3)
    0.975
    """

    rv_type = ThurstoneRV
    rv_op = ThurstoneRV.rv_op

    @classmethod
    def dist(
        cls, utility: Any, *, order_effect: Any = None, total: Any = None, **kwargs: Any
    ) -> TensorVariable:
        return cls._dist(utility, order_effect, 0.0, total, **kwargs)


class Davidson(_PairOutcomes):
    r"""Davidson's log-likelihood of matches that one of two items wins or that they tie.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{Z}, \quad
              P(\text{tie}) = \frac{\nu \sqrt{\phi_1 \phi_2}}{Z}, \qquad
              Z = \phi_1 + \phi_2 + \nu \sqrt{\phi_1 \phi_2}

    with worths :math:`\phi_1 = e^{w_1 + \delta}` and :math:`\phi_2 = e^{w_2}`. If the items do not
    tie it is Bradley-Terry. A tie is one outcome, *judged equal*; it is not half a win of each.

    ========  ==================================================================
    Support   counts >= 0 of (first wins, second wins, ties) with the given total
    Axes      the last one is outcomes; the ones before it are pairs
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Log worths, as in `BradleyTerry`.
    nu : tensor_like of float, >= 0, (...), or with `Pairs` () or (n_pairs,)
        Prevalence of ties: equal items tie with probability :math:`\nu / (2 + \nu)`, and the others
        less often. 0 is Bradley-Terry. A default prior: ``pm.LogNormal("nu", 0, 1)``, under which
        equal items tie with probability 1/3 at the median, 0.07 to 0.78 in 95 of 100 cases.
    order_effect : tensor_like of float, (...), or with `Pairs` () or (n_pairs,), optional
        As in `BradleyTerry`. Davidson & Beaver (1977) multiply the worth of the second item by
        :math:`\gamma = e^{-\delta}` and have no effect in the term of ties: the same model, their
        prevalence being :math:`\nu\sqrt\gamma`.
    total, observed
        As in `BradleyTerry`; counts have three columns.

    Returns
    -------
    TensorVariable of int, (..., 3)
        The counts; one log-probability per pair.

    Raises
    ------
    ValueError
        If `nu` is negative or not finite, and as `BradleyTerry`.
    TypeError
        Without `nu`, and on unknown arguments.

    References
    ----------
    Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison
    experiments, JASA 65, 1970. Davidson & Beaver, On extending the Bradley-Terry model to
    incorporate within-pair order effects, Biometrics 33, 1977.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> pairs = br.Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 2], [2, 0]], items=["a", "b"])
    >>> with pm.Model(coords=pairs.coords) as model:
    ...     utility = pm.ZeroSumNormal("utility", 1.0, dims="item")
    ...     nu = pm.LogNormal("nu", 0, 1)
    ...     y = br.Davidson("y", utility, nu=nu, observed=pairs)
    >>> list(model.coords["result"])
    ['first', 'second', 'tie']
    """

    rv_type = DavidsonRV
    rv_op = DavidsonRV.rv_op

    @classmethod
    def dist(
        cls, utility: Any, *, nu: Any, order_effect: Any = None, total: Any = None, **kwargs: Any
    ) -> TensorVariable:
        return cls._dist(utility, order_effect, nu, total, **kwargs)


class RaoKupper(_PairOutcomes):
    r"""Rao and Kupper's log-likelihood of matches that one of two items wins or that they tie.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{\phi_1 + \theta \phi_2}, \qquad
              P(\text{tie}) = \frac{(\theta^2 - 1)\, \phi_1 \phi_2}
                                   {(\phi_1 + \theta \phi_2)(\theta \phi_1 + \phi_2)}

    with worths :math:`\phi_1 = e^{w_1 + \delta}` and :math:`\phi_2 = e^{w_2}`. A tie is a
    difference, with logistic noise, of less than :math:`\log\theta`: the judge does not see it.

    ========  ==================================================================
    Support   counts >= 0 of (first wins, second wins, ties) with the given total
    Axes      the last one is outcomes; the ones before it are pairs
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Log worths, as in `BradleyTerry`.
    theta : tensor_like of float, >= 1, (...), or with `Pairs` () or (n_pairs,)
        Threshold: equal items tie with probability :math:`(\theta - 1)/(\theta + 1)`. 1 is
        Bradley-Terry. A default prior: ``pm.math.exp(pm.HalfNormal("log_theta", 1))``, under
        which equal items tie with probability 0.32 at the median, below 0.75 in 95 of 100 cases.
    order_effect, total, observed
        As in `BradleyTerry`; counts have three columns.

    Returns
    -------
    TensorVariable of int, (..., 3)
        The counts; one log-probability per pair.

    Raises
    ------
    ValueError
        If `theta` is below 1 or not finite, and as `BradleyTerry`.
    TypeError
        Without `theta`, and on unknown arguments.

    References
    ----------
    Rao & Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry
    model, JASA 62, 1967.

    Examples
    --------
    >>> import pymc as pm
    >>> outcomes = RaoKupper.dist([0.0, 0.0], theta=3.0)
    >>> pm.logp(outcomes, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).exp().eval().round(6).tolist()
    [0.25, 0.25, 0.5]
    """

    rv_type = RaoKupperRV
    rv_op = RaoKupperRV.rv_op

    @classmethod
    def dist(
        cls, utility: Any, *, theta: Any, order_effect: Any = None, total: Any = None, **kwargs: Any
    ) -> TensorVariable:
        return cls._dist(utility, order_effect, theta, total, **kwargs)
