r"""Generalised Mallows models: rankings around one consensus, chosen stage by stage.

The value is one ranking in each row, as of `Mallows`, which has one concentration where this has
one for every stage: people may agree on the first places and not on the last ones.

>>> import pymc as pm
>>> ranks = GeneralizedMallows.dist([1, 2, 3], [3.0, 0.0])
>>> round(float(pm.logp(ranks, [2, 1, 3]).exp().eval()), 4)
0.1224
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.distribution import Discrete
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.distributions.by_name import Named, in_rows, in_slots
from bayesrank.distributions.mallows import (
    OUTCOME,
    STAGE,
    MallowsRV,
    SummedOutRV,
    alpha_by_name,
    are_ranks,
    checked,
    consensus_by_name,
    described,
    of_items,
    whole_ranks,
)
from bayesrank.distributions.observed import (
    DistOptions,
    Options,
    Record,
    as_double,
    check_length,
    is_labelled,
    is_observed,
    known_value,
    observe,
    observed_options,
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
    check_summed_out,
    draw_by_stages,
    known_items,
    stages_logp,
    summed_out_stages_logp,
)
from bayesrank.schema import ITEM

__all__ = ["GeneralizedMallows", "GeneralizedMallowsRV", "check_lists", "of_known_stages"]

# Blocks of length 0: full rankings
PARAMETERS = {"consensus": "slot", "alpha": STAGE, "sizes": "block"}
SUMMED_OUT = {"alpha": STAGE, "item": "ranking,slot", "sizes": "row,block"}


class GeneralizedMallowsRV(MallowsRV):
    """Draw one seed per ranking, and a ranking of it, stage by stage."""

    name = "generalized_mallows"
    drawn_by = tuple(PARAMETERS)
    extended_signature = signature(PARAMETERS, "slot")
    _print_name = ("GeneralizedMallows", "\\operatorname{GeneralizedMallows}")

    @classmethod
    def _consensus(cls, p: SimpleNamespace, size: Any, rng: Any) -> tuple[Any, TensorVariable, Any]:
        parts = (p.consensus, p.alpha) + (() if p.sizes.type.shape[-1] == 0 else (p.sizes,))
        return rng, p.consensus, batch_shape(*parts) if size is None else tuple(size)

    @classmethod
    def _drawn(
        cls, consensus: TensorVariable, p: SimpleNamespace, seed: Any, batch: Any
    ) -> TensorVariable:
        return draw_by_stages(consensus, p.alpha, seed, shape=batch)

    @classmethod
    def _shown(cls, ranks: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if p.sizes.type.shape[-1] == 0:
            return ranks
        return ranks_from_scores(-ranks, pt.ones_like(ranks, dtype=bool), p.sizes)


class StagesSummedOutRV(SummedOutRV):
    """Draw one consensus, and rankings around it."""

    name = "generalized_mallows_summed_out"
    drawn_by = tuple(SUMMED_OUT)
    extended_signature = signature(SUMMED_OUT, "ranking,slot")
    _print_name = GeneralizedMallowsRV._print_name

    @classmethod
    def _drawn(
        cls, consensus: TensorVariable, p: SimpleNamespace, seed: Any, batch: Any
    ) -> TensorVariable:
        return draw_by_stages(consensus, p.alpha, seed, shape=batch)


class GeneralizedMallows(Discrete):
    r"""Generalised Mallows log-likelihood of full rankings and top-k lists.

    .. math:: P(\pi \mid \rho, \alpha) = \prod_{j=1}^{n-1}
              \frac{\exp(-\frac{\alpha_j}{n} V_j(\pi, \rho))}
                   {\sum_{v=0}^{n-j} \exp(-\frac{\alpha_j}{n} v)}

    where :math:`V_j` counts the items that are left at stage j and stand before the chosen one in
    the consensus :math:`\rho`. The sum of the :math:`V_j` is Kendall's distance: equal
    concentrations make `Mallows` of it. Without a consensus it is summed out, all orders of the
    items being equally likely a priori.

    ========  ==================================================================
    Support   full rankings and top-k lists (given k)
    Axes      the last one is items or slots; the ones before it are rankings
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    consensus : tensor_like of int, (..., n) or, with a `Rankings`, (n_items,), optional
        Ranks of the items, 1 to n, as of `Mallows`. None, with a `Rankings` of up to 22 items: it
        is summed out, in time :math:`2^n n` at every evaluation, 0.04 s at 20 items.
    alpha : tensor_like of float, (..., n_stages)
        Concentration at each stage, not negative, on the scale of `Mallows`. There are 1 to n - 1
        stages; after the last all orders of what is left are equally likely. Of top-k lists as
        many as k can be learned. With a `Rankings` and a consensus it may be by ranker, ranking
        and groups as well, such as ``dims=("ranker", "stage")``, in any order.
    consensus_dims : str or sequence of str, optional
        With a `Rankings`, dims of a consensus that has no names.
    observed : Rankings or array_like of int, optional
        A `Rankings` registers its data as `PlackettLuce` does. Every ranking has all items, and no
        ties but in the last block: ``from_orderings(..., rest=)`` puts what is left out there.
        An array holds ranks aligned with `consensus`.
    sizes : array_like of int, optional
        Of an array of top-k lists: block sizes, ones and then what is left.

    Returns
    -------
    TensorVariable of int, (..., n)
        The ranks. With a consensus, `logp` has one number per ranking, times its weight; without
        one, one for all of them.

    Raises
    ------
    ValueError
        If a consensus does not hold the ranks 1 to n, there are too many stages or items, or a
        ranking leaves items out, or has ties before its last block.
    TypeError
        On unknown arguments, without `alpha`, or if a consensus holds no whole numbers.

    Notes
    -----
    Other ties, and items that are left out, would take sums over sets and are refused: `Mallows`,
    which has one concentration for all stages, takes them.

    References
    ----------
    Fligner & Verducci, Distance based ranking models, JRSS B 1986; Multistage ranking models, JASA
    1988.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["a", {"b", "c"}]])
    >>> with pm.Model(coords=rankings.coords | {"stage": [1, 2]}) as model:
    ...     alpha = pm.Exponential("alpha", 0.1, dims="stage")
    ...     y = br.GeneralizedMallows("y", alpha=alpha, observed=rankings)
    >>> logp = model.compile_logp(vars=y)
    >>> [round(float(logp({"alpha_log__": [x, x]})), 4) for x in (-20.0, 0.0, 1.0)]
    [-4.6821, -4.5757, -4.2492]
    """

    rv_type = GeneralizedMallowsRV
    rv_op = GeneralizedMallowsRV.rv_op

    def __new__(
        cls,
        name: str,
        consensus: Any = None,
        alpha: Any = None,
        *,
        observed: Any = None,
        consensus_dims: str | Sequence[str] | None = None,
        sizes: Any = None,
        **kwargs: Unpack[Options],
    ) -> TensorVariable:
        refuse_single_precision()
        options: dict[str, Any] = dict(kwargs)
        options |= {} if sizes is None else {"sizes": sizes}
        if isinstance(observed, Rankings):
            dims = {"consensus_dims": consensus_dims}
            return _observe(name, consensus, alpha, observed, options | dims)
        if consensus_dims is not None:
            raise TypeError(
                "GeneralizedMallows got consensus_dims= without rankings: it goes with Rankings."
            )
        if observed is not None:
            each = {"consensus": (consensus, 1), "alpha": (alpha, 1)}
            observed, options = observed_orders(
                cls.__name__, observed, options, each, partial=False
            )
        return super().__new__(cls, name, consensus, alpha, observed=observed, **options)

    @classmethod
    def dist(
        cls,
        consensus: Any = None,
        alpha: Any = None,
        *,
        sizes: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Make a distribution without a name, to draw from or to put into others.

        Parameters
        ----------
        consensus, alpha, sizes
            As of the class; the consensus is needed.
        **kwargs
            As PyMC's distributions have them.

        Returns
        -------
        TensorVariable of int
            Ranks, by item.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.GeneralizedMallows.dist([1, 2, 3], [1.0], sizes=[1, 2])
        >>> round(float(pm.logp(y, [1, 2, 2]).exp().eval()), 3)
        0.448
        """
        refuse_single_precision()
        if consensus is None:
            raise TypeError(
                "GeneralizedMallows without a consensus sums it out of observed Rankings: give "
                "observed=Rankings..., or a consensus."
            )
        given = {"consensus": consensus, "alpha": alpha}
        consensus = pt.atleast_1d(whole_ranks(consensus))
        alpha = _of_stages("GeneralizedMallows", alpha, known_items(consensus))
        sizes = np.zeros(0, np.int64) if sizes is None else sizes
        _check_sizes(sizes)
        sizes = pt.cast(pt.as_tensor_variable(sizes), "int64")
        return with_given(super().dist([consensus, alpha, sizes], **kwargs), **given)

    def support_point(
        rv: TensorVariable, size: Any, consensus: Any, alpha: Any, sizes: Any
    ) -> TensorVariable:
        """Return the consensus, as far as it is seen."""
        return pt.zeros_like(rv) + GeneralizedMallowsRV._shown(
            consensus, SimpleNamespace(sizes=sizes)
        )

    def logp(value: Any, consensus: Any, alpha: Any, sizes: Any) -> TensorVariable:
        """One log-probability per ranking."""
        n = known_items(consensus)
        shape = batch_shape(value, consensus, alpha)
        ranks, rho = (pt.broadcast_to(x, (*shape, n)).reshape((-1, n)) for x in (value, consensus))
        n_stages = alpha.type.shape[-1]
        of_each = pt.broadcast_to(alpha, (*shape, n_stages)).reshape((-1, n_stages))
        logp = stages_logp(ranks, rho, of_each)
        logp = logp.reshape(shape) if shape else logp[0]
        possible = _is_possible(value, sizes, n)
        return checked(pt.switch(possible, logp, -pt.inf), alpha, are_ranks(consensus, n))


