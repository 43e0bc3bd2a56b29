"""Posteriors to summarise: four draws that one counts by hand, noise, and worlds with a truth."""

import numpy as np
import xarray as xr

# Two chains of two draws; ranks beside them.
DRAWS = [
    [[3.0, 2.0, 1.0], [2.0, 1.0, 0.0]],  # 1 2 3, 1 2 3
    [[0.0, 2.0, 1.0], [5.0, -1.0, 0.0]],  # 3 1 2, 1 3 2
]
RANKS = [[[1, 2, 3], [1, 2, 3]], [[3, 1, 2], [1, 3, 2]]]


def posterior(draws=DRAWS, items=("ale", "bock", "cider"), dim="item", name="utility"):
    return xr.DataArray(draws, dims=("chain", "draw", dim), coords={dim: list(items)}, name=name)


def orders(*lines):
    """One draw for each line such as "abc", best first; items by name."""
    items = sorted(lines[0])
    return posterior([[[-line.index(i) for i in items] for line in lines]], items)


def noise(n_draws, n_items, seed=0):
    draws = np.random.default_rng(seed).normal(size=(1, n_draws, n_items))
    return xr.DataArray(draws, dims=("chain", "draw", "item"))


def worlds(n_worlds, n_items, n_draws, *, noise_sd, seed):
    """True utilities, and draws from the exact posterior given one noisy look at each.

    Utilities are standard normal and looks normal about them, so with v the variance of a look the
    posterior of a utility is normal with mean look / (1 + v) and variance v / (1 + v).
    """
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_worlds, n_items))
    look = truth + noise_sd * rng.normal(size=truth.shape)
    v = noise_sd**2
    draws = rng.normal(size=(n_worlds, n_draws, n_items)) * np.sqrt(v / (1 + v))
    draws += (look / (1 + v))[:, None]
    return truth, xr.DataArray(draws[:, None], dims=("world", "chain", "draw", "item"))
