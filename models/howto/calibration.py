r"""How do I know that the posterior of a model of my own is right?

That is asked by simulation-based calibration.

Story: utilities drawn from the prior, rankings drawn from the utilities, and the posterior of the
utilities given these rankings. Over many such worlds the true utility is as often in the lowest
tenth of its posterior as in any other: its rank among L draws is uniform. Where a model, its
parameters or its sampler are wrong, ranks pile up at the ends (posteriors too narrow, or off) or in
the middle (too wide).

    scale        ~ HalfNormal(1)
    utility[i]   = scale Normal(0, 1), summing to zero
    ranking      ~ PlackettLuce(utility)

The ranks are `pm.Data`: nutpie compiles the model once, and takes other ranks for every world by
`with_data`. `calibrate` takes any such model. Draws are thinned until they are nearly
independent, for which the uniform law holds.

References
----------
Talts et al., Validating Bayesian inference algorithms with simulation-based calibration, 2018.
Modrak et al., Simulation-based calibration checking for Bayesian computation: the choice of test
quantities shapes sensitivity, Bayesian Analysis 20, 2025: why to rank the log-likelihood, too (make
it a `pm.Deterministic`).

Run ``python -m models.howto.calibration``: 200 worlds, counts by tenths, and their p-values.
"""

import numpy as np
import nutpie
import pandas as pd
import pymc as pm
from scipy.stats import chisquare

import bayesrank as br

THIN, KEPT = 5, 99  # of the draws of a world: ranks go from 0 to 99


def build(n_rankings: int = 8, n_items: int = 4) -> pm.Model:
    """Build the model, with rankings to be replaced."""
    some = np.tile(np.arange(1, n_items + 1), (n_rankings, 1))
    with pm.Model(coords={"item": range(n_items)}) as model:
        ranks = pm.Data("ranks", some)
        scale = pm.HalfNormal("scale", 1)
        z = pm.ZeroSumNormal("z", 1, dims="item")
        utility = pm.Deterministic("utility", scale * z, dims="item")
        br.PlackettLuce("y", utility, observed=ranks, shape=some.shape)
    return model


def calibrate(
    model: pm.Model, fitted: pm.Model, names: list[str], *, n_worlds: int = 200, seed: int = 1
) -> pd.DataFrame:
    """Rank true values in their posteriors.

    Parameters
    ----------
    model : pm.Model
        Where worlds come from.
    fitted : pm.Model
        What is fitted to them: the same, unless it is to be seen how a wrong one is caught.
    names : list of str
        The variables.
    n_worlds, seed : int
        How many worlds, and of which seed.

    Returns
    -------
    DataFrame
        One row per world, one column per value; uniform on 0, ..., 99 where all is right.
    """
    truth = pm.sample_prior_predictive(n_worlds, model=model, random_seed=seed)
    compiled = nutpie.compile_pymc_model(fitted)
    rows = []
    for world in range(n_worlds):
        at = {"chain": 0, "draw": world}
        ranks = truth["prior_predictive"]["y"].isel(at).to_numpy()
        draws = nutpie.sample(
            compiled.with_data(ranks=ranks),
            draws=THIN * KEPT, tune=300, chains=1, seed=seed + world, progress_bar=False,
        )["posterior"].dataset  # fmt: skip
        true = truth["prior"].dataset.isel(at)[names]
        below = (draws[names].isel(draw=slice(None, None, THIN)) < true).sum(["chain", "draw"])
        flat = {name: np.atleast_1d(below[name].to_numpy()) for name in names}
        rows.append({f"{n}[{i}]": x for n, values in flat.items() for i, x in enumerate(values)})
    return pd.DataFrame(rows)


def tenths(ranks: pd.DataFrame) -> pd.DataFrame:
    """Count ranks by tenths, one row per value, with the p-value of their being uniform."""
    table = ranks.apply(lambda column: np.histogram(column, 10, (0, KEPT + 1))[0]).T
    return table.assign(p=chisquare(table, axis=1).pvalue)


if __name__ == "__main__":
    model = build()
    print(tenths(calibrate(model, model, ["scale", "utility"])).round(3).to_string())
