r"""BPR as a PyMC distribution: users prefer the items that they have to those that they lack.

>>> import pymc as pm
>>> pm.logp(BPR.dist([[0.3, 1.2], [2.0, 0.0]]), [0, 0]).exp().eval().round(4).tolist()
[0.2891, 0.8808]
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete
from pytensor.graph.basic import Variable
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.data import Interactions, PairCounts, Pairs, Rankings
from bayesrank.distributions.core.arguments import NamedArguments
from bayesrank.distributions.core.by_name import Axes, Named, by_axes, refuse_utility_dims
from bayesrank.distributions.core.drawn import DrawnRV
from bayesrank.distributions.core.observed import (
    DataPart,
    DistOptions,
    ObservedRV,
    Options,
    Record,
    as_double,
    label_axis,
    observe,
    observed_counts,
    observed_options,
    refuse_labelled,
    refuse_labels,
    refuse_single_precision,
    reorder_data,
    same_labels,
)
from bayesrank.distributions.core.outcomes import labelled
from bayesrank.likelihoods.ops import only_sum
from bayesrank.likelihoods.pairs import triple_logp
from bayesrank.schema import ITEM, NEGATIVE, POSITIVE, USER, WEIGHT

__all__ = ["BPR"]

PARAMETERS = {"utility": "end", "weight": ""}


class BPRRV(DrawnRV):
    """Draw the preferred item of each pair, independently."""

    name = "bpr"
    parameters: ClassVar[Mapping[str, str]] = PARAMETERS
    _print_name = ("BPR", "\\operatorname{BPR}")
    outcomes = "nothing: pairs of items make a composite likelihood"

    @classmethod
    def draw(cls, rng: Any, size: Any, p: SimpleNamespace) -> tuple[Any, TensorVariable]:
        chance = pt.sigmoid(p.utility[..., 1] - p.utility[..., 0])
        chance, _ = pt.broadcast_arrays(chance, p.weight)
        return pt.random.bernoulli(chance, size=size, rng=rng, return_next_rng=True)

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        """One log-probability per triple."""
        return check_parameters(
            p.weight * triple_logp(p.utility, value),
            pt.all(pt.isfinite(p.utility)),
            pt.all(p.weight >= 0),
            msg="utility must be finite, weight >= 0",
        )


SENTENCE = (
    "BPR is a composite likelihood of pairs of items. It has neither a log-likelihood of single "
    "observations nor a log predictive density to compare. Compare predictions by a metric."
)


class BPR(Discrete, metaclass=NamedArguments):
    r"""Bayesian personalised ranking: log-likelihood of the items that users have and lack.

    .. math:: \sum_u \sum_{i \in I_u^+} \sum_{j \notin I_u^+} \log\sigma(x_{ui} - x_{uj})

    where :math:`x_{ui}` is the utility of item i for user u, :math:`I_u^+` the set of items that
    the user has, and :math:`\sigma` the logistic function. A user, an item of the user and another
    item are a *triple*.

    It is a *composite* likelihood: every triple counts as if it were independent. LOO is undefined:
    `pm.compute_log_likelihood` and `bayesrank.compare` refuse it. A draw is one Bernoulli variable
    per triple. Posteriors from all triples are far too narrow. Use `weight`, or `total_size` with
    minibatches, to set how much evidence the triples carry. One comparison per interaction is a
    modest choice.

    There is one value per triple: 0 if the item that the user has is preferred, 1 otherwise.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float
        Log worth. With `Interactions`, the shape is (n_users, n_items), or (n_items,) if users do
        not differ; a variable with dims may have them in any order. With triples, the shape is
        (..., 2), the item that the user has first.
    utility_dims : str or sequence of str, optional
        With `Interactions`, dims of a utility without named dims, such as ``("user", "item")``.
    weight : tensor_like of float, (...), optional
        Evidence weight of each triple, >= 0, which multiplies its log-probability; 1 by default.
        With `Interactions`, give one number for all triples.
    observed : Interactions or array_like of int, optional
        Use `Interactions` for small data, because all triples are stored, in ``{name}_data``. An
        array holds one zero per triple. Rankings of two blocks are interactions if they hold all
        items (`Interactions.from_rankings`). For other rankings use `PlackettLuce`.
    dims : str, optional
        Name of the axis of triples, "triple" by default.
    total_size : int, optional
        Number of triples that the data represent; by default the number of triples.

    Returns
    -------
    TensorVariable of int, (...)

    Raises
    ------
    ValueError
        If the shape of `utility` does not fit, or an array holds other numbers than 0 and 1. Also
        if there are no triples, or more than 20 million.

    See Also
    --------
    Interactions, recommendation_metrics, PlackettLuce

    References
    ----------
    Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.

    Examples
    --------
    All triples of small data:

    >>> import bayesrank as br, pymc as pm
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], ["b", {"a", "c", "d"}]])
    >>> have = br.Interactions.from_rankings(clicks)
    >>> with pm.Model(coords=have.coords) as model:
    ...     utility = pm.Normal("utility", 0, 1, dims=("user", "item"))
    ...     y = br.BPR("y", utility, observed=have, weight=len(have) / have.n_triples)
    >>> int(model.dim_lengths["triple"].eval())
    7

    For large data, sample triples and give each step of `pm.fit` a minibatch. Set `total_size` and
    cast the triples to 32 bits:

    >>> triples = have.sample_triples(10 * len(have), random_seed=1).astype("int32")
    >>> with pm.Model(coords=have.coords | {"factor": range(2)}) as model:
    ...     user, *pair = pm.Minibatch(*triples.T, batch_size=4)
    ...     pair = pm.math.stack(pair, axis=-1)
    ...     W = pm.Normal("W", 0, 1, dims=("user", "factor"))
    ...     H = pm.Normal("H", 0, 1, dims=("item", "factor"))
    ...     utility = (W[user][:, None] * H[pair]).sum(axis=-1)
    ...     y = br.BPR("y", utility, observed=[0] * 4, total_size=len(have))
    """

    rv_type = BPRRV
    rv_op = BPRRV.rv_op

    def __new__(
        cls,
        name: str,
        utility: TensorLike,
        *,
        observed: Any = None,
        utility_dims: str | Sequence[str] | None = None,
        weight: TensorLike | None = None,
        **kwargs: Unpack[Options],
    ) -> TensorVariable:
        refuse_single_precision()
        if isinstance(observed, Interactions):
            _, options = observed_options("BPR", observed, kwargs)
            weight = 1.0 if weight is None else weight
            return _observe(name, utility, observed, weight, utility_dims, options)
        refuse_utility_dims("BPR", utility_dims)
        refuse_labels(
            "BPR",
            observed,
            "Interactions.from_frame(frame, user=..., item=...), or for ratings "
            "Interactions.from_ratings(frame, user=..., item=..., rating=..., at_least=...)",
        )
        _check_preferences(observed)
        rv_type = BPROfModel  # single terms are not log-likelihoods
        rv = super().__new__(rv_type, name, utility, observed=observed, weight=weight, **kwargs)
        return rv if observed is None else labelled(name, rv)

    @classmethod
    def dist(
        cls, utility: TensorLike, *, weight: TensorLike | None = None, **kwargs: Unpack[DistOptions]
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `utility`
        has shape (..., 2), the item that the user has first.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> round(float(pm.logp(br.BPR.dist([1.0, 0.0]), 0).exp().eval()), 3)
        0.731
        """
        refuse_single_precision()
        utility = as_double(utility, "`utility`")
        if not utility.ndim or utility.type.shape[-1] not in (2, None):
            raise ValueError(
                f"`utility` has shape {utility.type.shape}. Its last axis must hold the two items "
                "of a triple, the one that the user has first."
            )
        return super().dist(
            [utility, as_double(1.0 if weight is None else weight, "`weight`")], **kwargs
        )


