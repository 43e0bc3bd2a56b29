"""Read menus of sushi that people ranked, and simulate people who avoid similar items.

>>> orderings = [["tea", "ale"], ["ale", "gin", "tea"]]
>>> rankings = br.Rankings.from_orderings(orderings, rest=())
>>> table = pd.DataFrame({"hot": [1, 0, 0]}, index=["tea", "ale", "gin"])
>>> with_features(rankings, table).features[..., 0].tolist()
[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

import bayesrank as br
from bayesrank.likelihoods.plackett_luce import log_remainder
from models.context.model import build, dense_network, features_of
from models.shared.item_features import aligned, check_scales

__all__ = [
    "GROUPS",
    "build_mixture",
    "crowd",
    "crowding",
    "menus",
    "planted",
    "with_features",
]

Floats = NDArray[np.float64]
NUMBERS = {5: "oiliness", 6: "frequency eaten", 7: "price", 8: "frequency sold"}
GROUPS = (
    "blue fish", "red fish", "white fish", "eel", "clam", "squid", "shrimp", "roe",
    "other seafood", "egg", "meat", "vegetables",
)  # fmt: skip


def menus(folder: str | Path) -> br.Rankings:
    """Read set B of the sushi survey with the features of its items.

    Parameters
    ----------
    folder : path
        Folder that contains ``sushi3b.5000.10.order`` and ``sushi3.idata``.

    Returns
    -------
    Rankings
        Rankings by 5,000 people, with ten of 100 items each. The features are four numbers,
        standardised over the items, whether an item is a roll, and a column for each minor group.
        The minor groups determine the major groups.
    """
    rankings = br.load_sushi("b", folder)
    items = pd.read_csv(Path(folder) / "sushi3.idata", sep="\t", comment="#", header=None)
    x = items[list(NUMBERS)].rename(columns=NUMBERS)
    x = (x - x.mean()) / x.std(ddof=0)
    x["roll"] = 1.0 - items[2]
    for number, group in enumerate(GROUPS):
        x[group] = (items[4] == number).astype(float)
    return with_features(rankings, x.set_axis(rankings.items[items[0]]))


def with_features(rankings: br.Rankings, table: pd.DataFrame) -> br.Rankings:
    """Look up the features of the items of each ranking; empty slots get zeros."""
    x = aligned(table, rankings.items)
    return br.Rankings(
        rankings.item,
        rankings.ranks,
        items=rankings.items,
        rankers=rankings.labels,
        features=np.where(rankings.mask[..., None], x.to_numpy()[rankings.item], 0.0),
        feature_names=x.columns,
    )


def crowd(rankings: br.Rankings, like: Sequence[str] = GROUPS) -> Floats:
    """Count the other items of a set that share a binary feature, (n_rankings, n_slots)."""
    names = rankings.coords["feature"]
    missing = sorted(set(like) - set(names))
    if missing:
        known = ", ".join(names)
        raise ValueError(f"The rankings have no feature {missing[0]!r}; they have {known}.")
    columns = pd.Index(names).get_indexer(pd.Index(like))
    group = features_of(rankings)[..., columns]
    return np.asarray(np.einsum("nsg,ntg->ns", group, group) - 1)


def planted(
    rankings: br.Rankings,
    worth: Floats,
    effect: float,
    *,
    like: Sequence[str] = GROUPS,
    seed: int = 1,
) -> br.Rankings:
    """Simulate rankings of the same menus by people who avoid similar items.

    Parameters
    ----------
    rankings : Rankings
        Menus, all of one length, with features.
    worth : array, (n_items,)
        Utility of an item in a menu without other items of its group.
    effect : float
        Amount that each other item of the same group subtracts from the utility.
    like : sequence of str
        The features, zero or one, that give the group of an item.
    seed : int
        Random seed of the draws.

    Returns
    -------
    Rankings
        Full rankings drawn from Plackett-Luce.
    """
    utility = worth[rankings.item] - effect * crowd(rankings, like)
    noise = np.random.default_rng(seed).gumbel(size=utility.shape)
    order = np.argsort(-(utility + noise), axis=1)
    return br.Rankings(
        np.take_along_axis(rankings.item, order, axis=1),
        np.broadcast_to(np.arange(1, order.shape[1] + 1), order.shape),
        items=rankings.items,
        rankers=rankings.labels,
        features=np.take_along_axis(features_of(rankings), order[..., None], axis=1),
        feature_names=rankings.feature_names,
    )


def crowding(
    rankings: br.Rankings, *, like: Sequence[str] = GROUPS, draws: int = 1000, seed: int = 1
) -> Floats:
    """Draw the change in an item's utility for each other item of its group in the menu.

    Parameters
    ----------
    rankings : Rankings
        Rankings with features.
    like : sequence of str
        The features, zero or one, that give the group of an item.
    draws : int
        Number of draws from the normal approximation of the posterior.
    seed : int
        Random seed of the draws.

    Returns
    -------
    array, (draws,)
        Draws of the coefficient of `crowd`, in a model with a worth for each item.
    """
    counted = br.Rankings(
        rankings.item,
        rankings.ranks,
        items=rankings.items,
        rankers=rankings.labels,
        features=crowd(rankings, like)[..., None],
        feature_names=["others of the group"],
    )
    model = build(counted, dense_network(1), item_scale=1.0)
    drawn = br.fit_inla(scales=(), draws=draws, chains=1, random_seed=seed, model=model)
    return np.asarray(drawn["posterior"]["score_out_W"]).ravel()


def build_mixture(
    rankings: br.Rankings, n_components: int = 1, *, item_scale: float = 1.0
) -> pm.Model:
    """Build a mixture of Plackett-Luce models, without features and context.

    Parameters
    ----------
    rankings : Rankings
        Full rankings of one length.
    n_components : int
        Number of components. One component is Plackett-Luce.
    item_scale : float
        Standard deviation of the worths, positive.

    Returns
    -------
    pm.Model
        Variables ``worth`` (component, item) and ``share`` (component). The likelihood is a
        potential.

    Raises
    ------
    ValueError
        If there are ties, lengths differ, or the scale is not positive.
    """
    check_scales(item_scale=item_scale)
    if (rankings.block_sizes > 1).any() or not rankings.mask.all():
        raise ValueError(
            "The rankings have ties or differ in length: the mixture expects full rankings "
            "of one length."
        )
    with pm.Model(coords={**rankings.coords, "component": range(n_components)}) as model:
        worth = pm.Normal("worth", 0.0, item_scale, dims=("component", "item"))
        share = (
            pm.Dirichlet("share", np.ones(n_components), dims="component")
            if n_components > 1
            else pt.ones(1)
        )
        item = pm.Data("item_idx", rankings.item, dims=("ranking", "slot"))
        terms = []
        for component in range(n_components):
            utility = worth[component][item]  # best first
            terms.append(
                pt.sum(utility - log_remainder(utility), axis=1) + pt.log(share[component])
            )
        pm.Potential("y", pt.logsumexp(pt.stack(terms), axis=0), dims="ranking")
    return model
