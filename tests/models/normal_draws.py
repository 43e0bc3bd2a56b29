"""Draws of the normal around a posterior mode, for tests of what is done with a posterior.

Compiling a model for NUTS takes ten to thirty times as long as everything else that these tests do.
Where the normal is close to the posterior it stands in; NUTS itself is in the slow set.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.backends.arviz import coords_and_dims_for_inferencedata, find_constants, find_observations

import bayesrank as br
from bayesrank.inference import laplace


def normal_draws(
    *, chains: int = 2, draws: int = 500, random_seed: int = 1, **_: Any
) -> xr.DataTree:
    """Stand in for `pm.sample`: independent draws of the model in context."""
    model = pm.modelcontext(None)
    drawn = laplace(model, draws=chains * draws, random_seed=random_seed)["posterior"].to_dataset()
    parts = [
        drawn.isel(chain=0, draw=part, drop=True).assign_coords(draw=np.arange(draws))
        for part in np.array_split(np.arange(chains * draws), chains)
    ]
    coords, dims = coords_and_dims_for_inferencedata(model)
    data = {"constant_data": find_constants(model), "observed_data": find_observations(model)}
    tree = az.from_dict(data, coords=coords, dims=dims, sample_dims=[])
    chain = xr.DataArray(np.arange(chains), dims="chain", name="chain")
    tree["posterior"] = xr.DataTree(xr.concat(parts, chain))
    return tree


@contextmanager
def normal_posteriors() -> Iterator[None]:
    """Let `normal_draws` stand in for samplers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pm, "sample", normal_draws)
        patch.setattr(br.inference, "sample", normal_draws)
        yield
