"""Simulated rankings: definitions by brute force and by hand, seeds, bad input."""

import numpy as np

from models.context.simulate import (
    hypervolume_contributions,
    medoid_distances,
    simulate_hypervolume,
)

# Medoid


def test_medoid_by_hand():
    # sums of distances of 0, 1, 3, 7: 11, 9, 9, 17: the first of the two is the medoid
    assert medoid_distances([[0.0], [1.0], [3.0], [7.0]]).tolist() == [1, 0, 2, 6]
    # in the plane, (1, 1) is nearest to the others together
    points = [[0.0, 0.0], [1.0, 1.0], [1.0, 2.0], [4.0, 5.0]]
    expected = [2**0.5, 0, 1, 5]
    np.testing.assert_allclose(medoid_distances([points, points[::-1]])[0], expected)
    np.testing.assert_allclose(medoid_distances([points, points[::-1]])[1], expected[::-1])


# Hypervolume


def covered(points: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Whether places are dominated by a point: it is smaller in both numbers."""
    return (points[:, None] <= at).all(axis=-1).any(axis=0)


def test_contributions_are_what_no_other_point_covers(rng):
    at = -rng.uniform(size=(400_000, 2))
    for points in simulate_hypervolume(3, n_items=4, seed=2).features:
        by_hand = [
            np.mean(covered(points, at) & ~covered(np.delete(points, i, axis=0), at))
            for i in range(4)
        ]
        # standard errors of such shares are below 0.0008
        np.testing.assert_allclose(hypervolume_contributions(points), by_hand, atol=0.004)
