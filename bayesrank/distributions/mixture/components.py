"""Families as components of a mixture: a class for each family, and an entry in `FAMILIES`.

A component is a variable over *all* items that ``.dist`` makes, such as
``br.PlackettLuce.dist(utility)`` with a utility per component and item.
"""

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.graph.basic import equal_computations
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.data.derive import Stages
from bayesrank.distributions.core.by_name import (
    Axes,
    Named,
    by_axes,
    labels_along,
    rankings_axes,
)
from bayesrank.distributions.core.drawn import name_parameters
from bayesrank.distributions.core.observed import same_value
from bayesrank.distributions.mallows.generalized import with_known_stages
from bayesrank.distributions.mallows.observed import ObservedMallowsRV, check_lists
from bayesrank.distributions.mallows.variables import (
    STAGE,
    GeneralizedMallowsRV,
    MallowsRV,
    are_ranks,
    check_mallows_parameters,
    distance_number,
    is_full,
    logp_of_rows,
    name_of_distance,
    with_n_slots,
)
from bayesrank.distributions.rankings.max_diff import MaxDiffRV, check_best_worst
from bayesrank.distributions.rankings.orders import fits_sizes
from bayesrank.distributions.rankings.plackett_luce import (
    STAGES,
    PlackettLuceRV,
    StagedPlackettLuceRV,
    check_staged,
)
from bayesrank.distributions.rankings.pmop import PMOPRV, log_weights
from bayesrank.likelihoods.mallows import (
    known_items,
    log_normaliser,
    log_sum_of_completions,
    stages_logp,
)
from bayesrank.likelihoods.plackett_luce import ranking_logp
from bayesrank.schema import ITEM

COMPONENT, SIZE = "component", "size"
BY_ITEM = "one per component and item"

__all__ = [
    "BY_RV",
    "COMPONENT",
    "Component",
    "ComponentParameters",
    "GeneralizedMallowsComponent",
    "MallowsComponent",
    "MaxDiffComponent",
    "PMOPComponent",
    "PlackettLuceComponent",
    "StagedPlackettLuceComponent",
]


class ComponentParameters:
    """Parameters passed to ``.dist`` of a component, read by names and labels.

    `component_dims` maps other names of the axis of components to it. Reading sets `n`, the number
    of components. It takes `dim` and `labels` of their axis from the first parameter that has them.
    """

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, Any],
        rankings: Rankings,
        dims: Any,
        component_dims: Mapping[str, str],
    ) -> None:
        self.name, self.rankings = name, rankings
        self._parameters, self._dims, self._component_dims = parameters, dims, component_dims
        self.n = 0
        self.dim: str | None = None
        self.labels: Any = None

    def axes(self, labels: Mapping[str, Any] = MappingProxyType({})) -> Axes:
        """Return the axes that a parameter may have, with further `labels`."""
        known = (self.n or None) if self.labels is None else self.labels
        labels = {**labels, COMPONENT: known}
        axes = rankings_axes(
            self.rankings, self._dims, labels, says=False, first=(STAGE, SIZE), rest=COMPONENT
        )
        return axes._replace(dim_axes={**axes.dim_axes, **self._component_dims})

    def read(self, parameter: str, readings: Mapping[tuple[str, ...], str], **labels: Any) -> Named:
        """Read a parameter."""
        value = self._parameters[parameter]
        called = f"{parameter} of a component"
        if self.labels is None:
            found = labels_along(self.name, called, value, self.axes(labels), COMPONENT)
            self.dim, self.labels = found or (self.dim, None)
        return by_axes(self.name, called, value, readings, self.axes(labels))

    def by_item(self, parameter: str) -> TensorVariable:
        """Read a parameter by component and item, and set the number of components."""
        found = self.read(parameter, {(ITEM,): "one per item", (COMPONENT, ITEM): BY_ITEM})
        value = found.value[None, :] if found.axes == (ITEM,) else found.value
        self.n = int(value.shape[0].eval(mode="FAST_COMPILE"))
        return value


