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
axis. With ``observed=`` a `Pairs`, the class registers the data and names the dims. Utilities are
by item and any of the groups of the pairs, such as a category. Adherence, order effect and the
parameter of ties are by any of the groups, such as the judge. The log-likelihood is then evaluated
in one pass over the cells that such a model tells apart.

>>> import pymc as pm
>>> round(float(pm.logp(BradleyTerry.dist([np.log(3.0), 0.0]), [1, 0]).exp().eval()), 6)
0.75
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.graph.basic import Constant, Variable
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

from bayesrank.data import Pairs
from bayesrank.data.derive import log_multinomial, pair_totals
from bayesrank.data.read import OUTCOMES as RESULTS
from bayesrank.data.read import coord_values, label_repr, quoted
from bayesrank.data.read import counted as counted_noun
from bayesrank.distributions.by_name import Axes, Named, by_axes, has_dims
from bayesrank.distributions.observed import (
    DistOptions,
    ObservedRV,
    Options,
    Part,
    Record,
    as_double,
    check_length,
    given_numbers,
    in_order,
    is_observed,
    known_value,
    logprob_of,
    observe,
    observed_counts,
    observed_options,
    refuse_labelled,
    refuse_other_data,
    refuse_single_precision,
    same_labels,
    signature,
    support_point_of,
)
from bayesrank.distributions.outcomes import labelled
from bayesrank.likelihoods.ops import every_row, with_sum
from bayesrank.likelihoods.pairs import (
    DavidsonTotal,
    LogProbabilities,
    PairTotal,
    RaoKupperTotal,
    ThurstoneTotal,
    bradley_terry_log_probabilities,
    davidson_log_probabilities,
    outcome_counts_logp,
    rao_kupper_log_probabilities,
    thurstone_log_probabilities,
    times_odds,
)
from bayesrank.schema import (
    COUNTS,
    EFFECT,
    EFFECT_SIZE,
    FEATURE,
    FIRST,
    ITEM,
    JUDGE,
    MATCHES,
    OUTCOME,
    OUTCOMES,
    SECOND,
    WEIGHT,
    counted,
    groups_of,
    name_of,
)

__all__ = ["BradleyTerry", "Davidson", "RaoKupper", "Thurstone"]

ANY = -1  # as a total: whatever the value sums to, and draws of one match

# The lead of the first item, the one number beyond it that models of ties have (0 in the others),
# and the number of matches
PARAMETERS = {"lead": "", "tie": "", "total": ""}


# ---------------------------------------------------------------------------------------------
# Draws and log-probabilities
# ---------------------------------------------------------------------------------------------


class _PairRV(SymbolicRandomVariable):
    """Draw whether matches are ties, then who wins the others."""

    extended_signature = signature(PARAMETERS, "result")

    n_outcomes: ClassVar[int] = 2
    tie_parameter: ClassVar[str] = ""  # its name, and the least it may be
    tie_least: ClassVar[float] = 0.0
    total_op: ClassVar[type[PairTotal]]  # of observed pairs

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        lead, tie, total = params[:3]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        shape = None if rv_size_is_none(size) else tuple(size)
        first, second, *tied = cls.log_probabilities(lead, tie)

        next_rng, decided, ties = rng, _at_random(total), []
        for logp in tied:
            # 1 at most, which rounding may exceed
            next_rng, draws = pt.random.binomial(
                decided, pt.minimum(pt.exp(logp), 1.0), size=shape, rng=rng, return_next_rng=True
            )
            decided, ties = decided - draws, [draws]
        next_rng, won = pt.random.binomial(
            decided, pt.sigmoid(first - second), size=shape, rng=next_rng, return_next_rng=True
        )
        counts = pt.stack([won, decided - won, *ties], axis=-1)
        return cls(inputs=[rng, size, *params], outputs=[next_rng, counts])(rng, size, *params)

    @classmethod
    def outcome(cls, *parameters: Any) -> str:
        """Say what the log-probability is one of."""
        return f"pair outcomes{' with ties' if cls.n_outcomes == 3 else ''} given the pairs"

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        """Log-probabilities of the outcomes of one match."""
        raise NotImplementedError


class BradleyTerryRV(_PairRV):
    """Outcomes under Bradley-Terry."""

    name = "bradley_terry"
    _print_name = ("BradleyTerry", "\\operatorname{BradleyTerry}")
    total_op = DavidsonTotal  # without ties

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return bradley_terry_log_probabilities(lead)


class ThurstoneRV(_PairRV):
    """Outcomes under Thurstone's model."""

    name = "thurstone"
    _print_name = ("Thurstone", "\\operatorname{Thurstone}")
    total_op = ThurstoneTotal

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return thurstone_log_probabilities(lead)


class DavidsonRV(_PairRV):
    """Outcomes under Davidson's model."""

    name = "davidson"
    _print_name = ("Davidson", "\\operatorname{Davidson}")
    total_op = DavidsonTotal
    n_outcomes = 3
    tie_parameter = "nu"

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return davidson_log_probabilities(lead, tie)


class RaoKupperRV(_PairRV):
    """Outcomes under Rao and Kupper's model."""

    name = "rao_kupper"
    _print_name = ("RaoKupper", "\\operatorname{RaoKupper}")
    total_op = RaoKupperTotal
    n_outcomes = 3
    tie_parameter = "theta"
    tie_least = 1.0

    @classmethod
    def log_probabilities(cls, lead: Any, tie: Any) -> LogProbabilities:
        return rao_kupper_log_probabilities(lead, tie)


@logprob_of.register(_PairRV)
def _pair_logp(
    op: _PairRV, values: Any, rng: Any, size: Any, lead: Any, tie: Any, total: Any, **kwargs: Any
) -> TensorVariable:
    return _counts_logp(op, values[0], lead, tie, total)


@support_point_of.register(_PairRV)
def _pair_support_point(
    op: _PairRV, rv: TensorVariable, rng: Any, size: Any, lead: Any, tie: Any, total: Any, *_: Any
) -> TensorVariable:
    return _all_first(rv, total)