# ---------------------------------------------------------------------------------------------
# Observed rankings
# ---------------------------------------------------------------------------------------------


class _ObservedRV(ObservedRankingsRV):
    """Rankings of all items, with ties in the last block only."""

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        check_lists(name, data)
        return super().record(name, data, p)


class ObservedStagesRV(_ObservedRV, GeneralizedMallowsRV):
    """Rankings observed around a consensus."""

    rows_apart = True
    parameters = PARAMETERS | {"ranks": "slot", "weight": "", "is_ranking": ""}
    gathered = ("consensus", "alpha")
    value_axes = "slot"

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        if p.alpha.ndim > 1:
            check_length(name, "alpha", p.alpha, data.n_rankings, cls.noun, "of them")

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return pt.zeros_like(rv) + cls._shown(p.consensus, p)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        logp = stages_logp(value, p.consensus, p.alpha)
        if not is_observed(value, p.ranks):
            logp = pt.switch(_is_possible(value, p.sizes, known_items(p.consensus)), logp, -pt.inf)
        return p.weight * checked(logp, p.alpha, p.is_ranking)


class ObservedStagesSummedOutRV(_ObservedRV, StagesSummedOutRV):
    """Rankings observed, and the consensus summed out."""

    parameters = SUMMED_OUT | {"ranks": "ranking,slot", "weight": "ranking"}
    gathered = ("item",)
    value_axes = "ranking,slot"

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return cls._shown(pt.cumsum(pt.ones_like(rv), axis=-1), p)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if value.ndim != 2:
            raise ValueError(
                "A Mallows model without a consensus has the log-probability of one matrix of "
                f"rankings at a time; the value has {value.ndim} axes."
            )
        n = known_items(p.item)
        rows = pt.arange(p.item.shape[0])[:, None]
        by_item = pt.zeros_like(p.item)[rows, p.item].set(pt.cast(value, "int64"))
        logp = summed_out_stages_logp(pt.specify_shape(by_item, (None, n)), p.alpha, p.weight)
        if not is_observed(value, p.ranks):
            logp = pt.switch(pt.all(_is_possible(value, p.sizes, n)), logp, -pt.inf)
        return checked(logp, p.alpha)


