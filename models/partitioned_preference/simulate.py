r"""Simulate weak orders with known utilities: Plackett-Luce rankings cut into a few blocks.

>>> drawn = simulate_partitions(100, 50, seed=1)
>>> drawn.rankings
Rankings: 50 rankings of 100 items by 50 rankers, 100 items in each, 100% of entries tied
>>> drawn.rankings.block_sizes[0].tolist()
[14, 42, 43, 1]

References
----------
Ma et al., Learning-to-rank with partitioned preference: fast estimation for the Plackett-Luce
model, AISTATS 2021.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesrank.data import Rankings

__all__ = ["SimulatedPartitions", "simulate_partitions"]


class SimulatedPartitions(NamedTuple):
    """Utilities, and the observed blocks of their rankings."""

    utility: NDArray[np.float64]
    """Log of the probability of being first, (n_items,)."""

    rankings: Rankings
    """The weak orders, of `n_blocks` blocks."""

    top: Rankings
    """The same rankings with the order inside all blocks but the last, as an oracle sees them."""


def simulate_partitions(
    n_items: int,
    n_rankings: int,
    *,
    n_blocks: int = 4,
    most: int = 500,
    seed: int | np.random.Generator,
) -> SimulatedPartitions:
    r"""Draw full rankings of all items and cut each at random places.

    .. math:: v_i \sim \mathrm{Uniform}(0, \log N), \qquad w_i = v_i - \log \sum_j e^{v_j}

    A ranking is the order of :math:`w_i` plus Gumbel noise. It is cut at ``n_blocks - 1``
    different places among the first `most`. Every set of places is equally likely.

    Parameters
    ----------
    n_items : int
        Number of items N, at least `n_blocks`.
    n_rankings : int
        Number of rankings, at least 1. Each has all items.
    n_blocks : int
        Number of blocks of each ranking, at least 2.
    most : int
        Largest number of items in all blocks but the last, at least ``n_blocks - 1``.
    seed : int or numpy.random.Generator
        Equal seeds give equal rankings.

    Returns
    -------
    SimulatedPartitions

    Raises
    ------
    ValueError
        If a number is too small.

    Examples
    --------
    >>> simulate_partitions(6, 2, seed=1).rankings.ranks
    array([[1, 1, 2, 3, 3, 4],
           [1, 2, 3, 3, 4, 4]], dtype=int32)
    """
    least = {"n_items": n_blocks, "n_rankings": 1, "n_blocks": 2, "most": n_blocks - 1}
    given = {"n_items": n_items, "n_rankings": n_rankings, "n_blocks": n_blocks, "most": most}
    for name, number in given.items():
        if not isinstance(number, int | np.integer) or number < least[name]:
            raise ValueError(
                f"`{name}` must be a whole number of at least {least[name]}; got {number!r}."
            )
    rng = np.random.default_rng(seed)
    v = rng.uniform(0, np.log(n_items), size=n_items)
    w = v - np.log(np.exp(v).sum())

    places = np.arange(n_items)
    item = np.empty((n_rankings, n_items), dtype=np.int32)
    ranks, top = np.empty_like(item), np.empty_like(item)
    for n in range(n_rankings):
        item[n] = np.argsort(-(w + rng.gumbel(size=n_items)))
        cuts = 1 + rng.choice(min(most, n_items - 1), size=n_blocks - 1, replace=False)
        ranks[n] = 1 + np.searchsorted(np.sort(cuts), places, side="right")
        top[n] = 1 + np.minimum(places, cuts.max())
    return SimulatedPartitions(
        w, *(Rankings(item, cut, items=range(n_items)) for cut in (ranks, top))
    )