class Component:
    """A family as a component of a mixture.

    `parameters` maps the parameters that the mixture keeps to their axes; `by_item` names the one
    by component and item. `derived` maps the results of `derive` to their axes.
    """

    rv_type: ClassVar[Any]  # the variable that ``.dist`` returns
    parameters: ClassVar[Mapping[str, str]]
    by_item: ClassVar[str] = "utility"
    derived: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @classmethod
    def read(cls, given: "ComponentParameters", inputs: Any) -> dict[str, TensorVariable]:
        """Name the parameters; those by item get an axis of components if they have none."""
        raise NotImplementedError

    @classmethod
    def check(cls, name: str, p: SimpleNamespace, rankings: Rankings) -> None:
        """Raise if observed rankings have no probability under the family."""

    @classmethod
    def derive(cls, rankings: Rankings) -> dict[str, NDArray[Any]]:
        """Derive the data that `observed_logp` reads from observed rankings."""
        return {}

    @classmethod
    def observed_logp(cls, p: SimpleNamespace, data: SimpleNamespace) -> TensorVariable:
        """Return log-probabilities of the observed rankings, (n_rankings, n_components)."""
        return cls.logp(p, data, data.ranks)

    @classmethod
    def logp(
        cls, p: SimpleNamespace, data: SimpleNamespace, ranks: TensorVariable
    ) -> TensorVariable:
        """Return log-probabilities (n_rankings, n_components) of ranks (n_rankings, n_slots)."""
        raise NotImplementedError

    @classmethod
    def draw(cls, p: SimpleNamespace, data: SimpleNamespace, rng: Any) -> TensorVariable:
        """Draw rankings of each component, (n_components, n_rankings, n_slots)."""
        raise NotImplementedError

    @classmethod
    def outcome(cls, p: SimpleNamespace) -> str:
        """Return the label of the outcome space."""
        return "weak orders given their block sizes"


class SlotComponent(Component):
    """A family with a utility per component and item, and parameters of slots."""

    @classmethod
    def logp(
        cls, p: SimpleNamespace, data: SimpleNamespace, ranks: TensorVariable
    ) -> TensorVariable:
        slots = name_parameters(cls.rv_type.parameters, cls.slots(p, data))
        return cls.rv_type.logp(ranks, slots).T

    @classmethod
    def draw(cls, p: SimpleNamespace, data: SimpleNamespace, rng: Any) -> TensorVariable:
        return cls.rv_type.rv_op(*cls.slots(p, data), rng=rng)

    @classmethod
    def slots(cls, p: SimpleNamespace, data: SimpleNamespace) -> tuple[Any, ...]:
        """Return the parameters of `rv_type`, with a first axis of components."""
        raise NotImplementedError


class PlackettLuceComponent(SlotComponent):
    """Plackett-Luce with a utility per component and item.

    Stages that rankings share are evaluated once for each component.
    """

    rv_type = PlackettLuceRV
    parameters = MappingProxyType({"utility": "component,item"})
    derived = MappingProxyType(STAGES)

    @classmethod
    def read(cls, given: ComponentParameters, inputs: Any) -> dict[str, TensorVariable]:
        utility, where, sizes = inputs
        _refuse_slots(given.name, "PlackettLuce", utility, where, sizes)
        return {"utility": given.by_item("utility")}

    @classmethod
    def derive(cls, rankings: Rankings) -> dict[str, NDArray[Any]]:
        # evidence weights multiply the marginal log-likelihood of a ranking
        ones = np.ones(rankings.n_rankings)
        return rankings.stages._replace(ranking_weight=ones)._asdict()

    @classmethod
    def observed_logp(cls, p: SimpleNamespace, data: SimpleNamespace) -> TensorVariable:
        then = (data.ranks, data.slot_rank), (data.item, data.slot_item)
        if not all(same_value(now, before) for now, before in then):
            # data were replaced since, for example by some of their rows
            return cls.logp(p, data, data.ranks)
        stages = tuple(getattr(data, field) for field in Stages._fields)
        return ranking_logp(p.utility, stages)

    @classmethod
    def slots(cls, p: SimpleNamespace, data: SimpleNamespace) -> tuple[Any, ...]:
        return p.utility[:, data.item], data.where, data.sizes


