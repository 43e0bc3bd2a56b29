"""Factor models of ratings: the mode by a second route, shrinkage by hand, missing ratings."""

import numpy as np
import pymc as pm
from pymc.blocking import DictToArrayBijection

from models.shared.rating_factors import als
from tests.models.rated import six, six_objective


def test_alternating_least_squares_ends_where_the_objective_without_order_is_flat():
    rankings, model = six()
    found = als(rankings, n_factors=2, ranker_scale=0.5, n_sweeps=3000)
    pm.set_data({"beta": 0.0, "y_weight": 0 * rankings.weight}, model=model)
    start = DictToArrayBijection.map({rv.name: found[rv.name] for rv in model.free_RVs})
    slope = six_objective()(start.data)[1]
    pm.set_data({"beta": 0.3, "y_weight": 0.3 * rankings.weight}, model=model)
    np.testing.assert_allclose(slope, 0, atol=1e-6)
    assert np.abs(found["ranker_factor"]).max() > 0.1
