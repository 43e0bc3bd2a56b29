"""Observed `Pairs`: the data of matches in a model, and their parameters by name.

LOO uses the log-probability of each pair. A sampler uses a sum over *cells*, which pool pairs of
the same items, group and effects. The cells depend on the axes of the parameters, the `PairLayout`,
which is a property of the random variable.

The lead of the first item of a pair is

    adherence * (utility of the first - utility of the second + deviations) + order effect + slopes

and the level of both, which only grounded Rao-Kupper has, is

    adherence * (mean of the two utilities, with deviations) - threshold

Effects on ties multiply the odds of a tie. Deviations, effects on ties and slopes are the
*effects* of the kernel (`bayesrank.likelihoods.pairs.total_kernel`). `Terms` has a row for each.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.graph.basic import Constant
from pytensor.tensor import TensorVariable

from bayesrank.data import Pairs
from bayesrank.data.derive import log_multinomial, pair_totals
from bayesrank.data.read import (
    BOTH_BAD,
    BOUNDARY,
    ONE_ORDER,
    SWAP,
    coord_values,
    counted,
    label_repr,
    quoted,
)
from bayesrank.data.read import OUTCOMES as RESULTS
from bayesrank.distributions.core.by_name import Axes, Named, by_axes, flat_places, has_dims
from bayesrank.distributions.core.observed import (
    DataPart,
    ObservedRV,
    Record,
    check_length,
    data_dims,
    is_observed,
    known_value,
    label_outcome,
    observe,
    observed_options,
    reorder_data,
    same_labels,
)
from bayesrank.distributions.pairs.variables import (
    BradleyTerryRV,
    DavidsonRV,
    GroundedRaoKupperRV,
    OrderedPairRV,
    PairRV,
    RaoKupperRV,
    ThurstoneRV,
    check_pair_parameters,
    check_tie_given,
    check_tie_parameter,
    counts_logp,
    outcome_of_grades,
)
from bayesrank.likelihoods.ops import every_row, with_sum
from bayesrank.likelihoods.pairs import outcome_counts_logp, times_odds
from bayesrank.schema import (
    CONTENTS,
    COUNTS,
    DATA,
    EDGE,
    EFFECT,
    EFFECT_SIZE,
    FEATURE,
    FIRST,
    GRADE,
    ITEM,
    JUDGE,
    MATCHES,
    SECOND,
    VOTES,
    WEIGHT,
    groups_of,
    name_count,
    name_of,
)

__all__ = ["observe_pairs"]

PAIR = "pair"
TERM = "pair_term"
CUT = BOUNDARY  # boundaries between grades
SIDE = "side of the pair"  # the first or second item; no group can have this name

# axes that a parameter may have without groups, and their meaning
READINGS: dict[str, dict[tuple[str, ...], str]] = {
    "utility": {(ITEM,): "one per item", (PAIR, SIDE): "two per pair"},
    "slope": {(FEATURE,): "one per feature"},
    "tie_effect": {(): "one for all", (ITEM,): "one per item"},
    "cutpoints": {(CUT,): "one per boundary", (PAIR, CUT): "one per pair and boundary"},
}
OTHER_READINGS: dict[tuple[str, ...], str] = {(): "one for all", (PAIR,): "one per pair"}

# derived from the data: `PairTotals`, and logarithms of the multinomial coefficients
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
    FIRST, SECOND, WEIGHT, COUNTS, EDGE, GRADE, VOTES, EFFECT, EFFECT_SIZE, DATA, CONTENTS,
    "column", "result", TERM, CUT, *DERIVED,
)  # fmt: skip


class PairLayout(NamedTuple):
    """Axes of the parameters of observed pairs."""

    utility: tuple[str, ...] = ()  # axes of utilities, without the items or sides
    group: tuple[str, ...] = ()  # axes of adherence, order effect and ties, if any
    slope: tuple[str, ...] | None = None  # axes of slopes, without the features
    deviations: tuple[str, ...] = ()  # group of each deviation of items
    leads: tuple[str, ...] = ()  # group of each deviation of the lead
    ties: tuple[tuple[str, ...], ...] = ()  # axes of each effect on ties, the items last
    ordered: bool = False  # whether a pair differs from its mirror image
    groups: tuple[str, ...] = ()  # all groups of any parameter

    @property
    def coded(self) -> tuple[str, ...]:
        """Return the groups that select the utilities and the adherence of a pair."""
        return tuple(sorted({*self.utility, *self.group} - {PAIR}))

    @property
    def n_terms(self) -> tuple[int, int]:
        """Count the terms that the adherence multiplies, and the terms of ties."""
        within = 2 * len(self.deviations) + len(self.leads)
        return within, sum(1 + (ITEM in axes) for axes in self.ties)


class ObservedPairRV(ObservedRV, PairRV):
    """Counts of outcomes, with the observed data among the parameters."""

    rows_apart = True
    data_types = (Pairs,)
    data_name = "pairs"
    axes = ("pair", "result")
    example = ("match", "end")
    value = "counts"
    value_axes = "result"
    derives_weights = True
    finite_in_total: ClassVar[tuple[str, ...]] = (
        "utilities", "adherences", "order_effects", "effects"
    )  # fmt: skip
    parameters: ClassVar[Mapping[str, str]] = {
        **PairRV.parameters,
        "first": "",
        "second": "",
        "weight": "",
        "counts": "result",
        "effect": "term",
        "effect_size": "term",
        # for the sum over cells: all utilities, and other parameters per group or for all
        "utilities": "utility",
        "adherences": "adherence",
        "order_effects": "order_effect",
        "ties": "tie",
        "effects": "slope",
        "lengths": "axis",  # numbers of labels of the coded groups, and of items
        **DERIVED,
    }

    @classmethod
    def list_parameters(cls, structure: Mapping[str, Any]) -> Mapping[str, str]:
        codes = {_code_of(group): "" for group in structure["layout"].coded}
        return {**cls.parameters, **codes}

    @classmethod
    def results(cls, name: str, data: Pairs) -> tuple[Any, NDArray[Any]]:
        """Return the labels of the outcomes in the model, and the counts of each pair."""
        _check_both_bad(name, data)
        _check_ties(cls.n_outcomes, name, data)
        return RESULTS[: cls.n_outcomes], data.counts[:, : cls.n_outcomes]

    @classmethod
    def cell_counts(cls, counts: NDArray[Any]) -> NDArray[Any]:
        """Return counts with the outcomes that the sum over cells takes: always also ties."""
        return np.pad(counts, ((0, 0), (0, 3 - counts.shape[1])))

    @classmethod
    def record(cls, name: str, data: Pairs, p: SimpleNamespace) -> Record:
        labels, counts = cls.results(name, data)
        parts = {
            FIRST: DataPart(data.first, ("pair",)),
            SECOND: DataPart(data.second, ("pair",)),
            WEIGHT: DataPart(data.weight, ("pair",)),
            COUNTS: DataPart(_counts_of(name, counts), cls.axes),
        }
        if data.votes is not None:
            parts[VOTES] = DataPart(data.votes, ("pair",))
        for group in _group_names(name, data):
            parts[group] = DataPart(data.group_idx(group), ("pair",))
            parts[name_count(group, MATCHES)] = DataPart(_matches_of(data, group), (group,))
        parts[name_count(ITEM, MATCHES)] = DataPart(data.matches_by_item.to_numpy(), (ITEM,))
        terms = _terms(name, data, p.layout)
        parts[EFFECT] = DataPart(terms.which, (PAIR, TERM))
        parts[EFFECT_SIZE] = DataPart(terms.size, (PAIR, TERM))
        known = data.first, data.second, counts, data.weight
        codes = [data.group_idx(group) for group in p.layout.coded]
        derived = cls.derived(p, *known, terms.which, terms.size, *codes)
        coords = data.coords | {"result": labels, TERM: terms.labels}
        return Record(coords, parts, derived, label_outcome(cls, data.weight))

    @classmethod
    def on_axes(cls, model: pm.Model, name: str, data: Pairs, p: SimpleNamespace) -> Pairs:
        dims = _dims_of_axes(model, name)
        return reorder_data(data, {axis: model.coords.get(dim) for axis, dim in dims.items()})

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Pairs, p: SimpleNamespace) -> None:
        cls.results(name, data)
        _check_groups(model, name, data)
        _check_axes(model, name, data, p.layout.groups)
        by_pair = {}
        if PAIR in p.layout.group:
            parameters = {"adherences": p.adherences, "order effects": p.order_effects}
            parameters["tie parameters"] = p.ties
            if "thresholds" in cls.finite_in_total:
                parameters["thresholds"] = p.thresholds
            by_pair = {parameter: x for parameter, x in parameters.items() if x.type.shape[0] != 1}
        for parameter, x in (by_pair | {"utilities": p.lead}).items():
            check_length(name, parameter, x, data.n_pairs, "pairs", "rows")
        _check_terms(model, name, data, p.layout)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        if not is_observed(value, p.counts) or not cls.is_current(p):
            return p.weight * counts_logp(cls, value, p)
        by_pair = outcome_counts_logp(value, cls.log_probabilities(p))
        by_pair = p.weight * (p.log_multinomial + by_pair)
        finite = [getattr(p, name) for name in cls.finite]
        by_pair = check_pair_parameters(cls, by_pair, finite, p.tie, p)
        finite = [getattr(p, name) for name in cls.finite_in_total]
        total = p.cell_log_multinomial + cls.total_of(p)
        total = check_pair_parameters(cls, total, finite, p.ties, p)
        return with_sum(by_pair, total)

    @classmethod
    def is_current(cls, p: SimpleNamespace) -> bool:
        """Tell whether the derived numbers belong to the current data.

        If not, for example because some rows replaced the data, the log-probability evaluates the
        pairs one by one.
        """
        parts = (p.first, p.second, p.counts, p.weight, p.effect, p.effect_size)
        codes = (getattr(p, _code_of(group)) for group in p.layout.coded)
        data = [known_value(x) for x in (*parts, *codes)]
        before = {field: known_value(getattr(p, field)) for field in DERIVED}
        if any(x is None for x in (*data, *before.values())):
            return False
        now = cls.derived(p, *data)
        return all(np.array_equal(now[field], before[field]) for field in DERIVED)  # type: ignore[arg-type]

    @classmethod
    def derived(cls, p: SimpleNamespace, *data: Any) -> dict[str, NDArray[Any]]:
        """Compute the derived numbers, by the names of their parameters."""
        first, second, counts, weight, which, size, *codes = data
        layout, rows = p.layout, np.arange(len(first))
        lengths = dict(zip((*layout.coded, ITEM), p.lengths.data, strict=True))
        known = {PAIR: rows} | dict(zip(layout.coded, codes, strict=True))
        if PAIR in layout.utility:
            first, second = 2 * rows, 2 * rows + 1
        elif layout.utility:
            axes = (*layout.utility, ITEM)
            first, second = (_place(axes, known | {ITEM: x}, lengths) for x in (first, second))
        group = None
        if layout.group:
            group = rows if PAIR in layout.group else _place(layout.group, known, lengths)
        within, tying = layout.n_terms
        totals = pair_totals(
            first, second, cls.cell_counts(counts), weight,
            ordered=layout.ordered, group=group, even=slice(within, within + tying),
            which=which if which.shape[1] else None, size=size if which.shape[1] else None,
        )  # fmt: skip
        cells = {f"cell_{field}": value for field, value in totals._asdict().items()}
        ways = log_multinomial(counts)
        # exact, because the last digit of a BLAS product depends on the number of threads
        total = np.asarray(math.fsum(weight * ways))
        return {"log_multinomial": ways, "cell_log_multinomial": total} | cells


class ObservedBradleyTerryRV(ObservedPairRV, BradleyTerryRV):
    """Observed outcomes under Bradley-Terry."""


class ObservedThurstoneRV(ObservedPairRV, ThurstoneRV):
    """Observed outcomes under Thurstone's model."""


