"""Normal draws that replace a posterior, for tests of the code that uses one."""

from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.arviz import (
    coords_and_dims_for_inferencedata,
    find_constants,
    find_observations,
)

POSITIVE = ("adherence", "alpha", "gap", "nu", "spread", "scale")


def fake_draws(*, chains: int = 2, draws: int = 200, **_: Any) -> xr.DataTree:
    """Replace `pm.sample` by normal draws of all variables of the model in context.

    The mean of a variable is 0 at its first entry and decreases by one from entry to entry.
    Adherences and tie parameters are exponentials of such draws.
    """
    model = pm.modelcontext(None)
    rng = np.random.default_rng(0)
    found = {}
    for variable in (*model.free_RVs, *model.deterministics):
        name = variable.name
        dims = model.named_vars_to_dims.get(name, ())
        shape = tuple(len(model.coords[dim]) for dim in dims)
        if not dims and None not in variable.type.shape:  # without names, such as gaps of cutpoints
            shape = variable.type.shape
            dims = tuple(f"{name}_dim_{k}" for k in range(len(shape)))
        mean = -np.arange(shape[-1]) if shape else 0.0
        values = rng.normal(mean, 1.0, (chains, draws, *shape))
        if name.endswith(POSITIVE):
            values = np.exp(values)
        if name.endswith("theta"):  # at least one
            values = 1 + np.exp(values)
        if name == "p_bad":
            values = 1 / (1 + np.exp(values))
        if name == "share":  # of components
            values = np.full(values.shape, 1 / shape[-1])
        coords = {dim: list(model.coords[dim]) for dim in dims if dim in model.coords}
        found[name] = xr.DataArray(values, dims=("chain", "draw", *dims), coords=coords)
    coords, dims = coords_and_dims_for_inferencedata(model)
    data = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    tree = az.from_dict(data, coords=coords, dims=dims, sample_dims=[])
    tree["posterior"] = xr.DataTree(xr.Dataset(found))
    return tree