def _all_first(rv: TensorVariable, total: Any) -> TensorVariable:
    """All matches won by the first item."""
    return pt.set_subtensor(pt.zeros_like(rv)[..., 0], _at_random(total))


def _counts_logp(op: Any, value: Any, lead: Any, tie: Any, total: Any) -> TensorVariable:
    """One log-probability per pair, the number of orders included."""
    counts = pt.switch(value < 0, 0, value)
    ways = pt.gammaln(pt.sum(counts, axis=-1) + 1.0) - pt.sum(pt.gammaln(counts + 1.0), axis=-1)
    logp = ways + outcome_counts_logp(counts, op.log_probabilities(lead, tie))
    possible = pt.all(value >= 0, axis=-1) & (
        pt.eq(total, ANY) | pt.eq(pt.sum(value, axis=-1), total)
    )
    return _check_parameters_of(op, pt.switch(possible, logp, -np.inf), [lead], tie)


def _at_random(total: TensorVariable) -> TensorVariable:
    """Count the matches of a draw: one where nothing was said."""
    return pt.switch(pt.eq(total, ANY), 1, total)


# ---------------------------------------------------------------------------------------------
# Distributions
# ---------------------------------------------------------------------------------------------


class PairOptions(Options, total=False):
    """What all distributions of matches take."""

    adherence: Any
    order_effect: Any
    slope: Any
    deviation: Any
    tie_effect: Any
    total: Any


class _PairOutcomes(Discrete):
    """Counts of outcomes; `rv_type` says of which model."""

    def __new__(
        cls, name: str, utility: Any, *, observed: Any = None, **kwargs: Unpack[PairOptions]
    ) -> TensorVariable:
        return cls._variable(name, utility, observed, {**kwargs})

    @classmethod
    def _variable(
        cls, name: str, utility: Any, observed: Any, options: dict[str, Any]
    ) -> TensorVariable:
        refuse_single_precision()
        if isinstance(observed, Pairs):
            return _observe(cls.rv_type, cls.__name__, name, utility, observed, options)
        options = {option: value for option, value in options.items() if value is not None}
        for option in ("slope", "deviation", "tie_effect"):
            if option in options:
                raise TypeError(
                    f"{cls.__name__} takes {option}= with observed=Pairs, of whose features and "
                    "groups it is. With arrays, add it to order_effect or to the utilities, and "
                    "multiply the parameter of ties."
                )
        if observed is not None:
            refuse_other_data(cls.__name__, observed, Pairs, "Pairs.from_frame")
            _check_outcomes(cls.rv_type, observed)
            if "total" not in options:
                known = observed if isinstance(observed, Variable) else np.asarray(observed)
                options["total"] = known.sum(axis=-1)
        rv = super().__new__(cls, name, utility, observed=observed, **options)
        return rv if observed is None else labelled(name, rv)

    @classmethod
    def _dist(
        cls, utility: Any, adherence: Any, order_effect: Any, tie: Any, total: Any, **kwargs: Any
    ) -> TensorVariable:
        refuse_single_precision()
        given, parameter = tie, cls.rv_type.tie_parameter
        utility, tie = as_double(utility, "`utility`"), as_double(tie, f"`{parameter}`")
        _check_tie_parameter(cls.rv_type, given, tie)
        if utility.ndim == 0 or utility.type.shape[-1] not in (None, 2):
            raise ValueError(
                f"`utility` has shape {utility.type.shape}; its last axis must be the first and "
                "the second item of each pair, (..., 2). One utility per item goes with "
                "observed=Pairs."
            )
        lead = utility[..., 0] - utility[..., 1]
        if adherence is not None:
            lead = as_double(adherence, "`adherence`") * lead
        if order_effect is not None:
            lead = lead + as_double(order_effect, "`order_effect`")
        refuse_labelled("`total`", total)
        total = pt.cast(pt.as_tensor_variable(ANY if total is None else total), "int64")
        return super().dist([lead, tie, total], **kwargs)


class BradleyTerry(_PairOutcomes):
    r"""Bradley-Terry log-likelihood of matches that one of two items wins.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{\phi_1 + \phi_2} = \sigma(d), \qquad
              d = a (w_1 - w_2) + \delta, \qquad \phi = e^w

    where w are the utilities of the items, :math:`\delta` the order effect, and a the adherence,
    which is 1 in the middle term and where it is not given. The outcomes of a
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
        ``sd = pm.HalfNormal("sd", 1)``. With `Pairs`, a variable of the model may also have the
        dims of any of their groups, in any order, such as ``("category", "judge", "item")``. One
        row per pair is how features enter.
    adherence : tensor_like of float, (...), or with `Pairs` () or (n_pairs,), optional
        How closely the outcomes follow the utilities. With `Pairs`, a variable of the model may
        have the dims of any of their groups, in any order, such as ``"judge"``. Default 1.
    order_effect : tensor_like of float, as `adherence`, optional
        What the utility of the first item gains by being the first: home, white, shown on the
        left. A default prior: ``pm.Normal("order_effect", 0, 0.5)``. Without it there is none.
    slope : tensor_like of float, (n_features,), optional
        With `Pairs` that have features: what the lead gains by one unit of each,
        :math:`d = a (w_1 - w_2) + \delta + \sum_f \beta_f x_f`. A variable of the model may also
        have the dims of any of the groups, such as ``("judge", "feature")``.
    deviation : variable or sequence of variables, optional
        With `Pairs`: what the utility of an item gains under a label of a group, such as at one
        prompt. The dim of the variable is called ``"prompt_item"`` for a group ``"prompt"``, and
        has the labels of ``pairs.seen("prompt")``. Its spread, if learned, says how much votes of
        one prompt go together.
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
        cls,
        utility: Any,
        *,
        adherence: Any = None,
        order_effect: Any = None,
        total: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

        Parameters
        ----------
        utility : tensor_like of float, (..., 2)
            Of the first and of the second item.
        adherence, order_effect, total
            As of `BradleyTerry`.
        shape, size, rng
            As in PyMC.

        Returns
        -------
        TensorVariable of int, (..., 2)
            Counts: first wins, second wins.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.BradleyTerry.dist([1.0, 0.0], total=1)
        >>> round(float(pm.logp(y, [1, 0]).exp().eval()), 3)
        0.731
        """
        return cls._dist(utility, adherence, order_effect, 0.0, total, **kwargs)


