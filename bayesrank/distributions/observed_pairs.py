"""Observed `Pairs` as data of a PyMC model: what ``Davidson(..., observed=pairs)`` does.

The value of the variable is the counts of outcomes of every pair. LOO wants the log-probability of
each; a sampler wants their sum, which is evaluated over the distinct pairs of items, whoever
judged them, wherever nothing but the items tells pairs apart.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.graph.basic import Constant
from pytensor.tensor import TensorVariable

from bayesrank.data import Pairs
from bayesrank.data.derive import PairTotals, log_multinomial, pair_totals
from bayesrank.distributions.axes import add_coord, label_axis, two_names
from bayesrank.distributions.observed import is_observed, known_value
from bayesrank.distributions.pair_data import (
    check_new,
    check_ties,
    counts_of,
    group_names,
    item_matches,
    label_of,
    matches_of,
    pair_labels,
    shaped,
)
from bayesrank.distributions.pair_outcomes import (
    BradleyTerryRV,
    DavidsonRV,
    PairRV,
    RaoKupperRV,
    ThurstoneRV,
    check_parameters_of,
    check_tie_parameter,
    counts_logp,
    logprob_of,
)
from bayesrank.likelihoods.ops.with_sum import with_sum
from bayesrank.likelihoods.pairs.graph import outcome_counts_logp

__all__ = ["observe_pairs", "set_pairs"]

AXES = ("pair", "result")  # the dims by default
EXAMPLE = ("match", "end")  # other names for them


class Observed(NamedTuple):
    """Parameters of the observed variables, in their order."""

    lead: Any  # (n_pairs,)
    tie: Any  # () or (n_pairs,)
    total: Any  # (n_pairs,) matches
    first: Any  # (n_pairs,)
    second: Any  # (n_pairs,)
    weight: Any  # (n_pairs,)
    counts: Any  # (n_pairs, n_outcomes)
    log_multinomial: Any  # (n_pairs,)
    utility: Any  # (n_items,), or (0,) if more than the items tells pairs apart
    order_effect: Any  # () or (n_pairs,)
    distinct_first: Any  # (n_distinct,) and so on: fields of `PairTotals`, of no pairs if not used
    distinct_second: Any
    distinct_counts: Any
    distinct_log_multinomial: Any

    @property
    def ordered(self) -> bool:
        """Whether it matters which item is the first."""
        return not (isinstance(self.order_effect, Constant) and self.order_effect.data == 0)

    @property
    def by_items(self) -> bool:
        """Whether nothing but the items tells pairs apart."""
        return self.utility.type.shape[0] != 0


# what follows from the data, and is kept beside them
DERIVED = ("log_multinomial", *(f"distinct_{field}" for field in PairTotals._fields))


class ObservedPairRV(PairRV):
    """With what was observed as parameters."""

    extended_signature = "[rng],[size],(),(),(),(),(),(),(o),(),(i),(),(m),(m),(o,m),()->[rng],(o)"


class ObservedBradleyTerryRV(ObservedPairRV, BradleyTerryRV):
    """Observed outcomes under Bradley-Terry."""


class ObservedThurstoneRV(ObservedPairRV, ThurstoneRV):
    """Observed outcomes under Thurstone's model."""


class ObservedDavidsonRV(ObservedPairRV, DavidsonRV):
    """Observed outcomes under Davidson's model."""


class ObservedRaoKupperRV(ObservedPairRV, RaoKupperRV):
    """Observed outcomes under Rao and Kupper's model."""


OBSERVED: dict[type[PairRV], type[ObservedPairRV]] = {
    BradleyTerryRV: ObservedBradleyTerryRV,
    ThurstoneRV: ObservedThurstoneRV,
    DavidsonRV: ObservedDavidsonRV,
    RaoKupperRV: ObservedRaoKupperRV,
}


