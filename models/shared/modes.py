"""Posterior modes for several settings of a model, with one compilation.

To choose a scale on validation data, keep it in a data variable of the model.

>>> with pm.Model() as model:
...     scale = pm.Data("scale", 1.0)
...     x = pm.Normal("x", 0, scale)
...     y = pm.Normal("y", x, 1, observed=3.0)
>>> [round(float(mode["x"]), 3) for mode in posterior_modes(model, [{"scale": 1}, {"scale": 2}])]
[1.5, 2.4]
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pymc as pm
from pymc.blocking import DictToArrayBijection

from bayesrank.inference import Point, climb, objective

__all__ = ["posterior_modes"]


def posterior_modes(
    model: pm.Model,
    settings: Iterable[Mapping[str, Any]] = ({},),
    *,
    warm: bool = True,
    jitter: float = 0.0,
    random_seed: int | None = None,
    max_iterations: int = 15_000,
    tolerance: float = 1e-6,
) -> list[Point]:
    """Find the posterior mode for each of several settings.

    Parameters
    ----------
    model : pm.Model
        Afterwards, its data variables hold the last setting.
    settings : list of dict
        Values for data variables of the model, one dict per search; by default, its current values.
    warm : bool
        Start each search where the last one ended. This is faster. If there are several modes, the
        result depends on earlier settings.
    jitter, random_seed
        See `objective`.
    max_iterations, tolerance
        See `climb`.

    Returns
    -------
    list of dict
        Values of the free variables for each setting, in the space of the sampler (such as the
        logarithm of a positive variable).

    Warns
    -----
    UserWarning
        If a search ends further from the mode than the tolerance.
    """
    logp, start = objective(model, jitter=jitter, random_seed=random_seed)
    found, x = [], start.data
    for setting in settings:
        pm.set_data(dict(setting), model=model)
        mode = climb(logp, x, max_iterations=max_iterations, tolerance=tolerance)
        found.append(DictToArrayBijection.rmap(start._replace(data=mode)))
        x = mode if warm else start.data
    return found