class Thurstone(_PairOutcomes):
    r"""Thurstone's log-likelihood of matches that one of two items wins (probit).

    .. math:: P(\text{first wins}) = \Phi(d), \qquad d = a (w_1 - w_2) + \delta

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
    adherence, order_effect, slope, deviation, total, observed
        As in `BradleyTerry`; a default prior of the order effect is
        ``pm.Normal("order_effect", 0, 0.3)``.

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
        cls,
        utility: Any,
        *,
        adherence: Any = None,
        order_effect: Any = None,
        total: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

        Parameters
        ----------
        utility : tensor_like of float, (..., 2)
            Of the first and of the second item.
        adherence, order_effect, total
            As of `Thurstone`.
        shape, size, rng
            As in PyMC.

        Returns
        -------
        TensorVariable of int, (..., 2)
            Counts: first wins, second wins.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.Thurstone.dist([1.0, 0.0], total=1)
        >>> round(float(pm.logp(y, [1, 0]).exp().eval()), 3)
        0.841
        """
        return cls._dist(utility, adherence, order_effect, 0.0, total, **kwargs)


class Davidson(_PairOutcomes):
    r"""Davidson's log-likelihood of matches that one of two items wins or that they tie.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{Z}, \quad
              P(\text{tie}) = \frac{\nu \sqrt{\phi_1 \phi_2}}{Z}, \qquad
              Z = \phi_1 + \phi_2 + \nu \sqrt{\phi_1 \phi_2}

    with worths :math:`\phi_1 = e^{a w_1 + \delta}` and :math:`\phi_2 = e^{a w_2}`. If the items
    do not tie it is Bradley-Terry. A tie is one outcome, *judged equal*; it is not half a win of
    each.

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
    nu : tensor_like of float, >= 0, as `adherence`
        Prevalence of ties: equal items tie with probability :math:`\nu / (2 + \nu)`, and the others
        less often. 0 is Bradley-Terry. A default prior: ``pm.LogNormal("nu", 0, 1)``, under which
        equal items tie with probability 1/3 at the median, 0.07 to 0.78 in 95 of 100 cases.
    adherence, slope, deviation : optional
        As in `BradleyTerry`.
    tie_effect : variable or sequence of variables, optional
        With `Pairs`: what ties depend on beside `nu`, which is :math:`\nu e^s` with s the sum of
        these. Each is a variable of the model with the dims of any of the groups and ``"item"``,
        such as ``"prompt"``. With ``"item"``, the effects of both items of a pair count. So
        ``pm.Deterministic("by_strength", c / 2 * utility, dims="item")`` makes ties depend on the
        mean utility of the two, with the slope c.
    order_effect : tensor_like of float, as `adherence`, optional
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

    def __new__(
        cls,
        name: str,
        utility: Any,
        *,
        nu: Any = None,
        observed: Any = None,
        **kwargs: Unpack[PairOptions],
    ) -> TensorVariable:
        return cls._variable(name, utility, observed, {"nu": nu, **kwargs})

    @classmethod
    def dist(
        cls,
        utility: Any,
        *,
        nu: Any,
        adherence: Any = None,
        order_effect: Any = None,
        total: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

        Parameters
        ----------
        utility : tensor_like of float, (..., 2)
            Of the first and of the second item.
        nu, adherence, order_effect, total
            As of `Davidson`.
        shape, size, rng
            As in PyMC.

        Returns
        -------
        TensorVariable of int, (..., 3)
            Counts: first wins, second wins, ties.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.Davidson.dist([0.0, 0.0], nu=1.0, total=1)
        >>> round(float(pm.logp(y, [0, 0, 1]).exp().eval()), 3)
        0.333
        """
        return cls._dist(utility, adherence, order_effect, nu, total, **kwargs)


class RaoKupper(_PairOutcomes):
    r"""Rao and Kupper's log-likelihood of matches that one of two items wins or that they tie.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{\phi_1 + \theta \phi_2}, \qquad
              P(\text{tie}) = \frac{(\theta^2 - 1)\, \phi_1 \phi_2}
                                   {(\phi_1 + \theta \phi_2)(\theta \phi_1 + \phi_2)}

    with worths :math:`\phi_1 = e^{a w_1 + \delta}` and :math:`\phi_2 = e^{a w_2}`. A tie is a
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
    theta : tensor_like of float, >= 1, as `adherence`
        Threshold: equal items tie with probability :math:`(\theta - 1)/(\theta + 1)`. 1 is
        Bradley-Terry. A default prior: ``pm.math.exp(pm.HalfNormal("log_theta", 1))``, under
        which equal items tie with probability 0.32 at the median, below 0.75 in 95 of 100 cases.
    tie_effect : variable or sequence of variables, optional
        As in `Davidson`: the threshold is :math:`1 + (\theta - 1) e^s`, so that equal items tie
        with odds :math:`e^s` times as high.
    adherence, order_effect, slope, deviation, total, observed
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

    def __new__(
        cls,
        name: str,
        utility: Any,
        *,
        theta: Any = None,
        observed: Any = None,
        **kwargs: Unpack[PairOptions],
    ) -> TensorVariable:
        return cls._variable(name, utility, observed, {"theta": theta, **kwargs})

    @classmethod
    def dist(
        cls,
        utility: Any,
        *,
        theta: Any,
        adherence: Any = None,
        order_effect: Any = None,
        total: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

        Parameters
        ----------
        utility : tensor_like of float, (..., 2)
            Of the first and of the second item.
        theta, adherence, order_effect, total
            As of `RaoKupper`.
        shape, size, rng
            As in PyMC.

        Returns
        -------
        TensorVariable of int, (..., 3)
            Counts: first wins, second wins, ties.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.RaoKupper.dist([0.0, 0.0], theta=3.0, total=1)
        >>> round(float(pm.logp(y, [0, 0, 1]).exp().eval()), 3)
        0.5
        """
        return cls._dist(utility, adherence, order_effect, theta, total, **kwargs)


