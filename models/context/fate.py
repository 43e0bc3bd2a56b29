r"""FATE: the utility of an item depends on the average of the whole set.

Story: which of five points is nearest to their medoid? The features of one point cannot tell. FATE
(first aggregate then evaluate) embeds each item, averages the embeddings of the set, and scores
each item together with that mean. Sets can have any size, including sizes not seen in training.

    embed(x) = layers of dense units of an item's features   (set_0, ...)
    context  = mean of embed(x) over the items of the set
    utility  = layers of dense units of (x, context)         (score_0, ..., score_out)
    weights  ~ Normal(0, prior_scale x scale)
    y        ~ Plackett-Luce(utility)

==================  ===================  ===============================================
Symbol              Variable             Shape
==================  ===================  ===============================================
:math:`x`           ``features``         (n_rankings, n_slots, n_features), data
:math:`\varphi`     ``set_k_W``, ``_b``  (n_in, width), (width,)
score, item         ``score_k_W``        (n_in, width)
score, context      ``score_0_V``        (width of the embedding, width)
last layer          ``score_out_W``      (width,)
==================  ===================  ===============================================

The model differs from the paper in five ways. Plackett-Luce replaces the hinge loss; any likelihood
of the package or loss of `models.shared.losses` can replace it in turn. A prior replaces the
penalty. Adam with a decreasing learning rate replaces SGD with momentum. ReLU replaces SELU with
batch normalisation. Symmetries of the problem augment the data.

Reference: Pfannschmidt, Gupta & Hüllermeier, Deep architectures for learning context-dependent
ranking functions, arXiv:1803.05796, 2018.

``RESULTS.md`` contains the results. ``python -m models.context.fate`` trains on 2,000 sets and
prints how well it predicts the order of other sets.
"""

from collections.abc import Sequence
from functools import partial

from models.context.model import (
    Network,
    build,
    features_of,
    fit,
    metrics,
    predict,
    square_symmetries,
)
from models.context.set_utilities import fate_utility, fate_weights
from models.context.simulate import simulate_medoid

__all__ = ["PRIOR_SCALE", "build", "demonstrate", "fate_network", "fit", "predict"]

PRIOR_SCALE = 10.0  # wide: chosen among 1, 3 and 10 with a separate seed


def fate_network(
    n_features: int,
    *,
    set_widths: Sequence[int] = (128,) * 3,
    score_widths: Sequence[int] = (128,) * 3,
    activation: str = "relu",
) -> Network:
    """Make the network that `build`, `fit` and `predict` take.

    Parameters
    ----------
    n_features : int
        Number of features of an item.
    set_widths, score_widths : sequence of int
        Units of the layers of the embedding and of the score.
    activation : str
        One of `models.shared.networks.ACTIVATIONS`.

    Returns
    -------
    Network

    Examples
    --------
    >>> sets = simulate_medoid(100, seed=1)
    >>> network = fate_network(2, set_widths=(8,), score_widths=(8,))
    >>> fitted = fit(sets, network, epochs=1, progressbar=False)
    >>> predict(fitted, network, sets.features[:4, :3]).shape
    (4, 3)
    """
    specs = fate_weights(n_features, set_widths, score_widths, activation=activation)
    return Network(specs, partial(fate_utility, activation=activation))


def demonstrate(network: Network, name: str, sizes: Sequence[int] = (5,)) -> None:
    """Train on medoids of five points, and print the accuracy on other sets."""
    fitted = fit(
        simulate_medoid(2_000, seed=1),
        network,
        prior_scale=PRIOR_SCALE,
        augment=square_symmetries,
    )
    for size in sizes:
        sets = simulate_medoid(2_000, size, seed=2)
        found = metrics(predict(fitted, network, features_of(sets)), sets.ranks)
        print(f"{name}, {size} points:", ", ".join(f"{name} {x:.3f}" for name, x in found.items()))


if __name__ == "__main__":
    demonstrate(fate_network(2, set_widths=(64, 64), score_widths=(64, 64)), "FATE", (3, 5, 10))
