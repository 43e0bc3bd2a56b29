r"""Networks whose utilities depend on the set: build, train, predict and evaluate them.

`models.context.fate`, `models.context.feta` and `models.context.study` share this code. A `Network`
is a list of weights, and a graph that computes utilities from features and weights. Its model is

    weight  ~ Normal(0, prior_scale x its scale)      every weight of every layer
    utility = network(features of the set; weights)   (n_rankings, n_slots)
              + worth of the item, if requested
    y       ~ Plackett-Luce(utility)                  one ranking of each set

>>> from models.context.fate import fate_network
>>> from models.context.simulate import simulate_medoid
>>> network = fate_network(2, set_widths=(4,), score_widths=(4,))
>>> model = build(simulate_medoid(20, seed=1), network)
>>> [rv.name for rv in model.free_RVs]
['set_0_W', 'set_0_b', 'score_0_V', 'score_0_W', 'score_0_b', 'score_out_W']
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

import bayesrank as br
from models.context.deep_sets import deep_sets_utility, deep_sets_weights
from models.context.new_sets import check_features
from models.shared.item_features import check_scales
from models.shared.networks import (
    WeightSpec,
    dense_utility,
    dense_weights,
    draw_weights,
    weight_coords,
)

__all__ = [
    "Network",
    "build",
    "deep_sets_network",
    "dense_network",
    "features_of",
    "fit",
    "metrics",
    "predict",
    "square_symmetries",
    "swaps",
]

Floats = NDArray[np.float64]
CHUNK = 2_000  # sets predicted at a time, so that their layers fit into memory


class Network(NamedTuple):
    """Weights, and the utility as a graph of features and weights (with `mask` and `dtype`)."""

    weights: Mapping[str, WeightSpec]
    utility: Callable[..., Any]

    @property
    def n_features(self) -> int:
        """Number of features of an item."""
        return next(s.shape[0] for s in self.weights.values() if s.dims[:1] == ("feature",))


def deep_sets_network(
    n_features: int, width: int, n_layers: int, *, activation: str = "silu"
) -> Network:
    """Make a network of residual layers, which all use the mean of the set."""
    specs = deep_sets_weights(n_features, width, n_layers, activation=activation)
    return Network(specs, partial(deep_sets_utility, activation=activation))


def dense_network(n_features: int, *widths: int) -> Network:
    """Make a network that sees one item at a time; without layers it is linear."""

    def utility(
        features: Any, weights: Mapping[str, Any], *, mask: Any = None, dtype: Any = None
    ) -> Any:
        return dense_utility(features, weights, dtype=dtype)  # empty slots have no effect

    return Network(dense_weights(n_features, widths), utility)


def build(
    rankings: br.Rankings,
    network: Network,
    *,
    prior_scale: float = 1.0,
    item_scale: float | None = None,
    dtype: str | None = None,
    loss: Callable[[Any, Any], Any] | None = None,
) -> pm.Model:
    """Build the model of rankings whose items have features.

    Parameters
    ----------
    rankings : Rankings
        Rankings with features, (n_rankings, n_slots, n_features).
    network : Network
        Result of `models.context.fate.fate_network` or `models.context.feta.feta_network`.
    prior_scale : float
        Standard deviation of all weights, times the scale of each; positive.
    item_scale : float, optional
        Standard deviation, positive, of ``worth``, a worth of each item that does not depend on
        its features or on the set. It is added to the utility of the network. Without it, items
        with equal features have equal utilities.
    dtype : str, optional
        "float32" for training at half the time; the default is for sampling.
    loss : callable, optional
        Function of ``(utility, ranks)``, as in `models.shared.losses`. It replaces the
        likelihood, and the posterior is then not reliable.

    Returns
    -------
    pm.Model

    Raises
    ------
    ValueError
        If there are no features, if their number differs from the network's, or a scale is not
        positive.
    """
    check_scales(prior_scale=prior_scale)
    check_features(features_of(rankings), network.n_features, mask=rankings.mask)
    specs = network.weights
    with pm.Model(coords={**weight_coords(specs), **rankings.coords}) as model:
        weights = {
            name: pm.Normal(name, 0.0, prior_scale * spec.scale, dims=spec.dims)
            for name, spec in specs.items()
        }
        features = pm.Data("features", rankings.features, dims=("ranking", "slot", "feature"))
        mask = None
        if not rankings.mask.all():
            mask = pm.Data("mask", rankings.mask, dims=("ranking", "slot"))
        utility = network.utility(features, weights, mask=mask, dtype=dtype)
        if item_scale is not None:
            check_scales(item_scale=item_scale)
            worth = pm.Normal("worth", 0.0, item_scale, dims="item")
            utility += worth[pm.Data("item_idx", rankings.item, dims=("ranking", "slot"))]
        if loss is None:
            dims = ("ranking", "slot")
            br.PlackettLuce("y", utility, utility_dims=dims, observed=rankings)
        else:
            ranks = pm.Data("ranks", rankings.ranks, dims=("ranking", "slot"))
            pm.Potential("y", -loss(utility, ranks), dims="ranking")
    return model


def features_of(rankings: br.Rankings) -> Floats:
    """Return the features, (n_rankings, n_slots, n_features), or raise an error."""
    if rankings.features is None:
        raise ValueError("The rankings have no features, so the network cannot compute utilities.")
    return rankings.features


def fit(
    rankings: br.Rankings,
    network: Network,
    *,
    prior_scale: float = 1.0,
    item_scale: float | None = None,
    dtype: str | None = "float32",
    loss: Callable[[Any, Any], Any] | None = None,
    seed: int = 1,
    **training: Any,
) -> xr.DataTree:
    """Find the posterior mode.

    Parameters
    ----------
    rankings, network, prior_scale, item_scale, dtype, loss
        As in `build`, but in single precision.
    seed : int
        Random seed of the starting values and of the batches.
    **training
        Options of `bayesrank.fit_minibatch`: epochs, learning_rate, batch_size, validation,
        augment, ...

    Returns
    -------
    DataTree
        Fitted model, for `predict`.
    """
    model = build(
        rankings,
        network,
        prior_scale=prior_scale,
        item_scale=item_scale,
        dtype=dtype,
        loss=loss,
    )
    start = draw_weights(network.weights, seed)
    if item_scale is not None:
        start["worth"] = np.zeros(rankings.n_items)
    return br.fit_minibatch(start=start, random_seed=seed, **training, model=model)


def predict(
    fitted: xr.DataTree, network: Network, features: ArrayLike, mask: ArrayLike | None = None
) -> Floats:
    """Predict utilities in new sets of any size, averaged over the draws of the posterior.

    Parameters
    ----------
    fitted : DataTree
        Result of `fit`, or of sampling the model.
    network : Network
        The one that was fitted.
    features : array, shape (..., n_slots, n_features)
        Features of the item in each slot.
    mask : array of bool, shape (..., n_slots), optional
        Slots in use; all by default.

    Returns
    -------
    array, shape (..., n_slots)
        Zero in empty slots. Only differences within a set are meaningful.

    Raises
    ------
    ValueError
        If the number of features is wrong, a set is empty, or a feature is not finite.
    """
    names = list(network.weights)
    x = check_features(features, network.n_features, mask=mask)
    used = np.ones(x.shape[:-1], dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    sets, masks = x.reshape(-1, *x.shape[-2:]), used.reshape(-1, used.shape[-1])

    inputs = [pt.tensor(n, dtype="float64", shape=network.weights[n].shape) for n in names]
    shape = (None, *sets.shape[1:])
    new, where = pt.tensor("x", dtype="float64", shape=shape), pt.matrix("mask", dtype="bool")
    graph = network.utility(
        new, dict(zip(names, inputs, strict=True)), mask=None if used.all() else where
    )
    evaluate = pytensor.function(
        [new, where, *inputs], graph, mode="FAST_COMPILE", on_unused_input="ignore"
    )

    draws = [fitted["posterior"][n].stack(sample=("chain", "draw")).values for n in names]
    total = np.zeros(masks.shape)
    for draw in range(n_draws := draws[0].shape[-1]):
        weights = [values[..., draw] for values in draws]
        for start in range(0, len(sets), CHUNK):
            part = slice(start, start + CHUNK)
            total[part] += evaluate(sets[part], masks[part], *weights)
    return (total / n_draws).reshape(used.shape)


def metrics(utility: ArrayLike, ranks: ArrayLike) -> dict[str, float]:
    """Compare predicted utilities with full rankings of sets of one size.

    Parameters
    ----------
    utility, ranks : array, shape (n_rankings, n_items)
        Equal utilities are ties, which count half.

    Returns
    -------
    dict of str to float
        "RA", one minus the share of discordant pairs; "ACC", the share of sets ranked without a
        mistake; "Spearman", the mean correlation of ranks.

    Examples
    --------
    >>> metrics([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0]], [[1, 2, 3], [1, 2, 3]])
    {'RA': 0.8333333333333334, 'ACC': 0.5, 'Spearman': 0.75}
    """
    ranked, true = rankdata(-np.asarray(utility), axis=-1), np.asarray(ranks)
    n = true.shape[-1]
    i, j = np.triu_indices(n, 1)
    agree = np.sign(ranked[:, i] - ranked[:, j]) * np.sign(true[:, i] - true[:, j])
    a, b = ranked - (n + 1) / 2, true - (n + 1) / 2
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    spearman = np.divide((a * b).sum(axis=-1), size, out=np.zeros(len(a)), where=size > 0)
    return {
        "RA": float((1 + agree).mean() / 2),
        "ACC": float((ranked == true).all(axis=-1).mean()),
        "Spearman": float(spearman.mean()),
    }


def square_symmetries(rng: np.random.Generator, batch: Mapping[str, Any]) -> dict[str, Floats]:
    """Rotate and mirror each set in the unit cube, which keeps all distances."""
    x = batch["features"]
    mirrored = np.where(rng.integers(2, size=(len(x), 1, x.shape[-1])), 1 - x, x)
    return swaps(rng, {"features": mirrored})


def swaps(rng: np.random.Generator, batch: Mapping[str, Any]) -> dict[str, Floats]:
    """Permute the features of each set, for objectives that may be exchanged."""
    x = batch["features"]
    order = rng.permuted(np.tile(np.arange(x.shape[-1]), (len(x), 1)), axis=1)
    return {"features": np.take_along_axis(x, order[:, None], axis=-1)}
