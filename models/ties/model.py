r"""Compare two models of ties in pairs: Davidson and Rao-Kupper.

Story: two items are compared, and the judge prefers one of them or neither. In Davidson's model a
tie is a separate answer, whose weight is proportional to the geometric mean of the two worths. In
Rao and Kupper's model it is a difference too small to notice. Without ties, both are Bradley-Terry.

    prior_scale ~ HalfNormal(1), if it is not given
    utility[i]  ~ Normal(0, prior_scale), summing to zero
    outcome     ~ Davidson(utility[first], utility[second], nu), or
                  RaoKupper(utility[first], utility[second], theta)
    nu          ~ LogNormal(0, 1)
    log theta   ~ HalfNormal(1)

=======================  =========================  ===============
symbol                   variable                   dims
=======================  =========================  ===============
:math:`w_i`              ``utility``                item
:math:`\sigma`           ``prior_scale``
:math:`\nu`              ``nu``
:math:`\log\theta`       ``log_theta``
tie if equal             ``equal_tie``
outcomes                 ``y``                      pair, result
=======================  =========================  ===============

:math:`\nu` and :math:`\theta` cannot be compared, but ``equal_tie`` can. It is the probability that
two equal items tie: :math:`\nu / (2 + \nu)` and :math:`(\theta - 1)/(\theta + 1)`. The models
differ in how fast ties become rarer as items differ. At a lead of d log odds, Davidson's ties
decrease as :math:`e^{-d/2}`, and Rao and Kupper's as :math:`e^{-d}`.

Unlike the papers' models, this one has priors and learns the spread of the utilities.

`models.ties.rankings` treats ties in rankings of many items.

Run ``python -m models.ties.model`` for the puddings. It writes the tables into ``RESULTS.md``.

References
----------
Davidson, On extending the Bradley-Terry model to accommodate ties in paired comparison
experiments, JASA 65, 1970.

Rao & Kupper, Ties in paired-comparison experiments: a generalization of the Bradley-Terry model,
JASA 62, 1967.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br
from bayesrank.inference import sample
from models.shared.item_features import check_scales
from models.shared.results import Run, Table, run

MODELS = ("Davidson", "Rao-Kupper")


def build(
    pairs: br.Pairs, model: str = "Davidson", *, prior_scale: float | None = None
) -> pm.Model:
    """Declare one of the models.

    Parameters
    ----------
    pairs : Pairs
        Matches, with ties or without.
    model : {"Davidson", "Rao-Kupper"}
        Model of ties.
    prior_scale : float, optional
        Standard deviation of the utilities, positive; by default it is learned.

    Returns
    -------
    pm.Model
        With the variables of the table above.

    Raises
    ------
    ValueError
        If there is no such model, or the scale is not positive.

    Examples
    --------
    >>> [rv.name for rv in build(br.load_pudding(), "Rao-Kupper").free_RVs]
    ['prior_scale', 'utility_z', 'log_theta']
    """
    if model not in MODELS:
        raise ValueError(f"`model` is {model!r}; it is one of {', '.join(map(repr, MODELS))}.")
    check_scales(**({} if prior_scale is None else {"prior_scale": prior_scale}))
    with pm.Model(coords=pairs.coords) as built:
        scale = pm.HalfNormal("prior_scale", 1.0) if prior_scale is None else prior_scale
        # Not centred: puddings are so similar that the scale may be zero.
        utility = scale * pm.ZeroSumNormal("utility_z", 1.0, dims="item")
        utility = pm.Deterministic("utility", utility, dims="item")
        if model == "Davidson":
            nu = pm.LogNormal("nu", 0, 1)
            pm.Deterministic("equal_tie", nu / (2 + nu))
            br.Davidson("y", utility, nu=nu, observed=pairs)
        else:
            theta = pm.math.exp(pm.HalfNormal("log_theta", 1))
            pm.Deterministic("equal_tie", (theta - 1) / (theta + 1))
            br.RaoKupper("y", utility, theta=theta, observed=pairs)
    return built


def fitted(
    pairs: br.Pairs, *, prior_scale: float | None = None, **sampling: Any
) -> dict[str, xr.DataTree]:
    """Sample both, with log-likelihoods for LOO and posterior predictive draws."""
    options = {"chains": 2, "random_seed": 1, "progressbar": False} | sampling
    found = {}
    for name in MODELS:
        with build(pairs, name, prior_scale=prior_scale):
            tree = sample(**options)
            pm.compute_log_likelihood(tree, progressbar=False)
            pm.sample_posterior_predictive(
                tree, extend_inferencedata=True, random_seed=1, progressbar=False
            )
        found[name] = tree
    return found


def tie_check(posterior: xr.DataTree, var: str = "y") -> pd.DataFrame:
    """Compare observed ties with posterior predictive draws of the same matches.

    Parameters
    ----------
    posterior : DataTree
        Groups observed_data and posterior_predictive, as `fitted` returns them.
    var : str
        The observed variable.

    Returns
    -------
    DataFrame
        Rows: the number of "ties", and the "spread" from pair to pair, the standard deviation of
        their shares of ties. Columns: observed; expected, low and high, mean and central 95% of the
        draws; p_value, the share of draws above the observed value, where equal ones count half.
    """
    seen = _tie_shares(posterior["observed_data"].dataset[var])
    drawn = _tie_shares(posterior["posterior_predictive"].dataset[var])
    rows = {}
    for name, value in seen.items():
        draws, at = drawn[name].to_numpy().ravel(), float(value)
        more = float(np.mean(np.sign(draws - at) + 1)) / 2
        rows[name] = [at, draws.mean(), *np.quantile(draws, [0.025, 0.975]), more]
    columns = ["observed", "expected", "low", "high", "p_value"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _tie_shares(counts: xr.DataArray) -> dict[str, xr.DataArray]:
    """Count the ties, and compute the variation of their shares."""
    ties = counts.sel(result="tie")
    return {"ties": ties.sum("pair"), "spread": (ties / counts.sum("result")).std("pair")}


def summary(found: dict[str, xr.DataTree]) -> pd.DataFrame:
    """Summarise utilities, tie parameters and the probability that equal items tie."""
    columns = {}
    for name, tree in found.items():
        draws = tree["posterior"].to_dataset()
        scalars = [x for x in ("nu", "log_theta", "equal_tie", "prior_scale") if x in draws]
        rows = {item: draws["utility"].sel(item=item) for item in draws["item"].to_numpy()}
        rows |= {x: draws[x] for x in scalars}
        table = {key: (float(x.mean()), float(x.std())) for key, x in rows.items()}
        columns[name] = pd.DataFrame.from_dict(table, orient="index", columns=["mean", "std"])
    return pd.concat(columns, axis=1)


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------


def maximum_likelihood(pairs: br.Pairs) -> pd.Series:
    """Find the mode of Davidson's model under a nearly flat prior of the utilities."""
    with build(pairs, "Davidson", prior_scale=30.0):
        found = pm.find_MAP(
            progressbar=False, jitter=False, return_inferencedata=True, ftol=0.0, gtol=1e-10
        )["posterior"].isel(chain=0, draw=0)
    rows = {str(i): float(found["utility"].sel(item=i)) for i in found["item"].to_numpy()}
    return pd.Series(rows | {"nu": float(found["nu"]), "equal_tie": float(found["equal_tie"])})