class BPRRVOfModel(BPRRV):
    """A variable of a model, whose composite likelihood is the sum of its terms."""

    @classmethod
    def logp(cls, value: TensorVariable, p: SimpleNamespace) -> TensorVariable:
        return only_sum(BPRRV.logp(value, p), SENTENCE)


class BPROfModel(BPR):
    """BPR in a model: LOO cannot use its terms."""

    rv_type = BPRRVOfModel
    rv_op = BPRRVOfModel.rv_op


class ObservedBPRRV(ObservedRV, BPRRVOfModel):
    """All pairs of an item that a user has and one that the user lacks.

    The structure `along` holds the axes of the utilities, the items last.
    """

    data_types = (Interactions,)
    data_name = "interactions"
    axes = ("triple",)
    example = ("click",)
    value = "preferred"
    parameters: ClassVar[Mapping[str, str]] = {
        **PARAMETERS,
        "preferred": "",
        "scale": "",  # evidence weight of all pairs
        "shape": "axis",  # shape of the table of utilities
    }

    @classmethod
    def record(cls, name: str, data: Interactions, p: SimpleNamespace) -> Record:
        data.check_triples()
        triples = dict(zip((USER, POSITIVE, NEGATIVE), data.all_triples().T, strict=True))
        n = len(triples[USER])
        parts = {part: DataPart(x.astype(np.int32), cls.axes) for part, x in triples.items()}
        return Record(
            labels={"triple": np.arange(n)},
            parts=parts | {WEIGHT: DataPart(np.full(n, p.scale.data), cls.axes)},
            derived={"preferred": np.zeros(n, dtype=np.int64)},
            outcome=cls.outcomes,
        )

    @classmethod
    def kept(cls, model: pm.Model, name: str, p: SimpleNamespace) -> dict[str, Any]:
        """Return the labels of the utilities in the model."""
        return {
            axis: model.coords.get(f"{name}_{axis}s", model.coords.get(axis)) for axis in p.along
        }

    @classmethod
    def on_axes(
        cls, model: pm.Model, name: str, data: Interactions, p: SimpleNamespace
    ) -> Interactions:
        return reorder_data(data, cls.kept(model, name, p))

    @classmethod
    def check_new(cls, model: pm.Model, name: str, data: Interactions, p: SimpleNamespace) -> None:
        shape = tuple(int(n) for n in p.shape.eval(mode="FAST_COMPILE"))
        wanted = tuple(len(data.coords[axis]) for axis in p.along)
        if shape != wanted:
            raise ValueError(
                f"The utilities of {name!r} have the axes {p.along} and shape {shape}; the new "
                f"Interactions need shape {wanted}. Give data with the lengths of the model."
            )
        for axis, labels in cls.kept(model, name, p).items():
            whose = "the utility in the model"
            same_labels(whose, name, labels, data.coords[axis], cls.data_name, f"{axis}s")


