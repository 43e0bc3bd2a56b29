r"""Pair outcomes as PyMC distributions: matches and comparisons, with or without ties.

The value holds counts of outcomes. The last axis is the outcomes: first wins, second wins and, in
models with ties, ties. `logp` returns one number per pair, the multinomial log-probability of its
counts given their total.

With arrays, `utility` has the first and the second item on its last axis. With ``observed=`` a
`Pairs`, the class registers the data and names the dims (`bayesrank.distributions.pairs.observed`).
Utilities are by item and any groups of the pairs, such as a category. The adherence, order effect
and tie parameter are by any of the groups, such as the judge.

>>> import pymc as pm
>>> round(float(pm.logp(BradleyTerry.dist([np.log(3.0), 0.0]), [1, 0]).exp().eval()), 6)
0.75
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.data import Pairs
from bayesrank.distributions.core.arguments import NamedArguments
from bayesrank.distributions.core.observed import (
    DistOptions,
    Options,
    as_double,
    check_counts,
    observed_counts,
    refuse_labelled,
    refuse_other_data,
    refuse_single_precision,
)
from bayesrank.distributions.core.outcomes import labelled
from bayesrank.distributions.pairs.observed import observe_pairs
from bayesrank.distributions.pairs.variables import (
    BradleyTerryRV,
    DavidsonRV,
    RaoKupperRV,
    ThurstoneRV,
    check_tie_given,
    check_tie_parameter,
)

__all__ = ["BradleyTerry", "Davidson", "RaoKupper", "Thurstone"]


class LeadOptions(Options, total=False):
    """Options of all distributions of matches."""

    adherence: TensorLike | None
    order_effect: TensorLike | None
    slope: TensorLike | None
    deviation: Any
    total: TensorLike | None


class PairOptions(LeadOptions, total=False):
    """Options of distributions of wins and ties."""

    nu: TensorLike | None
    theta: TensorLike | None
    tie_effect: Any


class PairDistOptions(DistOptions, total=False):
    """Options of distributions of matches that ``dist`` returns."""

    nu: TensorLike | None
    theta: TensorLike | None


class PairOutcomes(Discrete, metaclass=NamedArguments):
    """Counts of outcomes under the model `rv_type`; `settings` are not numbers, but structure."""

    settings: ClassVar[tuple[str, ...]] = ()

    def __new__(
        cls, name: str, utility: TensorLike, *, observed: Any = None, **kwargs: Unpack[PairOptions]
    ) -> TensorVariable:
        refuse_single_precision()
        if isinstance(observed, Pairs):
            given: Any = {**kwargs}
            structure = {x: given.pop(x) for x in cls.settings if x in given}
            return observe_pairs(
                cls.rv_type, cls.__name__, name, utility, observed, given, **structure
            )
        options: dict[str, Any] = {x: value for x, value in kwargs.items() if value is not None}
        for option in ("slope", "deviation", "tie_effect"):
            if option in options:
                raise TypeError(
                    f"{cls.__name__} takes {option}= only with observed=Pairs. With arrays, add it "
                    "to order_effect or to the utilities, and multiply the tie parameter."
                )
        if observed is not None:
            refuse_other_data(cls.__name__, observed, Pairs, "Pairs.from_frame")
            cls.check_observed(observed, options)
            known = observed if isinstance(observed, Variable) else np.asarray(observed)
            options.setdefault("total", known.sum(axis=-1))
        rv = super().__new__(cls, name, utility, observed=observed, **options)
        return rv if observed is None else labelled(name, rv)

    @classmethod
    def check_observed(cls, observed: Any, options: Mapping[str, Any]) -> None:
        """Raise for numbers that are not counts of the outcomes; `logp` checks tensors."""
        names = ("first wins", "second wins", "ties", "both bad")[: cls.rv_type.n_outcomes]
        refuse_other_counts(observed, names, "Davidson and RaoKupper have ties.")

    @classmethod
    def dist(
        cls,
        utility: TensorLike | None = None,
        *,
        adherence: TensorLike | None = None,
        order_effect: TensorLike | None = None,
        total: TensorLike | None = None,
        **kwargs: Unpack[PairDistOptions],
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `utility`
        has shape (..., 2), for the first and the second item. Draws are counts (..., n_outcomes):
        first wins, second wins and, in models with ties, ties.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.BradleyTerry.dist([1.0, 0.0], total=1)
        >>> round(float(pm.logp(y, [1, 0]).exp().eval()), 3)
        0.731
        >>> y = br.Davidson.dist([0.0, 0.0], nu=1.0, total=1)
        >>> round(float(pm.logp(y, [0, 0, 1]).exp().eval()), 3)
        0.333
        """
        refuse_single_precision()
        if utility is None:
            raise TypeError(f"{cls.__name__}.dist needs utility, of shape (..., 2).")
        options: dict[str, Any] = {**kwargs}
        parameter = check_tie_given(cls.rv_type, options)
        tie = options.pop(parameter, 0.0)
        utility, read = as_double(utility, "`utility`"), as_double(tie, f"`{parameter}`")
        check_tie_parameter(cls.rv_type, tie, read)
        if utility.ndim == 0 or utility.type.shape[-1] not in (None, 2):
            raise ValueError(
                f"`utility` has shape {utility.type.shape}; its last axis must be the first and "
                "the second item of each pair, (..., 2). For one utility per item, use "
                "observed=Pairs."
            )
        first, second = utility[..., 0], utility[..., 1]
        factor = 1.0 if adherence is None else as_double(adherence, "`adherence`")
        lead = factor * (first - second)
        if order_effect is not None:
            lead = lead + as_double(order_effect, "`order_effect`")
        more = cls.located(first, second, factor, options)
        refuse_labelled("`total`", total)
        known = [] if total is None else [pt.cast(pt.as_tensor_variable(total), "int64")]
        return super().dist([lead, read, *more, *known], **options)

    @classmethod
    def located(cls, first: Any, second: Any, adherence: Any, options: dict[str, Any]) -> list[Any]:
        """Return parameters other than the lead, which depend on both utilities."""
        return []