class ObservedDavidsonRV(ObservedPairRV, DavidsonRV):
    """Observed outcomes under Davidson's model."""


class ObservedRaoKupperRV(ObservedPairRV, RaoKupperRV):
    """Observed outcomes under Rao and Kupper's model."""


class ObservedGroundedRaoKupperRV(ObservedPairRV, GroundedRaoKupperRV):
    """Observed outcomes under grounded Rao-Kupper."""

    parameters: ClassVar[Mapping[str, str]] = {
        **ObservedPairRV.parameters,
        "level": "",
        "thresholds": "threshold",
    }
    finite_in_total = (*ObservedPairRV.finite_in_total, "thresholds")

    @classmethod
    def results(cls, name: str, data: Pairs) -> tuple[Any, NDArray[Any]]:
        if data.both_bad is None:
            raise ValueError(
                f"The pairs of {name!r} do not tell which votes say that both items are bad. Read "
                "them with Pairs.from_frame(..., both_bad=LABEL). Or use RaoKupper or Davidson."
            )
        return (*RESULTS, BOTH_BAD), data.with_both_bad

    @classmethod
    def cell_counts(cls, counts: NDArray[Any]) -> NDArray[Any]:
        return counts


class ObservedOrderedPairRV(ObservedPairRV, OrderedPairRV):
    """Observed ordered grades."""

    parameters: ClassVar[Mapping[str, str]] = {
        **ObservedPairRV.parameters,
        "tie": "cut",
        "ties": "tie,cut",
    }

    @classmethod
    def results(cls, name: str, data: Pairs) -> tuple[Any, NDArray[Any]]:
        _check_both_bad(name, data)
        grades, counts = data.by_grade
        return coord_values(grades), counts

    @classmethod
    def cell_counts(cls, counts: NDArray[Any]) -> NDArray[Any]:
        return counts

    @classmethod
    def record(cls, name: str, data: Pairs, p: SimpleNamespace) -> Record:
        found = super().record(name, data, p)
        n_grades = len(found.labels["result"])
        outcome = outcome_of_grades(n_grades) if (data.weight == 1).all() else found.outcome
        parts = {**found.parts, GRADE: DataPart(np.arange(n_grades), ("result",))}
        if data.edges is not None:  # an edge below each grade but the worst
            parts[EDGE] = DataPart(np.append(data.edges[::-1], -np.inf), ("result",))
        return found._replace(parts=parts, outcome=outcome)

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Pairs, p: SimpleNamespace) -> None:
        super().check_new(model, name, data, p)
        (_, dim), (new, _) = model.named_vars_to_dims[name], cls.results(name, data)
        if not np.array_equal(model.coords[dim], new):
            raise ValueError(
                f"{name!r} has the grades {quoted(model.coords[dim], 20)}, but the new pairs have "
                f"{quoted(new, 20)}. Read them with the same grades=."
            )