# ---------------------------------------------------------------------------------------------
# Observed Pairs
# ---------------------------------------------------------------------------------------------

PAIR = "pair"
TERM = "pair_term"  # of a lead: an effect, and its size
SIDE = "side of the pair"  # its first and its second item; no group has such a name

# axes that a parameter has, the first ones with those of any groups, and what that means
READINGS: dict[str, dict[tuple[str, ...], str]] = {
    "utility": {(ITEM,): "one per item", (PAIR, SIDE): "two per pair"},
    "slope": {(FEATURE,): "one per feature"},
    "tie_effect": {(): "one for all", (ITEM,): "one per item"},
}
OWN: dict[tuple[str, ...], str] = {(): "one for all", (PAIR,): "one per pair"}  # of all others

# what follows from the data, and is kept beside them: `PairTotals`
DERIVED = {
    "log_multinomial": "",
    "cell_first": "cell",  # positions in the utilities
    "cell_second": "cell",
    "cell_group": "cell",
    "cell_counts": "three,cell",
    "cell_which": "term,cell",  # positions in the effects
    "cell_size": "term,cell",
    "cell_log_multinomial": "",
}
TAKEN = (
    FIRST, SECOND, WEIGHT, COUNTS, EFFECT, EFFECT_SIZE, OUTCOME, OUTCOMES, "result", TERM, *DERIVED,
)  # fmt: skip


class Layout(NamedTuple):
    """Axes of the parameters of observed pairs, by their names; groups are sorted."""

    utility: tuple[str, ...] = ()  # without the items or sides
    own: tuple[str, ...] = ()  # of adherence, order effect and ties, except those that have no axes
    slope: tuple[str, ...] | None = None  # without the features
    deviations: tuple[str, ...] = ()  # the group of each
    ties: tuple[tuple[str, ...], ...] = ()  # of each effect on ties, the items last
    ordered: bool = False  # whether it matters which item is the first
    groups: tuple[str, ...] = ()  # of any parameter

    @property
    def coded(self) -> tuple[str, ...]:
        """Groups whose codes say which utility and which adherence a pair has."""
        return tuple(sorted({*self.utility, *self.own} - {PAIR}))

    @property
    def n_terms(self) -> tuple[int, int]:
        """Count the terms of a pair that the adherence multiplies, and then those of ties."""
        return 2 * len(self.deviations), sum(1 + (ITEM in axes) for axes in self.ties)