class BradleyTerry(PairOutcomes):
    r"""Bradley-Terry log-likelihood of matches between two items, without ties.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{\phi_1 + \phi_2} = \sigma(d), \qquad
              d = a (w_1 - w_2) + \delta, \qquad \phi = e^w

    where w are the utilities of the items, :math:`\delta` is the order effect, a the adherence, by
    default 1, and :math:`\sigma` the logistic function. The outcomes of a pair that met n times are
    binomial, so that counts give the same posterior as single matches.

    The support is counts >= 0 of (first wins, second wins) with the given total.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Log worth of the first and of the second item, or of every item. Only differences matter. A
        default prior is ``pm.Normal("utility", 0, sd, dims="item")`` or `pm.ZeroSumNormal`, with
        ``sd = pm.HalfNormal("sd", 1)``. With `Pairs`, a variable of the model may also have the
        dims of any of their groups, in any order, such as ``("category", "judge", "item")``. To
        model utilities by features, give one row per pair.
    adherence : tensor_like of float, (...), or with `Pairs` () or (n_pairs,), optional
        Factor of the differences of utilities: how closely the outcomes follow them; default 1.
        With `Pairs`, a variable of the model may have the dims of any of their groups, in any
        order, such as ``"judge"``.
    order_effect : tensor_like of float, as `adherence`, optional
        Advantage of the first item, such as the home team, white in chess, or the answer on the
        left; default 0. A
        default prior is ``pm.Normal("order_effect", 0, 0.5)``.
    slope : tensor_like of float, (n_features,), optional
        Coefficients of the features of `Pairs`:
        :math:`d = a (w_1 - w_2) + \delta + \sum_f \beta_f x_f`. A variable of the model may also
        have the dims of any of the groups, such as ``("judge", "feature")``.
    deviation : variable or sequence of variables, optional
        With `Pairs`, deviations of items at the labels of a group, such as at a prompt. The dim of
        the variable is ``"prompt_item"`` for a group ``"prompt"``, with the labels of
        ``pairs.seen("prompt")``. A learned spread measures how strongly votes on one prompt are
        correlated. The dim may also be a group itself, such as
        ``"swap"``. Such a deviation favours the item that is earlier on the axis, in all matches
        of the label.
    total : tensor_like of int, (...), optional
        Matches of each pair, for draws. By default, `logp` uses the total of the value and draws
        have one match. Observed data contain their total.
    observed : Pairs or array_like of int, (..., 2), optional
        Counts. A `Pairs` registers its data, judges and groups as one table, ``{name}_data``. The
        dims are (pair, result), or `dims`.
    **kwargs
        Options of PyMC variables. With a `Pairs`, only ``dims`` and ``total_size``; with an array,
        also ``shape``, ``initval``, ``transform`` and ``rng``.

    Returns
    -------
    TensorVariable of int, (..., 2)
        The counts. `logp` and the pointwise log-likelihood have one number per pair, times its
        evidence weight.

    Raises
    ------
    ValueError
        If there are ties, shapes do not fit, or counts are negative or not whole.

    See Also
    --------
    Davidson, RaoKupper, Thurstone, Pairs, fit_pairs

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


class Thurstone(PairOutcomes):
    r"""Thurstone's log-likelihood of matches between two items, without ties (probit).

    .. math:: P(\text{first wins}) = \Phi(d), \qquad d = a (w_1 - w_2) + \delta

    where :math:`\Phi` is the standard normal distribution function, and the other symbols are as in
    `BradleyTerry`. The first item wins if :math:`d` plus standard normal noise is positive. Noise
    of variance one on each *item* (Thurstone's case V with unit variances) is the same model with
    utilities divided by :math:`\sqrt 2`. One unit is about 1.7 units of `BradleyTerry`.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Utilities, in standard deviations of the noise on a difference. Only differences matter. A
        default prior is ``pm.Normal("utility", 0, sd, dims="item")`` with ``sd =
        pm.HalfNormal("sd", 0.6)``.
    adherence, order_effect, slope, deviation, total, observed, **kwargs
        As in `BradleyTerry`. A default prior of the order effect is ``pm.Normal("order_effect", 0,
        0.3)``.

    Returns
    -------
    TensorVariable of int, (..., 2)
        The counts; one log-probability per pair.

    Raises
    ------
    ValueError
        For the reasons of `BradleyTerry`.

    See Also
    --------
    BradleyTerry, Pairs

    References
    ----------
    Thurstone, A law of comparative judgment, Psychological Review 34, 1927.

    Examples
    --------
    >>> import bayesrank as br
    >>> import pymc as pm
    >>> round(float(pm.logp(br.Thurstone.dist([1.96, 0.0]), [1, 0]).exp().eval()), 3)
    0.975
    """

    rv_type = ThurstoneRV
    rv_op = ThurstoneRV.rv_op


class Davidson(PairOutcomes):
    r"""Davidson's log-likelihood of matches between two items, with ties.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{Z}, \quad
              P(\text{tie}) = \frac{\nu \sqrt{\phi_1 \phi_2}}{Z}, \qquad
              Z = \phi_1 + \phi_2 + \nu \sqrt{\phi_1 \phi_2}

    with worths :math:`\phi_1 = e^{a w_1 + \delta}` and :math:`\phi_2 = e^{a w_2}`, and w, a and
    :math:`\delta` as in `BradleyTerry`. Given that there is no tie, the model is Bradley-Terry. A
    tie is one outcome, *judged equal*; it is not half a win for each item.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Log worths, as in `BradleyTerry`.
    nu : tensor_like of float, >= 0, as `adherence`
        Prevalence of ties: equal items tie with probability :math:`\nu / (2 + \nu)`, and other
        items less often. 0 gives Bradley-Terry. A default prior is ``pm.LogNormal("nu", 0, 1)``.
        Under it, equal items tie with a median probability of 1/3 (95 % interval 0.07 to 0.78).
    adherence, slope, deviation : optional
        As in `BradleyTerry`.
    tie_effect : variable or sequence of variables, optional
        With `Pairs`, effects on ties: the tie parameter of a pair is :math:`\nu e^s`, where s is
        the sum of its effects. Each is a variable of the model with any of the dims ``"item"`` and
        the groups, such as ``"prompt"``. With ``"item"``, the effects of both items are added. For
        example, ``pm.Deterministic("by_strength", c / 2 * utility, dims="item")`` makes ties depend
        on the mean utility of the two items, with slope c.
    order_effect : tensor_like of float, as `adherence`, optional
        As in `BradleyTerry`. Davidson & Beaver (1977) multiply the worth of the second item by
        :math:`\gamma = e^{-\delta}` and leave the tie term unchanged. It is the same model, and
        their prevalence is :math:`\nu\sqrt\gamma`.
    total, observed, **kwargs
        As in `BradleyTerry`. Counts have three columns: first wins, second wins, ties.

    Returns
    -------
    TensorVariable of int, (..., 3)
        The counts; one log-probability per pair.

    Raises
    ------
    ValueError
        If `nu` is negative or not finite, and for the reasons of `BradleyTerry`.

    See Also
    --------
    RaoKupper, BradleyTerry, Pairs, fit_pairs

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


class RaoKupper(PairOutcomes):
    r"""Rao and Kupper's log-likelihood of matches between two items, with ties.

    .. math:: P(\text{first wins}) = \frac{\phi_1}{\phi_1 + \theta \phi_2}, \qquad
              P(\text{tie}) = \frac{(\theta^2 - 1)\, \phi_1 \phi_2}
                                   {(\phi_1 + \theta \phi_2)(\theta \phi_1 + \phi_2)}

    with worths :math:`\phi_1 = e^{a w_1 + \delta}` and :math:`\phi_2 = e^{a w_2}`, and w, a and
    :math:`\delta` as in `BradleyTerry`. The items tie if the difference of their utilities, with
    logistic noise, is smaller than :math:`\log\theta`: the judge does not notice it.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Log worths, as in `BradleyTerry`.
    theta : tensor_like of float, >= 1, as `adherence`
        Threshold: equal items tie with probability :math:`(\theta - 1)/(\theta + 1)`. 1 gives
        Bradley-Terry. A default prior is ``pm.math.exp(pm.HalfNormal("log_theta", 1))``. Under it,
        equal items tie with a median probability of 0.32 (95 % quantile 0.75).
    tie_effect : variable or sequence of variables, optional
        As in `Davidson`. The threshold is :math:`1 + (\theta - 1) e^s`. The odds of a tie of equal
        items therefore change by :math:`e^s`.
    adherence, order_effect, slope, deviation, total, observed, **kwargs
        As in `BradleyTerry`. Counts have three columns: first wins, second wins, ties.

    Returns
    -------
    TensorVariable of int, (..., 3)
        The counts; one log-probability per pair.

    Raises
    ------
    ValueError
        If `theta` is below 1 or not finite, and for the reasons of `BradleyTerry`.

    See Also
    --------
    Davidson, BradleyTerry, Pairs

    References
    ----------
    Rao & Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry
    model, JASA 62, 1967.

    Examples
    --------
    >>> import bayesrank as br
    >>> import pymc as pm
    >>> outcomes = br.RaoKupper.dist([0.0, 0.0], theta=3.0)
    >>> pm.logp(outcomes, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).exp().eval().round(6).tolist()
    [0.25, 0.25, 0.5]
    """

    rv_type = RaoKupperRV
    rv_op = RaoKupperRV.rv_op


def refuse_other_counts(observed: Any, names: Sequence[str], otherwise: str = "") -> None:
    """Raise for numbers that are not counts of these outcomes; `logp` checks tensors."""
    if isinstance(observed, Variable):
        return
    counts = observed_counts(observed, "Pairs.from_frame")
    if counts.ndim < 1 or counts.shape[-1] != len(names):
        message = (
            f"The observed counts have shape {counts.shape}; their last axis must be the "
            f"{len(names)} outcomes: {', '.join(names)}."
        )
        if otherwise and counts.ndim and counts.shape[-1] == 3:
            message += f" {otherwise}"
        raise ValueError(message)
    check_counts(counts, "counts must be numbers of outcomes")
