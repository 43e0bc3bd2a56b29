"""Sample a model for many data sets, compiled once."""

from typing import Any

import nutpie
import pymc as pm
import xarray as xr

import bayesrank as br

__all__ = ["Sampler"]


class Sampler:
    """A model that is compiled once for data sets of the same shape.

    Parameters
    ----------
    model : pm.Model
        It observes ``y``, whose data are replaced.
    var_names : list of str
        Variables to return.
    """

    def __init__(self, model: pm.Model, var_names: list[str]) -> None:
        self.model = model
        self.compiled = nutpie.compile_pymc_model(model, var_names=var_names, freeze_model=False)

    def sample(self, data: Any, seed: int, **settings: Any) -> xr.Dataset:
        """Return draws given other data."""
        br.set_observed("y", data, model=self.model)
        values = {x.name: x.get_value() for x in self.compiled.shared_var_keys}
        found = nutpie.sample(
            self.compiled.with_data(**values), seed=seed, progress_bar=False, cores=1, **settings
        )
        draws: xr.Dataset = found["posterior"].to_dataset()
        return draws