# the observed class of every model
OBSERVED: dict[type[PairRV], type[ObservedPairRV]] = {
    rv_type.__bases__[1]: rv_type for rv_type in ObservedPairRV.__subclasses__()
}


def _code_of(group: str) -> str:
    """Name the parameter that holds the group label of every pair."""
    return f"{group}_of_pair"


def _place(
    axes: Sequence[str], codes: Mapping[str, Any], lengths: Mapping[str, int]
) -> NDArray[np.int64]:
    """Return the positions of pairs in a flattened parameter with these axes."""
    return flat_places([codes[axis] for axis in axes], [lengths[axis] for axis in axes])


# ---------------------------------------------------------------------------------------------
# Effects: deviations, effects on ties, and slopes
# ---------------------------------------------------------------------------------------------


class Terms(NamedTuple):
    """Effects of every pair, and their factors."""

    labels: list[str]
    which: NDArray[np.int32]  # (n_pairs, n_terms), positions among all effects
    size: NDArray[np.float64]  # (n_pairs, n_terms)


def _terms(name: str, pairs: Pairs, layout: PairLayout) -> Terms:
    """List deviations of the first and second item, effects on ties, and slopes.

    The effects are in the order of `Parameters.effects`.
    """
    labels: list[str] = []
    which: list[NDArray[Any]] = []
    size: list[Any] = []
    start = 0

    def add(label: str, place: NDArray[Any], factor: Any) -> None:
        labels.append(label)
        which.append(start + place)
        size.append(np.broadcast_to(factor, pairs.n_pairs))

    lengths = {axis: len(known) for axis, known in pairs.coords.items()}
    codes: dict[str, NDArray[Any]] = {by: pairs.group_idx(by) for by in _groups(pairs)}
    codes[PAIR] = np.zeros(pairs.n_pairs, dtype=np.int64)
    for group in layout.deviations:
        known = pm.modelcontext(None).coords[f"{group}_item"]
        first, second = pairs.seen(group).among(known)
        add(f"first at {group}", first, 1.0)
        add(f"second at {group}", second, -1.0)
        start += len(known)
    for group in layout.leads:
        labels_of = pairs.group_labels(group)
        sign = np.where(pairs.first < pairs.second, 1.0, -1.0)
        known = ((labels_of != ONE_ORDER) | (group != SWAP))[codes[group]]
        add(f"lead at {group}", codes[PAIR] + codes[group], sign * known)
        start += len(labels_of)
    # the order of the items of a pair does not matter
    one, other = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    for k, axes in enumerate(layout.ties):
        if ITEM in axes:
            add(f"tie effect {k} of one", _place(axes, codes | {ITEM: one}, lengths), 1.0)
            add(f"tie effect {k} of the other", _place(axes, codes | {ITEM: other}, lengths), 1.0)
        else:
            add(f"tie effect {k}", codes[PAIR] + _place(axes, codes, lengths), 1.0)
        start += int(np.prod([lengths[axis] for axis in axes]))
    if layout.slope is not None:
        features, names = _features(name, pairs)
        rows = codes[PAIR] + _place(layout.slope, codes, lengths)
        for k, label in enumerate(names):
            add(label, rows * len(names) + k, features[:, k])
    shape = (len(labels), pairs.n_pairs)
    return Terms(
        labels,
        np.ascontiguousarray(np.reshape(which, shape).T, dtype=np.int32),
        np.ascontiguousarray(np.reshape(size, shape).T, dtype=np.float64),
    )


