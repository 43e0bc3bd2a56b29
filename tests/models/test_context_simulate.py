"""Simulated rankings: definitions by brute force and by hand, seeds, bad input."""

import numpy as np
import pytest

import bayesrank as br
from models.context.simulate import (
    hypervolume_contributions,
    medoid_distances,
    simulate_hypervolume,
    simulate_medoid,
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


@pytest.mark.parametrize(("n_items", "n_features"), [(2, 1), (5, 2), (8, 3)])
def test_points_are_ranked_by_distance_to_the_one_with_the_least_sum(n_items, n_features):
    r = simulate_medoid(40, n_items, n_features, seed=1)
    assert r.features.shape == (40, n_items, n_features)
    assert ((r.features >= 0) & (r.features <= 1)).all()
    for x in r.features:
        distance = [[np.linalg.norm(one - other) for other in x] for one in x]
        sums = np.sum(distance, axis=1)
        assert sums[0] == pytest.approx(sums.min())  # slots are sorted best first
        assert (np.diff(distance[0]) > 0).all()
    assert (np.sort(r.item, axis=1) == np.arange(n_items)).all()


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


def test_contributions_are_the_loss_of_area_without_the_point(rng):
    def area(points):
        # strips from the reference on, each as high as the highest point that reaches it
        a, b = -points[np.argsort(points[:, 0])].T
        return sum((a[i] - (a[i + 1] if i + 1 < len(a) else 0)) * b[i] for i in range(len(a)))

    points = simulate_hypervolume(1, n_items=6, seed=3).features[0]
    loss = [area(points) - area(np.delete(points, i, axis=0)) for i in range(6)]
    np.testing.assert_allclose(hypervolume_contributions(points), loss, rtol=1e-10)
    order = rng.permutation(6)
    np.testing.assert_allclose(
        hypervolume_contributions(points[order]), np.array(loss)[order], rtol=1e-10
    )


def test_points_of_a_front_are_on_the_unit_circle_and_ranked_by_contribution():
    r = simulate_hypervolume(50, seed=1)
    assert (r.features <= 0).all()
    np.testing.assert_allclose(np.linalg.norm(r.features, axis=-1), 1)
    assert (np.diff(hypervolume_contributions(r.features), axis=-1) < 0).all()


# Both


@pytest.mark.parametrize("simulate", [simulate_medoid, simulate_hypervolume])
def test_equal_seeds_give_equal_sets_and_the_place_of_a_point_says_nothing(simulate):
    one, same = simulate(2000, seed=1), simulate(2000, seed=np.random.default_rng(1))
    np.testing.assert_array_equal(one.features, same.features)
    np.testing.assert_array_equal(one.item, same.item)
    assert not np.array_equal(one.features, simulate(2000, seed=2).features)
    assert isinstance(one, br.Rankings)
    assert list(one.coords["feature"]) == ["x1", "x2"]
    # each of the five is first about 400 times (standard deviation 18)
    assert np.abs(np.bincount(one.item[:, 0], minlength=5) - 400).max() < 90


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate_medoid(0, seed=1), r"^`n_rankings` must be .* from 1 on; got 0\.$"),
        (lambda: simulate_medoid(5, 1, seed=1), r"^`n_items` must be .* from 2 on; got 1\.$"),
        (lambda: simulate_medoid(5, 3, 0, seed=1), r"^`n_features` must be .* from 1 on; got 0\.$"),
        (lambda: simulate_hypervolume(1.5, seed=1), r"^`n_rankings` must be .*; got 1\.5\.$"),
        (lambda: simulate_hypervolume(5, 1, seed=1), r"^`n_items` must be .* from 2 on; got 1\.$"),
        (
            lambda: hypervolume_contributions([[-1.0, -2.0, -3.0]]),
            r"^`points` must have shape \(\.\.\., n_points, 2\); got \(1, 3\)\.$",
        ),
        (
            lambda: hypervolume_contributions([[-1.0, 0.5]]),
            r"^Points must be at most \(0, 0\), the reference; got 0\.5\.$",
        ),
        (
            lambda: hypervolume_contributions([[-1.0, -1.0], [-0.5, -0.5]]),
            r"^No point may be dominated by another",
        ),
    ],
)
def test_what_cannot_be_simulated_raises(call, message):
    with pytest.raises(ValueError, match=message):
        call()
