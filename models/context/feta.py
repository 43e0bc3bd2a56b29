r"""FETA: the utility of an item is the average of its comparisons with the other items.

Story: a phone sells well until a better version of it appears. FETA (first evaluate then aggregate)
compares an item with every other item of the set and averages the results. It can also add a
utility that depends on the item only. Its cost grows with the square of the size of the set.

    item(x)    = layers of dense units of the features of an item   (item_0, ...)
    pair(x, z) = layers of dense units of (x, z)                    (pair_0, ...)
                 bounded by 0 and 1, or not bounded
    utility    = item(x) + mean of pair(x, z) over the other items z of the set
    weights    ~ Normal(0, prior_scale x scale)
    y          ~ Plackett-Luce(utility)

==================  ==================  ===============================================
Symbol              Variable            Shape
==================  ==================  ===============================================
:math:`x`           ``features``        (n_rankings, n_slots, n_features), data
:math:`U_0`         ``item_k_W``        (n_in, width)
:math:`U_1`, item   ``pair_k_W``        (n_in, width)
:math:`U_1`, other  ``pair_0_V``        (n_features, width)
bias of the bound   ``pair_out_b``      (), only if bounded
==================  ==================  ===============================================

The model differs from the paper in three ways. The paper's network also reads the reversed pair
(``mirrored``). Here, comparisons can be unbounded. Likelihood, prior and training are the same as
in `models.context.fate`.

Reference: Pfannschmidt, Gupta & Hüllermeier, Deep architectures for learning context-dependent
ranking functions, arXiv:1803.05796, 2018.

``RESULTS.md`` contains the results. ``python -m models.context.feta`` trains both forms on 2,000
sets.
"""

from collections.abc import Sequence
from functools import partial

from models.context.fate import demonstrate
from models.context.model import Network, build, fit, predict
from models.context.set_utilities import feta_utility, feta_weights

__all__ = ["build", "feta_network", "fit", "predict"]


def feta_network(
    n_features: int,
    *,
    item_widths: Sequence[int] | None = (32,) * 2,
    pair_widths: Sequence[int] = (32,) * 3,
    bounded: bool = False,
    mirrored: bool = False,
    activation: str = "relu",
) -> Network:
    """Make the network that `build`, `fit` and `predict` take.

    Parameters
    ----------
    n_features : int
        Number of features of an item.
    item_widths : sequence of int, or None
        Units of the layers of the utility of the item alone; None omits it.
    pair_widths : sequence of int
        Units of the layers of the comparison.
    bounded : bool
        Whether a comparison lies between 0 and 1, as in the paper.
    mirrored : bool
        Whether a comparison reads the pair in both orders, as in the paper's program.
    activation : str
        One of `models.shared.networks.ACTIVATIONS`.

    Returns
    -------
    Network

    Examples
    --------
    >>> from models.context.simulate import simulate_medoid
    >>> sets = simulate_medoid(100, seed=1)
    >>> network = feta_network(2, item_widths=None, pair_widths=(8,))
    >>> fitted = fit(sets, network, epochs=1, progressbar=False)
    >>> predict(fitted, network, sets.features[:4, :3]).shape
    (4, 3)
    """
    specs = feta_weights(
        n_features, item_widths, pair_widths, bounded=bounded, mirrored=mirrored,
        activation=activation,
    )  # fmt: skip
    return Network(specs, partial(feta_utility, bounded=bounded, activation=activation))


if __name__ == "__main__":
    for bound in (True, False):
        demonstrate(feta_network(2, bounded=bound), "bounded" if bound else "unbounded")
