r"""MPM as a PyMC distribution: counts of ordered pairs by rankers with common scores.

The value has one table of counts per ranker, and `logp` returns one number per ranker. Observed
`PairCounts` stay sparse: the model stores and predicts the net counts of each item.

>>> import pymc as pm
>>> once = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]  # the first item over the second
>>> round(float(pm.logp(MPM.dist([0.0, 0.0, 0.0]), once).exp().eval()), 6)
0.166667
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.data import PairCounts, UninformativeRankingWarning
from bayesrank.data.read import has_labels, quoted
from bayesrank.distributions.core.arguments import NamedArguments
from bayesrank.distributions.core.by_name import Axes, by_axes, dims_of, flat_places, has_dims
from bayesrank.distributions.core.drawn import DrawnRV, batch_shape
from bayesrank.distributions.core.observed import (
    DataPart,
    DistOptions,
    ObservedRV,
    Options,
    Record,
    as_double,
    check_counts,
    check_length,
    check_numbers,
    check_rows,
    is_observed,
    label_axis,
    label_outcome,
    names_of_axes,
    observe,
    observed_counts,
    observed_options,
    refuse_labelled,
    refuse_other_data,
    refuse_single_precision,
    reorder_data,
)
from bayesrank.distributions.core.outcomes import labelled
from bayesrank.likelihoods.mpm import (
    CountsDraw,
    NetCountsDraw,
    agreement,
    log_normaliser_table,
    mpm_logp,
)
from bayesrank.likelihoods.ops import broadcast_batch, segment_sum
from bayesrank.schema import AT_RANDOM, ITEM, NET, RANKER, WEIGHT

__all__ = ["MPM"]

# variance of length 0: all variances are equal; the total of the counts may be missing
PARAMETERS = {"score": "item", "variance": "variance", "adherence": "", "total": ""}
_PACKAGE = str(Path(__file__).parents[1])

PROBLEM = "problem"
MOST_NET = 2**31 - 1  # largest number of net counts: positions have 32 bits


class MPMRV(DrawnRV):
    """Draw one seed per ranker, and then the pairs in sequence.

    Without a total, draws hold one comparison and any value is possible.
    """

    name = "mpm"
    parameters: ClassVar[Mapping[str, str]] = PARAMETERS
    _print_name = ("MPM", "\\operatorname{MPM}")
    outcomes = "counts of ordered pairs given their sum"
    value_axes = "item,item"

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        total = pt.constant(1) if p.total is None else p.total
        columns = [p.score, p.variance, p.adherence[..., None], total[..., None]]
        batch = batch_shape(*columns) if size is None else size
        next_rng, seed = pt.random.integers(0, 2**62, size=batch, rng=rng, return_next_rng=True)
        score, variance, *single = broadcast_batch(*columns, seed[..., None])
        n = p.score.shape[-1]
        rows = score.reshape((-1, n))
        unequal = rows[:, :0] if _unequal(p.variance) is None else variance.reshape((-1, n))
        counts = CountsDraw()(rows, unequal, *(x.reshape((-1,)) for x in single))
        return next_rng, counts.reshape((*batch, n, n))

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        # negative counts have no log-probability, and are impossible
        counts = pt.switch(value < 0, 0, value)
        logp = mpm_logp(counts, p.score, p.adherence, _unequal(p.variance))
        diagonal = pt.sum(pt.abs(value) * pt.eye(value.shape[-1], dtype="int64"), axis=(-2, -1))
        possible = pt.all(value >= 0, axis=(-2, -1)) & pt.eq(diagonal, 0)
        if p.total is not None:
            possible = possible & pt.eq(pt.sum(value, axis=(-2, -1)), p.total)
        return _check_parameters(pt.switch(possible, logp, -pt.inf), p)

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return a table in which the first item is preferred to the second each time."""
        return pt.set_subtensor(pt.zeros_like(rv)[..., 0, 1], 1 if p.total is None else p.total)


class CountOptions(Options, total=False):
    """Options of `MPM`."""

    variance: TensorLike | None
    adherence: TensorLike | None
    total: TensorLike | None