@lru_cache
def puddings(how: Run) -> dict[str, xr.DataTree]:
    """Sample both models of the puddings, once for all tables."""
    return fitted(br.load_pudding(), **({"draws": 300, "tune": 300} if how.quick else {}))


def estimates(how: Run) -> Table:
    """Compare maximum likelihood and posteriors, with centred utilities."""
    found = summary(puddings(how))
    columns = {"maximum likelihood, Davidson": maximum_likelihood(br.load_pudding())}
    for name in MODELS:
        both = zip(found[name, "mean"], found[name, "std"], strict=True)
        shown = ["" if np.isnan(mean) else f"{mean:.2f} ({std:.2f})" for mean, std in both]
        columns[name] = pd.Series(shown, index=found.index.astype(str))
    rows = pd.DataFrame(columns).reindex(found.index.astype(str))
    return Table(rows, corner="brand")


def checks(how: Run) -> Table:
    """Compare the observed ties with draws of either model."""
    rows = {
        f"{name}: {row}": values
        for name, tree in puddings(how).items()
        for row, values in tie_check(tree).iterrows()
    }
    return Table(pd.DataFrame(rows).T, digits=3, corner="model")


def left_out(how: Run) -> Table:
    """Compare both by leave-one-out."""
    rows = br.compare(puddings(how))[["elpd", "se", "elpd_diff", "dse"]]
    return Table(rows, corner="model")


TABLES: dict[str, Callable[[Run], Table]] = {
    "puddings": estimates,
    "checks": checks,
    "left_out": left_out,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("ties", TABLES, module="model", arguments=arguments)


if __name__ == "__main__":
    main()
