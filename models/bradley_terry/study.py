"""Estimate the home advantage in baseball.

Run ``python -m models.bradley_terry.study``. It needs only data of the package, and writes its
table into ``RESULTS.md``.
"""

from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br
from models.bradley_terry.model import build
from models.shared.results import Run, Table, run

REDUCED: dict[str, Any] = {"draws": 300, "tune": 300}
AGRESTI = {
    "home advantage": 0.302,
    "its standard error": 0.130,
    "first ahead of last": np.log(0.220 / 0.044),
}


def sampled(model: pm.Model, **options: Any) -> xr.DataTree:
    """Sample by NUTS with a low-rank mass matrix; the sum of utilities is a long direction."""
    options = {"chains": 2, "random_seed": 1, "nuts_sampler": "nutpie", "quiet": True} | options
    with model:
        return pm.sample(nuts={"adaptation": "low_rank", "target_accept": 0.9}, **options)


def home_table(how: Run) -> Table:
    """Estimate the home advantage, and compare it with Agresti's maximum likelihood."""
    pairs, options = br.load_baseball(), REDUCED if how.quick else {}
    models = {"home advantage": build(pairs, order_effect=True), "none": build(pairs)}
    fitted = {name: sampled(model, **options) for name, model in models.items()}
    for name, model in models.items():
        pm.compute_log_likelihood(fitted[name], model=model, progressbar=False)
    draws = fitted["home advantage"]["posterior"]
    compared, order = br.compare(fitted), draws["order_effect"]
    ranks = br.rank_summary(fitted["home advantage"])
    gap = draws["utility"].sel(item=ranks.index[0]) - draws["utility"].sel(item=ranks.index[-1])
    gain = np.subtract(*compared.loc[["home advantage", "none"], "elpd"])
    found = {
        "first": ranks.index[0],
        "last": ranks.index[-1],
        "first ahead of last": float(gap.mean()),
        "home advantage": float(order.mean()),
        "its standard error": float(order.std()),
        "probability of a home advantage above 0": float((order > 0).mean()),
        "gain in elpd": float(gain),
        "standard error of the gain": float(compared.loc[["home advantage", "none"], "dse"].max()),
    }
    published = pd.DataFrame({"1987": AGRESTI})
    return Table(pd.DataFrame({"1987": found}), published=published, corner="baseball")


TABLES = {"home": home_table}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    return run("bradley_terry", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
