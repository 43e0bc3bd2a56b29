"""Observed `PairCounts` as data of a PyMC model: what ``MPM(..., observed=counts)`` does.

The value of the variable is the net counts of every item by every ranker. All that the likelihood
needs beside them (how often, and with variances every ordered pair) goes along as parameters, in
shared variables, which stay out of compiled code and of the stored data.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.pytensorf import normalize_rng_param
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

from bayesrank.data.pair_counts import PairCounts
from bayesrank.distributions.axes import add_coord, two_names
from bayesrank.distributions.count_checks import check_numbers
from bayesrank.distributions.count_data import (
    label_of,
    net_counts,
    tables_of,
    warn_of_empty,
)
from bayesrank.distributions.observed import is_observed
from bayesrank.likelihoods.mpm.op import NetCountsDraw, agreement, log_normaliser_table
from bayesrank.likelihoods.ops.arrays import segment_sum
from bayesrank.likelihoods.ops.stable import softplus

__all__ = ["observe_counts", "set_counts"]

AXES = ("ranker", "item")  # coords of a PairCounts, and the dims by default


class ObservedMPMRV(SymbolicRandomVariable):
    """Net counts of rankers (n_rankers, n_items), with the observed counts as parameters."""

    name = "mpm"
    extended_signature = (
        "[rng],[size],(n),(v),(),(),(),(p),(p,s),(p,s),(e),(e),(f),(e),(n)->[rng],(n)"
    )
    _print_name = ("MPM", "\\operatorname{MPM}")

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        score, variance, adherence, weight, _, totals, item, where, *_ = params
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        next_rng, seed = pt.random.integers(
            0, 2**62, size=(weight.shape[0],), rng=rng, return_next_rng=True
        )
        each = adherence + pt.zeros_like(weight)
        net = NetCountsDraw()(score, variance, each, item, where, totals.T, seed)
        return cls(inputs=[rng, size, *params], outputs=[next_rng, net])(rng, size, *params)


class ObservedGivenPairsRV(SymbolicRandomVariable):
    """The same, given how often each ranker compared each pair."""

    name = "mpm_given_pairs"
    extended_signature = "[rng],[size],(n),(v),(),(),(e),(e),(e),(e),(e),(n)->[rng],(n)"
    _print_name = ("MPM", "\\operatorname{MPM}")

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> TensorVariable:
        params = [pt.as_tensor_variable(x) for x in parameters]
        score, variance, adherence, weight, ranker, first, second, _, compared, _ = params
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        logit = _logit(score, variance, adherence, ranker, first, second)
        next_rng, won = pt.random.binomial(
            compared, pt.sigmoid(logit), rng=rng, return_next_rng=True
        )
        lead = 2 * won - compared
        shape = weight.shape[0], score.shape[0]
        net = segment_sum(lead, (ranker, first), shape) - segment_sum(lead, (ranker, second), shape)
        return cls(inputs=[rng, size, *params], outputs=[next_rng, pt.cast(net, "int64")])(
            rng, size, *params
        )


class _ObservedMPM(Discrete):
    """Counts of all ordered pairs, given how many each ranker has."""

    rv_type = ObservedMPMRV
    rv_op = ObservedMPMRV.rv_op

    def support_point(rv, size, *parameters):  # type: ignore[no-untyped-def]
        return pt.zeros_like(rv)

    def logp(  # type: ignore[no-untyped-def]
        value, score, variance, adherence, weight, log_ways, totals, item, where,
        ranker, first, second, count, net,
    ):  # fmt: skip
        _refuse_other(value, net)
        if variance.type.shape[0] == 0:
            unequal, agreed = None, segment_sum(count * score[first], (ranker,), (weight.shape[0],))
        else:
            unequal = variance[item]
            agreed = agreement(score, variance, (ranker, first, second, count), like=weight)
        needed = pt.gt(totals.T, 0) if adherence.ndim else None
        rate = pt.atleast_1d(adherence)
        log_Z = log_normaliser_table(score[item], rate, unequal, where=where, needed=needed)
        logp = log_ways + adherence * agreed - pt.sum(totals * log_Z.T, axis=-1)
        return check_numbers(weight * logp, score, variance, adherence)


class _ObservedGivenPairs(Discrete):
    """Counts given how often each ranker compared each pair."""

    rv_type = ObservedGivenPairsRV
    rv_op = ObservedGivenPairsRV.rv_op

    def support_point(rv, size, *parameters):  # type: ignore[no-untyped-def]
        return pt.zeros_like(rv)

    def logp(  # type: ignore[no-untyped-def]
        value, score, variance, adherence, weight, ranker, first, second, count, compared, net,
    ):  # fmt: skip
        _refuse_other(value, net)
        logit = _logit(score, variance, adherence, ranker, first, second)
        lost = compared - count
        ways = pt.gammaln(compared + 1.0) - pt.gammaln(count + 1.0) - pt.gammaln(lost + 1.0)
        terms = ways - count * softplus(-logit) - lost * softplus(logit)
        logp = segment_sum(terms, (ranker,), (weight.shape[0],))
        return check_numbers(weight * logp, score, variance, adherence)


def _logit(
    score: Any, variance: Any, adherence: Any, ranker: Any, first: Any, second: Any
) -> TensorVariable:
    D = score[first] - score[second]
    if variance.type.shape[0] != 0:
        D = D / (variance[first] + variance[second])
    return 2.0 * D * (adherence if adherence.ndim == 0 else adherence[ranker])


def _refuse_other(value: TensorVariable, net: TensorVariable) -> None:
    if not is_observed(value, net):
        raise NotImplementedError(
            "The probability of net counts alone has no closed form: observed PairCounts have "
            "one, other values do not. Pass tables of counts, observed=array of shape "
            "(n_rankers, n_items, n_items), or replace the data with set_counts."
        )


# ---------------------------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------------------------


def observe_counts(
    name: str,
    score: Any,
    counts: PairCounts,
    *,
    variance: Any = None,
    adherence: Any = None,
    given_pairs: bool = False,
    dims: Sequence[str] | None = None,
    **kwargs: Any,
) -> TensorVariable:
    """Add observed counts to the model in context; the parameters are those of `MPM`."""
    for taken in ("total", "shape"):
        if kwargs.pop(taken, None) is not None:
            raise TypeError(
                f"MPM got both observed=PairCounts and {taken}=: a PairCounts brings its own. "
                f"Leave {taken}= out."
            )
    model = pm.modelcontext(None)
    total_size = kwargs.pop("total_size", None)
    n_rankers, n_items = len(counts.rankers), len(counts.items)
    score = _shaped(name, "score", score, [(n_items,)], "one per item")
    if variance is None:
        variance = pt.constant(np.zeros(0))
    else:
        variance = _shaped(name, "variance", variance, [(n_items,)], "one per item")
    adherence = 1.0 if adherence is None else adherence
    adherence = _shaped(
        name, "adherence", adherence, [(), (n_rankers,)], "one per ranker, or one for all"
    )
    warn_of_empty(name, counts)

    two_dims = two_names(name, dims, AXES)
    for dim, axis in zip(two_dims, AXES, strict=True):
        add_coord(model, name, dim, counts.coords[axis], source="counts")
    net = pt.cast(pm.Data(f"{name}_net", net_counts(counts), dims=two_dims), "int64")
    weight = pm.Data(f"{name}_weight", counts.weight, dims=two_dims[0])
    # net counts do not tell the counts, so that what they are worth at random goes along
    at_random = counts.weight * counts.log_at_random(given_pairs=given_pairs)
    pm.Data(f"{name}_at_random", at_random, dims=two_dims[0])
    model.add_coord(f"{name}_outcome", [label_of(counts, given_pairs)])
    pm.Data(f"{name}_outcomes", [n_rankers], dims=f"{name}_outcome")
    equal = variance.type.shape[0] == 0
    tables = [
        pytensor.shared(value, name=f"{model.name_for(name)}_{field}", borrow=True)
        for field, value in tables_of(counts, equal=equal, given_pairs=given_pairs).items()
    ]
    kind = _ObservedGivenPairs if given_pairs else _ObservedMPM
    rv = kind.dist([score, variance, adherence, weight, *tables, net], **kwargs)
    return model.register_rv(rv, name, observed=net, dims=two_dims, total_size=total_size)


def set_counts(name: str, counts: PairCounts, *, model: pm.Model | None = None) -> None:
    """Replace the counts that a model observes; what was compiled stays compiled.

    Parameters
    ----------
    name : str
        Name of the `MPM` that observes the counts.
    counts : PairCounts
        The new ones. Rankers and items may be others, and as many as they are if all that
        belongs to them has their dims: the coords become theirs.
    model : pm.Model, optional
        Default the model in context.

    Raises
    ------
    ValueError
        If the model has no such observed counts, or its scores, variances or adherences are not
        as many as the new items and rankers.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> one = br.Rankings.from_orderings([["a", "b", "c"]]).counts()
    >>> other = br.Rankings.from_orderings([["c", "b", "a"]]).counts()
    >>> with pm.Model(coords=one.coords) as model:
    ...     y = br.MPM("y", pm.Normal("score", 0, 1, dims="item"), observed=one)
    >>> logp = model.compile_logp(vars=y)
    >>> before = logp({"score": [0.1, 0.0, -0.1]})
    >>> br.set_counts("y", other, model=model)
    >>> round(float(before - logp({"score": [0.1, 0.0, -0.1]})), 6)  # 2 steps of 0.2, 2 of 0.1
    1.2
    """
    model = pm.modelcontext(model)
    full_name = model.name_for(name)
    if f"{full_name}_net" not in model.named_vars:
        observed = sorted(rv.name for rv in model.observed_RVs)
        raise ValueError(
            f"The model has no counts observed as {full_name!r}; it observes {observed}."
        )
    inputs = model[full_name].owner.inputs
    _check_sizes(full_name, counts, *inputs[2:5])
    shared = {x.name: x for x in inputs if isinstance(x, SharedVariable)}
    equal = inputs[3].type.shape[0] == 0
    given_pairs = isinstance(model[full_name].owner.op, ObservedGivenPairsRV)
    tables = tables_of(counts, equal=equal, given_pairs=given_pairs)
    warn_of_empty(name, counts, stacklevel=3)
    dims = model.named_vars_to_dims[full_name]
    coords = {dim: counts.coords[axis] for dim, axis in zip(dims, AXES, strict=True)}
    model.set_data(f"{full_name}_net", net_counts(counts), coords=coords)
    model.set_data(f"{full_name}_weight", counts.weight, coords=coords)
    at_random = counts.weight * counts.log_at_random(given_pairs=given_pairs)
    model.set_data(f"{full_name}_at_random", at_random, coords=coords)
    label = {f"{full_name}_outcome": [label_of(counts, given_pairs)]}
    model.set_data(f"{full_name}_outcomes", [len(counts.rankers)], coords=label)
    for field, value in tables.items():
        shared[f"{full_name}_{field}"].set_value(value, borrow=True)


def _check_sizes(name: str, counts: PairCounts, score: Any, variance: Any, adherence: Any) -> None:
    """Raise where a number that is part of the model cannot follow the new counts."""
    parts = {
        "scores": (score, counts.items, "items"),
        "variances": (variance, counts.items, "items"),
        "adherences": (adherence, counts.rankers, "rankers"),
    }
    for what, (x, axis, noun) in parts.items():
        n = x.type.shape[0] if x.ndim else None
        if n not in (None, 0, len(axis)):  # 0 variances: they are equal
            raise ValueError(
                f"{name!r} has {n} {what}, but the new counts have {len(axis)} {noun}. Declare the "
                f"{what} with dims, which set_counts can change, instead of a shape."
            )


def _shaped(
    name: str, what: str, value: Any, allowed: list[tuple[int, ...]], meaning: str
) -> TensorVariable:
    x = pt.cast(pt.as_tensor_variable(value), "float64")
    shape = tuple(int(n.eval(mode="FAST_COMPILE")) for n in x.shape)
    if shape not in allowed:
        raise ValueError(
            f"`{what}` of {name!r} has shape {shape}; with these counts it is {meaning}, "
            f"shape {' or '.join(map(str, allowed))}."
        )
    return x
