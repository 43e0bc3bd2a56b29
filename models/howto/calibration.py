r"""How do I check that the posterior of my own model is calibrated?

Use simulation-based calibration.

Story: draw utilities from the prior, draw rankings given the utilities, and compute the posterior
given these rankings. Over many simulations, the rank of the true utility among L posterior draws is
uniform. If the model or the sampler is wrong, ranks pile up at the ends (the posterior is too
narrow or biased) or in the middle (too wide).

    scale        ~ HalfNormal(1)
    utility[i]   = scale Normal(0, 1), summing to zero
    ranking      ~ PlackettLuce(utility)

There are two ways. `by_simuk` passes a PyMC model to `simuk`, which compiles it for every
simulation, which takes about 3 s each. `calibrate` takes a model whose ranks are `pm.Data`. nutpie
compiles it once and replaces the ranks by `with_data`; with ``n_jobs``, once per
process. `calibrate` keeps every fifth draw, because the distribution is uniform only for nearly
independent draws. simuk does not thin.

Run ``python calibration.py`` for 200 simulations. Add ``simuk`` and a number of simulations to use
simuk (``pip install simuk``, which is not a dependency of bayesrank). The output counts the ranks
by tenths and gives p-values of a test of uniformity.

Each row is a parameter, and each column a tenth of the ranks. All tenths should have about the
same count. A small ``p`` means that the posterior is biased, too narrow or too wide.

References
----------
Talts et al., Validating Bayesian inference algorithms with simulation-based calibration, 2018.

Modrak et al., Simulation-based calibration checking for Bayesian computation: the choice of test
quantities shapes sensitivity, Bayesian Analysis 20, 2025. They recommend ranking the log-likelihood
as well; make it a `pm.Deterministic`.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import xarray as xr
from scipy.stats import chisquare

import bayesrank as br
from bayesrank.inference import on_workers

THIN, KEPT = 5, 99  # draws of a simulation, so that ranks go from 0 to 99


def build(n_rankings: int = 8, n_items: int = 4) -> pm.Model:
    """Build the model; its rankings are placeholders that each simulation replaces."""
    some = np.tile(np.arange(1, n_items + 1), (n_rankings, 1))
    with pm.Model(coords={"item": range(n_items)}) as model:
        ranks = pm.Data("ranks", some)
        scale = pm.HalfNormal("scale", 1)
        z = pm.ZeroSumNormal("z", 1, dims="item")
        utility = pm.Deterministic("utility", scale * z, dims="item")
        br.PlackettLuce("y", utility, observed=ranks, shape=some.shape)
    return model


class Ranked:
    """A model in a process that compiled it; it ranks the true values of a simulation."""

    def __init__(self, fitted: pm.Model, names: list[str]) -> None:
        self.compiled, self.names = nutpie.compile_pymc_model(fitted), names

    def __call__(self, world: tuple[np.ndarray, xr.Dataset, int]) -> dict[str, int]:
        """Fit the ranks of a simulation, and count the draws below its true values."""
        ranks, true, seed = world
        draws = nutpie.sample(
            self.compiled.with_data(ranks=ranks),
            draws=THIN * KEPT, tune=300, chains=1, seed=seed, progress_bar=False,
        )["posterior"].dataset  # fmt: skip
        below = (draws[self.names].isel(draw=slice(None, None, THIN)) < true).sum(["chain", "draw"])
        flat = {name: np.atleast_1d(below[name].to_numpy()) for name in self.names}
        return {f"{n}[{i}]": x for n, values in flat.items() for i, x in enumerate(values)}


def calibrate(
    model: pm.Model,
    fitted: pm.Model,
    names: list[str],
    *,
    n_worlds: int = 200,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Compute the rank of each true value among its posterior draws.

    Parameters
    ----------
    model : pm.Model
        Model that simulates the data.
    fitted : pm.Model
        Model that is fitted to them. Pass a different model to see how the check detects it.
    names : list of str
        Names of the variables to check.
    n_worlds, seed : int
        Number of simulations, and their random seed.
    n_jobs : optional
        Number of processes, as in `bayesrank.find_MAP_many`.

    Returns
    -------
    DataFrame
        One row per simulation, one column per value. If the model is calibrated, the ranks are
        uniform on 0, ..., 99.
    """
    truth = pm.sample_prior_predictive(n_worlds, model=model, random_seed=seed)
    observed, true = truth["prior_predictive"]["y"], truth["prior"].dataset[names]
    at = [{"chain": 0, "draw": world} for world in range(n_worlds)]
    worlds = {
        k: (observed.isel(world).to_numpy(), true.isel(world), seed + k)
        for k, world in enumerate(at)
    }
    rows: dict[Any, Any] = {}
    for some in on_workers(partial(Ranked, fitted, names), worlds, n_jobs=n_jobs):
        rows |= some
    return pd.DataFrame([rows[k] for k in worlds])


def by_simuk(
    model: pm.Model,
    *,
    n_worlds: int,
    seed: int = 1,
    simulator: Callable[..., dict[str, np.ndarray]] | None = None,
) -> pd.DataFrame:
    """Compute the rank of each true value among its posterior draws by simuk.

    Parameters
    ----------
    model : pm.Model
        Model with observed data, which the simulations replace.
    n_worlds, seed : int
        Number of simulations, and their random seed.
    simulator : callable, optional
        Function that simulates the rankings, instead of the model. It receives the values of the
        free variables and a ``seed`` by name, and returns a dict of the observed data.

    Returns
    -------
    DataFrame
        Ranks of all free variables, as `calibrate` returns them.
    """
    import simuk

    # PyMC's sampler keeps machine code from world to world; nutpie's makes it anew
    settings = {"draws": THIN * (KEPT + 1) - 1, "tune": 300, "chains": 1, "cores": 1}
    sbc = simuk.SBC(
        model,
        num_simulations=n_worlds,
        sample_kwargs=settings | {"nuts_sampler": "pymc"},
        seed=seed,
        simulator=simulator,
        progress_bar=False,
    )
    sbc.run_simulations()
    ranks = sbc.simulations["prior_sbc"].dataset.squeeze("chain")
    flat = {name: x.to_numpy().reshape(n_worlds, -1) // THIN for name, x in ranks.items()}
    return pd.DataFrame({f"{n}[{i}]": row for n, x in flat.items() for i, row in enumerate(x.T)})


def tenths(ranks: pd.DataFrame) -> pd.DataFrame:
    """Count ranks by tenths, with one row per value and the p-value of a test of uniformity."""
    table = ranks.apply(lambda column: np.histogram(column, 10, (0, KEPT + 1))[0]).T
    return table.assign(p=chisquare(table, axis=1).pvalue)


if __name__ == "__main__":
    model = build()
    if sys.argv[1:2] == ["simuk"]:
        ranks = by_simuk(model, n_worlds=int(sys.argv[2]))
    else:
        ranks = calibrate(model, model, ["scale", "utility"])
    print(tenths(ranks).round(3).to_string())
