r"""Mallows models as PyMC distributions: rankings around one consensus.

The value is one ranking in each row, `ranks` from 1, aligned with the ranks of the consensus: full,
or with ties and empty slots. With ``observed=`` a `Rankings`, ranks are aligned with slots, and the
consensus, which is by item, is gathered into them.

The consensus is given, or it is marginalised: then all orders of the items are equally likely a
priori, and the rankings have one log-probability together.

>>> import pymc as pm
>>> ranks = Mallows.dist([1, 2, 3], 3.0, distance="kendall")
>>> round(float(pm.logp(ranks, [2, 1, 3]).exp().eval()), 4)
0.1789
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, ClassVar, Unpack

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.graph.utils import MissingInputError
from pytensor.scalar.basic import Cast
from pytensor.tensor import TensorConstant, TensorVariable
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.utils import normalize_size_param
from pytensor.tensor.shape import SpecifyShape
from pytensor.xtensor.type import XTensorType

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr
from bayesrank.distributions.by_name import (
    Named,
    by_axes,
    by_row,
    in_rows,
    in_slots,
    rankings_axes,
    utility_by_name,
)
from bayesrank.distributions.observed import (
    DistOptions,
    Options,
    Record,
    as_double,
    check_length,
    is_observed,
    known_value,
    observe,
    observed_options,
    refuse_labelled,
    refuse_single_precision,
    signature,
    with_given,
)
from bayesrank.distributions.orders import (
    ObservedRankingsRV,
    batch_shape,
    fits,
    observed_orders,
    ranks_from_scores,
)
from bayesrank.likelihoods.mallows import (
    DISTANCES,
    Curve,
    check_distance,
    check_partial,
    check_summed_out,
    consensus_costs,
    consensus_curve,
    draw_rankings,
    known_items,
    mallows_logp,
    partial_logp,
    summed_out_along_curve,
    summed_out_logp,
)
from bayesrank.schema import ITEM, RANKER

__all__ = [
    "OUTCOME",
    "STAGE",
    "Mallows",
    "MallowsRV",
    "ObservedMallowsRV",
    "SummedOutRV",
    "alpha_by_name",
    "are_ranks",
    "checked",
    "consensus_by_name",
    "described",
    "is_full",
    "of_items",
    "whole_ranks",
]

RANKING, STAGE = "ranking", "stage"
OUTCOME = "weak orders given their block sizes"  # of which full rankings are some
ALPHA_IS_WRONG = "alpha must be finite and not negative"
CONSENSUS_IS_WRONG = "consensus must hold the ranks 1 to n"

# `n_items` is that of the consensus. Blocks of length 0: full rankings of the slots in use
PARAMETERS = {
    "consensus": "slot",
    "alpha": "",
    "distance": "",
    "where": "slot",
    "sizes": "block",
    "n_items": "",
}
# An alpha of length one is that of all rankings
SUMMED_OUT = {
    "alpha": "one_or_ranking",
    "item": "ranking,slot",
    "distance": "",
    "sizes": "row,block",
}
NO_BLOCKS = np.zeros((1, 0), np.int64)


class MallowsRV(SymbolicRandomVariable):
    """Draw full rankings around a consensus, and show the order of the slots in use, in blocks."""

    name = "mallows"
    drawn_by: ClassVar[Sequence[str]] = tuple(PARAMETERS)
    extended_signature = signature(PARAMETERS, "slot")
    _print_name = ("Mallows", "\\operatorname{Mallows}")

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        p = SimpleNamespace(**dict(zip(cls.drawn_by, params, strict=False)))  # then the observed
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        shape = None if rv_size_is_none(size) else tuple(size)
        seed_rng, consensus, batch = cls._consensus(p, shape, rng)
        next_rng, seed = pt.random.integers(0, 2**62, rng=seed_rng, return_next_rng=True)
        outputs = [next_rng, cls._shown(cls._drawn(consensus, p, seed, batch), p)]
        return cls(inputs=[rng, size, *params], outputs=outputs)(rng, size, *params)

    @classmethod
    def _consensus(cls, p: SimpleNamespace, size: Any, rng: Any) -> tuple[Any, TensorVariable, Any]:
        """Return a generator, the consensus, and the shape of the rankings to draw around it."""
        if size is None:
            size = batch_shape(p.consensus, p.alpha[..., None], p.where, p.sizes)
        return rng, p.consensus, tuple(size)

    @classmethod
    def _drawn(
        cls, consensus: TensorVariable, p: SimpleNamespace, seed: Any, batch: Any
    ) -> TensorVariable:
        """Draw full rankings of a shape."""
        return draw_rankings(
            consensus,
            p.alpha,
            seed,
            shape=batch,
            distance=_name_of(p.distance),
            n_items=cls._n_items(p),
        )

    @classmethod
    def _n_items(cls, p: SimpleNamespace) -> int:
        return int(p.n_items.data)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return what is seen of a full ranking."""
        if is_full(p.where, p.sizes):
            return ranks
        return ranks_from_scores(-ranks, p.where, p.sizes)