class StagedPlackettLuceComponent(SlotComponent):
    """Plackett-Luce with a utility per component and item, and a scale at each stage."""

    rv_type = StagedPlackettLuceRV
    parameters = MappingProxyType(
        {"utility": "component,item", "stage_scale": "component_of_scales,stage"}
    )

    @classmethod
    def read(cls, given: ComponentParameters, inputs: Any) -> dict[str, TensorVariable]:
        utility, where, sizes, _ = inputs
        _refuse_slots(given.name, "PlackettLuce", utility, where, sizes)
        n_items = given.rankings.n_items
        readings = {(STAGE,): "one per stage", (COMPONENT, STAGE): "one per component and stage"}
        scale = given.read("stage_scale", readings, stage=np.arange(1, max(n_items, 2)))
        return {"utility": given.by_item("utility"), "stage_scale": pt.atleast_2d(scale.value)}

    @classmethod
    def check(cls, name: str, p: SimpleNamespace, rankings: Rankings) -> None:
        check_staged(name, rankings.ranks, rankings.labels)

    @classmethod
    def slots(cls, p: SimpleNamespace, data: SimpleNamespace) -> tuple[Any, ...]:
        return p.utility[:, data.item], data.where, data.sizes, p.stage_scale[:, None, :]


class MaxDiffComponent(SlotComponent):
    """Best-worst choices with a utility per component and item."""

    rv_type = MaxDiffRV
    parameters = MappingProxyType({"utility": "component,item", "method": ""})

    @classmethod
    def read(cls, given: ComponentParameters, inputs: Any) -> dict[str, TensorVariable]:
        utility, where, method = inputs
        _refuse_slots(given.name, "MaxDiff", utility, where)
        return {"utility": given.by_item("utility"), "method": method}

    @classmethod
    def check(cls, name: str, p: SimpleNamespace, rankings: Rankings) -> None:
        check_best_worst(name, rankings.ranks, rankings.labels)

    @classmethod
    def slots(cls, p: SimpleNamespace, data: SimpleNamespace) -> tuple[Any, ...]:
        return p.utility[:, data.item], data.where, p.method


class PMOPComponent(SlotComponent):
    """PMOP with a utility per component and item."""

    rv_type = PMOPRV
    parameters = MappingProxyType(
        {
            "utility": "component,item",
            "log_weight": "component_of_sizes,size_of_block",
            "aggregate": "",
            "given_sizes": "",
        }
    )

    @classmethod
    def read(cls, given: ComponentParameters, inputs: Any) -> dict[str, TensorVariable]:
        utility, where, sizes, log_weight, aggregate, given_sizes = inputs
        _refuse_slots(given.name, "PMOP", utility, where, sizes)
        utility = given.by_item("utility")
        if log_weight.type.shape[-1] != 0:
            readings = {(SIZE,): "one per size", (COMPONENT, SIZE): "one per component and size"}
            readings[()] = "one for blocks of two"
            sizes = np.arange(2, max(given.rankings.n_items, 2) + 1)
            prevalence = given.read("tie_prevalence", readings, size=sizes).value
            log_weight = log_weights(prevalence)
        return {
            "utility": utility,
            "log_weight": pt.atleast_2d(log_weight),
            "aggregate": aggregate,
            "given_sizes": given_sizes,
        }

    @classmethod
    def slots(cls, p: SimpleNamespace, data: SimpleNamespace) -> tuple[Any, ...]:
        none = p.log_weight.type.shape[-1] == 0
        weight = p.log_weight[0] if none else p.log_weight[:, None, :]
        slots = p.utility[:, data.item], data.where, data.sizes, weight
        return (*slots, p.aggregate, p.given_sizes)

    @classmethod
    def outcome(cls, p: SimpleNamespace) -> str:
        return "weak orders given their block sizes" if p.given_sizes.data else "weak orders"


class MallowsComponent(Component):
    """Mallows for full and partial rankings, with a consensus per component and item."""

    rv_type = MallowsRV
    parameters = MappingProxyType(
        {"consensus": "component,item", "alpha": "component", "distance": ""}
    )
    by_item = "consensus"

    @classmethod
    def read(cls, given: ComponentParameters, inputs: Any) -> dict[str, TensorVariable]:
        _, _, distance, where, sizes, _ = inputs
        if not is_full(where, sizes):
            raise TypeError(_brought(given.name, "Mallows", "where= or sizes"))
        consensus = with_n_slots(given.by_item("consensus"), given.rankings.n_items)
        alpha = given.read("alpha", {(): "one for all", (COMPONENT,): "one per component"}).value
        # of known length, and independent of the consensus, as steps and EM need it
        return {"consensus": consensus, "alpha": alpha + np.zeros(given.n), "distance": distance}

    @classmethod
    def check(cls, name: str, p: SimpleNamespace, rankings: Rankings) -> None:
        ObservedMallowsRV.check(name, rankings, cls._distance(p))

    @classmethod
    def logp(
        cls, p: SimpleNamespace, data: SimpleNamespace, ranks: TensorVariable
    ) -> TensorVariable:
        n, distance = known_items(p.consensus), cls._distance(p)
        total = logp_of_rows(
            lambda y, rho, t: log_sum_of_completions(y, rho, t[:, 0], distance, n_items=n),
            ranks,
            p.consensus[:, data.item],
            p.alpha[:, None, None],
        )
        possible = fits_sizes(ranks, data.where, data.sizes)
        log_z = log_normaliser(p.alpha, n, distance)  # once per component, not per ranking
        logp = pt.switch(possible, total - log_z[:, None], -pt.inf)
        return check_mallows_parameters(logp, p.alpha, are_ranks(p.consensus, n)).T

    @classmethod
    def draw(cls, p: SimpleNamespace, data: SimpleNamespace, rng: Any) -> TensorVariable:
        n = pt.constant(known_items(p.consensus))
        slots = p.consensus[:, data.item], p.alpha[:, None], p.distance
        return MallowsRV.rv_op(*slots, data.where, data.sizes, n, rng=rng)

    @classmethod
    def _distance(cls, p: SimpleNamespace) -> str:
        return name_of_distance(p.distance)


