"""Evaluate parts of a model's log-likelihood at every draw of a posterior."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pymc.model.transform.conditioning import remove_value_transforms

__all__ = ["at_draws"]


def at_draws(
    model: pm.Model,
    var_name: str,
    of: Callable[[Any], Any] = lambda terms: terms,
    *,
    value: xr.DataArray | None = None,
) -> Callable[[xr.Dataset], Iterator[NDArray[np.float64]]]:
    """Compile a function of the pointwise log-likelihood of a variable.

    Parameters
    ----------
    model : pm.Model
    var_name : str
        The observed variable.
    of : callable
        Takes the graph of the terms, one per row, and returns the graph to evaluate; by default,
        the terms.
    value : DataArray, (chain, draw, ...), optional
        Other values of the variable, one for each draw; by default, the observed values.

    Returns
    -------
    callable
        Takes a posterior, and yields the value of one draw after another, chain by chain.
    """
    # a posterior holds values on their original scale, not in the space of the sampler
    plain = remove_value_transforms(model)
    inputs = list(plain.value_vars)
    names = [plain.values_to_rvs[x].name for x in inputs]
    y = plain[plain.name_for(var_name)]
    if value is None:
        wanted = of(plain.logp(vars=[y], sum=False)[0])
    else:
        new = y.type("new")
        (wanted,) = plain.replace_rvs_by_values([of(pm.logp(y, new))])
        inputs.append(new)
    compiled = plain.compile_fn(wanted, inputs=inputs, on_unused_input="ignore", point_fn=False)

    def evaluate(posterior: xr.Dataset) -> Iterator[NDArray[np.float64]]:
        draws = posterior[names].stack(sample=("chain", "draw")).transpose("sample", ...)
        values = [draws[name].to_numpy() for name in names]
        if value is not None:
            values.append(value.to_numpy().reshape(-1, *value.shape[2:]))
        values = [x.astype(like.dtype) for x, like in zip(values, inputs, strict=True)]
        return (compiled(*point) for point in zip(*values, strict=True))

    return evaluate
