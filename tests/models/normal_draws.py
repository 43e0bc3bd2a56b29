"""Draws of the normal around a posterior mode, for tests of what is done with a posterior.

Compiling a model for NUTS takes ten to thirty times as long as everything else that these tests do.
Where the normal is close to the posterior it stands in; NUTS itself is in the slow set.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.linalg import cholesky, solve_triangular

import bayesrank as br
from bayesrank.inference import climb, objective
from bayesrank.inference.approximation.modes import converter, gradient_change, tree_of


def normal_draws(
    *, chains: int = 2, draws: int = 500, random_seed: int = 1, **_: Any
) -> xr.DataTree:
    """Stand in for `pm.sample`: independent draws of the model in context."""
    model = pm.modelcontext(None)
    logp, start = objective(model)
    x = climb(logp, start.data)
    rows = np.array([gradient_change(lambda x: logp(x)[1], x, axis) for axis in np.eye(x.size)])
    root = cholesky(-(rows + rows.T) / 2, lower=True)
    z = np.random.default_rng(random_seed).normal(size=(x.size, chains * draws))
    found = x + solve_triangular(root, z, lower=True, trans="T").T
    return tree_of(model, converter(model, start, chains, draws)(found))


@contextmanager
def normal_posteriors() -> Iterator[None]:
    """Let `normal_draws` stand in for samplers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pm, "sample", normal_draws)
        patch.setattr(br.inference, "sample", normal_draws)
        yield