@logprob_of.register(ObservedPairRV)
def _observed_logp(
    op: ObservedPairRV, values: Any, rng: Any, size: Any, *parameters: Any, **kwargs: Any
) -> TensorVariable:
    (value,), p = values, Observed(*parameters)
    if not is_observed(value, p.counts) or not _is_current(p):
        return p.weight * counts_logp(op, value, p.lead, p.tie, p.total)
    each = outcome_counts_logp(value, op.log_probabilities(p.lead, p.tie))
    each = check_parameters_of(op, p.weight * (p.log_multinomial + each), [p.lead], p.tie)
    if not p.by_items:
        return each
    lead = p.utility[p.distinct_first] - p.utility[p.distinct_second] + p.order_effect
    distinct = outcome_counts_logp(p.distinct_counts.T, op.log_probabilities(lead, p.tie))
    total = p.distinct_log_multinomial + pt.sum(distinct)
    return with_sum(each, check_parameters_of(op, total, [p.utility, p.order_effect], p.tie))


def _is_current(p: Observed) -> bool:
    """Whether the numbers that follow from the data are those of the data as they are now.

    Asked when a log-probability is built: after `pm.set_data` they are stale, and the pairs are
    evaluated one by one instead.
    """
    data = [known_value(x) for x in (p.first, p.second, p.counts, p.weight)]
    then = [known_value(getattr(p, field)) for field in DERIVED]
    if any(x is None for x in (*data, *then)):
        return False
    return all(map(np.array_equal, _derived(p, *data).values(), then))  # type: ignore[arg-type]


def observe_pairs(
    op_type: type[PairRV],
    name: str,
    utility: Any,
    pairs: Pairs,
    *,
    tie: Any,
    order_effect: Any = None,
    dims: Sequence[str] | None = None,
    total_size: Any = None,
) -> TensorVariable:
    """Add observed pairs to the model in context; `tie` is 0 in models without ties.

    The other parameters are those of `bayesrank.Davidson`.
    """
    model = pm.modelcontext(None)
    check_ties(op_type.n_outcomes, name, pairs)
    check_tie_parameter(op_type, tie)
    order_effect = 0.0 if order_effect is None else order_effect
    utilities = {(pairs.n_items,): "one per item", (pairs.n_pairs, 2): "two per pair"}
    utility = shaped(name, "utility", utility, utilities)
    one_or_all = {(): "one for all", (pairs.n_pairs,): "one per pair"}
    tie = shaped(name, op_type.tie_parameter, tie, one_or_all)
    order_effect = shaped(name, "order_effect", order_effect, one_or_all)
    per_item = utility.ndim == 1

    # data of the model
    two_dims = two_names(name, dims, AXES, EXAMPLE)
    for dim, labels in zip(two_dims, pair_labels(pairs, op_type.n_outcomes), strict=True):
        add_coord(model, name, dim, labels, source="pairs", example=EXAMPLE)
    first = pm.Data(f"{name}_first", pairs.first, dims=two_dims[0])
    second = pm.Data(f"{name}_second", pairs.second, dims=two_dims[0])
    weight = pm.Data(f"{name}_weight", pairs.weight, dims=two_dims[0])
    counts = pm.Data(f"{name}_counts", counts_of(name, pairs, op_type.n_outcomes), dims=two_dims)
    model.add_coord(f"{name}_outcome", [label_of(pairs, op_type.n_outcomes)])
    pm.Data(f"{name}_outcomes", [pairs.n_pairs], dims=f"{name}_outcome")
    for group in group_names(name, pairs):
        pm.Data(f"{name}_{group}", pairs.group_idx(group), dims=two_dims[0])
        axis = label_axis(model, name, group, pairs.coords[group], "pairs", known=False)
        pm.Data(f"{name}_{group}_matches", matches_of(pairs, group), dims=axis)
    if per_item:
        axis = label_axis(model, name, "item", pairs.coords["item"], "pairs", known=True)
        pm.Data(f"{name}_item_matches", item_matches(pairs), dims=axis)

    # the variable
    counts = pt.cast(counts, "int64")
    one, other = (utility[first], utility[second]) if per_item else (utility[:, 0], utility[:, 1])
    by_items = per_item and order_effect.ndim == tie.ndim == 0
    p = Observed(
        lead=one - other + order_effect, tie=tie, total=pt.sum(counts, axis=-1),
        first=first, second=second, weight=weight, counts=counts,
        utility=utility if by_items else pt.constant(np.zeros(0)), order_effect=order_effect,
        **dict.fromkeys(DERIVED),
    )  # fmt: skip
    shared = {
        field: pytensor.shared(value, name=f"{model.name_for(name)}_{field}", borrow=True)
        for field, value in _derived(p, *_known(pairs, op_type.n_outcomes)).items()
    }
    rv = OBSERVED[op_type].rv_op(*p._replace(**shared))
    return model.register_rv(rv, name, observed=counts, dims=two_dims, total_size=total_size)