def _features(name: str, pairs: Pairs) -> tuple[NDArray[np.float64], list[str]]:
    """Return the features of pairs, and their names."""
    if pairs.features is None or pairs.feature_names is None:
        raise ValueError(
            f"{name!r} has slopes, but the pairs have no features. Read them with features=."
        )
    return pairs.features, [str(feature) for feature in pairs.feature_names]


# ---------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------


class Parameters(NamedTuple):
    """Parameters of observed pairs, with the axes of each."""

    utility: Named
    adherence: Named
    order_effect: Named
    tie: Named
    threshold: Named | None
    slope: Named | None
    deviations: list[tuple[TensorVariable, str]]  # each with its group
    leads: list[tuple[TensorVariable, str]]
    ties: list[Named]

    def layout(self, pairs: Pairs) -> PairLayout:
        """Return the axes of all parameters."""
        cut = CUT in self.tie.axes
        tie = self.tie._replace(axes=tuple(axis for axis in self.tie.axes if axis != CUT))
        shared = [self.adherence, self.order_effect, tie]
        shared += [] if self.threshold is None else [self.threshold]
        # if adherence, order effect, ties and thresholds have other axes, every pair is a group
        apart = {x.axes for x in shared} - {()}
        slopes = [] if self.slope is None else [self.slope]
        groups = {group for _, group in (*self.deviations, *self.leads)}
        groups.update(*(x.axes for x in (self.utility, *shared, *self.ties, *slopes)))
        effect = self.order_effect.value
        return PairLayout(
            utility=tuple(axis for axis in self.utility.axes if axis not in (ITEM, SIDE)),
            group=(PAIR,) if len(apart) > 1 else next(iter(apart), ()),
            slope=None if self.slope is None else self.slope.axes[:-1],
            deviations=tuple(group for _, group in self.deviations),
            leads=tuple(group for _, group in self.leads),
            ties=tuple(x.axes for x in self.ties),
            # cutpoints need not be symmetric
            ordered=cut or not (isinstance(effect, Constant) and not effect.data.any()),
            groups=tuple(sorted(groups.intersection(_groups(pairs)))),
        )

    def effects(self) -> list[TensorVariable]:
        """List deviations, effects on ties and slopes, in the order of `Terms`."""
        slopes = [] if self.slope is None else [self.slope.value]
        return [
            *(x for x, _ in (*self.deviations, *self.leads)),
            *(x.value for x in self.ties),
            *slopes,
        ]

    def at_pairs(
        self, rv_type: type[PairRV], layout: PairLayout, data: SimpleNamespace
    ) -> dict[str, TensorVariable]:
        """Return the parameters of `ObservedPairRV`, given the registered data."""
        first = _gather(self.utility, data, {ITEM: data.first, SIDE: 0})
        second = _gather(self.utility, data, {ITEM: data.second, SIDE: 1})
        gap, both, effect = first - second, first + second, _gather(self.order_effect, data)
        tie = _gather(self.tie, data)
        effects, which = pt.constant(np.zeros(1)), pt.constant(np.zeros((1, 0), dtype="int32"))
        size = pt.constant(np.zeros((1, 0)))
        if self.effects():
            effects = pt.concatenate([x.flatten() for x in self.effects()])
            which, size = data.effect, data.effect_size
            met, (within, tying) = effects[which], layout.n_terms
            terms = size * met
            gap = gap + pt.sum(terms[:, :within], axis=1)
            both = both + pt.sum(abs(size[:, :within]) * met[:, :within], axis=1)
            effect = effect + pt.sum(terms[:, within + tying :], axis=1)
            if tying:
                log_odds = pt.sum(terms[:, within : within + tying], axis=1)
                tie = times_odds(tie, log_odds, rv_type.tie_least)
        by_pair = PAIR in layout.utility
        utilities = pt.stack([first, second], axis=1) if by_pair else self.utility.value
        by_group = partial(_by_group, data=data, by_pair=PAIR in layout.group)
        adherence, grounded = _gather(self.adherence, data), {}
        if self.threshold is not None:
            level = adherence * both / 2 - _gather(self.threshold, data)
            grounded = {"level": level, "thresholds": by_group(self.threshold)}
        return grounded | {
            "lead": adherence * gap + effect,
            "tie": tie,
            "total": pt.sum(data.counts, axis=-1),
            "first": data.first,
            "second": data.second,
            "weight": data.weight,
            "counts": data.counts,
            "effect": which,
            "effect_size": size,
            "effects": effects,
            "utilities": utilities.flatten(),
            "adherences": by_group(self.adherence),
            "order_effects": by_group(self.order_effect),
            "ties": by_group(self.tie),
            **{_code_of(group): vars(data)[group] for group in layout.coded},
        }