class _ObservedPairRV(ObservedRV, _PairRV):
    """Counts of outcomes, with what was observed as parameters.

    LOO wants the log-probability of each pair; a sampler wants their sum, which is evaluated over
    the cells that the likelihood tells apart: the distinct pairs of items, whoever judged them,
    where nothing but the items has parameters.
    """

    rows_apart = True
    data_types = (Pairs,)
    noun = "pairs"
    axes = ("pair", "result")
    example = ("match", "end")
    value = "counts"
    derives_weights = True
    parameters: ClassVar[Mapping[str, str]] = {
        **PARAMETERS,
        "first": "",
        "second": "",
        "weight": "",
        "counts": "result",
        "effect": "term",
        "effect_size": "term",
        # of the sum: all utilities, and the other parameters of each group or of all
        "utilities": "utility",
        "adherences": "adherence",
        "order_effects": "order_effect",
        "ties": "tie",
        "effects": "slope",
        "lengths": "axis",  # of the coded groups, and the number of items
        **DERIVED,
    }
    extended_signature = signature(parameters, "result")
    layout: ClassVar[Layout] = Layout()

    @classmethod
    def record(cls, name: str, data: Pairs, p: SimpleNamespace) -> Record:
        _check_ties(cls.n_outcomes, name, data)
        parts = {
            FIRST: Part(data.first, ("pair",)),
            SECOND: Part(data.second, ("pair",)),
            WEIGHT: Part(data.weight, ("pair",)),
            COUNTS: Part(_counts_of(name, data, cls.n_outcomes), cls.axes),
        }
        for group in _group_names(name, data):
            parts[group] = Part(data.group_idx(group), ("pair",))
            parts[counted(group, MATCHES)] = Part(_matches_of(data, group), (group,))
        parts[counted(ITEM, MATCHES)] = Part(_item_matches(data), (ITEM,))
        terms = _terms(name, data, cls.layout)
        parts[EFFECT] = Part(terms.which, (PAIR, TERM))
        parts[EFFECT_SIZE] = Part(terms.size, (PAIR, TERM))
        known = data.first, data.second, data.counts[:, : cls.n_outcomes], data.weight
        codes = [data.group_idx(group) for group in cls.layout.coded]
        derived = cls.derived(p, *known, terms.which, terms.size, *codes)
        outcome = cls.outcome()
        if (data.weight != 1).any():
            outcome = "nothing: evidence weights make a pseudo-likelihood"
        labels = data.coords | {"result": RESULTS[: cls.n_outcomes], TERM: terms.labels}
        return Record(labels, parts, derived, outcome)

    @classmethod
    def on_axes(cls, model: pm.Model, name: str, data: Pairs, p: SimpleNamespace) -> Pairs:
        dims = _dims_of_axes(model, name)
        return in_order(data, {axis: model.coords.get(dim) for axis, dim in dims.items()})

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Pairs, p: SimpleNamespace) -> None:
        _check_ties(cls.n_outcomes, name, data)
        _check_groups(model, name, data)
        _check_axes(model, name, data, cls.layout.groups)
        n = data.n_pairs
        if PAIR in cls.layout.own:
            each = {"adherences": p.adherences, "order effects": p.order_effects}
            for what, x in (each | {"parameters of ties": p.ties}).items():
                if x.type.shape[0] != 1:  # one for all
                    check_length(name, what, x, n, "pairs", "rows")
        check_length(name, "utilities", p.lead, n, "pairs", "rows")
        _check_terms(model, name, data, cls.layout)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.counts) or not cls.is_current(p):
            return p.weight * _counts_logp(cls, value, p.lead, p.tie, p.total)
        each = outcome_counts_logp(value, cls.log_probabilities(p.lead, p.tie))
        each = _check_parameters_of(cls, p.weight * (p.log_multinomial + each), [p.lead], p.tie)
        finite = p.utilities, p.adherences, p.order_effects, p.effects
        cells = p.cell_first, p.cell_second, p.cell_group, p.cell_which, p.cell_size, p.cell_counts
        within, tying = cls.layout.n_terms
        op = cls.total_op(within=within, tying=tying)
        total = op(*finite[:3], p.ties, p.effects, *cells)
        total = p.cell_log_multinomial + total
        return with_sum(each, _check_parameters_of(cls, total, finite, p.ties))

    @classmethod
    def is_current(cls, p: SimpleNamespace) -> bool:
        """Whether the numbers that follow from the data are those of the data as they are now.

        Asked when a log-probability is built: where data were replaced, such as by rows of them,
        the pairs are evaluated one by one instead.
        """
        parts = (p.first, p.second, p.counts, p.weight, p.effect, p.effect_size)
        codes = (getattr(p, _of(group)) for group in cls.layout.coded)
        data = [known_value(x) for x in (*parts, *codes)]
        then = {field: known_value(getattr(p, field)) for field in DERIVED}
        if any(x is None for x in (*data, *then.values())):
            return False
        now = cls.derived(p, *data)
        return all(np.array_equal(now[field], then[field]) for field in DERIVED)  # type: ignore[arg-type]

    @classmethod
    def derived(cls, p: SimpleNamespace, *data: Any) -> dict[str, NDArray[Any]]:
        """Compute what follows from the data, by the names of the parameters."""
        first, second, counts, weight, which, size, *codes = data
        layout, each = cls.layout, np.arange(len(first))
        lengths = dict(zip((*layout.coded, ITEM), p.lengths.data, strict=True))
        known = dict(zip(layout.coded, codes, strict=True))
        if PAIR in layout.utility:
            first, second = 2 * each, 2 * each + 1
        elif layout.utility:
            axes = (*layout.utility, ITEM)
            first, second = (_place(axes, known | {ITEM: x}, lengths) for x in (first, second))
        group = None
        if layout.own:
            group = each if PAIR in layout.own else _place(layout.own, known, lengths)
        three = np.pad(counts, ((0, 0), (0, 3 - counts.shape[1])))
        terms = {"which": which, "size": size} if which.shape[1] else {}
        within, tying = layout.n_terms
        totals = pair_totals(
            first, second, three, weight,
            ordered=layout.ordered, group=group, even=slice(within, within + tying), **terms,
        )  # fmt: skip
        cells = {f"cell_{field}": value for field, value in totals._asdict().items()}
        ways = log_multinomial(counts)
        return {"log_multinomial": ways, "cell_log_multinomial": np.asarray(weight @ ways)} | cells

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return _all_first(rv, p.total)


class ObservedBradleyTerryRV(_ObservedPairRV, BradleyTerryRV):
    """Observed outcomes under Bradley-Terry."""


class ObservedThurstoneRV(_ObservedPairRV, ThurstoneRV):
    """Observed outcomes under Thurstone's model."""


class ObservedDavidsonRV(_ObservedPairRV, DavidsonRV):
    """Observed outcomes under Davidson's model."""


class ObservedRaoKupperRV(_ObservedPairRV, RaoKupperRV):
    """Observed outcomes under Rao and Kupper's model."""


# every model with what was observed, by the model itself
OBSERVED: dict[type[_PairRV], Any] = {
    kind.__bases__[1]: kind for kind in _ObservedPairRV.__subclasses__()
}


@cache
def _laid_out(kind: type[_ObservedPairRV], layout: Layout) -> type[_ObservedPairRV]:
    """Make the class of pairs whose parameters have these axes."""
    parameters = {**kind.parameters} | {_of(group): "" for group in layout.coded}
    members = {
        "layout": layout,
        "parameters": parameters,
        "extended_signature": signature(parameters, "result"),
        "__module__": __name__,
        "__doc__": f"{kind.__doc__} {layout}.",
    }
    return type(kind.__name__, (kind,), members)


def _of(group: str) -> str:
    """Name the parameter that says which label of a group each pair has."""
    return f"{group}_of_pair"


def _place(
    axes: Sequence[str], codes: Mapping[str, Any], lengths: Mapping[str, int]
) -> NDArray[np.int64]:
    """Positions of pairs in a flat parameter that has these axes."""
    place = np.zeros((), dtype=np.int64)
    for axis in axes:
        place = place * lengths[axis] + codes[axis]
    return place


def _listed(given: Any) -> list[Any]:
    """Make a list of one or of several."""
    return [*given] if isinstance(given, list | tuple) else [given]


class _Terms(NamedTuple):
    """What leads are made of beside utilities: effects, times sizes, for every pair."""

    labels: list[str]
    which: NDArray[np.int32]  # (n_pairs, n_terms)
    size: NDArray[np.float64]  # (n_pairs, n_terms)


