"""Deep sets: utilities by hand, and what order, company and empty slots change."""

import numpy as np
import pytest

from bayesrank.utility import draw_weights
from models.context.deep_sets import deep_sets_utility, deep_sets_weights

WEIGHTS = draw_weights(deep_sets_weights(2, 4, 2), random_seed=1)


def by_hand(x):
    h = x @ WEIGHTS["embed_W"]
    for k in range(2):
        a = np.maximum(h, 0)
        h = h + a @ WEIGHTS[f"layer_{k}_A"] + a.mean(axis=0) @ WEIGHTS[f"layer_{k}_B"]
    return np.maximum(h, 0) @ WEIGHTS["out_W"]


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_utilities_by_hand_in_sets_of_several_sizes(rng, dtype):
    x = rng.normal(size=(3, 4, 2))
    mask = np.arange(4) < np.array([[4], [3], [1]])
    x[~mask] = np.nan
    utility = deep_sets_utility(x, WEIGHTS, mask=mask, dtype=dtype).eval(mode="FAST_COMPILE")
    tolerance = 1e-12 if dtype is None else 1e-5
    for row, used, found in zip(x, mask, utility, strict=True):
        np.testing.assert_allclose(found[used], by_hand(row[used]), rtol=tolerance, atol=tolerance)
        assert (found[~used] == 0).all()


def test_any_number_of_leading_axes(rng):
    x = rng.normal(size=(2, 3, 4, 2))
    utility = deep_sets_utility(x, WEIGHTS).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(utility[1, 2], by_hand(x[1, 2]), rtol=1e-12)
    alone = deep_sets_utility(x[1, 2], WEIGHTS).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(alone, by_hand(x[1, 2]), rtol=1e-12)
