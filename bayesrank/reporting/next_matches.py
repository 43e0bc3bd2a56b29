"""Section of ``bayesrank matches`` on matches to play next, and how many more are needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.reporting.parts import Part, formatted
from bayesrank.results import MatchesNeeded, matches_needed, next_matches
from bayesrank.results.ranks.rank_table import BEHIND, UNCLEAR
from bayesrank.texts import paragraphs, some

BATCH = 10  # number of matches to choose
KNOWN = 0.95  # probability from which an item is known to be among the best, or not
MOST_DOUBTFUL = 15  # most doubtful items to choose from; choosing takes a fifth of a second
NAMED = 3  # items to name that few matches link with the leader
NOBODY = pd.Series([], dtype=float)
MOST_SETTLED = 100  # most items for which the future is simulated, which takes a few seconds


def coming(
    posterior: Any,
    summary: pd.DataFrame,
    top: int,
    together: Sequence[str],
    target: Any = None,
) -> Part:
    """Say which pairs to play next, and how many more matches separate the leader.

    With a target, these are matches that its judges judge.
    """
    draws = posterior["posterior"].to_dataset()
    tied = list(summary.index[summary["status"] != BEHIND])
    alone = len(tied) == 1
    data, found = {}, []
    if not alone and len(summary) <= MOST_SETTLED:
        found = [matches_needed(draws, among=who, random_seed=0) for who in ("all", tied)]
        tables = {"all": found[0].table, "tied": found[1].table}
        data["settling"] = pd.concat(tables, names=["among"])

    sought = top if alone else 1
    chance = summary["p_best" if sought == 1 else f"p_top{sought}"]
    some_left = sought < len(summary)
    sure = some_left and alone and np.minimum(chance, 1 - chance).max() < 1 - KNOWN
    table, files = None, {}
    apart: list[Any] = []
    if some_left and not sure:
        unknown = list(summary.index[summary["status"] == UNCLEAR])
        csv, apart = _chosen(draws, chance, sought, summary["p_leader_better"][unknown])
        files["next.csv"] = data["next_matches"] = csv
        columns = {"Against": "{item_other}", f"Of the next {BATCH}": "{matches}"}
        table = formatted(csv, "Item", columns | {"P(item better)": "{p_better:.2f}"})
    text = paragraphs(
        "coming",
        alone=alone,
        others=len(tied) - 1,
        of_all=found[0] if found else None,
        about=[_about(one) for one in found],
        judged="adherence" in draws,
        target=target,
        together=together,
        sought=sought,
        sure=sure,
        chosen=table is not None,
        apart=some(apart, NAMED),
        batch=BATCH,
    )
    file = "next.csv" if files else ""
    return Part("What to play next", text, table, file=file, files=files, data=data)


def _chosen(
    data: Any, chance: pd.Series, sought: int, unknown: pd.Series = NOBODY
) -> tuple[pd.DataFrame, list[Any]]:
    """Choose matches of the items that are most doubtful to be among the best.

    Up to half of them let the leader meet items that few matches link with it, although the model
    finds them worse. `unknown` has the probabilities that the leader is better than these. Returns
    the matches and the items.
    """
    doubt = (chance * (1 - chance)).sort_values(ascending=False, kind="stable")
    items = doubt.index[doubt > 0][:MOST_DOUBTFUL]
    places = sought - int((chance.drop(items) > 0.5).sum())  # left for the doubtful items
    rows = pd.DataFrame(columns=["item", "item_other", "gain", "p_better"])
    if len(items) > 1:
        rows = next_matches(
            data.sel(item=list(items)),
            BATCH,
            top=int(np.clip(places, 1, len(items) - 1)),
            random_seed=0,
        )
    seen = {*rows["item"], *rows["item_other"]}
    apart = unknown[~unknown.index.isin(seen)][: BATCH // 2]
    links = apart.rename("p_better").rename_axis("item_other").reset_index()
    links = links.assign(item=chance.index[0], gain=0.0)
    links = links.loc[links.index.repeat(BATCH // 2 // max(len(links), 1))]
    rows = pd.concat([links, rows.head(BATCH - len(links))]) if len(links) else rows
    out = rows.groupby(["item", "item_other"], sort=False).agg(
        matches=("gain", "size"), gain=("gain", "sum"), p_better=("p_better", "first")
    )
    first = ~out.index.get_level_values(1).isin(apart.index)
    out = out.iloc[np.lexsort((-out["gain"], first))]
    return out.reset_index("item_other"), list(apart.index)


def _about(found: MatchesNeeded) -> str:
    last = found.table.index[-1]
    return f"more than {last:,}" if np.isinf(found.matches) else f"about {int(found.matches):,}"