def _observe(
    name: str, consensus: Any, alpha: Any, rankings: Rankings, options: Mapping[str, Any]
) -> TensorVariable:
    """Add rankings and the variable that observes them to the model in context."""
    own, options = observed_options(
        "GeneralizedMallows", rankings, options, takes=("consensus_dims",), brings=("sizes",)
    )
    n, dims = rankings.n_items, options.get("dims")
    alpha_of = _of_rankings(name, alpha, rankings, dims)

    def data_of(data: SimpleNamespace) -> dict[str, TensorVariable]:
        return {
            "alpha": in_rows(alpha_of, vars(data)),
            "sizes": pt.cast(data.sizes, "int64"),
            "ranks": pt.cast(data.ranks, "int64"),
            "weight": data.weight,
        }

    if consensus is None:
        check_summed_out("kendall", n)
        if alpha_of.axes != (STAGE,):
            raise ValueError(
                f"The alpha of {name!r} is by {' and '.join(alpha_of.axes)}; without a consensus "
                "it is by stage. Give a consensus."
            )
        if options.get("total_size") is not None:
            raise ValueError(
                f"{name!r} has total_size=: without a consensus the rankings have one "
                "log-probability together, which rows do not add up to. Give a consensus."
            )
        return observe(
            ObservedStagesSummedOutRV,
            name,
            rankings,
            {},
            lambda data: data_of(data) | {"item": of_items(data.item, n)},
            outcome=OUTCOME,
            **options,
        )
    by_name, is_ranking = consensus_by_name(
        name, consensus, rankings, own.get("consensus_dims"), dims
    )
    return observe(
        ObservedStagesRV,
        name,
        rankings,
        {},
        lambda data: (
            data_of(data)
            | {"consensus": of_items(in_slots(by_name, vars(data)), n), "is_ranking": is_ranking}
        ),
        outcome=OUTCOME,
        items_known=ITEM in by_name.axes,
        **options,
    )