class GeneralizedMallowsComponent(Component):
    """Generalised Mallows for full rankings and top-k lists.

    It has a consensus per component and item.
    """

    rv_type = GeneralizedMallowsRV
    parameters = MappingProxyType({"consensus": "component,item", "alpha": "component,stage"})
    by_item = "consensus"

    @classmethod
    def read(cls, given: ComponentParameters, inputs: Any) -> dict[str, TensorVariable]:
        *_, sizes, _ = inputs
        if sizes.type.shape[-1] != 0:
            raise TypeError(_brought(given.name, "GeneralizedMallows", "sizes"))
        consensus = with_n_slots(given.by_item("consensus"), given.rankings.n_items)
        readings = {(STAGE,): "one per stage", (COMPONENT, STAGE): "one per component and stage"}
        stages = np.arange(1, max(given.rankings.n_items, 2))
        alpha = with_known_stages(given.read("alpha", readings, stage=stages).value)
        return {"consensus": consensus, "alpha": alpha + np.zeros((given.n, 1))}

    @classmethod
    def check(cls, name: str, p: SimpleNamespace, rankings: Rankings) -> None:
        check_lists(name, rankings)

    @classmethod
    def logp(
        cls, p: SimpleNamespace, data: SimpleNamespace, ranks: TensorVariable
    ) -> TensorVariable:
        n = known_items(p.consensus)
        consensus = pt.specify_shape(p.consensus[:, data.item], (None, None, n))
        logp = logp_of_rows(stages_logp, ranks, consensus, p.alpha[:, None, :])
        logp = pt.switch(fits_sizes(ranks, data.where, data.sizes), logp, -pt.inf)
        return check_mallows_parameters(logp, p.alpha, are_ranks(p.consensus, n)).T

    @classmethod
    def draw(cls, p: SimpleNamespace, data: SimpleNamespace, rng: Any) -> TensorVariable:
        n = known_items(p.consensus)
        consensus = pt.specify_shape(p.consensus[:, data.item], (None, None, n))
        distance = distance_number("kendall", n)
        more = data.where, data.sizes, pt.constant(n)
        return GeneralizedMallowsRV.rv_op(consensus, p.alpha[:, None, :], distance, *more, rng=rng)


FAMILIES = (
    PlackettLuceComponent,
    StagedPlackettLuceComponent,
    MaxDiffComponent,
    PMOPComponent,
    MallowsComponent,
    GeneralizedMallowsComponent,
)
BY_RV: Mapping[Any, type[Component]] = MappingProxyType(
    {family.rv_type: family for family in FAMILIES}
)


def _refuse_slots(name: str, family: str, utility: Any, where: Any, sizes: Any = None) -> None:
    """Raise if a component sets the slots in use or the sizes of blocks."""
    everywhere = pt.cast(pt.as_tensor_variable(pt.ones_like(utility, dtype=bool)), "bool")
    for option, given in (
        ("where", not equal_computations([where], [everywhere])),
        ("sizes", sizes is not None and sizes.type.shape[-1] != 0),
    ):
        if given:
            raise TypeError(_brought(name, family, option))


def _brought(name: str, family: str, option: str) -> str:
    return (
        f"A component of {name!r} is a {family} with {option}=. Observed rankings bring their own: "
        "leave it out."
    )