class MPM(Discrete, metaclass=NamedArguments):
    r"""Multinomial preference model: log-likelihood of counts of ordered pairs.

    .. math:: P(C) = \frac{T!}{\prod_{i \ne j} C_{ij}!} \prod_{i \ne j} \left(
              \frac{e^{\theta D_{ij}}}{\sum_{k \ne l} e^{\theta D_{kl}}} \right)^{C_{ij}}, \qquad
              D_{ij} = \frac{s_i - s_j}{\gamma_i + \gamma_j}

    where :math:`C_{ij}` is the strength of a ranker's preference for item i over j, and T is the
    sum of all counts. Items have scores s and variances :math:`\gamma`. The adherence
    :math:`\theta` measures how closely the ranker follows the scores. At 0, the preferences are
    independent of them.

    Values are tables of counts with the given sum, zero on the diagonal. The last two axes are the
    preferred and the other item.

    Use it for counts that measure the strength of a preference, such as differences of ranks or
    ratings. The number of comparisons of a pair is then evidence: items far apart get more. Given
    how often each pair was compared, the model is `BradleyTerry` with doubled scores.

    A difference of 199 ranks is not worth 199 observations. Use binary counts, or an evidence
    weight below one (``counts.weighted(0.1)``); otherwise posteriors are far too narrow.

    Parameters
    ----------
    name : str
        Name of the variable.
    score : tensor_like of float, (..., n_items)
        Consensus of the rankers; only differences matter. With a `PairCounts`, the shape is
        (n_items,). A variable with dims may have item and any of ranker, problem and the groups of
        the counts, such as ``("region", "item")``. Dims with other names are matched by their
        labels.
    variance : tensor_like of float, (..., n_items), optional
        Uncertainty of the rankers about each item, positive. With a `PairCounts`, give one number
        or shape (n_items,). A variable with dims may have any of item, ranker, problem and the
        groups. The default is 1/2, so that D is the difference of the scores. The data do not
        identify the common scale of scores, variances and adherences, so that the priors must fix
        it.
    adherence : tensor_like of float, (...), optional
        Adherence of each ranker, not negative; default 1. With a `PairCounts`, give one number or
        shape (n_rankers,). A variable with dims may have any of ranker, problem and the groups. In
        the paper it lies in [0, 1]. For this scale, give the scores unit scale and divide the
        adherences by the largest.
    total : tensor_like of int, (...), optional
        Sum of the counts, for draws. By default, `logp` uses the sum of the value and draws have
        one count. Observed data contain their total.
    observed : PairCounts or array_like of int, optional
        Counts; an array has the axes of the value.
    **kwargs
        Options of PyMC variables. With a `PairCounts`, only ``dims`` and ``total_size``; with an
        array, also ``shape``, ``initval``, ``transform`` and ``rng``.

    Returns
    -------
    TensorVariable of int, (..., n_items, n_items) or, with `PairCounts`, (n_rankers, n_items)
        The counts, or the net counts :math:`\sum_j C_{ij} - C_{ji}` of each item by each ranker.
        `logp` and the pointwise log-likelihood have one number per ranker, times its evidence
        weight.

    Raises
    ------
    ValueError
        If an adherence is negative, a variance is not positive, or shapes do not fit. Also if
        counts are negative, not whole or on the diagonal.

    Warns
    -----
    UninformativeRankingWarning
        If rankers have no counts. The posterior of their adherence is the prior.

    See Also
    --------
    PairCounts, adherence_summary, plot_adherence

    Notes
    -----
    An evaluation costs :math:`O((n + \text{rankers}) \sqrt r)`, where n is the number of items, or
    of pairs if variances differ. Here r is the largest adherence times the largest
    :math:`|D_{ij}|`. With variances and many rankers, JAX is exact to 1e-6 for r up to 32.

    References
    ----------
    Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012 (eq. 8 and 9,
    whose normalisers should sum over k and l).

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> counts = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]]).counts()
    >>> with pm.Model(coords=counts.coords) as model:
    ...     score = pm.ZeroSumNormal("score", 1.0, dims="item")
    ...     adherence = pm.HalfNormal("adherence", 1.0, dims="ranker")
    ...     y = br.MPM("y", score, adherence=adherence, observed=counts)
    >>> model.named_vars_to_dims["y"]
    ('ranker', 'item')
    """

    rv_type = MPMRV
    rv_op = MPMRV.rv_op

    def __new__(
        cls, name: str, score: TensorLike, *, observed: Any = None, **kwargs: Unpack[CountOptions]
    ) -> TensorVariable:
        refuse_single_precision()
        options: dict[str, Any] = {**kwargs}
        if isinstance(observed, PairCounts):
            return _observe(name, score, observed, options)
        if observed is not None:
            refuse_other_data("MPM", observed, PairCounts, "PairCounts.from_frame")
            _check_counts(observed, score)
            if not isinstance(observed, Variable):
                by_item = {"score": (score, 1), "variance": (options.get("variance"), 1)}
                parameters = by_item | {"adherence": (options.get("adherence"), 0)}
                check_rows("MPM", np.shape(observed)[:-2], "tables", parameters)
            if options.get("total") is None:
                known = observed if isinstance(observed, Variable) else np.asarray(observed)
                options["total"] = known.sum(axis=(-2, -1))
        rv = super().__new__(cls, name, score, observed=observed, **options)
        return rv if observed is None else labelled(name, rv)

    @classmethod
    def dist(
        cls,
        score: TensorLike,
        *,
        variance: TensorLike | None = None,
        adherence: TensorLike | None = None,
        total: TensorLike | None = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `score`
        has shape (..., n_items), and draws are tables (..., n_items, n_items).

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.MPM.dist([0.0, 0.0], total=3)
        >>> round(float(pm.logp(y, [[0, 2], [1, 0]]).exp().eval()), 3)
        0.375
        """
        refuse_single_precision()
        refuse_labelled("`total`", total)
        score = pt.atleast_1d(as_double(score, "`score`"))
        if score.type.shape[-1] == 1:
            raise ValueError("`score` has one item; MPM compares items, so give two or more.")
        given = {"variance": variance, "adherence": adherence, "total": total}
        variance = pt.atleast_1d(as_double([] if variance is None else variance, "`variance`"))
        if variance.type.shape[-1] == 1:  # one for all items
            variance = pt.broadcast_to(variance, (*variance.shape[:-1], score.shape[-1]))
        n_variances, n_scores = variance.type.shape[-1], score.type.shape[-1]
        if n_variances not in (0, None, n_scores) and n_scores is not None:
            raise ValueError(
                f"`variance` has {n_variances} items, but `score` has {n_scores}. Give one "
                "variance for all items, or one for each."
            )
        adherence = as_double(1.0 if adherence is None else adherence, "`adherence`")
        params = {"variance": variance, "adherence": adherence}
        if total is not None:
            params["total"] = pt.as_tensor_variable(total)
        for parameter, x in params.items():
            _check_sign(parameter, given[parameter], x)
        if total is not None:
            params["total"] = pt.cast(params["total"], "int64")
        return super().dist([score, *params.values()], **kwargs)


def _unequal(variance: TensorVariable) -> TensorVariable | None:
    """Return the variances; None if all are equal."""
    return None if variance.type.shape[-1] == 0 else variance


# ---------------------------------------------------------------------------------------------
# Observed PairCounts
# ---------------------------------------------------------------------------------------------


class ParameterAxes(NamedTuple):
    """Axes of the parameters, the items last; None for a missing parameter."""

    score: tuple[str, ...] | None = None
    variance: tuple[str, ...] | None = None
    adherence: tuple[str, ...] | None = None

    def labelled(self) -> list[str]:
        """Name the axes whose labels are not stored with the data."""
        return sorted({axis for axes in self for axis in axes or ()} - {ITEM, RANKER})

    def groups(self) -> list[str]:
        """Name the axes that determine the scores and variances of a ranker."""
        return sorted({*(self.score or ()), *(self.variance or ())} - {ITEM, PROBLEM})

    def rates_of_rows(self) -> bool:
        """Tell whether each row has one rate, which multiplies the row.

        Otherwise all rates of a row are evaluated together.
        """
        axes = set(self.adherence or ())
        return bool(axes) and (PROBLEM in axes or axes <= set(self.groups()))

    def spread(self, counts: PairCounts) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        """Return the group of every ranker, and the positions of scores and variances by group."""
        groups, n_items = self.groups(), len(counts.items)
        codes = np.stack([np.zeros(len(counts.rankers), int), *_codes(counts, groups)], axis=1)
        distinct, group = np.unique(codes, axis=0, return_inverse=True)
        item, which = np.tile(np.arange(n_items), len(distinct)), distinct.repeat(n_items, axis=0)
        index: dict[str, NDArray[Any]] = {ITEM: item, PROBLEM: counts.problem_idx[item]}
        index |= dict(zip(groups, which.T[1:], strict=True))
        at = {
            "score_at": _places(counts, self.score, index, len(item)),
            "variance_at": _places(counts, self.variance, index, len(item)),
        }
        return group.ravel(), at

    def rates(self, counts: PairCounts, ranker: Any, problem: Any) -> NDArray[Any]:
        """Return the positions of the adherences of rankers in problems."""
        axes = [axis for axis in self.adherence or () if axis != PROBLEM]
        codes = (code[ranker] for code in _codes(counts, axes))
        index = {PROBLEM: problem} | dict(zip(axes, codes, strict=True))
        return _places(counts, self.adherence or (), index, len(ranker))


class ObservedMPMRV(ObservedRV, MPMRV):
    """Net counts of rankers (n_rankers, n_items), with the counts among the parameters.

    Scores and variances by further axes are flattened to one axis: all items of every *group* of
    rankers with the same values. The likelihood is a sum over *cells*, the counts of a ranker in a
    problem. Each cell has a *row*, the scores of the problem's items in its group, and a *rate*,
    its adherence. The structure `along` holds the `ParameterAxes`, and `fixed` the axes whose
    labels parameters keep.
    """

    data_types = (PairCounts,)
    data_name = "counts"
    axes = ("ranker", "item")
    example = ("judge", "player")
    value = "net"
    value_axes = "item"
    parameters: ClassVar[Mapping[str, str]] = {
        # all scores, variances and adherences, and positions of items
        **{name: name for name in ("score", "variance", "adherence", "score_at", "variance_at")},
        "weight": "",
        "log_multinomial": "",
        "item": "row,place",
        "where": "row,place",
        "row_rate": "row_rate",
        "needed": "needed_row,needed_rate",
        "cells": "four,cell",  # ranker, row, rate and total
        "cell": "entry",
        "first": "entry",
        "second": "second_entry",  # of length 0 if the net counts of items are enough
        "count": "entry",
        "net": "item",
    }

    @classmethod
    def record(cls, name: str, data: PairCounts, p: SimpleNamespace) -> Record:
        _warn_of_empty(name, data)
        at_random = data.weight * data.log_at_random()
        group, at = p.along.spread(data)
        return Record(
            labels=data.coords,
            parts={
                NET: DataPart(_net_counts(data), cls.axes),
                WEIGHT: DataPart(data.weight, ("ranker",)),
                AT_RANDOM: DataPart(at_random, ("ranker",)),
            },
            derived=at | cls.tables(data, p.along, group),
            outcome=label_outcome(cls, data.weight),
        )

    @classmethod
    def group_parameters(cls, p: SimpleNamespace) -> tuple[TensorVariable, TensorVariable]:
        """Return scores and variances, if any, of the items of every group."""
        variance = _unequal(p.variance)
        return p.score[p.score_at], p.variance if variance is None else variance[p.variance_at]

    @classmethod
    def on_axes(
        cls, model: pm.Model, name: str, data: PairCounts, p: SimpleNamespace
    ) -> PairCounts:
        coords = model.coords
        rows, items = model.named_vars_to_dims[name]
        kept = {RANKER: coords.get(rows), ITEM: coords.get(items)}
        for axis in p.along.labelled():
            kept[axis] = coords.get(f"{name}_{axis}s", coords.get(axis))
            if axis not in data.coords:
                raise ValueError(
                    f"A parameter of {name!r} is by {axis}, but the new counts are not grouped by "
                    "it. Add this group with PairCounts.grouped."
                )
        for axis, labels in kept.items():
            new = data.coords[axis]
            if labels is None or np.array_equal(labels, new):
                continue
            others = set(labels) != set(new)
            if axis in (RANKER, ITEM) and axis not in p.fixed and others:
                continue  # the new labels replace the coords
            try:
                data = data.reindex({axis: labels})
            except ValueError as error:
                raise ValueError(
                    f"{name!r} has parameters indexed by {axis}, and the new counts have other "
                    f"labels. {error} Build the model with all labels that it will ever see, or "
                    "take a subset of the counts."
                ) from error
        return data

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: PairCounts, p: SimpleNamespace) -> None:
        for parameter, axes in p.along._asdict().items():
            n = int(np.prod(_lengths(data, axes or ())))
            unit = " times ".join(f"{axis}s" for axis in axes or ())
            check_length(name, f"{parameter}s", getattr(p, parameter), n, "counts", unit)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.net):
            raise NotImplementedError(
                "The probability of net counts has no closed form, except for the observed "
                "PairCounts. Pass tables of counts, observed=array of shape (n_rankers, n_items, "
                "n_items), or replace the data with set_observed."
            )
        return _check_parameters(p.weight * cls.counts_logp(p), p)

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        next_rng, seed = pt.random.integers(
            0, 2**62, size=(p.weight.shape[0],), rng=rng, return_next_rng=True
        )
        tables = p.item, p.where > 0, p.cells
        draws = NetCountsDraw()(*cls.group_parameters(p), p.adherence, *tables, seed, p.net)
        return next_rng, draws

    @classmethod
    def tables(
        cls, counts: PairCounts, along: ParameterAxes, group: NDArray[Any]
    ) -> dict[str, NDArray[Any]]:
        """Compute the data that the likelihood needs in addition to the net counts."""
        layout, n_items, totals = counts.layout(), len(counts.items), counts.totals().T
        ranker, problem = np.nonzero(totals)
        rate = along.rates(counts, ranker, problem)
        cell = np.zeros(totals.shape, dtype=np.int32)
        cell[ranker, problem] = np.arange(len(ranker))

        own_rate = rate if along.rates_of_rows() else np.zeros_like(rate)
        key = np.stack([group[ranker], problem, own_rate], axis=1)
        rows, row = np.unique(key, axis=0, return_inverse=True)
        row_group, row_problem, row_rate = rows.T
        n_rates = int(np.prod(_lengths(counts, along.adherence or ())))
        needed = np.zeros((1, 0), dtype=np.int64)
        if not along.rates_of_rows() and along.adherence:
            needed = np.zeros((len(rows), n_rates), dtype=np.int64)
            needed[row.ravel(), rate] = 1

        if along.variance is None:
            who, first, count = counts.net_entries()
            second = np.zeros(0, np.int32)
        else:
            who, first, count = counts.ranker_idx, counts.first, counts.count
            second = group[who] * n_items + counts.second
        total = totals[ranker, problem]
        return {
            "log_multinomial": counts.log_multinomial(),
            "item": row_group[:, None] * n_items + layout.item[row_problem],
            "where": layout.where[row_problem].astype(np.int64),
            "row_rate": row_rate,
            "needed": needed,
            "cells": np.stack([ranker, row.ravel(), rate, total]).astype(np.int64),
            "cell": cell[who, counts.problem_idx[first]],
            "first": group[who] * n_items + first,
            "second": second,
            "count": count,
        }

    @classmethod
    def counts_logp(cls, p: SimpleNamespace) -> TensorVariable:
        """Return the log-probabilities of the counts of every ranker."""
        score, variance = cls.group_parameters(p)
        ranker, row, rate, total = (p.cells[k] for k in range(4))
        unequal = None if p.along.variance is None else variance[p.item]
        if unequal is None:
            agreed = segment_sum(p.count * score[p.first], (p.cell,), (ranker.shape[0],))
        else:
            entries = p.cell, p.first, p.second, p.count
            agreed = agreement(score, variance, entries, like=ranker)
        at_rate, needed = p.adherence, None
        rows, column = score[p.item], pt.zeros_like(rate)
        if p.along.rates_of_rows():
            rows, at_rate = rows * p.adherence[p.row_rate][:, None], np.ones(1)
        elif p.along.adherence:
            column, needed = rate, p.needed > 0
        log_Z = log_normaliser_table(rows, at_rate, unequal, where=p.where > 0, needed=needed)
        terms = p.adherence[rate] * agreed - total * log_Z[row, column]
        return p.log_multinomial + segment_sum(terms, (ranker,), (p.weight.shape[0],))


def _codes(counts: PairCounts, axes: Sequence[str]) -> list[NDArray[Any]]:
    """Return, for each axis, the position of every ranker."""
    rankers = np.arange(len(counts.rankers))
    return [rankers if axis == RANKER else counts.groups[axis].idx for axis in axes]


def _places(
    counts: PairCounts, axes: Sequence[str] | None, index: Mapping[str, NDArray[Any]], n: int
) -> NDArray[Any]:
    """Return positions (n,) in a flattened parameter with these axes; none if it is missing."""
    if axes is None:
        return np.zeros(0, int)
    place = flat_places([index[axis] for axis in axes], _lengths(counts, axes))
    return np.broadcast_to(place, n).copy()


def _lengths(counts: PairCounts, axes: Sequence[str]) -> list[int]:
    """Return the numbers of labels on axes."""
    return [len(counts.coords[axis]) for axis in axes]


def _observe(name: str, score: Any, counts: PairCounts, arguments: dict[str, Any]) -> Any:
    """Add observed counts to the model in context."""
    given_parameters, options = observed_options(
        "MPM",
        counts,
        arguments,
        takes=("variance", "adherence"),
        brings=("total",),
    )
    model = pm.modelcontext(None)
    names = names_of_axes(ObservedMPMRV, name, options.get("dims"))
    dim_of = dict(zip(ObservedMPMRV.axes, names, strict=True))
    counts = _in_model_order(name, counts, {"score": score, **given_parameters}, dim_of)
    also = [RANKER, PROBLEM, *sorted(counts.groups)]
    axes = Axes(
        "counts",
        {axis: counts.coords[axis] for axis in (ITEM, *also)},
        {dim: axis for axis, dim in dim_of.items()},
        "Add further groups with PairCounts.grouped.",
    )
    per_item: dict[tuple[str, ...], str] = {(ITEM,): "one per item"}
    for_all: dict[tuple[str, ...], str] = {(): "one for all"}
    apart = [axis for axis in also if _tells_apart(counts, axis)]
    per_group: dict[tuple[str, ...], str] = {(axis,): f"one per {axis}" for axis in apart}
    by_row_and_item = {(*axis, ITEM): f"{meaning} and item" for axis, meaning in per_group.items()}
    readings_by_row = per_group | by_row_and_item
    readings = {
        "score": (score, per_item | by_row_and_item),
        "variance": (given_parameters.get("variance"), for_all | per_item | readings_by_row),
        "adherence": (given_parameters.get("adherence", 1.0), for_all | per_group),
    }
    given: dict[str, TensorVariable] = {}
    along: dict[str, tuple[str, ...] | None] = {}
    fixed: set[str] = set()
    for parameter, (value, ways) in readings.items():
        given[parameter], along[parameter] = as_double(np.zeros(0)), None
        if value is not None:
            x = by_axes(name, parameter, value, ways, axes, also=also)
            _check_sign(parameter, value, x.value)
            if has_dims(value):  # parameters keep their labels unless the dim belongs to the counts
                dims = dims_of(model, value) or ()
                fixed |= {axis for axis in x.axes if dim_of.get(axis) not in dims}
            groups = sorted(set(x.axes) - {ITEM})
            own_axes = (*groups, *(axis for axis in x.axes if axis == ITEM))
            along[parameter], order = own_axes, [x.axes.index(axis) for axis in own_axes]
            flat = x.value if x.value.ndim < 2 else x.value.transpose(*order).flatten()
            given[parameter] = pt.atleast_1d(flat)
    axes_of = ParameterAxes(**along)
    y = observe(
        ObservedMPMRV,
        name,
        counts,
        given,
        lambda data: {"net": data.net, "weight": data.weight},
        structure={"along": axes_of, "fixed": frozenset(fixed)},
        **options,
    )
    for axis in axes_of.labelled():  # to check the labels of new data
        label_axis(ObservedMPMRV, model, name, axis, counts.coords[axis], known=False)
    return y


def _in_model_order(
    name: str, counts: PairCounts, parameters: Mapping[str, Any], dim_of: Mapping[str, str]
) -> PairCounts:
    """Put counts in the order of the model's coords; raise if parameters have no names."""
    model = pm.modelcontext(None)
    moved = reorder_data(counts, {axis: model.coords.get(dim) for axis, dim in dim_of.items()})
    if moved is not counts:
        for parameter, x in parameters.items():
            if np.ndim(getattr(x, "type", x)) and not has_dims(x) and not has_labels(x):
                raise ValueError(
                    f"The counts of {name!r} are in another order than the model's coords, but "
                    f"the {parameter} has no names for its axes. Give it dims, or put the counts "
                    "in the order of the model with counts.reindex({'item': ..., 'ranker': ...})."
                )
    return moved


def _tells_apart(counts: PairCounts, axis: str) -> bool:
    """Tell whether an axis has several labels that do not just repeat the rankers."""
    group = counts.groups.get(axis)
    alike = group is not None and np.array_equal(group.idx, np.arange(len(counts.rankers)))
    return len(counts.coords[axis]) > 1 and not alike


def _net_counts(counts: PairCounts) -> NDArray[np.int32]:
    """Return the net counts in 32 bits, as models store them."""
    n_rankers, n_items = len(counts.rankers), len(counts.items)
    if n_rankers * n_items > MOST_NET:
        raise ValueError(
            f"Models store at most {MOST_NET:,} net counts, one for every ranker and item; "
            f"{n_rankers:,} rankers of {n_items:,} items have {n_rankers * n_items:,}. If rankers "
            "have no separate parameters or weights, pool them: counts.pooled() has the same "
            "likelihood, up to a constant. Otherwise take a subset with counts.subset()."
        )
    net = counts.net()
    if np.abs(net).max(initial=0.0) > np.iinfo(np.int32).max:
        raise ValueError(
            f"A net count is {np.abs(net).max():g}, but models store 32 bits. Divide the counts, "
            "and give rankers an evidence weight instead."
        )
    return net.astype(np.int32)


def _warn_of_empty(name: str, counts: PairCounts) -> None:
    """Warn about rankers without counts."""
    empty = counts.rankers[counts.total() == 0]
    if len(empty):
        warnings.warn(
            f"{len(empty)} of the {len(counts.rankers)} rankers of {name!r} have no counts "
            f"({quoted(empty)}). The posterior of their adherence is the prior.",
            UninformativeRankingWarning,
            skip_file_prefixes=(_PACKAGE,),
        )


# ---------------------------------------------------------------------------------------------
# Checks of numbers; `logp` checks tensors
# ---------------------------------------------------------------------------------------------


def _check_parameters(logp: TensorVariable, p: SimpleNamespace) -> TensorVariable:
    """Check the parameters of the log-probability."""
    return check_parameters(
        logp,
        pt.all(pt.isfinite(p.score)),
        pt.all(p.adherence >= 0) & pt.all(pt.isfinite(p.adherence)),
        pt.all(p.variance > 0) & pt.all(pt.isfinite(p.variance)),
        msg="score must be finite, adherence finite and >= 0, variance finite and > 0",
    )


def _check_counts(observed: Any, score: Any) -> None:
    """Raise for numbers that are not counts; `logp` checks tensors."""
    if isinstance(observed, Variable):
        return
    counts = observed_counts(observed, "PairCounts.from_frame")
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2]:
        raise ValueError(
            f"The observed counts have shape {counts.shape}; their last two axes must be the "
            "preferred and the other item."
        )
    n_items = pt.as_tensor_variable(score).type.shape[-1:]
    if n_items not in ((), (1,), (None,), counts.shape[-1:]):
        raise ValueError(
            f"The observed counts have {counts.shape[-1]} items, but `score` has {n_items[0]}. "
            "Give one score per item."
        )
    meaning = "each count measures the preference for the row's item over the column's item"
    diagonal = (counts != 0) & np.eye(counts.shape[-1], dtype=bool)
    check_counts(counts, meaning, {"on the diagonal": diagonal})


def _check_sign(name: str, given: Any, read: TensorVariable) -> None:
    """Raise for invalid adherences, variances or totals; `logp` checks tensors."""
    if name == "variance":
        check_numbers(name, given, read, lambda x: x > 0, "finite and positive")
    elif name != "score":
        check_numbers(name, given, read, lambda x: x >= 0, "finite and zero or positive")