class SummedOutRV(MallowsRV):
    """Draw one consensus, and rankings around it."""

    name = "mallows_summed_out"
    drawn_by = tuple(SUMMED_OUT)
    extended_signature = signature(SUMMED_OUT, "ranking,slot")

    @classmethod
    def _consensus(cls, p: SimpleNamespace, size: Any, rng: Any) -> tuple[Any, TensorVariable, Any]:
        batch = () if size is None else tuple(size)
        shape = (*batch, cls._n_items(p))
        next_rng, score = pt.random.uniform(size=shape, rng=rng, return_next_rng=True)
        consensus = 1 + pt.argsort(pt.argsort(score, axis=-1), axis=-1)
        return next_rng, consensus[..., p.item], (*batch, p.item.shape[0])

    @classmethod
    def _n_items(cls, p: SimpleNamespace) -> int:
        return known_items(p.item)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if p.sizes.type.shape[-1] == 0:
            return ranks
        return ranks_from_scores(-ranks, pt.ones_like(ranks, dtype=bool), p.sizes)


class Mallows(Discrete):
    r"""Mallows log-likelihood of full and partial rankings.

    .. math:: P(\pi \mid \rho, \alpha) =
              \frac{\exp(-\frac{\alpha}{n} d(\pi, \rho))}{Z_n(\alpha)}

    where :math:`\rho` is the consensus of the n items and the normaliser is exact. Without a
    consensus it is summed out, all orders of the items being equally likely a priori:

    .. math:: P(\pi_1, \dots, \pi_N \mid \alpha) =
              \frac{1}{n!} \sum_\rho \prod_m P(\pi_m \mid \rho, \alpha_m)

    A partial ranking y, such as a top-k list, a weak order, or a ranking of some of the items, is
    worth all full rankings that complete it, an exact sum too:

    .. math:: P(y \mid \rho, \alpha) = \sum_{\pi \text{ completes } y} P(\pi \mid \rho, \alpha)

    ========  ==================================================================
    Support   weak orders of the slots in use (given their block sizes)
    Axes      the last one is items or slots; the ones before it are rankings
    ========  ==================================================================

    =============  =====================================  =================================
    distance       :math:`d(\pi, \rho)`                   items
    =============  =====================================  =================================
    ``footrule``   :math:`\sum_i |\pi_i - \rho_i|`        any; up to 22 without a consensus
    ``spearman``   :math:`\sum_i (\pi_i - \rho_i)^2`      up to 22; beyond, estimated
    ``kendall``    pairs in opposite orders               any; up to 22 without a consensus
    =============  =====================================  =================================

    ============  ============================  ===============================================
    distance      ties, top-k, of all items     some items left out
    ============  ============================  ===============================================
    ``footrule``  any                           without ties any; otherwise by sets
    ``kendall``   any                           by sets
    ``spearman``  blocks of up to 22            by sets
    ============  ============================  ===============================================

    where *by sets* takes :math:`2^m \sum_j 2^{b_j}` terms of m items left out and blocks of
    :math:`b_j`, up to :math:`2^{22}`. Beyond 22 items the normaliser of Spearman's distance is
    estimated in ten seconds, with its standard error in a warning, and draws are approximate.

    Parameters
    ----------
    name : str
        Name of the variable.
    consensus : tensor_like of int, (..., n) or, with a `Rankings`, (n_items,), optional
        Ranks of the items, 1 to n. With a `Rankings` it is by item, ``dims="item"``, or by ranker
        or ranking as well, and a Series or dict is aligned by its labels. A random consensus is a
        variable of rankings, such as a `PlackettLuce` of equal utilities; sample it with
        `bayesrank.LeapAndShift`. None marginalises it, in time :math:`2^n n` (0.04 s at 20 items):
        at every evaluation, or where `alpha` is one number, only when the model is made.
    alpha : tensor_like of float, (...), or variable with dims
        Concentration, not negative; at zero all rankings are equally likely. One for all rankings,
        one for each, or with a `Rankings` by ranker, ``dims="ranker"``, and by their groups.
    distance : {"footrule", "spearman", "kendall"}
        Which one. The scale of `alpha` depends on it.
    consensus_dims, alpha_dims : str or sequence of str, optional
        With a `Rankings`, dims of a parameter that has no names.
    observed : Rankings or array_like of int, optional
        A `Rankings` registers its data as `PlackettLuce` does; an item that a ranking leaves out
        might have had any place. An array holds ranks aligned with `consensus`; without a
        consensus, it is a matrix (n_rankings, n) by item.
    where, sizes : array_like, optional
        Of an array: which slots are in use, and block sizes, best first, as those of
        `PlackettLuce`. The consensus has the rank of every item, of slots not in use too.

    Returns
    -------
    TensorVariable of int, (..., n)
        The ranks. With a consensus, `logp` has one number per ranking, times its weight. Without
        one, it has one number for all of them; `bayesrank.consensus_log_likelihood` adds one for
        each, and `bayesrank.consensus_posterior` draws the consensus.

    Raises
    ------
    ValueError
        If the distance is unknown, there are too many items for it, a consensus does not hold the
        ranks 1 to n, or a ranking has ties or leaves items out for which the tables have no sum.
    TypeError
        On unknown arguments, without `alpha`, or if a consensus holds no whole numbers.

    References
    ----------
    Mallows, Non-null ranking models, Biometrika 1957; Vitelli et al., Probabilistic preference
    learning with the Mallows rank model, JMLR 2018 (the scale of alpha); Fligner & Verducci,
    Distance based ranking models, JRSS B 1986 (top-k lists under Kendall's distance).

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     alpha = pm.Exponential("alpha", 0.1)
    ...     y = br.Mallows("y", alpha=alpha, distance="kendall", observed=rankings)
    >>> logp = model.compile_logp(vars=y)
    >>> [round(float(logp({"alpha_log__": x})), 4) for x in (-20.0, 0.0, 1.0)]
    [-3.5835, -3.5416, -3.4084]
    """

    rv_type = MallowsRV
    rv_op = MallowsRV.rv_op

    def __new__(
        cls,
        name: str,
        consensus: Any = None,
        alpha: Any = None,
        *,
        distance: str = "footrule",
        observed: Any = None,
        consensus_dims: str | Sequence[str] | None = None,
        alpha_dims: str | Sequence[str] | None = None,
        where: Any = None,
        sizes: Any = None,
        **kwargs: Unpack[Options],
    ) -> TensorVariable:
        refuse_single_precision()
        _needs(alpha)
        given = {"where": where, "sizes": sizes}
        options: dict[str, Any] = {"distance": distance, **kwargs}
        options |= {option: x for option, x in given.items() if x is not None}
        dims = {"consensus_dims": consensus_dims, "alpha_dims": alpha_dims}
        if isinstance(observed, Rankings):
            return _observe(name, consensus, alpha, observed, options | dims)
        for option, value in dims.items():
            if value is not None:
                raise TypeError(f"Mallows got {option}= without rankings: it goes with Rankings.")
        if consensus is None:
            _refuse_slots(where, sizes)
        if observed is not None:
            around = consensus is not None
            each = {"consensus": (consensus, 1), "alpha": (alpha, 0)}
            observed, options = observed_orders("Mallows", observed, options, each, partial=around)
        if consensus is not None:
            return super().__new__(cls, name, consensus, alpha, observed=observed, **options)
        if observed is not None and options.get("shape") is None:
            options["shape"] = np.shape(observed)
        return _SummedOut(name, alpha, observed=observed, **options)

    @classmethod
    def dist(
        cls,
        consensus: Any = None,
        alpha: Any = None,
        *,
        distance: str = "footrule",
        where: Any = None,
        sizes: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

        Parameters
        ----------
        consensus, alpha, distance, where, sizes
            As of `Mallows`; the consensus has the rank of every item.
        shape, size, rng
            As in PyMC; without a consensus the shape (n_rankings, n_items) is needed.

        Returns
        -------
        TensorVariable of int, (..., n_items)
            Ranks, by item.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.Mallows.dist([1, 2], alpha=1.0, distance="kendall")
        >>> round(float(pm.logp(y, [1, 2]).exp().eval()), 3)
        0.622
        """
        refuse_single_precision()
        _needs(alpha)
        if consensus is None:
            _refuse_slots(where, sizes)
            return _SummedOut.dist(alpha, distance=distance, **kwargs)
        given = {"consensus": consensus, "alpha": alpha}
        consensus = pt.atleast_1d(whole_ranks(consensus))
        n = known_items(consensus)
        check_distance(distance)
        where = np.ones(n, bool) if where is None else where
        sizes = np.zeros(0, np.int64) if sizes is None else sizes
        params = [
            consensus,
            as_double(alpha, "`alpha`"),
            _number_of(distance),
            pt.cast(pt.as_tensor_variable(where), "bool"),
            pt.cast(pt.as_tensor_variable(sizes), "int64"),
            pt.constant(n),
        ]
        return with_given(super().dist(params, **kwargs), **given)

    def support_point(rv: TensorVariable, consensus: Any, alpha: Any, *more: Any) -> TensorVariable:
        """Return the consensus, as far as it is seen."""
        _, where, sizes, _ = more
        return pt.zeros_like(rv) + ranks_from_scores(-consensus, where, sizes)

    def logp(value: Any, consensus: Any, alpha: Any, *more: Any) -> TensorVariable:
        """One log-probability per ranking."""
        distance, where, sizes, n_items = more
        n = int(n_items.data)
        if is_full(where, sizes):
            logp = mallows_logp(value, consensus, alpha, distance=_name_of(distance))
            logp = pt.switch(are_ranks(value, n), logp, -pt.inf)
            return checked(logp, alpha, are_ranks(consensus, n))
        # sums are over rows
        shape = batch_shape(value, consensus, alpha[..., None])
        ranks, rho = (pt.broadcast_to(x, (*shape, n)).reshape((-1, n)) for x in (value, consensus))
        of_each = pt.broadcast_to(alpha, shape).reshape((-1,)) if shape else alpha
        logp = partial_logp(ranks, rho, of_each, distance=_name_of(distance), n_items=n)
        logp = logp.reshape(shape) if shape else logp[0]
        possible = fits(value, where, sizes)
        return checked(pt.switch(possible, logp, -pt.inf), alpha, are_ranks(consensus, n))


class _SummedOut(Discrete):
    """Rankings around a consensus that is summed out; `Mallows` makes it."""

    rv_type = SummedOutRV
    rv_op = SummedOutRV.rv_op

    @classmethod
    def dist(cls, alpha: Any, *, distance: str = "footrule", **kwargs: Any) -> TensorVariable:
        shape = kwargs.pop("shape", None)
        known = [] if shape is None else [known_value(pt.as_tensor_variable(x)) for x in shape]
        if len(known) < 2 or known[-1] is None or known[-2] is None:
            raise ValueError(
                "A Mallows model without a consensus is one of several rankings together: give "
                "shape=(n_rankings, n_items), or observed rankings."
            )
        n_rankings, n = int(known[-2]), int(known[-1])
        check_summed_out(distance, n)
        alpha = pt.atleast_1d(as_double(alpha, "`alpha`"))
        if alpha.ndim > 1 or alpha.type.shape[0] not in (None, 1, n_rankings):
            raise ValueError(
                f"`alpha` has shape {alpha.type.shape}; of {n_rankings} rankings it is one number, "
                f"or one per ranking, shape ({n_rankings},)."
            )
        item = pt.constant(np.tile(np.arange(n), (n_rankings, 1)))
        params = [alpha, item, _number_of(distance), pt.constant(NO_BLOCKS)]
        return super().dist(params, shape=tuple(shape), **kwargs)

    def support_point(rv: TensorVariable, *_: Any) -> TensorVariable:
        """Return the order of the items."""
        return _in_order(rv)

    def logp(value: Any, alpha: Any, item: Any, distance: Any, sizes: Any) -> TensorVariable:
        """One log-probability of all rankings."""
        return _summed_out(value, alpha, item, distance, sizes)


# ---------------------------------------------------------------------------------------------
# Observed rankings
# ---------------------------------------------------------------------------------------------


class _ObservedRV(ObservedRankingsRV):
    """Observed rankings, with a check that the model has a sum for them."""

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        cls.check(name, data, _name_of(p.distance))
        return super().record(name, data, p)

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        """Raise where a ranking has no sum."""
        raise NotImplementedError

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        if p.alpha.type.shape != (1,):
            check_length(name, "alpha", p.alpha, data.n_rankings, cls.noun, "of them")


class ObservedMallowsRV(_ObservedRV, MallowsRV):
    """Full and partial rankings observed around a consensus."""

    parameters = PARAMETERS | {"ranks": "slot", "weight": "", "is_ranking": ""}
    gathered = ("consensus", "alpha")
    value_axes = "slot"

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        row = check_partial(distance, data.ranks, data.n_items)
        if row is not None:
            raise ValueError(
                f"{name!r} sums over the full rankings that complete partial ones, and under "
                f"distance={distance!r} the sum has more than 2^22 terms: {described(data, row)}. "
                "Use the footrule, which has no limit for rankings without ties, or drop items by "
                "drop_items()."
            )

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return pt.zeros_like(rv) + ranks_from_scores(-p.consensus, p.where, p.sizes)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        n = int(p.n_items.data)
        logp = partial_logp(value, p.consensus, p.alpha, distance=_name_of(p.distance), n_items=n)
        if not is_observed(value, p.ranks):
            logp = pt.switch(fits(value, p.where, p.sizes), logp, -pt.inf)
        return p.weight * checked(logp, p.alpha, p.is_ranking)


class ObservedFullRV(ObservedMallowsRV):
    """Full rankings observed around a consensus, whose distances need no sum."""

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        _refuse_partial(name, data)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return ranks

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return pt.zeros_like(rv) + p.consensus

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        n = int(p.n_items.data)
        consensus = pt.specify_shape(p.consensus, (None, n))
        logp = mallows_logp(value, consensus, p.alpha, distance=_name_of(p.distance))
        if not is_observed(value, p.ranks):
            logp = pt.switch(are_ranks(value, n), logp, -pt.inf)
        return p.weight * checked(logp, p.alpha, p.is_ranking)


class ObservedSummedOutRV(_ObservedRV, SummedOutRV):
    """Rankings of all items observed, and the consensus summed out."""

    parameters = SUMMED_OUT | {"ranks": "ranking,slot", "weight": "ranking"}
    gathered = ("alpha", "item")
    value_axes = "ranking,slot"

    @classmethod
    def check(cls, name: str, data: Rankings, distance: str) -> None:
        if distance != "kendall":
            if (row := _first_partial(data)) is not None:
                raise ValueError(
                    f"{name!r} sums its consensus out, of full rankings without ties under "
                    f"distance={distance!r}: {described(data, row)}. Ties are summed under "
                    "'kendall'. Give a consensus, such as br.PlackettLuce('consensus', zeros, "
                    "dims='item') with br.LeapAndShift for its steps, or leave out items that not "
                    "all have ranked by drop_items()."
                )
        elif (row := int((~data.mask).sum(axis=1).argmax())) >= 0 and not (
            data.n_slots == data.n_items and data.mask[row].all()
        ):
            raise ValueError(
                f"{name!r} sums its consensus out, of rankings of all items: "
                f"{described(data, row)}. Give a consensus, such as br.PlackettLuce('consensus', "
                "zeros, dims='item') with br.LeapAndShift for its steps, or say by "
                "from_orderings(..., rest=) that what is left out comes last."
            )

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return cls._shown(_in_order(rv), p)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        known = is_observed(value, p.ranks)
        of = value, p.alpha, p.item, p.distance, p.sizes
        return _summed_out(*of, weight=p.weight, known=known)


class SharedSummedOutRV(ObservedSummedOutRV):
    """The same with one concentration, by which the sum over orders is interpolated."""

    parameters = ObservedSummedOutRV.parameters | {
        "cost": "of,at",
        "series": "piece,power",
        "axis": "number",
    }
    derives_weights = True

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        found = super().record(name, data, p)
        by_item = _by_item(data.item, data.ranks)
        cost, curve = consensus_curve(by_item, data.weight, _name_of(p.distance))
        return found._replace(derived={"cost": cost, **curve._asdict()})

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.ranks) or not _is_current(p):
            return super().logp(value, p)
        logp = summed_out_along_curve(
            p.alpha[0],
            Curve(p.series, p.axis),
            p.weight,
            n_items=known_items(p.item),
            distance=_name_of(p.distance),
            sizes=_blocks_of(p.sizes),
        )
        return checked(logp, p.alpha)


def _refuse_partial(name: str, data: Rankings) -> None:
    if (row := _first_partial(data)) is not None:
        raise ValueError(
            f"{name!r} was made with full rankings without ties: {described(data, row)}. Make "
            "the model anew with partial rankings, which it then allows."
        )


def is_full(where: Any, sizes: Any) -> bool:
    """Whether all slots are in use, and no blocks are given."""
    used = known_value(where)
    return sizes.type.shape[-1] == 0 and used is not None and bool(used.all())


def _first_partial(data: Rankings) -> int | None:
    """Position of the first ranking that is not full; None if all are."""
    full = np.arange(1, data.n_items + 1)
    if data.n_slots < data.n_items:
        return 0
    partial = (data.ranks != full).any(axis=1)
    return int(partial.argmax()) if partial.any() else None


def described(data: Rankings, row: int) -> str:
    """Say how many items a ranking has, and on how many ranks."""
    ranked, n_ranks = int(data.mask[row].sum()), int(data.ranks[row].max())
    return (
        f"ranking {label_repr(data.labels[row])} has {ranked} of the {data.n_items} items, on "
        f"{n_ranks} different ranks"
    )


def _by_item(item: Any, ranks: Any) -> Any:
    """Ranks (n_rankings, n_items) from those of slots."""
    out = np.empty(ranks.shape, np.int64)
    np.put_along_axis(out, item.astype(np.int64), ranks.astype(np.int64), axis=1)
    return out


def _is_current(p: SimpleNamespace) -> bool:
    """Whether the costs are those of the data that the model now holds.

    Asked when a log-probability is built: where data were replaced, such as by rows of them, the
    sum over orders is taken anew at every evaluation.
    """
    item, ranks, weight, cost = map(_known, (p.item, p.ranks, p.weight, p.cost))
    if item is None or ranks is None or weight is None or cost is None:
        return False
    each = consensus_costs(_by_item(item, ranks), _name_of(p.distance)).eval(mode="FAST_COMPILE")
    return np.array_equal(np.tensordot(weight, each, 1), cost)


def _known(x: TensorVariable) -> Any:
    """Value of data under the casts and the shapes that PyMC and we put on them, in any order."""
    while x.owner is not None and isinstance(x.owner.op, SpecifyShape | Elemwise):
        if isinstance(x.owner.op, Elemwise) and not isinstance(x.owner.op.scalar_op, Cast):
            return None
        x = x.owner.inputs[0]
    return known_value(x)


def _observe(
    name: str, consensus: Any, alpha: Any, rankings: Rankings, options: Mapping[str, Any]
) -> TensorVariable:
    """Add rankings and the variable that observes them to the model in context."""
    own, options = observed_options(
        "Mallows",
        rankings,
        options,
        takes=("distance", "consensus_dims", "alpha_dims"),
        brings=("where", "sizes"),
    )
    distance, n = own.get("distance", "footrule"), rankings.n_items
    given = {"distance": _number_of(distance)}
    dims = options.get("dims")
    alpha_of = alpha_by_name(name, alpha, rankings, own.get("alpha_dims"), dims)
    if consensus is None:
        check_summed_out(distance, n)
        if options.get("total_size") is not None:
            raise ValueError(
                f"{name!r} has total_size=: without a consensus the rankings have one "
                "log-probability together, which rows do not add up to. Give a consensus."
            )

        tied = _first_partial(rankings) is not None

        def of_all(data: SimpleNamespace) -> dict[str, TensorVariable]:
            return {
                "sizes": pt.cast(data.sizes, "int64") if tied else pt.constant(NO_BLOCKS),
                "alpha": pt.atleast_1d(in_rows(alpha_of, vars(data))),
                "item": of_items(data.item, n),
                "ranks": pt.cast(data.ranks, "int64"),
                "weight": data.weight,
            }

        kind = ObservedSummedOutRV if alpha_of.axes else SharedSummedOutRV
        return observe(kind, name, rankings, given, of_all, outcome=OUTCOME, **options)

    check_distance(distance)
    by_name, is_ranking = consensus_by_name(
        name, consensus, rankings, own.get("consensus_dims"), dims
    )

    def of_each(data: SimpleNamespace) -> dict[str, TensorVariable]:
        return {
            "consensus": pt.cast(in_slots(by_name, vars(data)), "int64"),
            "alpha": in_rows(alpha_of, vars(data)),
            "where": data.ranks > 0,
            "sizes": pt.cast(data.sizes, "int64"),
            "n_items": n,
            "is_ranking": is_ranking,
            "ranks": pt.cast(data.ranks, "int64"),
            "weight": data.weight,
        }

    return observe(
        ObservedFullRV if _first_partial(rankings) is None else ObservedMallowsRV,
        name,
        rankings,
        given,
        of_each,
        outcome=OUTCOME,
        items_known=ITEM in by_name.axes,
        **options,
    )


def consensus_by_name(
    name: str, consensus: Any, rankings: Rankings, said: Any, dims: Any
) -> tuple[Named, TensorVariable]:
    """Read what a consensus is by, and whether it holds the ranks of all items."""
    _refuse_real_numbers(consensus)
    by_name = utility_by_name(
        name, consensus, rankings, utility_dims=said, dims=dims, what="consensus"
    )
    own_axis = [axis for axis, of in enumerate(by_name.axes) if of in (ITEM, "slot")]
    if not own_axis:
        raise ValueError(
            f"The consensus of {name!r} is by {' and '.join(by_name.axes)}, and not by item."
        )
    known = known_value(by_name.value)
    if known is not None:
        _refuse_no_ranks(np.moveaxis(known, own_axis[0], -1).astype(np.int64))
    by_row = pt.moveaxis(by_name.value, own_axis[0], -1)
    return by_name, pt.all(are_ranks(by_row, rankings.n_items))


def alpha_by_name(
    name: str, alpha: Any, rankings: Rankings, said: Any, dims: Any, *, by_stage: bool = False
) -> Named:
    """Read what a concentration is by: by ranking, ranker or groups, and by stage or not."""
    last = (STAGE,) if by_stage else ()
    return by_axes(
        name,
        "alpha",
        alpha,
        {last: "one per stage" if by_stage else "one for all"} | by_row(rankings, *last),
        rankings_axes(
            rankings,
            dims,
            {STAGE: np.arange(1, max(rankings.n_items, 2))} if by_stage else {},
            says=not by_stage,
            first=last,
        ),
        also=(RANKING, RANKER, *rankings.groups),
        said=said,
    )


def of_items(x: TensorVariable, n: int) -> TensorVariable:
    """Whole numbers of as many slots as there are items."""
    return pt.specify_shape(pt.cast(x, "int64"), (None, n))


# ---------------------------------------------------------------------------------------------
# Parameters and values
# ---------------------------------------------------------------------------------------------


def _summed_out(
    value: Any,
    alpha: Any,
    item: Any,
    distance: Any,
    sizes: Any,
    *,
    weight: Any = None,
    known: bool = False,
) -> TensorVariable:
    """Log-probability of all rankings together, in slots of which the items are given."""
    if value.ndim != 2:
        raise ValueError(
            f"A Mallows model without a consensus has the log-probability of one matrix of "
            f"rankings at a time; the value has {value.ndim} axes."
        )
    n = known_items(item)
    rows = pt.arange(item.shape[0])[:, None]
    value = pt.cast(value, "int64")
    by_item = pt.zeros_like(item)[rows, item].set(value)
    blocks = _blocks_of(sizes)
    logp = summed_out_logp(
        pt.specify_shape(by_item, (None, n)),
        alpha,
        distance=_name_of(distance),
        weight=weight,
        sizes=blocks,
    )
    if not known:
        possible = (
            are_ranks(value, n)
            if blocks is None
            else fits(value, pt.ones_like(value, dtype=bool), blocks)
        )
        logp = pt.switch(pt.all(possible), logp, -pt.inf)
    return checked(logp, alpha)


def _blocks_of(sizes: TensorVariable) -> TensorVariable | None:
    """Block sizes, or None if there are no ties."""
    return None if sizes.type.shape[-1] == 0 else sizes


def _refuse_slots(where: Any, sizes: Any) -> None:
    if where is not None or sizes is not None:
        raise TypeError(
            "Mallows got where= or sizes= without a consensus: partial rankings of arrays go with "
            "one. Observed Rankings bring their own."
        )


def are_ranks(ranks: Any, n: int) -> TensorVariable:
    """Whether each row holds the ranks 1 to n, (...)."""
    return pt.all(pt.eq(pt.sort(ranks, axis=-1), np.arange(1, n + 1)), axis=-1)


def checked(logp: Any, alpha: Any, is_ranking: Any = None) -> TensorVariable:
    """Check the parameters where values are known: -inf in a model, an error elsewhere."""
    if is_ranking is not None:
        logp = check_parameters(logp, pt.all(is_ranking), msg=CONSENSUS_IS_WRONG)
    fine = pt.all(pt.isfinite(alpha) & (alpha >= 0))
    return check_parameters(logp, fine, msg=ALPHA_IS_WRONG)


def _in_order(rv: TensorVariable) -> TensorVariable:
    """Rank the slots from left to right; shape of `rv`."""
    return pt.cumsum(pt.ones_like(rv), axis=-1)


def _needs(alpha: Any) -> None:
    if alpha is None:
        raise TypeError("Mallows needs alpha=, the concentration of the rankings.")


def whole_ranks(consensus: Any) -> TensorVariable:
    """Return a consensus as whole numbers, if it is one of them."""
    refuse_labelled("`consensus`", consensus)
    if isinstance(getattr(consensus, "type", None), XTensorType):
        consensus = consensus.values
    _refuse_real_numbers(consensus)
    x = pt.as_tensor_variable(consensus)
    if isinstance(x, TensorConstant):
        _refuse_no_ranks(x.data)
    if x.ndim and x.type.shape[-1] is None:
        with suppress(MissingInputError):  # of data and of variables with dims it is known
            n = int(x.shape[-1].eval(mode="FAST_COMPILE"))
            x = pt.specify_shape(x, (*x.type.shape[:-1], n))
    return pt.cast(x, "int64")


def _refuse_real_numbers(consensus: Any) -> None:
    if isinstance(consensus, Mapping):
        consensus = pd.Series(dict(consensus)).apply(pd.Series)
    elif not hasattr(consensus, "dtype") and not hasattr(consensus, "dtypes"):
        consensus = pt.as_tensor_variable(consensus)
    dtypes = consensus.dtypes if hasattr(consensus, "dtypes") else consensus.dtype
    if any(str(dtype).lower().startswith("float") for dtype in np.atleast_1d(np.asarray(dtypes))):
        raise TypeError(
            "`consensus` holds real numbers; it is the ranks of the items, whole numbers from 1. "
            "Utilities are turned into ranks by bayesrank.rank_draws, or are those of PlackettLuce."
        )


def _refuse_no_ranks(known: NDArray[Any]) -> None:
    if known.size:
        ordered = np.sort(known, axis=-1)
        if (ordered != np.arange(1, known.shape[-1] + 1)).any():
            raise ValueError(
                f"`consensus` is {np.array2string(known, threshold=6)}; it holds every rank from 1 "
                f"to {known.shape[-1]} once."
            )


def _number_of(distance: str) -> TensorVariable:
    check_distance(distance)
    return pt.constant(DISTANCES.index(distance))


def _name_of(distance: TensorVariable) -> str:
    return DISTANCES[int(distance.data)]
