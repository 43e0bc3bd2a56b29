r"""Simulate rankings in which the utility of an item depends on the other items.

`simulate_medoid` and `simulate_hypervolume` draw sets of points and rank the points of each set by
a property that depends on the whole set. No function of one item's features can explain it.

>>> simulate_medoid(1000, seed=1)
Rankings: 1000 rankings of 5 items by 1000 rankers, 5 items in each, no ties, 2 features

Every set has its own points. The items 0, 1, ... are the points in the order they were drawn, so an
item is a different point in every ranking, and only its features identify it. Slots are sorted best
first, as in all `Rankings`, so a model must not use the order of the slots.

References
----------
Pfannschmidt, Gupta & Hüllermeier, Deep architectures for learning context-dependent ranking
functions, arXiv:1803.05796, 2018. The details of both problems follow the authors' program,
cs-ranking.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesrank.data import Rankings

__all__ = [
    "hypervolume_contributions",
    "medoid_distances",
    "simulate_hypervolume",
    "simulate_medoid",
]

Floats = NDArray[np.float64]


def simulate_medoid(
    n_rankings: int, n_items: int = 5, n_features: int = 2, *, seed: int | np.random.Generator
) -> Rankings:
    r"""Draw sets of points, ranked by their distance to the medoid of the set, nearest first.

    The points are uniform in the unit cube. The medoid is the point with the least sum of
    (Euclidean) distances to the others, so it is first itself.

    Parameters
    ----------
    n_rankings : int
        Number of sets.
    n_items : int
        Number of points of each set, at least 2. With two points, the first one drawn is the
        medoid.
    n_features : int
        Dimension of the cube.
    seed : int or numpy.random.Generator
        Equal seeds give equal sets.

    Returns
    -------
    Rankings
        Features are the coordinates of the points.

    Raises
    ------
    ValueError
        If a number is too small.

    Examples
    --------
    >>> simulate_medoid(3, n_items=4, seed=1).ranks
    array([[1, 2, 3, 4],
           [1, 2, 3, 4],
           [1, 2, 3, 4]], dtype=int32)
    """
    _check_counts(n_rankings=(n_rankings, 1), n_items=(n_items, 2), n_features=(n_features, 1))
    rng = np.random.default_rng(seed)
    points = rng.uniform(size=(n_rankings, n_items, n_features))
    return _ranked(points, cost=medoid_distances(points), names=_axes(n_features))


def medoid_distances(points: ArrayLike) -> Floats:
    r"""Distance of each point to the medoid of its set.

    Parameters
    ----------
    points : array, shape (..., n_points, n_features)

    Returns
    -------
    array, shape (..., n_points)
        Zero for the medoid, :math:`\arg\min_i \sum_j \lVert x_i - x_j \rVert`. If several points
        qualify, the first is the medoid.

    Examples
    --------
    >>> medoid_distances([[0.0], [1.0], [5.0]]).tolist()
    [1.0, 0.0, 4.0]
    """
    x = np.asarray(points, dtype=np.float64)
    between = np.sqrt(((x[..., :, None, :] - x[..., None, :, :]) ** 2).sum(axis=-1))
    medoid = between.sum(axis=-1).argmin(axis=-1)
    return np.take_along_axis(between, medoid[..., None, None], axis=-2)[..., 0, :]


def simulate_hypervolume(
    n_rankings: int, n_items: int = 5, *, seed: int | np.random.Generator
) -> Rankings:
    r"""Draw points on a quarter of a circle, ranked by their contribution to the hypervolume.

    The points are normal, scaled to the unit circle and folded into the quadrant of two negative
    numbers. They are objectives to be minimised. Each point dominates the rectangle between itself
    and the reference point (0, 0). Its contribution is the area that no other point of the set
    dominates. The largest contribution is first.

    Parameters
    ----------
    n_rankings : int
        Number of sets.
    n_items : int
        Number of points of each set, at least 2.
    seed : int or numpy.random.Generator
        Equal seeds give equal sets.

    Returns
    -------
    Rankings
        Features are the coordinates of the points.

    Raises
    ------
    ValueError
        If a number is too small.

    Examples
    --------
    >>> r = simulate_hypervolume(100, seed=1)
    >>> bool((r.features <= 0).all()), r.features.shape
    (True, (100, 5, 2))
    """
    _check_counts(n_rankings=(n_rankings, 1), n_items=(n_items, 2))
    points = np.random.default_rng(seed).normal(size=(n_rankings, n_items, 2))
    points = -np.abs(points) / np.linalg.norm(points, axis=-1, keepdims=True)
    return _ranked(points, cost=-hypervolume_contributions(points), names=_axes(2))


def hypervolume_contributions(points: ArrayLike) -> Floats:
    r"""Area that only this point of a front dominates, up to (0, 0).

    Let a and b be the absolute values of the two numbers, and sort the points by a, from large to
    small, so that b increases. Each point adds a rectangle between its neighbours,

    .. math:: (a_i - a_{i+1}) (b_i - b_{i-1}), \qquad a_{n+1} = b_0 = 0.

    Parameters
    ----------
    points : array, shape (..., n_points, 2)
        Both numbers at most zero, and no point dominated by another.

    Returns
    -------
    array, shape (..., n_points)

    Raises
    ------
    ValueError
        If points do not have two numbers, a number is positive, or a point is dominated.

    Examples
    --------
    >>> hypervolume_contributions([[-3.0, -1.0], [-1.0, -3.0], [-2.0, -2.0]]).tolist()
    [1.0, 1.0, 1.0]
    """
    x = np.asarray(points, dtype=np.float64)
    if x.ndim < 2 or x.shape[-1] != 2:
        raise ValueError(f"`points` must have shape (..., n_points, 2); got {x.shape}.")
    if not (x <= 0).all():
        raise ValueError(f"Points must be at most (0, 0), the reference; got {x.max()}.")
    order = np.argsort(x[..., 0], axis=-1)
    a, b = np.moveaxis(-np.take_along_axis(x, order[..., None], axis=-2), -1, 0)
    width, height = -np.diff(a, axis=-1, append=0.0), np.diff(b, axis=-1, prepend=0.0)
    if (height < 0).any():
        raise ValueError(
            "No point may be dominated by another point, smaller in both numbers: contributions "
            "are rectangles only on a front."
        )
    out = np.empty_like(width)
    np.put_along_axis(out, order, width * height, axis=-1)
    return out


def _ranked(points: Floats, *, cost: Floats, names: list[str]) -> Rankings:
    """Rank the points of each set by cost, lowest first."""
    n_rankings, n_items = cost.shape
    item = np.argsort(cost, axis=-1)
    return Rankings(
        item,
        np.broadcast_to(np.arange(1, n_items + 1), (n_rankings, n_items)),
        items=range(n_items),
        features=np.take_along_axis(points, item[..., None], axis=-2),
        feature_names=names,
    )


def _axes(n: int) -> list[str]:
    return [f"x{k}" for k in range(1, n + 1)]


def _check_counts(**counts: tuple[Any, int]) -> None:
    for name, (count, least) in counts.items():
        if not isinstance(count, int | np.integer) or count < least:
            raise ValueError(f"`{name}` must be a whole number of at least {least}; got {count!r}.")
