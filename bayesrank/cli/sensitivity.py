"""Whether the leader depends on a choice: the prior scale, or what omitted items and codes mean.

Other choices are fitted with a normal around the mode, which takes about a second. They are
compared with the same fit of the choices that were made.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.cli.options import RankColumns
from bayesrank.cli.parts import Part
from bayesrank.cli.texts import paragraphs, sentence
from bayesrank.data import Pairs, Rankings
from bayesrank.results import rank_summary
from bayesrank.tables import read_rankings

MOST_ENTRIES, MOST_ITEMS = 20_000, 200  # beyond, another fit is not cheap
CHAINS, DRAWS = 4, 500  # for probabilities with two digits
SHOWN = 10  # items of each choice in the picture
CLEAR = 0.05  # difference in P(best) from which another item leads clearly
SCALES = {"prior scale halved": 0.5, "prior scale doubled": 2.0}
AS_MADE = "as analysed"


def readings(source: Any, columns: RankColumns, rankings: Rankings) -> dict[str, Rankings]:
    """Read the rankings again with another meaning of omitted items and of codes."""
    if rankings.item.size > MOST_ENTRIES or columns.date or columns.components:
        return {}
    given = columns.arguments
    codes = ", ".join(columns.last_block or columns.empty)
    other: dict[str, dict[str, Any]] = {}
    if columns.last_block:
        empty = (*columns.empty, *columns.last_block)
        other[f"{codes} not ranked"] = {
            "last_block": (), "empty": empty, "missing": columns.missing or "drop"
        }  # fmt: skip
    elif columns.empty and columns.missing == "drop":
        other[f"{codes} last"] = {"last_block": columns.empty, "empty": ()}
    listing = columns.ballot or columns.wide in ("places", "ranks") or not columns.form
    if columns.missing == "last":
        other["omitted items dropped"] = {"missing": "drop"}
    elif columns.missing == "drop" or (
        columns.missing is None and rankings.item.shape[1] < rankings.n_items and listing
    ):
        other["omitted items last"] = {"missing": "last"}
    out = {}
    for label, choice in other.items():
        try:
            with warnings.catch_warnings():  # the notes are about the reading that was asked for
                warnings.simplefilter("ignore")
                found = read_rankings(source, **{**given, **choice})
        except ValueError:  # the table has no meaning with this choice
            continue
        if repr(found) != repr(rankings) or not np.array_equal(found.ranks, rankings.ranks):
            out[label] = found
    return out


def choices(job: Any, scale: float, others: Mapping[str, Rankings]) -> dict[str, pd.Series]:
    """Compute P(best) under other choices, the leader first; empty if that is not cheap.

    The first entry has the choices that were made.
    """
    data = job.data
    simple = type(job).__name__ == "RankJob" and not job.data.groups
    if isinstance(data, Pairs):
        simple = job.simple
    if not simple or job.entries > MOST_ENTRIES or not 2 < data.n_items <= MOST_ITEMS:
        return {}
    out = {AS_MADE: _leaders(job, data, scale)}
    for label, factor in SCALES.items():
        out[label] = _leaders(job, data, factor * scale)
    for label, read in others.items():
        out[label] = _leaders(job, read, scale)
    return out


def _leaders(job: Any, data: Pairs | Rankings, scale: float) -> pd.Series:
    """Fit one choice, and return P(best) by mean rank."""
    from bayesrank.inference import fit_dynamic, fit_pairs
    from bayesrank.inference.dynamic.chains import posterior_draws

    seed = job.fit.seed
    utility: Any
    if isinstance(data, Pairs):
        settings = {"draws": DRAWS, "chains": CHAINS, "random_seed": seed}
        fit = fit_pairs(data, utility_scale=scale, order_effect=job.order, **settings)
        utility = fit["posterior"]["utility"]
    else:
        at_once = data.grouped({"date": np.zeros(data.n_rankings)})
        found = fit_dynamic(
            at_once, time="date", dynamics="constant", hyperparameters={"scale": scale},
            random_seed=seed,
        )  # fmt: skip
        # `found.draws` would also build a model of the data, which takes longer than the fit
        drawn = posterior_draws(found.normal, CHAINS * DRAWS, np.random.default_rng(seed))
        utility = xr.DataArray(
            drawn.T.reshape(CHAINS, DRAWS, -1),
            {"item": data.coords["item"][found.observations.nodes.item]},
            ("chain", "draw", "item"),
        )
    return rank_summary(utility, top=1)["p_best"]


def section(found: Mapping[str, pd.Series], leader: Any) -> Part | None:
    """Write the table of choices, and a warning if one of them changes the leader."""
    if not found:
        return None
    expected = found[AS_MADE].index[0]
    rows: dict[str, list[str]] = {}
    changed: list[tuple[str, str]] = []
    for label, p_best in found.items():
        first = p_best.index[0]
        # two items that lead by turns are one answer: neither is clearly ahead
        lead = p_best.iloc[0] - p_best.get(expected, 0.0)
        differs = first not in (expected, leader) and lead > CLEAR
        if differs:
            changed.append((label, str(first)))
        rows[label] = [str(first), f"{p_best.iloc[0]:.2f}", "yes" if differs else ""]
    columns = ["Leader", "P(best)", "Changes the leader"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("Choice")
    return Part(
        "Other choices",
        paragraphs("choices", changed=changed),
        table,
        printed=False,
        warnings=[sentence("choice_decides", changed=changed)] if changed else (),
    )


def as_variants(found: Mapping[str, pd.Series]) -> list[dict[str, Any]] | None:
    """Return the choices for the script of the page."""
    if not found:
        return None
    return [
        {
            "label": label,
            "best": [[str(item), round(float(p), 3)] for item, p in p_best.head(SHOWN).items()],
        }
        for label, p_best in found.items()
    ]