def _terms(name: str, pairs: Pairs, layout: Layout) -> _Terms:
    """Lay out deviations, of the first item and of the second, effects on ties, and slopes.

    The effects are those of `_observe`: all deviations, all effects on ties, and then all slopes,
    group by group.
    """
    labels, start, none = [], 0, np.zeros(pairs.n_pairs, dtype=np.int64)
    which: list[NDArray[Any]] = []
    size: list[NDArray[Any]] = []
    lengths = {axis: len(known) for axis, known in pairs.coords.items()}
    codes = {group: pairs.group_idx(group) for group in _groups(pairs)}
    for group in layout.deviations:
        known = pm.modelcontext(None).coords[f"{group}_item"]
        first, second = pairs.seen(group).among(known)
        labels += [f"first at {group}", f"second at {group}"]
        which += [start + first, start + second]
        size += [none + 1.0, none - 1.0]
        start += len(known)
    both = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    for k, axes in enumerate(layout.ties):
        sides = both if ITEM in axes else (none,)  # of both, which are alike in either order
        names = [" of one", " of the other"] if ITEM in axes else [""]
        labels += [f"tie effect {k}{side}" for side in names]
        which += [start + none + _place(axes, codes | {ITEM: side}, lengths) for side in sides]
        size += [none + 1.0 for _ in sides]
        start += int(np.prod([lengths[axis] for axis in axes]))
    if layout.slope is not None:
        features, names = _features(name, pairs)
        labels += names
        own = none + _place(layout.slope, codes, lengths)
        which += [start + own * len(names) + k for k in range(len(names))]
        size += [*features.T]
    shape = (len(labels), pairs.n_pairs)
    return _Terms(
        labels,
        np.ascontiguousarray(np.reshape(which, shape).T, dtype=np.int32),
        np.ascontiguousarray(np.reshape(size, shape).T, dtype=np.float64),
    )


def _features(name: str, pairs: Pairs) -> tuple[NDArray[np.float64], list[str]]:
    """Return the features of pairs, and their names."""
    if pairs.features is None or pairs.feature_names is None:
        raise ValueError(
            f"{name!r} has slopes, but the pairs have no features: read them with features=."
        )
    return pairs.features, [str(each) for each in pairs.feature_names]


def _check_terms(model: pm.Model, name: str, pairs: Pairs, layout: Layout) -> None:
    """Raise for pairs that have other features, or other items at the labels of a group."""
    for group in layout.deviations:
        new = pairs.seen(group).labels.difference([*model.coords[f"{group}_item"]])
        if len(new):
            raise ValueError(
                f"{name!r} has deviations of the items at each {group}, which lack {new[0]!r} of "
                "the new pairs. Build the model with all that there will be; rows that count 0 "
                "matches keep what there is none of now."
            )
    if layout.slope is not None:
        _, names = _features(name, pairs)
        dim = model.named_vars_to_dims[name_of(model.name_for(name), EFFECT)][1]
        known = [*model.coords[dim]][sum(layout.n_terms) :]
        if names != known:
            raise ValueError(
                f"The pairs of {name!r} have the features {quoted(known)}, the new ones "
                f"{quoted(names)}: read them with the same features=."
            )


def _groups(pairs: Pairs) -> list[str]:
    """Name what keeps pairs apart, in an order that is the same for other pairs."""
    return sorted([JUDGE, *pairs.groups])


def _of_pairs(
    x: Named, data: SimpleNamespace, own: Mapping[str, Any] | None = None
) -> TensorVariable:
    """Gather what every pair has of a parameter; one for all stays one."""
    gathered = {*x.axes} - {PAIR, SIDE}
    rows: Any = slice(None)
    if gathered and PAIR in x.axes:
        rows = every_row(x.value, data.first.shape[0], x.axes.index(PAIR))
    index = vars(data) | {PAIR: rows} | dict(own or {})
    return x.value[tuple(index[axis] for axis in x.axes)] if gathered or own else x.value


def _axes(pairs: Pairs, dims: Any) -> Axes:
    """Axes that parameters may be along: items, pairs, their sides, and what keeps them apart."""
    own = (dims,) if isinstance(dims, str) else dims or ()
    coords = pairs.coords
    features = {FEATURE: coords[FEATURE]} if FEATURE in coords else {}
    return Axes(
        "pairs",
        {axis: coords[axis] for axis in (ITEM, "pair", *_groups(pairs))}
        | {SIDE: RESULTS[:2]}
        | features,
        dict(zip(own, ("pair",), strict=False)),
        "Read the pairs with by= what else they are grouped by.",
    )


def _parameter(name: str, what: str, value: Any, pairs: Pairs, dims: Any) -> Named:
    """Read the axes of a parameter; groups come first."""
    groups, each, readings = _groups(pairs), np.arange(pairs.n_pairs), {**READINGS.get(what, OWN)}
    own = next(iter(readings))
    for group in groups:
        if not np.array_equal(pairs.group_idx(group), each):  # else its labels are pairs
            along = (group, *own)
            readings[along] = f"one per {' and '.join(along)}"
    return by_axes(name, what, value, readings, _axes(pairs, dims), also=groups)


def _deviation(name: str, deviation: Any, pairs: Pairs) -> tuple[TensorVariable, str]:
    """Read the group at whose labels items deviate."""
    model = pm.modelcontext(None)
    groups = {f"{group}_item": group for group in _groups(pairs)}
    dim = [*groups][-1]
    must = (
        f"it must be a variable of the model with one of the dims {quoted(groups)}, whose labels "
        f"are those of pairs.seen: model.add_coord({dim!r}, pairs.seen({groups[dim]!r}).labels)."
    )
    if not has_dims(deviation):
        raise ValueError(f"A deviation of {name!r} has no dims; {must}")
    labels = {dim: coord_values(pairs.seen(group).labels) for dim, group in groups.items()}
    for dim, seen in labels.items():
        if {*seen} == {*(model.coords.get(dim) or ())}:
            labels[dim] = np.asarray(model.coords[dim])  # `_terms` takes that order
    axes = Axes("pairs", labels, otherwise=must[0].upper() + must[1:])
    seen_at = {dim: f"one per item seen at each {group}" for dim, group in groups.items()}
    readings: dict[tuple[str, ...], str] = {(dim,): meaning for dim, meaning in seen_at.items()}
    found = by_axes(name, "deviation", deviation, readings, axes)
    (dim,) = found.axes
    if dim not in model.coords:
        model.add_coord(dim, labels[dim])
    return found.value, groups[dim]