def _gather(
    x: Named, data: SimpleNamespace, more: Mapping[str, Any] | None = None
) -> TensorVariable:
    """Gather the value of a parameter at every pair; a single value stays single."""
    gathered = {*x.axes} - {PAIR, SIDE, CUT}
    if not gathered and not more:
        return x.value
    rows: Any = slice(None)
    if gathered and PAIR in x.axes:
        rows = every_row(x.value, data.first.shape[0], x.axes.index(PAIR))
    index = vars(data) | {PAIR: rows, CUT: slice(None)} | dict(more or {})
    return x.value[tuple(index[axis] for axis in x.axes)]


def _by_group(x: Named, data: SimpleNamespace, *, by_pair: bool) -> TensorVariable:
    """Return a parameter as a vector, or cutpoints as rows: one per group, or one for all."""
    value = _gather(x, data) if by_pair else x.value
    if CUT in x.axes:
        return value.reshape((-1, value.type.shape[-1]))
    return pt.atleast_1d(value if value.ndim < 2 else value.flatten())


def _groups(pairs: Pairs) -> list[str]:
    """Name the judge and the groups of pairs, sorted."""
    return sorted([JUDGE, *pairs.groups])


def _axes(pairs: Pairs, dims: Any) -> Axes:
    """Return the axes that parameters may have: item, pair, side, groups and feature."""
    pair_dims, coords = (dims,) if isinstance(dims, str) else dims or (), pairs.coords
    labels: dict[str, Any] = {axis: coords[axis] for axis in (ITEM, PAIR, *_groups(pairs))}
    labels[SIDE] = RESULTS[:2]
    labels[CUT] = coord_values(pairs.boundaries)
    if FEATURE in coords:
        labels[FEATURE] = coords[FEATURE]
    otherwise = "Read the pairs with all groups in by=."
    return Axes("pairs", labels, dict(zip(pair_dims, ("pair",), strict=False)), otherwise)


