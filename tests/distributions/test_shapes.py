"""Shapes of draws and of support points, and totals of counts, follow from the parameters."""

import numpy as np
import pymc as pm
import pytest
from pymc.distributions.distribution import support_point

import bayesrank as br
from tests.distributions.mpm_examples import SCORE
from tests.distributions.pair_examples import FAMILIES

ZEROS = np.zeros(4)
RANKS = [
    ({"utility": ZEROS}, (4,)),
    ({"utility": np.zeros((2, 1, 4))}, (2, 1, 4)),
    ({"utility": ZEROS, "size": 3}, (3, 4)),
    ({"utility": np.zeros(1)}, (1,)),
    ({"utility": np.zeros((0, 4))}, (0, 4)),
]
PLACKETT_LUCE = [
    *RANKS,
    ({"utility": np.zeros((3, 4)), "size": (2, 3)}, (2, 3, 4)),
    ({"utility": ZEROS, "shape": (5, 4)}, (5, 4)),
    ({"utility": ZEROS, "where": np.ones((3, 4), dtype=bool)}, (3, 4)),
    ({"utility": np.zeros((2, 1, 4)), "sizes": [[1, 3], [2, 2], [3, 1]]}, (2, 3, 4)),
]
PMOP = [
    *RANKS,
    ({"utility": ZEROS, "tie_prevalence": np.ones((3, 2))}, (3, 4)),
    ({"utility": np.zeros((3, 4)), "tie_prevalence": 0.5}, (3, 4)),
    ({"utility": ZEROS, "given_sizes": True, "sizes": [[1, 3], [2, 2]]}, (2, 4)),
]
MPM = [
    ({}, (3, 3), 1),
    ({"size": 4}, (4, 3, 3), 1),
    ({"size": (2, 4), "total": 5}, (2, 4, 3, 3), 5),
    ({"shape": (4, 3, 3)}, (4, 3, 3), 1),
    ({"score": np.zeros((2, 1, 3)), "adherence": np.ones(4)}, (2, 4, 3, 3), 1),
    ({"adherence": np.ones(4), "total": [0, 1, 2, 3]}, (4, 3, 3), [0, 1, 2, 3]),
    ({"variance": np.ones((2, 3)), "total": 4}, (2, 3, 3), 4),
    ({"score": np.zeros((0, 3))}, (0, 3, 3), 1),
    ({"score": np.zeros(2), "total": 7}, (2, 2), 7),
]
PAIRS = [
    ({}, (), 1),
    ({"size": 4}, (4,), 1),
    ({"size": (2, 4), "total": 5}, (2, 4), 5),
    ({"utility": np.zeros((2, 1, 2)), "order_effect": np.ones(4)}, (2, 4), 1),
    ({"order_effect": np.ones(4), "total": [0, 1, 2, 3]}, (4,), [0, 1, 2, 3]),
    ({"utility": np.zeros((0, 2))}, (0,), 1),
    ({"utility": np.zeros((2, 2)), "total": 4}, (2,), 4),
]
MALLOWS = [
    ({"consensus": [1, 2, 3], "alpha": 1.0}, (3,)),
    ({"consensus": [1, 2, 3], "alpha": [1.0, 2.0]}, (2, 3)),
    ({"consensus": [[1, 2, 3], [3, 2, 1]], "alpha": 1.0}, (2, 3)),
    ({"consensus": [1, 2, 3], "alpha": 1.0, "size": 4}, (4, 3)),
    ({"consensus": [1, 2, 3], "alpha": 1.0, "shape": (5, 2, 3)}, (5, 2, 3)),
    ({"consensus": [1], "alpha": 1.0}, (1,)),
]
STAGES = [
    ({"consensus": [1, 2, 3], "alpha": [1.0]}, (3,)),
    ({"consensus": [1, 2, 3], "alpha": [1.0, 2.0], "size": 4}, (4, 3)),
    ({"consensus": [[1, 2, 3], [3, 2, 1]], "alpha": [1.0]}, (2, 3)),
    ({"consensus": [1, 2, 3], "alpha": [[1.0], [2.0]]}, (2, 3)),
    ({"consensus": [1], "alpha": [1.0]}, (1,)),
    ({"consensus": [1, 2, 3], "alpha": [1.0], "sizes": [1, 2]}, (3,)),
]
CASES = [
    *((br.Mallows, *case, None) for case in MALLOWS),
    *((br.GeneralizedMallows, *case, None) for case in STAGES),
    *((br.PlackettLuce, *case, None) for case in PLACKETT_LUCE),
    *((br.PMOP, *case, None) for case in PMOP),
    *((br.MPM, {"score": SCORE} | parameters, shape, total) for parameters, shape, total in MPM),
]
for name, family in FAMILIES.items():
    ties = {name: np.array([1.0, 2.0, 3.0]) for name in family.parameter or ["order_effect"]}
    # all rows for one family, because the random variables share their base
    for parameters, batch, total in [
        *PAIRS[: None if name == "Davidson" else 1],
        (ties | {"total": 4}, (3,), 4),
    ]:
        arguments = {"utility": [0.3, 0.1]} | dict(family.parameter) | parameters
        CASES.append((family.distribution, arguments, (*batch, family.n_outcomes), total))


@pytest.mark.parametrize(("family", "arguments", "shape", "total"), CASES)
def test_shapes_and_totals_follow_from_the_parameters(family, arguments, shape, total):
    dist = family.dist(**arguments)
    assert dist.type.ndim == len(shape)
    point = support_point(dist)
    outputs = [dist.shape, dist, point, pm.logp(dist, point)]
    found, *values, logp = pm.compile([], outputs, mode="FAST_COMPILE", random_seed=1)()
    assert tuple(found) == shape
    assert np.isfinite(logp).all()
    for value in values:
        assert value.shape == shape
        if total is not None:
            batch, axes = (shape[:-2], (-2, -1)) if family is br.MPM else (shape[:-1], -1)
            np.testing.assert_array_equal(value.sum(axis=axes), np.broadcast_to(total, batch))
