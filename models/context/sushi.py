r"""Do the other items on a menu matter? 5,000 people rank ten of 100 kinds of sushi.

Story: each person ranks a menu of ten items, and menus differ. Do the other items change the
utility of an item? The menus look random: an item is offered as often as shops sell it, with a
correlation of .997, and pairs of items meet as often as by chance.

    worth[i]    ~ Normal(0, 1)                                    the item alone
    part[n, s]  = FATE(features of the item, of the whole menu)   effect of the others
    utility     = worth[item] + part
    y           ~ Plackett-Luce(utility)

Other rows omit one of the two parts. The context is the whole menu at every stage of Plackett-Luce.
Features are oiliness, how often an item is eaten, its price, how often it is sold, whether it is a
roll, and its group, one of twelve. "items" has a worth for each item, and neither features nor
context.
All models without context are nested in it. "mixture of people" has four components with separate
worths, and no context.

Reference: Kamishima, Nantonac collaborative filtering, KDD 2003 (the data, which may not be
redistributed); Pfannschmidt, Gupta & Hüllermeier, arXiv:1803.05796, 2018 (the networks).

``python -m models.context.sushi [FOLDER]`` writes its tables into ``RESULTS.md``, with the folder
of the survey, by default ``sushi3`` in ``BAYESRANK_DATA``. This takes 14 CPU minutes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import logsumexp

import bayesrank as br
from bayesrank.likelihoods.plackett_luce import weak_order_logp
from models.context.fate import fate_network
from models.context.feta import feta_network
from models.context.model import (
    Network,
    deep_sets_network,
    dense_network,
    features_of,
    fit,
    predict,
)
from models.context.sushi_menus import build_mixture, crowding, menus, planted
from models.shared.results import Run, Table, run

__all__ = ["ROWS", "compare", "cross_validate", "judge", "table"]

Floats = NDArray[np.float64]
EFFECT = 0.2  # planted: subtracted for each other item of the same group
SCALES, RATES = (0.3, 1.0), (3e-3, 1e-2)  # candidates; held-out rankings decide
N_COMPONENTS = 4
TRAINING: dict[str, Any] = {"epochs": 40, "patience": 8, "batch_size": 128, "progressbar": False}


class Row(NamedTuple):
    """Parts of the utility: a network of features, and a worth for each item."""

    network: Any  # a function of the number of features, or the number of components
    own_worth: bool = False
    scales: Sequence[float] = SCALES  # candidates for the scale of the prior


def _dense(n: int) -> Network:
    return dense_network(n, 32, 32)


def _fate(n: int) -> Network:
    return fate_network(n, set_widths=(32, 32), score_widths=(32, 32))


def _feta(n: int) -> Network:
    return feta_network(n, item_widths=(32,), pair_widths=(16,), bounded=False)


def _deep_sets(n: int) -> Network:
    return deep_sets_network(n, 32, 2)


ROWS: dict[str, Row] = {
    "items": Row(1),
    "linear": Row(dense_network),
    "dense": Row(_dense),
    "FATE": Row(_fate),
    "FETA": Row(_feta),
    "DeepSets": Row(_deep_sets, scales=(1.0, 3.0)),
    "items + dense": Row(_dense, own_worth=True),
    "items + FATE": Row(_fate, own_worth=True),
    "mixture of people": Row(N_COMPONENTS),
}


def judge(
    name: str,
    train: br.Rankings,
    test: br.Rankings,
    *,
    prior_scale: float,
    learning_rate: float,
    seed: int = 1,
    **training: Any,
) -> tuple[float, Floats, Floats]:
    """Fit a row; return the density of held-out rankings, and densities and utilities of others."""
    row, options = ROWS[name], TRAINING | {"learning_rate": learning_rate} | training
    if isinstance(row.network, int):
        model = build_mixture(train, row.network, item_scale=prior_scale)
        # several components must differ from the start
        start = {"worth": np.zeros((1, test.n_items))} if row.network == 1 else None
        fitted = br.fit_minibatch(start=start, random_seed=seed, **options, model=model)
        worth = _mode(fitted, "worth")
        share = _mode(fitted, "share") if row.network > 1 else np.ones(1)
        terms = [density(u[test.item], test.ranks) for u in worth]
        logp = logsumexp(terms, axis=0, b=share[:, None])
        utility = (share @ worth)[test.item]
    else:
        network = row.network(features_of(test).shape[-1])
        item_scale = 1.0 if row.own_worth else None
        fitted = fit(
            train, network, prior_scale=prior_scale, item_scale=item_scale, seed=seed, **options
        )
        utility = predict(fitted, network, features_of(test), test.mask)
        if row.own_worth:
            utility = utility + _mode(fitted, "worth")[test.item]
        logp = density(utility, test.ranks)
    return float(fitted["training"]["held_out"].max()), logp, utility


def density(utility: Floats, ranks: NDArray[Any]) -> Floats:
    """Log density of rankings, (n_rankings,)."""
    return np.asarray(weak_order_logp(utility, ranks).eval(mode="FAST_COMPILE"))


def correlations(utility: Floats, ranks: NDArray[Any]) -> Floats:
    """Rank correlation of utilities and ranks in every ranking; NaN where either is all ties."""
    ranked, true = (pd.DataFrame(x).where(ranks > 0).rank(axis=1) for x in (-utility, ranks))
    return np.asarray(ranked.corrwith(true, axis=1))


def _mode(fitted: xr.DataTree, name: str) -> Floats:
    return fitted["posterior"][name].to_numpy()[0, 0]


def cross_validate(
    name: str,
    rankings: br.Rankings,
    *,
    n_folds: int = 5,
    scales: Sequence[float] | None = None,
    rates: Sequence[float] = RATES,
    **training: Any,
) -> pd.DataFrame:
    """Evaluate a row on all folds; held-out rankings of each fold determine the settings.

    Returns
    -------
    DataFrame
        A row for each test ranking: log density, rank correlation, fold, scale and rate.
    """
    lines = []
    for number, (train, test) in enumerate(rankings.split(n_folds, random_seed=1)):
        tried = {
            (scale, rate): judge(
                name,
                train,
                test,
                prior_scale=scale,
                learning_rate=rate,
                seed=1 + number,
                **training,
            )
            for scale, rate in product(scales or ROWS[name].scales, rates)
        }
        scale, rate = max(tried, key=lambda setting: tried[setting][0])
        _, logp, utility = tried[scale, rate]
        lines.append(
            pd.DataFrame(
                {
                    "logp": logp,
                    "spearman": correlations(utility, test.ranks),
                    "fold": number,
                    "scale": scale,
                    "rate": rate,
                },
                index=test.labels,
            )
        )
    return pd.concat(lines)


def table(judged: Mapping[str, pd.DataFrame], baseline: str) -> pd.DataFrame:
    """Compare rows on the same rankings.

    Parameters
    ----------
    judged : mapping of str to DataFrame
        Results of `cross_validate`, by row.
    baseline : str
        The row that the others are compared with.

    Returns
    -------
    DataFrame
        Mean log density of a ranking; its gain over the baseline, with a standard error paired by
        ranking; mean rank correlation.
    """
    lines = {}
    for name, found in judged.items():
        gain = found["logp"] - judged[baseline]["logp"]
        lines[name] = {
            "log density": found["logp"].mean(),
            "gain": gain.mean(),
            "s.e.": gain.sem(),
            "Spearman": found["spearman"].mean(),
        }
    return pd.DataFrame.from_dict(lines, orient="index")


def compare(
    rows: Iterable[str],
    rankings: br.Rankings,
    *,
    once: Callable[[str, Callable[[], pd.DataFrame]], pd.DataFrame] = lambda _, compute: compute(),
    **options: Any,
) -> pd.DataFrame:
    """Evaluate rows on the same folds; the first is the baseline. `once` may store results."""
    judged = {name: once(name, partial(cross_validate, name, rankings, **options)) for name in rows}
    return table(judged, next(iter(judged)))


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

QUICK = ("items", "items + dense")
REDUCED: dict[str, Any] = {"scales": (1.0,), "rates": (1e-2,), "n_folds": 2, "epochs": 10}


def menu_table(how: Run) -> Table:
    """Compute the log density for held-out people, and the gain over worths of items only."""
    names = how.chosen(QUICK if how.quick else ROWS)
    names = ["items", *(name for name in names if name != "items")]
    found = compare(names, menus(how.folder), once=how.once, **(REDUCED if how.quick else {}))
    rows = found[["log density", "Spearman"]]
    gains = zip(found["gain"], found["s.e."], strict=True)
    rows.insert(1, "gain over items", [f"{gain:+.4f} ± {error:.4f}" for gain, error in gains])
    return Table(rows, digits={"log density": 4, "Spearman": 3}, corner="utility")


def crowding_table(how: Run) -> Table:
    """Estimate the effect of similar items, for people and for simulated people."""
    sushi = menus(how.folder)

    def draws() -> dict[str, Floats]:
        options = TRAINING | ({"epochs": 10} if how.quick else {})
        fitted = br.fit_minibatch(
            validation=0, learning_rate=1e-2, **options, model=build_mixture(sushi)
        )
        simulated = planted(sushi, _mode(fitted, "worth")[0], EFFECT)
        return {"people": crowding(sushi), f"planted {-EFFECT}": crowding(simulated)}

    found = how.once("crowding", draws)
    rows = {name: {"mean": x.mean(), "s.d.": x.std()} for name, x in found.items()}
    return Table(pd.DataFrame(rows).T, digits=4, corner="effect of another item of the group")


TABLES = {
    "sushi": menu_table,
    "crowding": crowding_table,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run(
        "context", TABLES, module="sushi", data="sushi3", files="sushi3b.5000.10.order",
        arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    main()