def _read(name: str, parameter: str, value: Any, pairs: Pairs, dims: Any) -> Named:
    """Read the axes of a parameter; groups come first."""
    groups, rows = _groups(pairs), np.arange(pairs.n_pairs)
    readings = {**READINGS.get(parameter, OTHER_READINGS)}
    first = next(iter(readings))
    for group in groups:
        if not np.array_equal(pairs.group_idx(group), rows):  # otherwise each pair is a label
            along = (group, *first)
            readings[along] = f"one per {' and '.join(along)}"
    return by_axes(name, parameter, value, readings, _axes(pairs, dims), also=groups)


def _read_deviation(
    name: str, deviation: Any, pairs: Pairs
) -> tuple[tuple[TensorVariable, str], bool]:
    """Read a deviation, find its group, and tell whether it is one of items.

    Otherwise, it is a deviation of the lead, whose dim is a group.
    """
    model = pm.modelcontext(None)
    dims = model.named_vars_to_dims.get(getattr(deviation, "name", ""), ())
    if len(dims) == 1 and dims[0] in pairs.groups:
        return (_read(name, "deviation", deviation, pairs, None).value, dims[0]), False
    groups = {f"{group}_item": group for group in _groups(pairs)}
    dim = [*groups][-1]
    must = (
        f"t must be a variable of the model with one of the dims {quoted(groups)}. Its labels come "
        f"from pairs.seen: model.add_coord({dim!r}, pairs.seen({groups[dim]!r}).labels)."
    )
    if not has_dims(deviation):
        raise ValueError(f"A deviation of {name!r} has no dims. I{must}")
    labels = {dim: coord_values(pairs.seen(group).labels) for dim, group in groups.items()}
    for dim, seen in labels.items():
        if {*seen} == {*(model.coords.get(dim) or ())}:
            labels[dim] = np.asarray(model.coords[dim])  # the order that `_terms` uses
    axes = Axes("pairs", labels, otherwise=f"I{must}")
    seen_at = {dim: f"one per item seen at each {group}" for dim, group in groups.items()}
    readings: dict[tuple[str, ...], str] = {(dim,): meaning for dim, meaning in seen_at.items()}
    found = by_axes(name, "deviation", deviation, readings, axes)
    (dim,) = found.axes
    if dim not in model.coords:
        model.add_coord(dim, labels[dim])
    return (found.value, groups[dim]), True