def _check_preferences(observed: Any) -> None:
    """Raise unless observed numbers are preferences in triples; `logp` checks tensors."""
    if observed is None or isinstance(observed, Variable):
        return
    if isinstance(observed, Pairs | PairCounts):
        raise TypeError(
            f"BPR got observed={type(observed).__name__}, which does not say which items users "
            "have. Pass Interactions, from Interactions.from_frame(frame, user=..., item=...). "
            "For matches use BradleyTerry or Davidson, and for preference counts MPM."
        )
    if isinstance(observed, Rankings):
        raise TypeError(
            "BPR got observed=Rankings. If each ranker has one ranking of all items in two blocks, "
            "pass Interactions.from_rankings(rankings). For other rankings use PlackettLuce."
        )
    preferred = observed_counts(observed, "Interactions.from_frame", "preferences")
    bad = np.argwhere((preferred != 0) & (preferred != 1))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise ValueError(
            f"The observed preference at {list(where)} is {preferred[where]}; it must be 0 or 1. "
            "A 0 means that the user prefers the item they have, as in all observed triples. "
            "To read ratings, use Interactions.from_ratings."
        )


def _observe(
    name: str,
    utility: Any,
    observed: Interactions,
    weight: Any,
    utility_dims: Any,
    options: dict[str, Any],
) -> TensorVariable:
    """Add all pairs to the model in context."""
    refuse_labelled(f"The weight of {name!r}", weight)
    if np.ndim(weight):
        raise ValueError(
            f"`weight` of {name!r} has shape {np.shape(weight)}; give one number for all pairs."
        )
    x = _read(name, utility, observed, utility_dims)

    def with_data(data: SimpleNamespace) -> dict[str, TensorVariable]:
        ends = (data.positive, data.negative)
        both = [x.value[end] if x.value.ndim == 1 else x.value[data.user, end] for end in ends]
        return {"utility": pt.stack(both, axis=-1), "weight": data.weight}

    given = {"scale": pt.constant(float(weight)), "shape": pt.stack(list(x.value.shape))}
    along = {"along": x.axes}
    y = observe(ObservedBPRRV, name, observed, given, with_data, structure=along, **options)
    for axis in x.axes:  # to check the labels of new data
        model, labels = pm.modelcontext(None), observed.coords[axis]
        label_axis(ObservedBPRRV, model, name, axis, labels, known=False)
    return y


def _read(name: str, utility: Any, data: Interactions, utility_dims: Any) -> Named:
    """Read the axes of utilities, and put the items last."""
    readings: dict[tuple[str, ...], str] = {(ITEM,): "one per item"}
    readings |= {(USER, ITEM): "one per user and item", (ITEM, USER): "one per item and user"}
    axes = Axes("interactions", data.coords, says=True)
    x = by_axes(name, "utility", utility, readings, axes, given_dims=utility_dims)
    return Named(x.value.T, (USER, ITEM)) if x.axes == (ITEM, USER) else x