def set_pairs(name: str, pairs: Pairs, *, model: pm.Model | None = None) -> None:
    """Replace the pairs that a model observes, with all that was derived from them.

    What was compiled stays compiled: a loop over days or folds compiles once. `pm.set_data` on
    ``{name}_counts`` alone cannot do this, because numbers that follow from the counts are kept.

    Parameters
    ----------
    name : str
        Name of the distribution that observes the pairs.
    pairs : Pairs
        The new ones, as many as they are, on the same item axis and with the same groups, whose
        labels may be others.
    model : pm.Model, optional
        Default the model in context.

    Raises
    ------
    ValueError
        If the model has no such observed pairs, the items or groups are others, there are ties in
        pairs of a model without ties, or numbers that are one per pair are not as many.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> one = br.Pairs.from_matrix([[0, 3], [1, 0]], items=["a", "b"])
    >>> other = br.Pairs.from_matrix([[0, 1], [0, 0]], items=["a", "b"])
    >>> with pm.Model(coords=one.coords) as model:
    ...     y = br.BradleyTerry("y", pm.Normal("utility", 0, 1, dims="item"), observed=one)
    >>> logp = model.compile_logp(vars=y)
    >>> br.set_pairs("y", other, model=model)
    >>> round(float(logp({"utility": [0.0, 0.0]})), 6)
    -0.693147
    """
    model = pm.modelcontext(model)
    full_name = model.name_for(name)
    variable = model.named_vars.get(full_name)
    node = None if variable is None else variable.owner
    if node is None or not isinstance(node.op, ObservedPairRV):
        observed = sorted(rv.name for rv in model.observed_RVs)
        raise ValueError(
            f"The model has no pairs observed as {full_name!r}; it observes {observed}."
        )
    n_outcomes, p = node.op.n_outcomes, Observed(*node.inputs[2:])
    check_ties(n_outcomes, full_name, pairs)
    check_new(model, full_name, pairs, (p.lead, p.tie, p.order_effect))
    counts = counts_of(full_name, pairs, n_outcomes)

    def set_data(part: str, value: Any, *labels: Any) -> None:
        dims = model.named_vars_to_dims[f"{full_name}_{part}"]
        model.set_data(f"{full_name}_{part}", value, coords=dict(zip(dims, labels, strict=True)))

    axes = pair_labels(pairs, n_outcomes)
    set_data("counts", counts, *axes)
    for part in ("first", "second", "weight"):
        set_data(part, getattr(pairs, part), axes[0])
    set_data("outcomes", [pairs.n_pairs], [label_of(pairs, n_outcomes)])
    for group in group_names(full_name, pairs):
        set_data(group, pairs.group_idx(group), axes[0])
        set_data(f"{group}_matches", matches_of(pairs, group), pairs.coords[group])
    if f"{full_name}_item_matches" in model.named_vars:
        set_data("item_matches", item_matches(pairs), pairs.coords["item"])
    for field, value in _derived(p, *_known(pairs, n_outcomes)).items():
        getattr(p, field).set_value(value, borrow=True)


def _known(pairs: Pairs, n_outcomes: int) -> tuple[Any, ...]:
    return pairs.first, pairs.second, pairs.counts[:, :n_outcomes], pairs.weight


def _derived(p: Observed, *data: Any) -> dict[str, NDArray[Any]]:
    """Compute what follows from the data, by the names of the parameters."""
    first, second, counts, weight = data
    used = slice(None) if p.by_items else slice(0)
    totals = pair_totals(first[used], second[used], counts[used], weight[used], ordered=p.ordered)
    return {"log_multinomial": log_multinomial(counts)} | {
        f"distinct_{field}": value for field, value in totals._asdict().items()
    }
