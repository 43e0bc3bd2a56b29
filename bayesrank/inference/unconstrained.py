"""From the unconstrained space of samplers and searches back to the variables of a model."""

from typing import Any

import arviz as az
import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pymc.backends.arviz import coords_and_dims_for_inferencedata
from pymc.blocking import DictToArrayBijection, RaveledVars

__all__ = ["constrained"]


def constrained(model: pm.Model, start: RaveledVars, found: NDArray[np.float64]) -> Any:
    """Put unconstrained draws (n_draws, n) into a DataTree of the model's variables."""
    names = {rv.name for rv in model.unobserved_RVs}
    shown = [x for x in model.unobserved_value_vars if x.name in names]  # without transformed ones
    convert = model.compile_fn(shown, inputs=model.value_vars, point_fn=True)
    rows = [convert(DictToArrayBijection.rmap(start._replace(data=row))) for row in found]
    values = {x.name: np.stack([row[i] for row in rows])[None] for i, x in enumerate(shown)}
    coords, dims = coords_and_dims_for_inferencedata(model)
    return az.from_dict({"posterior": values}, coords=coords, dims=dims)