# ---------------------------------------------------------------------------------------------
# Parameters and values
# ---------------------------------------------------------------------------------------------


def _of_rankings(name: str, alpha: Any, rankings: Rankings, dims: Any) -> Named:
    """Read concentrations by stage, and by what rankings differ in."""
    if alpha is None or (np.ndim(alpha) == 0 and not is_labelled(alpha)):
        _of_stages(name, alpha, rankings.n_items)
    found = alpha_by_name(name, alpha, rankings, None, dims, by_stage=True)
    return found._replace(value=of_known_stages(found.value))


def of_known_stages(x: TensorVariable) -> TensorVariable:
    """Say how many stages there are, the last axis."""
    n_stages = int(x.shape[-1].eval(mode="FAST_COMPILE"))
    return pt.specify_shape(x, (*x.type.shape[:-1], n_stages))


def _of_stages(name: str, alpha: Any, n_items: int) -> TensorVariable:
    """Read concentrations by stage; as many as there can be."""
    if alpha is None:
        raise TypeError("GeneralizedMallows needs alpha=, a concentration for every stage.")
    x = as_double(alpha, "`alpha`")
    x = of_known_stages(x) if x.ndim else x
    n_stages = x.type.shape[-1] if x.ndim else 0
    most = max(n_items - 1, 1)
    if not 1 <= n_stages <= most:
        got = f"{n_stages} of them" if x.ndim else "one number"
        raise ValueError(
            f"`alpha` of {name!r} is {got}: it has one concentration for every stage, the last "
            f"axis being stages, and {n_items} items are chosen in 1 to {most} of them. One for "
            "all stages is br.Mallows(..., distance='kendall')."
        )
    return x


def check_lists(name: str, rankings: Rankings) -> None:
    """Raise where a ranking is neither full nor a top-k list of all items."""
    # so many items were chosen before the last block as there are ranks before it
    last = rankings.ranks.max(axis=1, keepdims=True)
    chosen = (rankings.mask & (rankings.ranks < last)).sum(axis=1)
    bad = (rankings.mask.sum(axis=1) < rankings.n_items) | (chosen != last[:, 0] - 1)
    if bad.any():
        raise ValueError(
            f"{name!r} is of rankings that have all items, and ties in the last block only: "
            f"{described(rankings, int(bad.argmax()))}. Say by from_orderings(..., rest=) "
            "that what is left out comes last, or take br.Mallows(..., distance='kendall')."
        )


def _check_sizes(sizes: Any) -> None:
    """Raise where known block sizes are not ones and then what is left."""
    known: NDArray[Any] | None = known_value(pt.as_tensor_variable(sizes))
    if known is None or known.size == 0:
        return
    rows = np.atleast_2d(known)
    later = np.cumsum(rows[:, ::-1] > 0, axis=1)[:, ::-1] > 1  # another block follows
    if (rows[later] != 1).any():
        raise ValueError(
            f"`sizes` is {np.array2string(known, threshold=6)}; of a generalised Mallows model "
            "blocks have one item, but for the last, which is what is left."
        )


def _is_possible(value: Any, sizes: Any, n: int) -> TensorVariable:
    """Whether values are rankings with blocks of these sizes, (...)."""
    if sizes.type.shape[-1] == 0:
        return are_ranks(value, n)
    return fits(value, pt.ones_like(value, dtype=bool), sizes)