def _tie_effect(name: str, effect: Any, pairs: Pairs, dims: Any) -> Named:
    """Read the axes of an effect on ties, which must have names."""
    if not has_dims(effect):
        raise ValueError(
            f"An effect on ties of {name!r} has no dims; it must be a variable of the model with "
            f"any of the dims 'item' and {quoted(_groups(pairs))}."
        )
    return _parameter(name, "tie_effect", effect, pairs, dims)


def _observe(
    rv_type: type[_PairRV],
    class_name: str,
    name: str,
    utility: Any,
    pairs: Pairs,
    arguments: dict[str, Any],
) -> TensorVariable:
    """Add observed pairs to the model in context."""
    parameter = rv_type.tie_parameter
    takes = ["adherence", "order_effect", "slope", "deviation"]
    takes += [parameter, "tie_effect"] if parameter else []
    own, options = observed_options(class_name, pairs, arguments, takes=takes, brings=("total",))
    if parameter and parameter not in own:
        raise TypeError(f"{class_name} needs {parameter}=, its parameter of ties.")
    _check_ties(rv_type.n_outcomes, name, pairs)

    dims = options.get("dims")
    w = _parameter(name, "utility", utility, pairs, dims)
    adherence, order_effect, tie = (
        _parameter(name, what, own.get(what, default), pairs, dims)
        for what, default in (("adherence", 1.0), ("order_effect", 0.0), (parameter, 0.0))
    )
    _check_tie_parameter(rv_type, own.get(parameter), tie.value)
    features = [own["slope"]] if "slope" in own and _features(name, pairs) else []
    slope = [_parameter(name, "slope", x, pairs, dims) for x in features]
    deviations = [_deviation(name, x, pairs) for x in _listed(own.get("deviation", ()))]
    ties = [_tie_effect(name, x, pairs, dims) for x in _listed(own.get("tie_effect", ()))]
    effects = [*(x for x, _ in deviations), *(x.value for x in (*ties, *slope))]
    # the same axes for all of them, or else each pair is one
    apart = {x.axes for x in (adherence, order_effect, tie)} - {()}
    constant = order_effect.value
    groups = {group for _, group in deviations}
    groups.update(*(x.axes for x in (w, adherence, order_effect, tie, *slope, *ties)))
    layout = Layout(
        utility=tuple(axis for axis in w.axes if axis not in (ITEM, SIDE)),
        own=(PAIR,) if len(apart) > 1 else next(iter(apart), ()),
        slope=next((x.axes[:-1] for x in slope), None),
        deviations=tuple(group for _, group in deviations),
        ties=tuple(x.axes for x in ties),
        ordered=not (isinstance(constant, Constant) and not constant.data.any()),
        groups=tuple(sorted(groups.intersection(_groups(pairs)))),
    )
    within, tying = layout.n_terms
    lengths = [*(len(pairs.group_labels(group)) for group in layout.coded), pairs.n_items]

    def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
        sides = {ITEM: data.first, SIDE: 0}, {ITEM: data.second, SIDE: 1}
        one, other = (_of_pairs(w, data, side) for side in sides)
        by_pair = PAIR in layout.utility
        utilities = pt.stack([one, other], axis=1) if by_pair else w.value

        def in_sum(x: Named) -> TensorVariable:
            value = _of_pairs(x, data) if PAIR in layout.own else x.value
            return pt.atleast_1d(value if value.ndim < 2 else value.flatten())

        counts = pt.cast(data.counts, "int64")
        effect = _of_pairs(order_effect, data)
        gap, of_all = one - other, pt.constant(np.zeros(1))
        if effects:
            of_all = pt.concatenate([x.flatten() for x in effects])
            which, size = data.effect, data.effect_size
            terms = size * of_all[which]
            gap = gap + pt.sum(terms[:, :within], axis=1)
            effect = effect + pt.sum(terms[:, within + tying :], axis=1)
            log_times = pt.sum(terms[:, within : within + tying], axis=1)
        else:
            which = pt.constant(np.zeros((1, 0), dtype="int32"))
            size = pt.constant(np.zeros((1, 0)))
        level = _of_pairs(tie, data)
        return {
            "lead": _of_pairs(adherence, data) * gap + effect,
            "tie": times_odds(level, log_times, rv_type.tie_least) if tying else level,
            "total": pt.sum(counts, axis=-1),
            "first": data.first,
            "second": data.second,
            "weight": data.weight,
            "counts": counts,
            "effect": which,
            "effect_size": size,
            "effects": of_all,
            "utilities": utilities.flatten(),
            "adherences": in_sum(adherence),
            "order_effects": in_sum(order_effect),
            "ties": in_sum(tie),
            **{_of(group): vars(data)[group] for group in layout.coded},
        }

    absent = [counted(ITEM, MATCHES)] if PAIR in layout.utility else []
    return observe(
        _laid_out(OBSERVED[rv_type], layout),
        name,
        pairs,
        {"lengths": pt.constant(np.array(lengths))},
        with_data,
        items_known=True,
        without=absent if effects else (*absent, EFFECT, EFFECT_SIZE),
        **options,
    )


def _counts_of(name: str, pairs: Pairs, n_outcomes: int) -> NDArray[np.int32]:
    """Return the counts of the outcomes that the model has."""
    if pairs.counts.max(initial=0) > np.iinfo(np.int32).max:
        raise ValueError(
            f"A count of the pairs of {name!r} is {pairs.counts.max()}; models hold 32 bits of it. "
            "Divide the counts, and give the pairs an evidence weight instead."
        )
    return np.ascontiguousarray(pairs.counts[:, :n_outcomes], dtype=np.int32)


def _group_names(name: str, pairs: Pairs) -> list[str]:
    """Name what keeps pairs apart: the judges and the groups."""
    for group in pairs.groups:
        if group in TAKEN:
            raise ValueError(
                f"The pairs of {name!r} are grouped by {group!r}, but {name}_{group} is another "
                "part of the model. Rename that column."
            )
    return [JUDGE, *pairs.groups]