def _read_tie_effect(name: str, effect: Any, pairs: Pairs, dims: Any) -> Named:
    """Read the axes of an effect on ties, which must have names."""
    if not has_dims(effect):
        raise ValueError(
            f"An effect on ties of {name!r} has no dims. It must be a variable of the model with "
            f"any of the dims 'item' and {quoted(_groups(pairs))}."
        )
    return _read(name, "tie_effect", effect, pairs, dims)


def _as_list(given: Any) -> list[Any]:
    """Return a list of one or several."""
    return [*given] if isinstance(given, list | tuple) else [given]


def observe_pairs(
    rv_type: type[PairRV],
    class_name: str,
    name: str,
    utility: Any,
    pairs: Pairs,
    arguments: Mapping[str, Any],
    **structure: Any,
) -> TensorVariable:
    """Add observed pairs to the model in context.

    `arguments` are the options of the distribution `class_name`, whose model is `rv_type`, and
    `structure` is what else defines the model.
    """
    parameter, graded = rv_type.tie_parameter, rv_type is OrderedPairRV
    takes = ["adherence", "order_effect", "slope", "deviation"]
    if parameter:
        takes += [parameter] if graded else [parameter, "tie_effect"]
    grounded = issubclass(rv_type, GroundedRaoKupperRV)
    if grounded:
        takes.append("threshold")
    given, options = observed_options(class_name, pairs, arguments, takes=takes, brings=("total",))
    check_tie_given(rv_type, given)
    OBSERVED[rv_type].results(name, pairs)
    if "slope" in given:
        _features(name, pairs)

    dims = options.get("dims")
    read = partial(_read, name, pairs=pairs, dims=dims)
    deviations = [_read_deviation(name, x, pairs) for x in _as_list(given.get("deviation", ()))]
    x = Parameters(
        utility=read("utility", utility),
        adherence=read("adherence", given.get("adherence", 1.0)),
        order_effect=read("order_effect", given.get("order_effect", 0.0)),
        tie=read(parameter, given.get(parameter, 0.0)),
        threshold=read("threshold", given.get("threshold", 0.0)) if grounded else None,
        slope=read("slope", given["slope"]) if "slope" in given else None,
        deviations=[x for x, of_items in deviations if of_items],
        leads=[x for x, of_items in deviations if not of_items],
        ties=[
            _read_tie_effect(name, x, pairs, dims) for x in _as_list(given.get("tie_effect", ()))
        ],
    )
    if graded:
        axes = (None,) * (x.tie.value.ndim - 1)
        cuts = pt.specify_shape(x.tie.value, (*axes, len(pairs.boundaries)))
        x = x._replace(tie=x.tie._replace(value=cuts))
    check_tie_parameter(rv_type, given.get(parameter), x.tie.value)
    layout = x.layout(pairs)
    lengths = [*(len(pairs.group_labels(group)) for group in layout.coded), pairs.n_items]
    without = [name_count(ITEM, MATCHES)] if PAIR in layout.utility else []
    if not x.effects():
        without += [EFFECT, EFFECT_SIZE]
    return observe(
        OBSERVED[rv_type],
        name,
        pairs,
        {"lengths": pt.constant(np.array(lengths))},
        partial(x.at_pairs, rv_type, layout),
        structure={"layout": layout, **structure},
        items_known=True,
        without=without,
        **options,
    )


def _counts_of(name: str, counts: NDArray[Any]) -> NDArray[np.int32]:
    """Return the counts of the outcomes as models store them."""
    if counts.max(initial=0) > np.iinfo(np.int32).max:
        raise ValueError(
            f"A count of the pairs of {name!r} is {counts.max()}, but models store 32 bits. "
            "Divide the counts, and give the pairs an evidence weight instead."
        )
    return np.ascontiguousarray(counts, dtype=np.int32)


def _group_names(name: str, pairs: Pairs) -> list[str]:
    """Name the judge and the groups, or raise if a group has the name of other data."""
    for group in pairs.groups:
        if group in TAKEN:
            raise ValueError(
                f"The pairs of {name!r} are grouped by {group!r}, but {name}_{group} is another "
                "part of the model. Rename that column."
            )
    return [JUDGE, *pairs.groups]


def _matches_of(pairs: Pairs, group: str) -> NDArray[np.int64]:
    """Count the matches of every label of a group."""
    n_labels, n_matches = len(pairs.group_labels(group)), pairs.matches
    return np.bincount(pairs.group_idx(group), n_matches, n_labels).astype(np.int64)


