r"""Extreme multilabel classification: find the few labels of a text among a thousand.

Story: a bookmarked page has a dozen of a thousand tags. Its tags rank before all other tags, in an
unknown order. A page is therefore a ranking of the tags in two blocks, and the utility of each tag
is a function of the page's features.

    hidden[s, h]  = relu(sum_f x[s, f] hidden_0_W[f, h] + hidden_0_b[h])
    utility[s, l] = sum_h hidden[s, h] label_W[h, l] + label_b[l]
    y[s]          ~ PlackettLuce(utility[s]), the labels of s before all others

with every weight Normal(0, weight_scale * about 1 / sqrt(inputs)).

=================  ======================================================  =================
symbol             variable                                                dims
=================  ======================================================  =================
:math:`W_0, b_0`   ``hidden_0_W``, ``hidden_0_b``                          feature, hidden_0
:math:`W_1, b_1`   ``label_W``, ``label_b``                                hidden_0, label
:math:`x`          ``features``                                            ranking, feature
=================  ======================================================  =================

The model differs from the paper in three ways. Weights have a prior, held-out samples determine
when to stop, and the integral of the likelihood is exact to 1e-11 instead of a sum over 10,000
intervals. The model also offers the lower bound PL-LB, RankNet and RankSVM as `pm.Potential`. The
last two use all pairs of a label of the sample and another label. `models.multilabel.study` writes
``RESULTS.md``.

References
----------
Ma, Yi, Tang, Zhao, Hong, Chi & Mei, Learning-to-rank with partitioned preference: fast estimation
for the Plackett-Luce model, AISTATS 2021.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pytensor.tensor import TensorVariable

import bayesrank as br
from models.multilabel.data import Multilabel
from models.shared.networks import (
    WeightSpec,
    dense_layers,
    dense_weights,
    draw_weights,
    weight_coords,
)
from models.shared.weak_order_bound import weak_order_bound

__all__ = ["OBJECTIVES", "build", "fit", "predict"]

AT_ONCE = 5  # pairs of RankNet in one logarithm
WIDE = 140.0  # with a wider range of utilities, such a product may overflow


def build(
    data: Multilabel,
    *,
    objective: str = "exact",
    n_units: int = 256,
    weight_scale: float = 2.0,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    data : Multilabel
        The samples; their features are stored as a dense array.
    objective : str
        One of `OBJECTIVES`: "exact" is the likelihood, the others replace it, and their posteriors
        are not reliable.
    n_units : int
        Hidden units, 1 or more.
    weight_scale : float
        Width of the priors, positive: 1 is the width of the starting values, which restricts the
        network.

    Returns
    -------
    pm.Model
        A sample is a ``ranking``, by which `bayesrank.fit_minibatch` divides it into batches.

    Raises
    ------
    ValueError
        If the objective is unknown or a number is out of range.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> model = build(Multilabel(csr_array([[0.5], [1.0]]), csr_array([[0, 1, 0], [1, 0, 1]])))
    >>> [rv.name for rv in model.observed_RVs]
    ['y']
    """
    if objective not in OBJECTIVES:
        listed = ", ".join(map(repr, OBJECTIVES))
        raise ValueError(f"`objective` must be one of {listed}; got {objective!r}.")
    if not 0 < weight_scale < np.inf:
        raise ValueError(f"`weight_scale` is {weight_scale}; it must be positive.")
    specs = _weights(data, n_units)
    coords = {**weight_coords(specs), "ranking": np.arange(data.n_samples)}
    with pm.Model(coords=coords) as model:
        x = pm.Data("features", data.features.toarray(), dims=("ranking", "feature"))
        ranks = pm.Data("ranks", data.ranks(), dims=("ranking", "label"))
        weights = {
            name: pm.Normal(name, 0, s.scale * weight_scale, dims=s.dims)
            for name, s in specs.items()
        }
        hidden = dense_layers(x, weights, "hidden", activation="relu")
        utility = pt.dot(hidden, weights["label_W"]) + weights["label_b"]
        OBJECTIVES[objective](utility, ranks, data)
    return model


def _weights(data: Multilabel, n_units: int) -> dict[str, WeightSpec]:
    """List the weights: one hidden layer, and a number for every label."""
    if n_units < 1:
        raise ValueError(f"`n_units` is {n_units}; give at least one.")
    hidden = dense_weights(data.n_features, (n_units,), prefix="hidden", output=False)
    return hidden | {
        "label_W": WeightSpec((n_units, data.n_labels), ("hidden_0", "label"), n_units**-0.5),
        "label_b": WeightSpec((data.n_labels,), ("label",), 1.0),
    }


def _exact(utility: TensorVariable, ranks: TensorVariable, data: Multilabel) -> None:
    br.PlackettLuce("y", utility, observed=ranks, dims=("ranking", "label"))


def _bound(utility: TensorVariable, ranks: TensorVariable, data: Multilabel) -> None:
    pm.Potential("y", weak_order_bound(utility, ranks), dims="ranking")


