"""What a model's log-likelihood is made of, at every draw of a posterior."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pymc.model.transform.conditioning import remove_value_transforms

__all__ = ["at_draws"]


def at_draws(
    model: pm.Model, var: str, of: Callable[[Any], Any] = lambda terms: terms
) -> Callable[[xr.Dataset], Iterator[NDArray[np.float64]]]:
    """Compile a function of the pointwise log-likelihood of a variable.

    Parameters
    ----------
    model : pm.Model
        It is not changed.
    var : str
        The observed variable.
    of : callable
        From the graph of the terms, one per row, to the graph that is wanted; default the terms.

    Returns
    -------
    callable
        From a posterior, to the value in one draw after the other, chain by chain.
    """
    # a posterior holds values as they are, not as the sampler sees them
    plain = remove_value_transforms(model)
    inputs = plain.value_vars
    terms = plain.logp(vars=[plain[plain.name_for(var)]], sum=False)[0]
    compiled = plain.compile_fn(of(terms), inputs=inputs, on_unused_input="ignore", point_fn=False)
    names = [plain.values_to_rvs[value].name for value in inputs]

    def evaluate(posterior: xr.Dataset) -> Iterator[NDArray[np.float64]]:
        draws = posterior[names].stack(sample=("chain", "draw")).transpose("sample", ...)
        values = [
            draws[name].to_numpy().astype(x.dtype) for name, x in zip(names, inputs, strict=True)
        ]
        return (compiled(*point) for point in zip(*values, strict=True))

    return evaluate
