r"""How exact is the quick answer? `bayesrank.fit_inla` against NUTS, over sizes and kinds of data.

Story: items have standard normal strengths. Tables have few or many comparisons for each item. The
models of `bayesrank.leaderboard_model` and `bayesrank.ranking_model` are approximated, with and
without importance weights, and sampled.

A ranking of m items compares each of its items m - 1 times. The table ``map`` has a row for each
kind of data, number of items and comparisons per item. Its columns are

* the effective share of the weighted draws, and whether they count as exact;
* the error of means with and without weights: its root mean square over the items, in posterior
  standard deviations. Monte Carlo errors of both fits contribute about 0.03;
* the ratio of standard deviations with and without weights, averaged over the items;
* the largest error of P(best), with and without weights.

Run ``python -m models.quick_answer.study``. It writes the table into ``RESULTS.md``, and draws it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from bayesrank.inference import fit_inla, sample
from models.quick_answer.model import KINDS
from models.shared.results import Run, Table, run

ITEMS, COMPARISONS = (5, 20), (2, 10, 100)
MATCHES = {  # comparisons by number of items
    5: (2, 10, 100, 1000, 10_000), 20: (2, 10, 100, 1000, 10_000), 100: (2, 10, 100, 1000),
    400: (2, 10, 100, 1000), 2000: (2, 10, 100),
}  # fmt: skip
SAMPLE = ("chain", "draw")


def compared(kind: str, n_items: int, comparisons: int, how: Run) -> dict[str, Any]:
    """Fit one table in three ways, and compare the approximations with NUTS."""
    rng = np.random.default_rng([how.seed, n_items, comparisons, list(KINDS).index(kind)])
    model, draws = KINDS[kind](n_items, comparisons, rng), 250 if how.quick else 1000
    options: dict[str, Any] = {"draws": draws, "random_seed": how.seed, "model": model}
    weighted = fit_inla(**options)
    plain = fit_inla(**options, weighted=False)
    nuts = _utility(sample(tune=draws, **options))
    attrs = weighted["posterior"].attrs
    share = attrs.get("effective_draws", np.nan) / (4 * draws)
    out: dict[str, Any] = {
        "effective share": share,
        "exact": "yes" if "proposal" in attrs else "no",
    }
    for name, data in {"weighted": weighted, "plain": plain}.items():
        if name == "weighted" and np.isnan(share):
            continue
        drawn = _utility(data)
        off = (drawn.mean(SAMPLE) - nuts.mean(SAMPLE)) / nuts.std(SAMPLE)
        out[f"error of means, {name}"] = float(np.sqrt((off**2).mean()))
        out[f"ratio of sd, {name}"] = float((drawn.std(SAMPLE) / nuts.std(SAMPLE)).mean())
        out[f"error of P(best), {name}"] = float(abs(_p_best(drawn) - _p_best(nuts)).max())
    return out


def _utility(data: Any) -> xr.DataArray:
    """Return the utilities less their mean in every draw."""
    drawn = data["posterior"]["utility"]
    centred: xr.DataArray = drawn - drawn.mean("item")
    return centred


def _p_best(drawn: xr.DataArray) -> xr.DataArray:
    best: xr.DataArray = (drawn == drawn.max("item")).mean(SAMPLE)
    return best


def whole_map(how: Run) -> Table:
    """Compare the approximations with NUTS for each kind of data and each size."""
    rows = {}
    for kind in KINDS:
        sizes = MATCHES if kind == "matches" else dict.fromkeys(ITEMS, COMPARISONS)
        for n_items, numbers in ({5: (10,)} if how.quick else sizes).items():
            for comparisons in numbers:
                name = f"{kind}; {n_items} items; {comparisons} comparisons"
                one = partial(compared, kind, n_items, comparisons, how)
                if how.chosen([name]):
                    rows[name] = how.once(name, one)
    table = pd.DataFrame(rows).T
    return Table(table, corner="data", figures={"quick_answer.png": drawn_map(table)})


def drawn_map(table: pd.DataFrame) -> Figure:
    """Draw the effective share by the comparisons per item, for each kind of data."""
    parts = table.index.str.extract(r"(.*); (\d+) items; (\d+) comparisons")
    fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharex=True)
    number = pd.Series(parts[2].astype(float).to_numpy(), table.index)
    for n, (kind, part) in enumerate(table.groupby(parts[0].to_numpy(), sort=False)):
        for is_exact, some in part.groupby(part["exact"] == "yes"):
            style: dict[str, Any] = {"marker": "o" if is_exact else "x", "color": f"C{n}"}
            for ax, column in zip(axes, ("effective share", "error of means, plain"), strict=True):
                ax.plot(number[some.index], some[column].astype(float), ls="", **style)
        axes[0].plot([], [], "s", color=f"C{n}", label=kind)
    axes[0].set(xscale="log", xlabel="comparisons per item", ylabel="effective share of weights")
    axes[1].set(ylabel="error of means without weights (sd)", xlabel="comparisons per item")
    axes[0].legend(frameon=False, fontsize=8)
    axes[1].set_title("circles: exact by weights; crosses: not", fontsize=9)
    return fig


TABLES: dict[str, Callable[[Run], Table]] = {"map": whole_map}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    return run("quick_answer", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
