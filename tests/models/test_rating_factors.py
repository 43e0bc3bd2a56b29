"""Factor models of ratings: the mode by a second route, shrinkage by hand, missing ratings."""

import numpy as np
import pymc as pm
import pytest
from pymc.blocking import DictToArrayBijection

import bayesrank as br
from models.shared.rating_factors import als, item_mean, ratings_of
from tests.models.rated import TWO, six, six_objective


def test_alternating_least_squares_ends_where_the_objective_without_order_is_flat():
    rankings, model = six()
    found = als(rankings, n_factors=2, ranker_scale=0.5, n_sweeps=3000)
    pm.set_data({"beta": 0.0, "y_weight": 0 * rankings.weight}, model=model)
    start = DictToArrayBijection.map({rv.name: found[rv.name] for rv in model.free_RVs})
    slope = six_objective()(start.data)[1]
    pm.set_data({"beta": 0.3, "y_weight": 0.3 * rankings.weight}, model=model)
    np.testing.assert_allclose(slope, 0, atol=1e-6)
    assert np.abs(found["ranker_factor"]).max() > 0.1


def test_item_means_are_shrunken_towards_the_mean_of_all():
    # mean 3.2; a has 3 alone, b 3 and 4, c 5 and 1; the prior counts as 1 / 0.5^2 = 4 ratings
    found = item_mean(TWO, item_bias_scale=0.5)
    np.testing.assert_allclose(found["item_bias"], [-0.2 / 5, 0.6 / 6, -0.4 / 6])


def test_ratings_are_read_from_the_feature_of_that_name():
    assert ratings_of(TWO).tolist() == [[5, 3, 3], [4, 1, 0]]


@pytest.mark.parametrize("method", [als, item_mean])
def test_rankings_without_ratings_are_refused(method):
    bare = br.Rankings.from_orderings([["a", "b"]])
    with pytest.raises(ValueError, match=r"no feature 'rating' \(it has \[\]\). Keep them with"):
        method(bare)
    with pytest.raises(ValueError, match=r"no feature 'stars' \(it has \['rating'\]\)"):
        method(TWO, rating="stars")
