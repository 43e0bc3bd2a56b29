"""Predict matches of new kinds of sushi from their features.

Run ``python -m models.bradley_terry.sushi [FOLDER]`` with the folder of the sushi data, by default
``sushi3`` in ``BAYESRANK_DATA``. It writes its table into ``RESULTS.md``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesrank as br
from models.bradley_terry.model import build, with_new_items
from models.bradley_terry.study import REDUCED, sampled
from models.shared.results import Run, Table, run

SUSHI_FEATURES = {2: "no roll", 5: "light", 6: "eaten", 7: "price", 8: "sold"}  # by column


def sushi_features(folder: str | Path, items: pd.Index) -> pd.DataFrame:
    """Read the standardised features of 100 kinds of sushi from the folder of `load_sushi`."""
    path = Path(folder) / "sushi3.idata"
    table = pd.read_csv(path, sep="\t", header=None, comment="#", encoding="utf-8")
    table = table[list(SUSHI_FEATURES)].rename(columns=SUSHI_FEATURES).set_axis(items)
    return (table - table.mean()) / table.std(ddof=0)


def sushi_matches(rankings: br.Rankings, *, seed: int = 1) -> br.Pairs:
    """Cut each ranking of ten into five matches of two, at random.

    Under Plackett-Luce, every item has separate noise. So matches without a common item are
    independent given the utilities, and Bradley-Terry describes each. All 45 pairs of a ranking
    would be a composite likelihood, which treats one person's order as 45 opinions.

    Parameters
    ----------
    rankings : Rankings
        Full rankings of an even number of items.
    seed : int
        Random seed of the matches.

    Returns
    -------
    Pairs
        The first item is earlier on the axis, so there is no order effect.
    """
    rng = np.random.default_rng(seed)
    slot = rng.permuted(np.tile(np.arange(rankings.n_slots), (rankings.n_rankings, 1)), axis=1)
    one, other = np.sort(slot.reshape(-1, 2), axis=1).T  # slots are best first
    ranking = np.repeat(np.arange(rankings.n_rankings), rankings.n_slots // 2)
    winner, loser = rankings.item[ranking, one], rankings.item[ranking, other]
    first = winner < loser
    table = pd.DataFrame(
        {
            "first": rankings.items.take(np.where(first, winner, loser)),
            "second": rankings.items.take(np.where(first, loser, winner)),
            "outcome": np.where(first, "first", "second"),
        }
    )
    return br.Pairs.from_frame(
        table, first="first", second="second", outcome="outcome", items=rankings.items
    )


def without(pairs: br.Pairs, items: pd.Index) -> br.Pairs:
    """Remove items and their matches."""
    rows = pairs.to_frame()
    rows = rows[~(rows["first"].isin(items) | rows["second"].isin(items))]
    others = pairs.items[~pairs.items.isin(items)]
    return br.Pairs.from_frame(
        rows, first="first", second="second", outcome="outcome", count="count", items=others
    )


def unmet_table(how: Run, n_new: int = 20) -> Table:
    """Compare utilities from features with utilities from held-out matches."""
    rankings, options = br.load_sushi("b", how.folder), REDUCED if how.quick else {}
    pairs, features = sushi_matches(rankings), sushi_features(how.folder, rankings.items)
    new = rankings.items[np.random.default_rng(1).permutation(rankings.n_items)[:n_new]]
    plain = sampled(build(pairs), **options)
    informed = sampled(build(pairs, features), **options)
    unmet = sampled(build(without(pairs, new), features), **options)
    scales = [x["posterior"]["prior_scale"] for x in (plain, informed)]
    coefficient = informed["posterior"]["coefficient"]
    foretold = with_new_items(unmet, features.loc[new])["utility"]
    # of each kind relative to the mean of the others, which both fits have
    others = rankings.items.difference(new)
    played = plain["posterior"]["utility"]
    one, other = (x.sel(item=list(new)) - x.sel(item=list(others)).mean("item")
                  for x in (foretold, played))  # fmt: skip
    low, high = (one.quantile(q, ("chain", "draw")) for q in (0.1, 0.9))
    truth = other.mean(("chain", "draw"))
    met = pairs.first, pairs.second
    theirs = np.isin(pairs.items[met[0]], new) | np.isin(pairs.items[met[1]], new)
    found = {
        "scale of the item effects": float(scales[0].mean()),
        "scale of the item effects, with features": float(scales[1].mean()),
        **{f"coefficient: {name}": float(coefficient.sel(feature=name).mean())
           for name in features},
        "variance that features explain": float(1 - (scales[1].mean() / scales[0].mean()) ** 2),
        "matches of the removed kinds": f"{int(pairs.counts[theirs].sum()):,}",
        "correlation of predicted and played": float(
            np.corrcoef(one.mean(("chain", "draw")), truth)[0, 1]
        ),
        "played within the 80% intervals": (
            f"{int(((low < truth) & (truth < high)).sum())} of {n_new}"
        ),
        "log score of their matches, predicted": _log_score(pairs, theirs, foretold),
        "log score of their matches, fitted": _log_score(pairs, theirs, played),
    }  # fmt: skip
    return Table(pd.DataFrame({"sushi": found}), digits=3, corner="100 kinds")


def _log_score(pairs: br.Pairs, rows: np.ndarray, utility: Any) -> float:
    """Compute the mean log-probability of the outcomes of some matches over draws."""
    w = utility.sel(item=list(pairs.items)).transpose("chain", "draw", "item").values
    w = w.reshape(-1, pairs.n_items)
    lead = w[:, pairs.first[rows]] - w[:, pairs.second[rows]]
    p = (1 / (1 + np.exp(-lead))).mean(axis=0)
    first, second = pairs.counts[rows, 0], pairs.counts[rows, 1]
    return float((first * np.log(p) + second * np.log1p(-p)).sum() / (first + second).sum())


TABLES = {"unmet": unmet_table}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    return run("bradley_terry", TABLES, module="sushi", data="sushi3",
               files="sushi3b.5000.10.order", arguments=arguments)  # fmt: skip


if __name__ == "__main__":
    main()
