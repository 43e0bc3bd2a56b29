"""What ``bayesrank matches`` says of matches to come: which to play, and how many more it takes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.cli.parts import Part, formatted, marked_csv
from bayesrank.results import Section, Settling, matches_to_settle, next_matches

BATCH = 10  # matches that are chosen
KNOWN = 0.95  # probability from which it is known who is among the best
MOST_DOUBTFUL = 15  # items of whom it is in doubt: choosing takes a fifth of a second
MOST_SETTLED = 100  # items of a board whose future is simulated, which takes two


def coming(posterior: Any, summary: pd.DataFrame, top: int, together: Sequence[str]) -> Part:
    """Say which pairs to play next, and how many more matches leave the leader alone."""
    draws = posterior["posterior"].to_dataset()
    alone = summary["tied_with_leader"].sum() == 1
    text, settling = [], None
    if alone:
        text.append("Who leads is known: no more matches are needed for that.")
    elif len(summary) <= MOST_SETTLED:
        of_all, of_tied = (matches_to_settle(draws, among=who) for who in ("all", "tied"))
        settling = pd.concat({"all": of_all.table, "tied": of_tied.table}, names=["among"])
        text.append(_how_many(of_all, of_tied, together, "adherence" in draws))

    sought = top if alone else 1
    table, csv = None, None
    if sought < len(summary):
        what = "the leader is" if sought == 1 else f"the best {sought} are"
        chance = summary["p_best" if sought == 1 else f"p_top{sought}"]
        if alone and np.minimum(chance, 1 - chance).max() < 1 - KNOWN:
            text.append(f"So is who {what}: each item's place among them, or not, is sure.")
        else:
            csv = _chosen(draws, chance, sought)
            columns = {"Against": "{item_other}", f"Of the next {BATCH}": "{matches}"}
            table = formatted(csv, "Item", columns | {"P(item better)": "{p_better:.2f}"})
            text.append(
                f"The table has the {BATCH} matches that are expected to tell most of who {what}, "
                "each beyond those before it; play them, and ask again."
            )
    data = {"next_matches": csv, "settling": settling}
    return Part(
        Section("What to play next", text, table, file="" if csv is None else "next.csv"),
        {} if csv is None else {"next.csv": marked_csv(csv, posterior)},
        data={name: found for name, found in data.items() if found is not None},
    )


def _chosen(data: Any, chance: pd.Series, sought: int) -> pd.DataFrame:
    """Choose matches of those of whom it is most in doubt whether they are among the best."""
    doubt = (chance * (1 - chance)).sort_values(ascending=False, kind="stable")
    items = doubt.index[doubt > 0][:MOST_DOUBTFUL]
    places = sought - int((chance.drop(items) > 0.5).sum())  # that are left for these
    rows = next_matches(
        data.sel(item=list(items)), BATCH, top=int(np.clip(places, 1, len(items) - 1))
    )
    out = rows.groupby(["item", "item_other"], sort=False).agg(
        matches=("gain", "size"), gain=("gain", "sum"), p_better=("p_better", "first")
    )
    out = out.sort_values("gain", ascending=False, kind="stable")
    return out.reset_index("item_other")


def _how_many(of_all: Settling, of_tied: Settling, together: Sequence[str], judged: bool) -> str:
    """Say how many more matches leave the leader alone, whoever meets."""
    others = "one other" if of_all.now == 2 else f"{of_all.now - 1} others"
    supposed = "matches as they were so far"
    if judged:
        supposed = f"typical judges and {supposed}"
    if together:
        supposed += f", and leaves out that those of one {' or '.join(together)} go together"
    return (
        f"The leader is tied with {others} now. How many more matches leave it alone, with "
        f"probability {of_all.power:g}: {_about(of_all)} if all pairs meet equally often, and "
        f"{_about(of_tied)} if only those that are tied meet. A plan and no promise: it supposes "
        f"{supposed}."
    )


def _about(found: Settling) -> str:
    last = found.table.index[-1]
    return f"more than {last:,}" if np.isinf(found.matches) else f"about {int(found.matches):,}"
