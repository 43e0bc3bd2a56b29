r"""BPR as a PyMC distribution: what a user has is preferred to what the user has not.

The value says for each pair of an item that a user has and one that the user has not which of them
is preferred: 0 the former, as all that is observed has it, 1 the latter.

>>> import pymc as pm
>>> pm.logp(BPR.dist([[0.3, 1.2], [2.0, 0.0]]), [0, 0]).exp().eval().round(4).tolist()
[0.2891, 0.8808]
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.distribution import Discrete, SymbolicRandomVariable
from pymc.distributions.shape_utils import rv_size_is_none
from pymc.pytensorf import normalize_rng_param
from pytensor.tensor import TensorVariable
from pytensor.tensor.random.utils import normalize_size_param

from bayesrank.data.interactions import Interactions, check_two_blocks
from bayesrank.data.rankings import Rankings
from bayesrank.distributions.axes import add_coord
from bayesrank.distributions.observed import refuse_single_precision
from bayesrank.distributions.pair_data import shaped
from bayesrank.distributions.pair_outcomes import as_double
from bayesrank.likelihoods.pairs.bpr import triple_logp
from bayesrank.likelihoods.pairs.of_rankings import weak_order_pairs

__all__ = ["BPR"]

OUTCOME = "nothing: pairs of what a user has and has not make a composite likelihood"


class BPRRV(SymbolicRandomVariable):
    """Draw which item of each pair is preferred, each pair by itself."""

    name = "bpr"
    extended_signature = "[rng],[size],(p),()->[rng],()"
    _print_name = ("BPR", "\\operatorname{BPR}")

    @classmethod
    def rv_op(
        cls, utility: Any, weight: Any, *, size: Any = None, rng: Any = None
    ) -> TensorVariable:
        utility, weight = pt.as_tensor_variable(utility), pt.as_tensor_variable(weight)
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        chance, _ = pt.broadcast_arrays(pt.sigmoid(utility[..., 1] - utility[..., 0]), weight)
        shape = None if rv_size_is_none(size) else tuple(size)
        next_rng, second = pt.random.bernoulli(chance, size=shape, rng=rng, return_next_rng=True)
        return cls(inputs=[rng, size, utility, weight], outputs=[next_rng, second])(
            rng, size, utility, weight
        )


class BPR(Discrete):
    r"""Bayesian personalised ranking: log-likelihood of what users have and have not.

    .. math:: \sum_u \sum_{i \in I_u^+} \sum_{j \notin I_u^+} \log\sigma(x_{ui} - x_{uj})

    A *composite* likelihood: every pair is judged as if by itself. It says of no set of items how
    probable it is, so that there is no LOO and `bayesrank.compare` refuses it. A **draw** is a
    coin for each pair, which of the two items would be preferred if nothing else were known; the
    pairs of a user need fit no set of items, nor any order.

    With all pairs the evidence of a user's n items counts n times as many as there are other
    items, so that posteriors are far too narrow. `weight`, or for minibatches `total_size`, says
    what they count for; in all one comparison for every interaction is a modest choice.

    ========  ==================================================================
    Support   0 (the item that the user has is preferred) or 1
    Axes      one number per pair or triple
    ========  ==================================================================

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float
        Log worth. With `Interactions` (n_users, n_items), or (n_items,) if users do not differ;
        with `Rankings` (n_rankings, n_slots) or (n_items,). With triples (..., 2): of the item
        that the user has, and of the one that the user has not.
    weight : tensor_like of float, (...), optional
        Evidence weight of each triple, >= 0, that multiplies its log-probability; 1 by default.
        With interactions and rankings one number for all pairs, beside the weights of rankings.
    observed : Interactions, Rankings or array_like of int, optional
        Interactions, or rankings in two blocks (a ranker's items over the others that were
        presented), for small data: all pairs are written out. They register as data
        ``{name}_user``, ``{name}_positive`` and ``{name}_negative``, positions on the axes of
        `utility`. An array holds zeros, one per triple.
    dims : str, optional
        Name of the axis of pairs, "triple" by default.
    total_size : float, optional
        What the pairs count for in all: by default as many as they are.

    Returns
    -------
    TensorVariable of int, (...)

    Raises
    ------
    ValueError
        If rankings have more than two blocks, the shape of `utility` does not fit, there are no
        pairs, or more than 20 million.
    TypeError
        If `observed` is a table, or on unknown arguments.

    References
    ----------
    Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.

    Examples
    --------
    Small data, all pairs:

    >>> import bayesrank as br, pymc as pm
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, {"c", "d"}], ["b", {"a", "c", "d"}]])
    >>> have = br.Interactions.from_rankings(clicks)
    >>> with pm.Model(coords=have.coords) as model:
    ...     utility = pm.Normal("utility", 0, 1, dims=("user", "item"))
    ...     y = br.BPR("y", utility, observed=have, weight=len(have) / have.n_triples)
    >>> model["y_positive"].eval().tolist()
    [0, 0, 1, 1, 1, 1, 1]

    At scale, triples at random, of which every step of `pm.fit` sees a few. Both `total_size` and
    32 bits (``.astype("int32")``; other tables than that of `sample_triples` may have more) are
    needed:

    >>> triples = have.sample_triples(10 * len(have), seed=1).astype("int32")
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
        utility: Any,
        *,
        observed: Any = None,
        dims: Any = None,
        **kwargs: Any,
    ) -> TensorVariable:
        refuse_single_precision()
        if isinstance(observed, Interactions | Rankings):
            return _observe(name, utility, observed, dims=dims, **kwargs)
        if hasattr(observed, "columns"):
            raise TypeError(
                f"BPR got a table as observed=: say what counts as having an item, with "
                f"Interactions.from_frame(frame, user=..., item=...), or for ratings "
                f"Interactions.from_ratings(..., rating=..., at_least=...). Its columns are "
                f"{list(observed.columns)}."
            )
        if observed is not None:
            _label(pm.modelcontext(None), name, observed)
        return super().__new__(cls, name, utility, observed=observed, dims=dims, **kwargs)

    @classmethod
    def dist(cls, utility: Any, *, weight: Any = None, **kwargs: Any) -> TensorVariable:
        refuse_single_precision()
        utility = as_double(utility)
        if not utility.ndim or utility.type.shape[-1] not in (2, None):
            raise ValueError(
                f"`utility` has shape {utility.type.shape}; the last axis are the two items of a "
                f"triple, the one that the user has first."
            )
        return super().dist([utility, as_double(1.0 if weight is None else weight)], **kwargs)

    def support_point(rv: TensorVariable, size: Any, utility: Any, weight: Any) -> TensorVariable:
        """All users prefer what they have."""
        return pt.zeros_like(rv)

    def logp(value: Any, utility: Any, weight: Any) -> TensorVariable:
        """One log-probability per triple."""
        return check_parameters(
            weight * triple_logp(utility, value),
            pt.all(pt.isfinite(utility)),
            pt.all(weight >= 0),
            msg="utility must be finite, weight >= 0",
        )


