"""Condition on some variables, such as the lower layers of a network.

>>> import pymc as pm
>>> with pm.Model() as model:
...     a, b = pm.Normal("a", 0, 1), pm.Normal("b", 0, 1)
...     _ = pm.Normal("y", a + b, 1, observed=3.0)
>>> rest = given(model, {"b": 2.0})
>>> rest.free_RVs
[a]
>>> logp = rest.compile_logp(vars=rest.observed_RVs)
>>> round(float(logp({"a": 0.0})), 3)
-1.419
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.model.transform.optimization import freeze_dims_and_data

__all__ = ["given"]


def given(model: pm.Model, values: Mapping[str, Any] | xr.DataTree, *, free: Any = ()) -> pm.Model:
    """Fix variables of a model at values.

    Parameters
    ----------
    model : pm.Model
        Model, which is not changed.
    values : dict or DataTree
        Values of variables, not transformed: by name, or a posterior of one draw, such as the mode
        that `fit_minibatch` and `pymc.find_MAP` return.
    free : sequence of str
        Variables that stay free although they have values.

    Returns
    -------
    pm.Model
        Its free variables are those without a value and those in `free`. Its data are constants,
        which `pymc.set_data` cannot replace.

    Raises
    ------
    ValueError
        If a name is unknown, a posterior has several draws, a value has the wrong shape, or no
        variable is left free.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> fit = br.fit_minibatch(model=model)  # doctest: +SKIP
    >>> with given(model, fit, free=["score_out_W"]):  # doctest: +SKIP
    ...     posterior = pm.sample()
    """
    names = [rv.name for rv in model.free_RVs]
    fixed = _values(values, names)
    free = [free] if isinstance(free, str) else list(free)
    for name in (*free, *fixed):
        if name not in names:
            raise ValueError(f"The model has no free variable {name!r}; it has {names}.")
    fixed = {name: value for name, value in fixed.items() if name not in free}
    if len(fixed) == len(names):
        raise ValueError(f"All variables have values; name those to leave free of {names}.")
    shapes = model.eval_rv_shapes()
    for name, value in fixed.items():
        if value.shape != tuple(shapes[name]):
            raise ValueError(
                f"The value of {name!r} has shape {value.shape}; in the model it has "
                f"{tuple(shapes[name])}."
            )
    return freeze_dims_and_data(pm.do(model, fixed))


def _values(values: Mapping[str, Any] | xr.DataTree, names: list[str]) -> dict[str, Any]:
    """Return arrays by name."""
    if not isinstance(values, xr.DataTree):
        return {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    posterior = values["posterior"].dataset
    n_draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    if n_draws != 1:
        raise ValueError(
            f"The posterior has {n_draws} draws; a single point is needed, such as that of "
            "bayesrank.fit_minibatch, or a dict of values."
        )
    return {
        name: posterior[name].transpose("chain", "draw", ...).to_numpy()[0, 0]
        for name in names
        if name in posterior
    }