# ---------------------------------------------------------------------------------------------
# Checks of data
# ---------------------------------------------------------------------------------------------


def _check_ties(n_outcomes: int, name: str, pairs: Pairs) -> None:
    """Raise for ties in data of a model without ties."""
    if n_outcomes == 3 or not (ties := pairs.counts[:, 2]).any():
        return
    row = int((ties > 0).argmax())
    one, other = (label_repr(pairs.items[idx[row]]) for idx in (pairs.first, pairs.second))
    raise ValueError(
        f"The pairs of {name!r} have {counted(int(ties.sum()), 'tie')}, the first between "
        f"{one} and {other}, but BradleyTerry and Thurstone have no ties. Use Davidson or "
        "RaoKupper. Or count half a win for each item with pairs.split_ties(): this gives a "
        "pseudo-likelihood, without LOO."
    )


def _check_both_bad(name: str, pairs: Pairs) -> None:
    """Raise for votes of both bad in data of a model that has no such outcome."""
    if pairs.both_bad is None or not pairs.both_bad.any():
        return
    row = int((pairs.both_bad > 0).argmax())
    one, other = (label_repr(pairs.items[idx[row]]) for idx in (pairs.first, pairs.second))
    raise ValueError(
        f"The pairs of {name!r} have {counted(int(pairs.both_bad.sum()), 'vote')} that both items "
        f"are bad, the first about {one} and {other}. This model does not have that outcome. Use "
        "GroundedRaoKupper. Or count these votes as ties with pairs.with_counts(pairs.counts)."
    )


def _check_terms(model: pm.Model, name: str, pairs: Pairs, layout: PairLayout) -> None:
    """Raise for pairs with other features, or other items at the labels of a group."""
    for group in layout.deviations:
        new = pairs.seen(group).labels.difference([*model.coords[f"{group}_item"]])
        if len(new):
            raise ValueError(
                f"{name!r} has one deviation per item and {group}, but the {group} {new[0]!r} of "
                "the new pairs is not in the model. Build the model with all labels that it will "
                "ever see. Rows with 0 matches keep labels without data."
            )
    if layout.slope is not None:
        _, names = _features(name, pairs)
        dim = data_dims(model, name)[name_of(name, EFFECT)][1]
        known = [*model.coords[dim]][sum(layout.n_terms) :]
        if names != known:
            raise ValueError(
                f"The pairs of {name!r} have the features {quoted(known)}, but the new pairs have "
                f"{quoted(names)}. Read them with the same features=."
            )


def _check_groups(model: pm.Model, name: str, pairs: Pairs) -> None:
    """Raise for pairs with other groups than the observed ones."""
    known, groups = groups_of(name, data_dims(model, name)), _group_names(name, pairs)
    if set(known) != set(groups):
        raise ValueError(
            f"The pairs of {name!r} are grouped by {sorted(known)}, but the new pairs by "
            f"{sorted(groups)}. Read them with the same `judge` and `by`."
        )


def _dims_of_axes(model: pm.Model, name: str) -> dict[str, str]:
    """Return the dims of the items and groups of observed pairs, by axis."""
    dims = data_dims(model, name)
    (item,) = dims.get(name_of(name, name_count(ITEM, MATCHES)), (ITEM,))
    return {ITEM: item} | groups_of(name, dims)


def _check_axes(model: pm.Model, name: str, pairs: Pairs, groups: Sequence[str]) -> None:
    """Raise for labels that differ from those of parameters or other variables."""
    stored, axis_of = data_dims(model, name), _dims_of_axes(model, name)
    data = {name, name_of(name, DATA), *stored}
    used = {dim for x, dims in model.named_vars_to_dims.items() if x not in data for dim in dims}
    if name_of(name, name_count(ITEM, MATCHES)) in stored:
        present = np.asarray(model.coords[axis_of[ITEM]])
        whose = f"the model's coord {axis_of[ITEM]!r}"
        same_labels(whose, name, present, pairs.coords[ITEM], "pairs")
    for axis, dim in axis_of.items():
        present = model.coords.get(dim)
        labels = pairs.coords[axis]
        apart = present is not None and not np.array_equal(present, labels)
        if (dim in used or axis in groups) and apart:
            raise ValueError(
                f"The {axis} axis of the model has the labels {quoted(present)}, but the new pairs "
                f"have {quoted(labels)}. Build the model with all labels that it will ever see. "
                "Rows with 0 matches keep labels without data."
            )