def _observe(
    name: str,
    utility: Any,
    observed: Interactions | Rankings,
    *,
    weight: Any = None,
    dims: Any = None,
    total_size: Any = None,
    **unknown: Any,
) -> TensorVariable:
    """Write all pairs out, and add them to the model in context."""
    for option in unknown:
        raise TypeError(
            f"BPR got both observed={type(observed).__name__} and {option}=, which goes with "
            f"triples. Leave it out."
        )
    model = pm.modelcontext(None)
    weights = np.ones(1)
    forms: dict[tuple[int, ...], str]
    if isinstance(observed, Interactions):
        observed.check_triples()
        who, positive, negative = observed.all_triples().T
        forms = {(observed.n_users, observed.n_items): "one per user and item"}
        item_of = None
    else:
        check_two_blocks(observed)
        who, positive, negative, _ = weak_order_pairs(observed.ranks, ties="drop")
        if not len(who):
            raise ValueError(
                f"The rankings of {name!r} have no pairs: every ranking has one block, of what "
                f"the ranker has or has not. Two blocks say what is preferred."
            )
        forms = {(observed.n_rankings, observed.n_slots): "one per slot"}
        item_of = observed.item
        if (observed.weight != 1).any():
            weights = observed.weight[who]
    x = shaped(name, "utility", utility, {(observed.n_items,): "one per item", **forms})
    if x.ndim == 1 and item_of is not None:  # slots hold items
        positive, negative = item_of[who, positive], item_of[who, negative]

    dim = "triple" if dims is None else dims
    add_coord(model, name, dim, np.arange(len(who)), source="pairs", example=("click", "end"))
    parts = {"user": who, "positive": positive, "negative": negative}
    data = {
        part: pm.Data(f"{name}_{part}", np.asarray(value, dtype=np.int32), dims=dim)
        for part, value in parts.items()
    }
    ends = [data["positive"], data["negative"]]
    both = pt.stack([x[end] if x.ndim == 1 else x[data["user"], end] for end in ends], axis=-1)
    if np.ndim(weight := 1.0 if weight is None else weight):
        raise ValueError(
            f"`weight` of {name!r} has shape {np.shape(weight)}; it is one number for all pairs."
        )
    weight = pm.Data(f"{name}_weight", np.broadcast_to(weight * weights, len(who)), dims=dim)
    values = np.zeros(len(who), dtype=np.int64)
    _label(model, name, values)
    return model.register_rv(
        BPR.dist(both, weight=weight), name, observed=values, dims=dim, total_size=total_size
    )


def _label(model: pm.Model, name: str, values: Any) -> None:
    """Write into the model that its log-probability is one of nothing, for `compare`."""
    model.add_coord(f"{name}_outcome", [OUTCOME])
    n = np.size(values) if isinstance(values, list | tuple | np.ndarray) else 1
    pm.Data(f"{name}_outcomes", [n], dims=f"{name}_outcome")
