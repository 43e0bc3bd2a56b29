"""Evaluate parts of a model's log-likelihood at every draw of a posterior."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pymc.model.transform.conditioning import remove_value_transforms

from bayesrank.data.read import quoted

__all__ = ["at_draws", "in_model_order"]

SAMPLE = ("chain", "draw")


def in_model_order(draws: xr.Dataset, names: Iterable[str], model: pm.Model) -> xr.Dataset:
    """Put variables of a posterior in the order of the model's dims and labels.

    Raises a ValueError if a variable has other labels than in the model.
    """
    found = {}
    for name in names:
        x, dims = draws[name], model.named_vars_to_dims.get(name, ())
        if {*dims} == {*x.dims} - {*SAMPLE}:
            x = x.transpose(*SAMPLE, *dims)
        for dim in dims:
            labels, present = model.coords.get(dim), x.indexes.get(dim)
            if labels is None or present is None or np.array_equal(present, labels):
                continue
            if len(present) != len(labels) or {*present} != {*labels}:
                raise ValueError(
                    f"{name!r} has the labels {quoted(present)} of {dim!r} in the data, and "
                    f"{quoted(labels)} in the model. Pass the results of this model, with all "
                    "labels."
                )
            x = x.sel({dim: list(labels)})
        found[name] = x
    return xr.Dataset(found)


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
        draws = posterior[names].stack(sample=SAMPLE).transpose("sample", ...)
        values = [draws[name].to_numpy() for name in names]
        if value is not None:
            values.append(value.to_numpy().reshape(-1, *value.shape[2:]))
        values = [x.astype(like.dtype) for x, like in zip(values, inputs, strict=True)]
        return (compiled(*point) for point in zip(*values, strict=True))

    return evaluate