def _ranknet(utility: TensorVariable, ranks: TensorVariable, data: Multilabel) -> None:
    """Sum log(1 + e^{w_j - w_i}) over labels i that a sample has and j that it lacks."""
    positive = pm.Data("positive", _positives(data), dims=("ranking", "place"))
    sample = pt.arange(ranks.shape[0])[:, None]
    has = pt.where(pt.ge(positive, 0), utility[sample, pt.maximum(positive, 0)], np.inf)
    has_not = pt.where(pt.eq(ranks, 2), utility, -np.inf)
    # One exponential per label instead of per pair, and one logarithm of a product of five factors,
    # take a thirteenth of the time. The few samples in which the product could overflow are
    # computed again below.
    high = pt.max(utility, axis=1, keepdims=True)
    wide = high - pt.min(utility, axis=1, keepdims=True) > WIDE
    inverse = pt.exp(pt.where(wide, -np.inf, high - has))
    worth = pt.exp(has_not - high)[:, None, :]
    factors = [1 + inverse[:, k::AT_ONCE, None] * worth for k in range(AT_ONCE)]
    near = pt.sum(pt.log(math.prod(factors)), axis=(1, 2))
    (few,) = pt.nonzero(wide[:, 0])
    far = pt.softplus(has_not[few][:, None, :] - has[few][:, :, None])
    loss = pt.inc_subtensor(near[few], pt.sum(far, axis=(1, 2)))
    pm.Potential("y", -loss, dims="ranking")


def _positives(data: Multilabel) -> NDArray[np.int32]:
    """Return the labels of each sample, padded by -1 to a multiple of `AT_ONCE`."""
    n = data.n_labels_of_sample
    most = math.ceil(int(n.max(initial=1)) / AT_ONCE) * AT_ONCE
    out = np.full((data.n_samples, most), -1, dtype=np.int32)
    out[np.arange(most) < n[:, None]] = data.labels.indices
    return out


def _ranksvm(utility: TensorVariable, ranks: TensorVariable, data: Multilabel) -> None:
    """Sum max(0, w_j - (w_i - 1)) over the same pairs, by one sort of w_j and w_i - 1."""
    value = utility - pt.eq(ranks, 1)
    sample = pt.arange(ranks.shape[0])[:, None]
    order = pt.argsort(-value, axis=1)
    value, has = value[sample, order], pt.eq(ranks, 1)[sample, order]
    # labels that the sample lacks, above each label: their number, and the sum of their utilities
    n = pt.cumsum(1.0 - has, axis=1)
    total = pt.cumsum((1.0 - has) * value, axis=1)
    pm.Potential("y", -pt.sum(has * (total - n * value), axis=1), dims="ranking")


OBJECTIVES: dict[str, Callable[[TensorVariable, TensorVariable, Multilabel], None]] = {
    "exact": _exact,
    "bound": _bound,
    "RankNet": _ranknet,
    "RankSVM": _ranksvm,
}


def fit(
    data: Multilabel,
    *,
    objective: str = "exact",
    n_units: int = 256,
    weight_scale: float = 2.0,
    learning_rate: float = 1e-2,
    batch_size: int = 128,
    epochs: int = 20,
    patience: int = 5,
    seed: int = 1,
    mode: str | None = "NUMBA",
    **settings: Any,
) -> xr.DataTree:
    """Find a posterior mode by Adam on batches of samples.

    Parameters
    ----------
    data, objective, n_units, weight_scale
        As in `build`.
    learning_rate, batch_size, epochs, patience, seed, mode, **settings
        As in `bayesrank.fit_minibatch`. Numba is the default because it chooses the nodes of the
        integral by need. On Delicious, a step is thirty times as fast as in JAX. RankNet does not
        run in JAX.

    Returns
    -------
    DataTree

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> data = Multilabel(csr_array([[0.5], [1.0]]), csr_array([[0, 1, 0], [1, 0, 1]]))
    >>> fitted = fit(data, n_units=2, epochs=1, validation=0, progressbar=False)
    >>> predict(fitted, data.features).shape
    (2, 3)
    """
    model = build(data, objective=objective, n_units=n_units, weight_scale=weight_scale)
    return br.fit_minibatch(
        batch_size=batch_size, epochs=epochs, learning_rate=learning_rate,
        patience=patience, start=draw_weights(_weights(data, n_units), seed),
        random_seed=seed, mode=mode,
        **settings, model=model)  # fmt: skip


def predict(fitted: xr.DataTree, features: Any) -> NDArray[np.float64]:
    """Return the utilities of all labels.

    Parameters
    ----------
    fitted : DataTree
        Result of `fit`.
    features : array or sparse array, shape (n_samples, n_features)
        Features of any samples.

    Returns
    -------
    array, shape (n_samples, n_labels)

    Raises
    ------
    ValueError
        If the number of features is different.
    """
    posterior = fitted["posterior"].dataset
    w0, b0, w1, b1 = (
        posterior[name].values[0, 0] for name in ("hidden_0_W", "hidden_0_b", "label_W", "label_b")
    )
    if features.shape[1] != len(w0):
        raise ValueError(
            f"`features` has {features.shape[1]} columns; the model was fitted to {len(w0)}."
        )
    return np.asarray(np.maximum(features @ w0 + b0, 0) @ w1 + b1)
