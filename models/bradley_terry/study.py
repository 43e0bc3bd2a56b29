"""The figures in ``RESULTS.md``: baseball and the home advantage, and sushi never compared.

Run ``python -m models.bradley_terry.study``: baseball; or, with the folder of the sushi data,
``python -m models.bradley_terry.study FOLDER``: what is known of a sushi never compared.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr

import bayesrank as br
from models.bradley_terry.model import build, with_new_items

SUSHI_FEATURES = {2: "no roll", 5: "light", 6: "eaten", 7: "price", 8: "sold"}  # by column


def sushi_features(folder: str | Path, items: pd.Index) -> pd.DataFrame:
    """Read what is known of 100 kinds of sushi, standardised; `folder` is that of `load_sushi`."""
    path = Path(folder) / "sushi3.idata"
    table = pd.read_csv(path, sep="\t", header=None, comment="#", encoding="utf-8")
    table = table[list(SUSHI_FEATURES)].rename(columns=SUSHI_FEATURES).set_axis(items)
    return (table - table.mean()) / table.std(ddof=0)


def sushi_matches(rankings: br.Rankings, *, seed: int = 1) -> br.Pairs:
    """Cut each ranking of ten into five matches of two, at random.

    Under Plackett-Luce every item has a noise of its own, so that matches without a common item
    are independent given the utilities, and each is one of Bradley-Terry. All 45 pairs of a
    ranking would be a composite likelihood, which takes one person's order for 45 opinions.

    Parameters
    ----------
    rankings : Rankings
        Full, of an even number of items.
    seed : int
        Of the choice.

    Returns
    -------
    Pairs
        The first item stands earlier on the axis: there is no order effect.
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
    """Take items and their matches away."""
    rows = pairs.to_frame()
    rows = rows[~(rows["first"].isin(items) | rows["second"].isin(items))]
    others = pairs.items[~pairs.items.isin(items)]
    return br.Pairs.from_frame(
        rows, first="first", second="second", outcome="outcome", count="count", items=others
    )


def sampled(model: pm.Model, **options: Any) -> xr.DataTree:
    """Sample by NUTS; the sum of the utilities is a stiff direction, for the low-rank matrix."""
    options = {"chains": 2, "random_seed": 1, "nuts_sampler": "nutpie"} | options
    with model:
        return pm.sample(nuts={"adaptation": "low_rank", "target_accept": 0.9}, **options)


def baseball() -> None:
    """Print the teams, and what it is worth to be at home."""
    pairs = br.load_baseball()
    models = {"home advantage": build(pairs, order_effect=True), "none": build(pairs)}
    fitted = {name: sampled(model) for name, model in models.items()}
    for name, model in models.items():
        pm.compute_log_likelihood(fitted[name], model=model, progressbar=False)
    posterior = fitted["home advantage"]
    print(br.rank_summary(posterior).round(2).to_string())
    order = posterior["posterior"]["order_effect"]
    print(
        f"home advantage {order.mean():.2f}, sd {order.std():.2f}, P(> 0) {(order > 0).mean():.3f}"
    )
    print(br.compare(fitted).to_string())


def sushi(folder: str | Path, n_new: int = 20) -> None:
    """Print what features say of kinds of sushi whose matches were taken away."""
    rankings = br.load_sushi("b", folder)
    pairs, features = sushi_matches(rankings), sushi_features(folder, rankings.items)
    new = rankings.items[np.random.default_rng(1).permutation(rankings.n_items)[:n_new]]
    posterior = sampled(build(without(pairs, new), features))
    draws = posterior["posterior"]
    print(f"prior_scale {draws['prior_scale'].mean():.2f}")
    print(draws["coefficient"].mean(("chain", "draw")).to_series().round(2).to_string())
    told = br.rank_summary(with_new_items(posterior, features.loc[new]))["mean_rank"]
    played = br.rank_summary(sampled(build(pairs)))["mean_rank"]
    table = pd.DataFrame({"told by features": told, "played": played}).loc[new]
    print(table.sort_values("played").round(1).to_string())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sushi(sys.argv[1])
    else:
        baseball()