def _matches_of(pairs: Pairs, group: str) -> NDArray[np.int64]:
    """Count the matches of every label of a group."""
    n_labels, each = len(pairs.group_labels(group)), pairs.counts.sum(axis=1)
    return np.bincount(pairs.group_idx(group), each, n_labels).astype(np.int64)


def _item_matches(pairs: Pairs) -> NDArray[np.int64]:
    """Count the matches of every item."""
    both, each = np.concatenate([pairs.first, pairs.second]), pairs.counts.sum(axis=1)
    return np.bincount(both, np.tile(each, 2), pairs.n_items).astype(np.int64)


# ---------------------------------------------------------------------------------------------
# Checks: of numbers at once, of tensors in `logp`
# ---------------------------------------------------------------------------------------------


def _check_ties(n_outcomes: int, name: str, pairs: Pairs) -> None:
    """Raise for ties in data of a model that has none."""
    if n_outcomes == 3 or not (ties := pairs.counts[:, 2]).any():
        return
    row = int((ties > 0).argmax())
    one, other = (label_repr(pairs.items[idx[row]]) for idx in (pairs.first, pairs.second))
    raise ValueError(
        f"The pairs of {name!r} have {counted_noun(int(ties.sum()), 'tie')}, the first between "
        f"{one} and {other}, but BradleyTerry and Thurstone have no ties. Davidson and RaoKupper "
        "have them. pairs.split_ties() would count half a win of each item: a pseudo-likelihood, "
        "without LOO."
    )


def _check_groups(model: pm.Model, name: str, pairs: Pairs) -> None:
    """Raise for pairs that are kept apart by something else than those that a model observes."""
    known, groups = groups_of(name, model.named_vars_to_dims), _group_names(name, pairs)
    if set(known) != set(groups):
        raise ValueError(
            f"The pairs of {name!r} are grouped by {sorted(known)}, the new ones by "
            f"{sorted(groups)}: read them with the same columns `judge` and `by`."
        )


def _dims_of_axes(model: pm.Model, name: str) -> dict[str, str]:
    """Give the dims of the items and groups of observed pairs, by the names of these axes."""
    dims = model.named_vars_to_dims
    (item,) = dims.get(name_of(name, counted(ITEM, MATCHES)), (ITEM,))
    return {ITEM: item} | groups_of(name, dims)


def _check_axes(model: pm.Model, name: str, pairs: Pairs, groups: Sequence[str]) -> None:
    """Raise for other labels than those of the parameters and other variables of the model."""
    dims_of, axis_of = model.named_vars_to_dims, _dims_of_axes(model, name)
    own = {name} | {
        name_of(name, part)
        for axis in (*axis_of, FIRST, SECOND, WEIGHT, COUNTS)
        for part in (axis, counted(axis, MATCHES))
    }
    used = {dim for x, dims in dims_of.items() if x not in own for dim in dims}
    if name_of(name, counted(ITEM, MATCHES)) in dims_of:
        present = np.asarray(model.coords[axis_of[ITEM]])
        whose = f"the model's coord {axis_of[ITEM]!r}"
        same_labels(whose, name, present, pairs.coords[ITEM], "pairs")
    for axis, dim in axis_of.items():
        present = model.coords.get(dim)
        labels = pairs.coords[axis]
        apart = present is not None and not np.array_equal(present, labels)
        if (dim in used or axis in groups) and apart:
            raise ValueError(
                f"The {axis} axis of the model has the labels {quoted(present)}, that of the new "
                f"pairs {quoted(labels)}. Build the model with all that there will be; rows that "
                "count 0 matches keep the labels of which there are none now."
            )


def _check_parameters_of(
    op: Any, logp: TensorVariable, finite: Sequence[Any], tie: Any
) -> TensorVariable:
    """Make the log-probability depend on parameters that it exists for."""
    conditions = [pt.all(pt.isfinite(x)) for x in finite]
    message = "utilities and effects must be finite"
    if op.tie_parameter:
        conditions.append(pt.all(pt.isfinite(tie) & (tie >= op.tie_least)))
        message += f", {op.tie_parameter} finite and >= {op.tie_least:g}"
    return check_parameters(logp, *conditions, msg=message)


def _check_tie_parameter(op_type: type[_PairRV], given: Any, read: TensorVariable) -> None:
    """Raise for numbers that `op_type` does not exist for; `logp` checks tensors."""
    known = given_numbers(given, read) if op_type.tie_parameter else None
    numbers = np.ravel([] if known is None else known)
    wrong = numbers[~(np.isfinite(numbers) & (numbers >= op_type.tie_least))]
    if wrong.size:
        raise ValueError(
            f"`{op_type.tie_parameter}` holds {wrong[0]:g}; it must be finite and "
            f"{op_type.tie_least:g} or more. {op_type.tie_least:g} is no ties, Bradley-Terry."
        )


def _check_outcomes(op_type: type[_PairRV], observed: Any) -> None:
    """Raise for numbers that are no counts of outcomes; of tensors, `logp` knows."""
    if isinstance(observed, Variable):
        return
    counts = observed_counts(observed, "Pairs.from_frame")
    names = ("first wins", "second wins", "ties")[: op_type.n_outcomes]
    if counts.ndim < 1 or counts.shape[-1] != len(names):
        without = counts.ndim and counts.shape[-1] == 3
        raise ValueError(
            f"The observed counts have shape {counts.shape}; their last axis must be the "
            f"{len(names)} outcomes: {', '.join(names)}."
            + (" Davidson and RaoKupper have ties." if without else "")
        )
    cells = {
        "not a whole number": (counts != np.round(counts)) | np.isinf(counts),
        "negative": counts < 0,
    }
    for what, bad in cells.items():
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(
                f"The observed count {counts[where]:g} at {list(where)} is {what}: counts say how "
                "often each outcome came."
            )
