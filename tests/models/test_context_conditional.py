"""Some variables given the others: the same density, and a small graph."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import laplace
from bayesrank.utility import dense_utility, dense_weights, draw_weights, weight_coords
from models.context.conditional import given

N = 200


@pytest.fixture(scope="module")
def network():
    """Rankings of three items by two features, and a network with one hidden layer."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(N, 3, 2))
    ranks = np.argsort(np.argsort(-(features[..., 0] + rng.gumbel(size=(N, 3)))), axis=1) + 1
    rankings = br.Rankings(
        np.tile(np.arange(3), (N, 1)), ranks, items=list("abc"), features=features
    )
    specs = dense_weights(2, (6,))
    with pm.Model(coords={**weight_coords(specs), **rankings.coords}) as model:
        weights = {name: pm.Normal(name, 0, s.scale, dims=s.dims) for name, s in specs.items()}
        x = pm.Data("features", rankings.features, dims=("ranking", "slot", "feature"))
        br.PlackettLuce(
            "y", dense_utility(x, weights), utility_dims=("ranking", "slot"), observed=rankings
        )
    return model, draw_weights(specs, 1)


def test_the_density_of_what_is_free_is_that_of_all_with_the_rest_fixed(network):
    model, point = network
    last = given(model, point, free="score_out_W")
    assert [rv.name for rv in last.free_RVs] == ["score_out_W"]
    logp, whole = last.compile_logp(), model.compile_logp()
    shifted = point["score_out_W"] + 0.3
    change = logp({"score_out_W": shifted}) - logp({"score_out_W": point["score_out_W"]})
    assert change == pytest.approx(whole(point | {"score_out_W": shifted}) - whole(point), rel=1e-9)
    assert len(model.free_RVs) == 3


def test_layers_below_are_computed_once(network):
    model, point = network
    gradient = given(model, point, free=["score_out_W"]).logp_dlogp_function(ravel_inputs=True)
    gradient(np.zeros(6))
    nodes = gradient._pytensor_function.maker.fgraph.toposort()
    # the hidden units of every slot are a constant: one product forward, one back
    assert sum("Dot" in str(node.op) or "Gemv" in str(node.op) for node in nodes) <= 2


def test_laplace_of_the_last_layer_is_around_its_mode(network):
    model, point = network
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {
                    name: (("chain", "draw", *(f"{name}_{k}" for k in range(value.ndim))),
                           value[None, None])
                    for name, value in point.items()
                }
            )
        }
    )  # fmt: skip
    posterior = laplace(given(model, tree, free=["score_out_W"]), draws=500, random_seed=1)[
        "posterior"
    ]
    assert list(posterior.data_vars) == ["score_out_W"]
    assert posterior["score_out_W"].std(("chain", "draw")).max() < 1


def test_values_that_do_not_fit_are_refused(network):
    model, point = network
    with pytest.raises(
        ValueError, match=r"^The model has no free variable 'w'; it has \['score_0_W"
    ):
        given(model, {"w": 1.0})
    with pytest.raises(ValueError, match=r"^The model has no free variable 'out'; "):
        given(model, point, free=["out"])
    with pytest.raises(
        ValueError, match=r"^All variables have values; name those to leave free of"
    ):
        given(model, point)
    with pytest.raises(
        ValueError, match=r"^The value of 'score_0_b' has shape \(2,\); in the model"
    ):
        given(model, {"score_0_b": np.zeros(2)})
    draws = xr.Dataset({"score_0_b": (("chain", "draw", "unit"), np.zeros((1, 3, 6)))})
    with pytest.raises(ValueError, match=r"^The posterior has 3 draws; a single point is needed"):
        given(model, xr.DataTree.from_dict({"posterior": draws}))
