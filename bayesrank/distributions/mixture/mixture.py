r"""Mixtures of families of rankings, whose components are latent.

Components are marginalised, so that all parameters are continuous. With ``observed=`` a `Rankings`,
stages that rankings share are evaluated once per component
(`bayesrank.distributions.mixture.components`). For arrays and for variables that are not observed,
`pymc.Mixture` is used.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, Literal, NamedTuple, Unpack

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pytensor.graph.traversal import ancestors
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.read import label_repr, quoted
from bayesrank.distributions.core.arguments import NamedArguments
from bayesrank.distributions.core.by_name import (
    Axes,
    Named,
    by_axes,
    by_row,
    in_rows,
    labels_along,
)
from bayesrank.distributions.core.observed import (
    DataPart,
    DistOptions,
    Options,
    Record,
    data_dims,
    is_observed,
    observe,
    observed_options,
    refuse_labelled,
    refuse_labels,
    refuse_single_precision,
)
from bayesrank.distributions.mixture.components import (
    BY_RV,
    COMPONENT,
    Component,
    ComponentParameters,
)
from bayesrank.distributions.rankings.orders import ObservedRankingsRV, WeakOrderRV
from bayesrank.likelihoods.mixture import mixture_logp
from bayesrank.likelihoods.ops import safe_log, segment_sum
from bayesrank.schema import COMPONENTS, ITEM, RANKER, RANKS, TURN, StoredPart, groups_of, name_of

__all__ = ["Mixture"]

UNITS = ("ranking", "ranker")
RANKING = "ranking"
DATA = {
    "weights": COMPONENT,
    "where": "slot",
    "sizes": "block",
    "ranks": "slot",
    "weight": "",
    "item": "slot",
    "ranker": "",
}


class Mixture(metaclass=NamedArguments):
    r"""Mixture of families of rankings: each ranker or ranking belongs to a latent component.

    .. math:: \log P(y_u) = \log \sum_g \pi_{ug} \prod_{r \in u} P_g(y_r)

    where the unit u is a ranker or a ranking, and :math:`y_u` are its rankings. The weight of
    component g for unit u is :math:`\pi_{ug}`, and :math:`P_g` is the distribution of rankings in
    component g.

    Values are rankings, as in the components.

    Parameters
    ----------
    name : str
        Name of the variable.
    weights : tensor_like of float, (n_components,) or (n_rankers, n_components)
        Probabilities of the components, which sum to one. Use a `pm.Dirichlet`, or a softmax of the
        features of rankers over the last axis. If a unit is a ranking, the shape may also be
        (n_rankings, n_components). A variable with dims is read by their names, in any order, and
        may have groups of the rankings. A DataFrame or a DataArray is aligned by its labels.
    components : variable made by ``.dist``, or sequence of these
        Distribution of the rankings in each component, over all items in their order:

        * ``br.PlackettLuce.dist(utility)``, ``br.MaxDiff.dist(utility, ...)`` or
          ``br.PMOP.dist(utility, ...)``, with a utility of dims ``("component", "item")``;
        * ``br.Mallows.dist(consensus, alpha)``, with a consensus of these dims and alpha by
          component. The consensus can be a `PlackettLuce` that `LeapAndShift` samples;
        * ``br.GeneralizedMallows.dist(consensus, alpha)`` for full rankings and top-k lists, with
          alpha by component and stage.

        A sequence may mix families, and each entry may have one component or several. Components
        are numbered in this order.
    unit : {"ranking", "ranker"}
        Unit that belongs to one component, by default the ranking. With "ranker", all rankings of a
        ranker share a component, also in draws, and `logp` returns one number per ranker. The
        variable then has the dims ranker, turn (the rankings of each ranker, in their order) and
        slot.
    observed : Rankings or array_like of int, optional
        A `Rankings` registers its data as `PlackettLuce` does. Anything else gives a `pymc.Mixture`
        of the components, with one utility per slot.
    **kwargs
        As in `PlackettLuce`.

    Returns
    -------
    TensorVariable of int, (n_rankings, n_slots) or (n_rankers, n_turns, n_slots)
        The ranks. `logp` and the pointwise log-likelihood have one number per unit, times its
        count and, if the unit is a ranking, its sampling weight.

    Raises
    ------
    ValueError
        If the numbers of weights and components differ, or components have different outcome spaces
        or other items than the rankings. Also if the unit is a ranker and rankings have sampling
        weights, or a ranker with a name gave a ranking several times.
    TypeError
        If a component is not made by ``.dist`` of one of these families.

    See Also
    --------
    fit_mixture, component_probabilities, relabel_components, compare_components

    Notes
    -----
    All permutations of the components are equally probable. `bayesrank.fit_mixture` finds the best
    mode; start sampling there. `bayesrank.relabel_components` gives the components of all draws the
    same order, and `bayesrank.component_probabilities` returns the probability of each component
    for every unit.

    References
    ----------
    Gormley & Murphy, Analysis of Irish third-level college applications data, Journal of the Royal
    Statistical Society A 2006.

    Mollica & Tardella, Bayesian Plackett-Luce mixture models for partially ranked data,
    Psychometrika 2017.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"]])
    >>> with pm.Model(coords={**rankings.coords, "component": ["one", "other"]}) as model:
    ...     weights = pm.Dirichlet("weights", [2.0, 2.0], dims="component")
    ...     utility = pm.Normal("utility", 0, 1, dims=("component", "item"))
    ...     y = br.Mixture("y", weights, br.PlackettLuce.dist(utility), observed=rankings)
    >>> model.named_vars_to_dims["y"]
    ('ranking', 'slot')
    """

    def __new__(
        cls,
        name: str,
        weights: Any,
        components: Any,
        *,
        unit: Literal["ranking", "ranker"] | None = None,
        observed: Any = None,
        **kwargs: Unpack[Options],
    ) -> TensorVariable:
        refuse_single_precision()
        if not isinstance(observed, Rankings):
            _refuse_unit(observed, unit)
            refuse_labelled("`weights`", weights)
            refuse_labels("Mixture", observed, "Rankings.from_ranks or from_ratings")
            return pm.Mixture(name, w=weights, comp_dists=components, observed=observed, **kwargs)
        _, options = observed_options("Mixture", observed, kwargs)
        if unit is None:
            unit = "ranking"
        if unit not in UNITS:
            raise ValueError(f"`unit` is {unit!r}; it is one of {', '.join(map(repr, UNITS))}.")
        if unit == RANKER and not observed.are_anonymous and (observed.count != 1).any():
            row = int((observed.count != 1).argmax())
            raise ValueError(
                f"The ranker of {label_repr(observed.labels[row])} gave this ranking "
                f"{observed.count[row]} times, and the unit of {name!r} is a ranker. Use "
                "rankings.expand(), which repeats it, or unit='ranking'."
            )
        if unit == RANKER and (observed.weight != 1).any():
            row = int((observed.weight != 1).argmax())
            raise ValueError(
                f"The rankings of {name!r} have evidence weights ({observed.weight[row]:g} for "
                f"{label_repr(observed.labels[row])}), and its unit is a ranker. A weight could "
                "belong to the ranker or to the ranking. Use unit='ranking'. If the weights count "
                "rankings, give them as count=."
            )

        found = _components(name, components, observed, options.get("dims"))
        by_name, dim, labels = _weights_by_name(name, weights, observed, unit, found)
        return observe(
            RankerMixtureRV if unit == RANKER else MixtureRV,
            name,
            observed,
            found.named(),
            lambda data: _with_data(by_name, data, unit),
            structure={"families": found.families},
            outcome=found.outcome,
            items_known=True,
            more={COMPONENTS: _numbered(name, dim or COMPONENT, labels, found.n)},
            **options,
        )

    @classmethod
    def dist(cls, weights: Any, components: Any, **kwargs: Unpack[DistOptions]) -> TensorVariable:
        """Make a `pymc.Mixture` of components with one utility per slot."""
        refuse_labelled("`weights`", weights)
        return pm.Mixture.dist(w=weights, comp_dists=components, **kwargs)


class MixtureRV(ObservedRankingsRV, WeakOrderRV):
    """Observed rankings under a mixture; the structure `families` lists those of its components."""

    name = "ranking_mixture"
    _print_name = ("Mixture", "\\operatorname{Mixture}")
    parameters: ClassVar[Mapping[str, str]] = MappingProxyType(DATA)
    by_ranker: ClassVar[bool] = False

    @classmethod
    def list_parameters(cls, structure: Mapping[str, Any]) -> Mapping[str, str]:
        found = {**cls.parameters}
        for i, family in enumerate(structure["families"]):
            found |= {f"{field}_{i}": axes for field, axes in family.parameters.items()}
            found |= family.derived
        return found

    @classmethod
    def components(cls, p: SimpleNamespace) -> list[tuple[type[Component], SimpleNamespace]]:
        """List the families, each with its parameters."""
        return [
            (family, SimpleNamespace(**{f: getattr(p, f"{f}_{i}") for f in family.parameters}))
            for i, family in enumerate(p.families)
        ]

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        if size is not None:
            raise ValueError("A mixture of observed rankings takes its size from the rankings.")
        # draw by noise, as for rankings: the highest log weight + Gumbel noise
        n_units = (p.turns if cls.by_ranker else p.ranks).shape[0]
        next_rng, noise = pt.random.gumbel(
            0, 1, size=(n_units, p.weights.shape[-1]), rng=rng, return_next_rng=True
        )
        component = pt.argmax(safe_log(p.weights) + noise, axis=-1)
        component = component[p.ranker] if cls.by_ranker else component
        drawn = []
        for family, parameters in cls.components(p):
            ranks = family.draw(parameters, p, next_rng)
            next_rng = ranks.owner.outputs[0]
            drawn.append(ranks)
        ranks = pt.concatenate(drawn, axis=0)[component, _number(p.ranks)]
        if cls.by_ranker:
            ranks = pt.zeros_like(p.turns)[p.ranker, p.turn].set(ranks)
        return next_rng, ranks

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        derived: dict[str, Any] = {}
        for family, parameters in cls.components(p):
            family.check(name, parameters, data)
            derived |= family.derive(data)
        record = super().record(name, data, p)
        return record._replace(derived={**record.derived, **derived})

    @classmethod
    def _followed(cls, model: pm.Model, name: str, p: SimpleNamespace) -> list[str]:
        """Name the axes whose labels new data must follow; weights by row follow the rows."""
        if p.weights.ndim == 1:
            return [ITEM]
        graph = set(ancestors([p.weights]))
        dims, named = data_dims(model, name), {x.name for x in graph}
        (rows,) = dims[name_of(name, RANKER)]
        groups = [
            g for g in groups_of(name, dims, rows) if name_of(name, g) in named and g != RANKER
        ]
        if cls.by_ranker or name_of(name, RANKER) in named:
            return [ITEM, RANKER, *groups]
        if not groups and graph.isdisjoint([*model.data_vars, *model.dim_lengths.values()]):
            raise ValueError(
                f"The weights of {name!r} have one row for each original ranking, and do not "
                "depend on the new data. Give weights by ranker, or compute them from a pm.Data "
                "that you replace."
            )
        return [ITEM, *groups]

    @classmethod
    def _follower(cls, model: pm.Model, name: str, p: SimpleNamespace, part: str) -> str:
        return super()._follower(model, name, p, part) if part == ITEM else "weights"

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        unit_logp = cls._components_logp(value, p)
        if cls.by_ranker:
            unit_logp = segment_sum(unit_logp, (p.ranker,), (p.turns.shape[0],))
        logp = mixture_logp(safe_log(p.weights) + unit_logp)
        return check_parameters(
            cls.unit_weight(p) * logp,
            pt.all(p.weights >= 0),
            pt.all(pt.isclose(pt.sum(p.weights, axis=-1), 1)),
            msg="weights must not be negative and must sum to one",
        )

    @classmethod
    def _components_logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """Return log-probabilities of rankings under components, (n_rankings, n_components)."""
        observed = is_observed(value, p.turns if cls.by_ranker else p.ranks)
        ranks = value[p.ranker, p.turn] if cls.by_ranker else value
        found = [
            family.observed_logp(parameters, p) if observed else family.logp(parameters, p, ranks)
            for family, parameters in cls.components(p)
        ]
        return found[0] if len(found) == 1 else pt.concatenate(found, axis=1)

    @classmethod
    def unit_weight(cls, p: SimpleNamespace) -> TensorVariable:
        """Return the count of each unit, times its sampling weight."""
        return p.weight


class RankerMixtureRV(MixtureRV):
    """Observed rankings under a mixture in which each ranker belongs to one component."""

    axes = (RANKER, TURN, "slot")
    example = ("person", "time", "place")
    value = "turns"
    value_axes = "turn,slot"
    parameters: ClassVar[Mapping[str, str]] = MappingProxyType(
        DATA | {"turns": "turn,slot", "turn": ""}
    )
    by_ranker = True

    @classmethod
    def record(cls, name: str, data: Rankings, p: SimpleNamespace) -> Record:
        # number of earlier rankings by the same ranker
        turn = pd.Series(data.ranker_idx).groupby(data.ranker_idx).cumcount().to_numpy()
        turns = np.zeros((len(data.rankers), turn.max() + 1, data.n_slots), data.ranks.dtype)
        turns[data.ranker_idx, turn] = data.ranks

        record = super().record(name, data, p)
        slots = dict.fromkeys((RANKS, ITEM), (RANKING, "slot"))
        parts = {
            x: DataPart(part.value, slots.get(x, part.axes)) for x, part in record.parts.items()
        }
        return record._replace(
            labels={**record.labels, TURN: np.arange(1, 1 + turns.shape[1])},
            parts=parts | {TURN: DataPart(turn, (RANKING,))},
            derived={**record.derived, "turns": turns.astype(np.int64)},
        )

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Rankings, p: SimpleNamespace) -> None:
        for group in {*cls._followed(model, name, p)} & {*data.groups}:
            _check_of_rankers(name, group, data)

    @classmethod
    def unit_weight(cls, p: SimpleNamespace) -> TensorVariable:
        # a ranker with a count has one ranking; omitted rankers get zero
        return pt.zeros_like(p.turns[:, 0, 0], dtype="float64")[p.ranker].set(p.weight)

    @classmethod
    def support_point(cls, rv: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        ranks = super().support_point(p.ranks, p)
        return pt.zeros_like(rv)[p.ranker, p.turn].set(pt.cast(ranks, rv.dtype))


def _number(x: TensorVariable) -> TensorVariable:
    """Return the row numbers of a matrix; in JAX, `pt.arange` cannot have unknown length."""
    return pt.cumsum(pt.ones_like(x[:, 0], dtype="int64")) - 1


# ---------------------------------------------------------------------------------------------
# Components and weights
# ---------------------------------------------------------------------------------------------


class _Components(NamedTuple):
    families: tuple[type[Component], ...]
    parameters: list[SimpleNamespace]
    outcome: str
    given: list[ComponentParameters]
    axes: Axes  # axes of the rankings and the components

    @property
    def n(self) -> int:
        """Return the number of components."""
        return sum(given.n for given in self.given)

    def named(self) -> dict[str, Any]:
        return {
            f"{field}_{i}": x for i, p in enumerate(self.parameters) for field, x in vars(p).items()
        }


def _components(name: str, components: Any, rankings: Rankings, dims: Any) -> _Components:
    """Read the components."""
    names = {} if COMPONENT in rankings.groups else {COMPONENT: COMPONENT}
    families, parameters, read = [], [], []
    for component in components if isinstance(components, Sequence) else [components]:
        family, as_given = _family_of(name, component)
        given = ComponentParameters(name, as_given, rankings, dims, names)
        families.append(family)
        parameters.append(SimpleNamespace(**family.read(given, component.owner.inputs[2:])))
        read.append(given)
    if not families:
        raise ValueError(f"{name!r} got an empty list of components: give one or more.")
    outcomes = {f.outcome(p) for f, p in zip(families, parameters, strict=True)}
    if len(outcomes) > 1:
        raise ValueError(
            f"The components of {name!r} describe different outcomes: "
            f"{' and '.join(sorted(outcomes))}. Give components of the same outcomes."
        )
    return _Components(tuple(families), parameters, outcomes.pop(), read, read[0].axes())


def _family_of(name: str, component: Any) -> tuple[type[Component], Mapping[str, Any]]:
    """Return the family of a component, and its parameters as given to ``.dist``."""
    op = getattr(getattr(component, "owner", None), "op", None)
    family = BY_RV.get(type(op))
    as_given = getattr(getattr(component, "tag", None), "given", None)
    if family is None or as_given is None:
        known = ", ".join({f"br.{t._print_name[0]}.dist": None for t in BY_RV})
        got = type(component).__name__ if op is None else f"result of {type(op).__name__}"
        raise TypeError(
            f"A component of {name!r} is a {got}. Create components with one of {known}, "
            "such as br.PlackettLuce.dist(utility) with a utility by component and item."
        )
    return family, as_given


def _weights_by_name(
    name: str, weights: Any, rankings: Rankings, unit: str, components: _Components
) -> tuple[Named, str | None, Any]:
    """Read the axes of weights, and the name and labels of their axis of components."""
    readings: dict[tuple[str, ...], str] = {(COMPONENT,): "one per component"}
    readings |= by_row(rankings, COMPONENT)
    rows = [RANKING, RANKER, *rankings.groups]
    if unit == RANKER:
        rows.remove(RANKING)
        readings.pop((RANKING, COMPONENT), None)
        readings[RANKER, COMPONENT] = f"one per {RANKER} and {COMPONENT}"
    given = components.given
    known = given[0].labels if len(given) == 1 else None
    component_labels = components.n if known is None else known
    axes = components.axes._replace(labels={**components.axes.labels, COMPONENT: component_labels})
    dim, weight_labels = labels_along(name, "weights", weights, axes, COMPONENT) or (None, None)
    found = by_axes(name, "weights", weights, readings, axes, also=rows)
    if unit == RANKER:
        for group in {*found.axes} & {*rankings.groups}:
            _check_of_rankers(name, group, rankings)
    if known is not None:
        same = weight_labels is not None and np.array_equal(weight_labels, known)
        return found, dim if same else given[0].dim, known
    if weight_labels is not None:
        _check_labels(name, weight_labels, given)
    return found, dim, weight_labels


def _check_labels(name: str, labels: Any, components: Sequence[ComponentParameters]) -> None:
    """Raise if the labels of components differ from those of the weights."""
    start = 0
    for given in components:
        expected = labels[start : start + given.n]
        start += given.n
        if given.labels is None or np.array_equal(given.labels, expected):
            continue
        if {*given.labels} & {*labels} and not np.array_equal(given.labels, np.arange(given.n)):
            raise ValueError(
                f"The weights of {name!r} have the labels {quoted(expected)} where a component has "
                f"{quoted(given.labels)}. Put the labels of the weights in the order of the "
                "components."
            )


def _check_of_rankers(name: str, group: str, rankings: Rankings) -> None:
    """Raise if the rankings of one ranker are in several groups."""
    codes = rankings.groups[group].idx
    first = np.full(len(rankings.rankers), -1)
    first[rankings.ranker_idx[::-1]] = codes[::-1]
    apart = first[rankings.ranker_idx] != codes
    if apart.any():
        ranker = rankings.rankers[rankings.ranker_idx[int(apart.argmax())]]
        raise ValueError(
            f"The weights of {name!r} are by {group}, and its unit is a ranker, but the rankings "
            f"of {label_repr(ranker)} have more than one {group}. Give weights by ranker, or use "
            "unit='ranking'."
        )


def _with_data(weights: Named, data: SimpleNamespace, unit: str) -> Mapping[str, TensorVariable]:
    found = {
        "weights": _weights_of_units(weights, data, unit),
        "where": data.ranks > 0,
        "ranks": data.ranks,
        "weight": data.weight,
        "item": data.item,
        "ranker": data.ranker,
    }
    return found | ({TURN: data.turn} if unit == RANKER else {})


def _weights_of_units(weights: Named, data: SimpleNamespace, unit: str) -> TensorVariable:
    """Return weights (n_components,) or (n_units, n_components)."""
    if unit == RANKING or {*weights.axes} <= {RANKER, COMPONENT}:
        return in_rows(weights, vars(data)) if unit == RANKING else weights.value
    none = pt.zeros_like(data.turns[:, 0, 0], dtype="int64")
    codes = {  # codes of rankers: all rankings of a ranker are in one group
        axis: none[data.ranker].set(getattr(data, axis))
        for axis in weights.axes
        if axis != COMPONENT
    }
    return weights.value[tuple(codes.values())]


def _numbered(name: str, dim: str, labels: Any, n_components: int) -> StoredPart:
    """Return the numbers of the components, and their dim, for the results."""
    model = pm.modelcontext(None)
    present = model.coords.get(dim)
    if present is not None and len(present) != n_components:
        dim = name_of(name, dim)
    if dim not in model.coords:
        model.add_coord(dim, np.arange(n_components) if labels is None else labels)
    return StoredPart(np.arange(n_components), (dim,))


def _refuse_unit(observed: Any, unit: str | None) -> None:
    if unit is not None:
        raise TypeError(
            f"Mixture got unit={unit!r} and observed={type(observed).__name__}, which has no "
            "rankers. Leave unit= out, or pass a Rankings."
        )
