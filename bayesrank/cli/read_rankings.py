"""Read rankings from an input file, and note every change.

Every input format first becomes a long table of text, with one row per item in a ranking. Missing
values, repeated rows and codes are handled there, once.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.cli.options import RankColumns, has_orders, shown
from bayesrank.cli.read_cells import (
    NOTHING,
    Reader,
    counts_rows,
    date_labels,
    in_order_of_time,
    places_of,
    refuse_mixed,
    refuse_new,
    refuse_past,
    refuse_rows,
    text_labels,
    words_of,
)
from bayesrank.cli.texts import sentence
from bayesrank.data import Rankings
from bayesrank.data.read import BROKEN, content, read_preflib, require_columns, require_names

PLACES = frozenset(("rank", "ranking", "place", "pos", "position", "finish"))  # names of ranks
RATINGS = frozenset(("rating", "score", "stars", "points", "grade"))  # names of ratings
NOT_RANKED = ("dns", "dsq", "dq", "w", "wd", "ex", "f", "dnq", "dnpq", "did not start", "withdrawn",
              "disqualified", "excluded", "did not qualify", "n/a", "-")  # fmt: skip
NINES = (99, 999, 9999)  # common codes for no number
SUMS = ("total", "grand total", "sum", "mean", "average", "avg")  # names of columns and rows
MOST_CODES = 20  # most codes in an error message
MOST_ENTRIES = 50_000_000  # most items in all rankings together
LISTS = (list, tuple, np.ndarray)
JUDGED = re.compile(r"\s*[-+.\d]+\s+qid:\d")  # first line of a LETOR file


def read_rankings(
    file: Path, columns: RankColumns, note: Callable[[str], None]
) -> tuple[Rankings, pd.DataFrame | None]:
    """Read rankings, and the future rankings of --next.

    `note` receives a sentence for every change to the table. Future rankings have the columns
    ranking, item and date, and are sorted by date.
    """
    reader = RankReader(columns, note)
    rankings = reader.rankings(file)
    return rankings, None if columns.coming is None else reader.coming(columns.coming, rankings)


class RankReader(Reader[RankColumns]):
    """Read rankings in any format."""

    def rankings(self, file: Path) -> Rankings:
        """Read the rankings of a file."""
        columns = self.columns
        if has_orders(file):
            return self._preflib(file)
        _refuse_judged(file)
        single = [name for name in columns.names if name not in columns.column]
        frame = self.cells(file, single, every=columns.wide is not None)
        if columns.column:
            frame = self._chosen(frame, single, shown(file))
        columns = self.columns
        if columns.missing == "drop":
            frame = self._with_labels(frame)
        long = self._long(frame)
        long["weight"] = 1.0
        if columns.weight:
            weight = self.numbers(frame[columns.weight], "weight")
            refuse_rows(weight.isna(), weight, "no_weight")
            long["weight"] = weight.reindex(long.index)
        named_groups = {"category": columns.by, "cluster": columns.group, "date": columns.date}
        groups = {group: column for group, column in named_groups.items() if column is not None}
        for group, column in groups.items():
            labels = (date_labels if group == "date" else text_labels)(frame[column])
            long[group] = labels.reindex(long.index)
        long = self._merged(long)
        long = self._without_repeats(self._settled(long))
        # rankings need separate names if a ranker has several
        names = long[["ranker", "ranking"]].drop_duplicates()
        several = "ranking" if names["ranker"].duplicated().any() else None
        for group, column in groups.items():
            refuse_mixed(long, group, column)
        return Rankings.from_long_ranks(
            long, ranker="ranker", item="item", rank="cost", ranking=several, weight="weight",
            by=list(groups),
        )  # fmt: skip

    def _chosen(self, frame: pd.DataFrame, single: list[str], name: str) -> pd.DataFrame:
        """Keep the columns that --column names by names, patterns or numbers, in this order."""
        chosen: list[int] = []
        names = frame.columns
        for text in self.columns.column:
            found = [n for n, column in enumerate(names) if column == text]
            if not found and (ends := re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", text)):
                numbers = range(int(ends[1]), int(ends[2] or ends[1]) + 1)
                found = [n for n, number in enumerate(self.numbers_of) if number in numbers]
            if not found and re.search(r"[*?]", text):
                same = (fnmatchcase(column.casefold(), text.casefold()) for column in names)
                found = [n for n, fits in enumerate(same) if fits and names[n] not in single]
            if not found:
                require_names(names, [text], name)
            chosen += [n for n in found if n not in chosen]
        twice = names[chosen][names[chosen].duplicated()]
        if len(twice):
            alike = [str(self.numbers_of[n]) for n in chosen if names[n] == twice[0]]
            words = {"numbers": " and ".join(alike), "column": twice[0]}
            raise ValueError(sentence("named_twice", name=name, **words))
        others = [n for n, column in enumerate(names) if column in single and n not in chosen]
        self.columns = replace(self.columns, column=tuple(names[chosen]))
        return frame.iloc[:, [*others, *chosen]]

    def _merged(self, long: pd.DataFrame) -> pd.DataFrame:
        """Merge items and rankers that differ only in their spelling, or note them."""
        items = self.one_spelling(long["item"], "items")
        long = long.assign(item=long["item"].replace(items)) if items else long
        if self.columns.ranker is None:
            return long
        rankers = self.one_spelling(long["ranker"], "rankers")
        names = ["ranker"] if self.columns.ranking else ["ranker", "ranking"]
        return long.assign(
            **{name: long[name].replace(rankers) for name in names} if rankers else {}
        )

    def coming(self, file: Path, rankings: Rankings) -> pd.DataFrame:
        """Read future rankings of items that were ranked before."""
        columns, name = self.columns, shown(file)
        who = list(dict.fromkeys(c for c in (columns.ranker, columns.ranking) if c is not None))
        item, date = str(columns.item), str(columns.date)  # `check` of the options requires them
        frame = self.cells(file, [*who, item, date])
        labels = [text_labels(frame[column]) for column in who]
        ranking = labels[0] if len(labels) == 1 else labels[0] + ", " + labels[1]
        table = pd.DataFrame({
            "ranking": ranking, "item": text_labels(frame[item]), "date": date_labels(frame[date])
        })  # fmt: skip
        refuse_mixed(table.assign(ranker=ranking), "date", date)
        twice = table.duplicated(["ranking", "item"])
        refuse_rows(twice, table["item"], "coming_twice", ranking, name=name)
        refuse_new(table["item"], rankings, name)
        refuse_past(table, rankings, name, date)
        return in_order_of_time(table, date)

    def _preflib(self, file: Path) -> Rankings:
        """Read a PrefLib file."""
        orders = read_preflib(file)
        named = [
            sum(len(block) if isinstance(block, frozenset) else 1 for block in order)
            for order in orders.orderings
        ]
        names = [f"order {n}" for n in range(1, len(named) + 1)]
        self._require_choice(pd.Series(named, names), len(orders.alternatives))
        rest = "items" if self.columns.missing == "last" else ()
        return Rankings.from_orderings(
            orders.orderings, rest=rest, items=orders.alternatives, weight=orders.voters
        )

    def _with_labels(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Leave out rows without a label."""
        c = self.columns
        named = (c.ranker, c.ranking, c.item, c.by, c.group, c.date)
        labels = list(dict.fromkeys(name for name in named if name is not None))
        incomplete = frame[labels].isna().any(axis=1)
        if n := int(incomplete.sum()):
            where = " or ".join(map(repr, labels))
            self.note(f"Rows without a label in {where} are left out: {n:,} of {len(frame):,}.")
        return frame[~incomplete]

    # One row per item in a ranking: ranker, ranking, item, cell, its cost, and whether it is last

    def _long(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a long table from any format."""
        if self.columns.ballot:
            return self._from_ballots(frame)
        if self.columns.wide == "places":
            return self._from_places(frame)
        return self._from_items(frame) if self.columns.wide else self._from_rows(frame)

    def _from_rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a long table from a table with one row per ranker and item."""
        columns = self.columns  # `check` of the options has made sure that they are complete
        value = str(columns.rating or columns.rank)
        words = {*words_of(value)}
        own, other = (PLACES, RATINGS) if columns.rank else (RATINGS, PLACES)
        if words & other and not words & own:
            self.note(sentence("like_the_other", column=value, rank=bool(columns.rank)))
        return pd.DataFrame(
            {
                "ranker": text_labels(frame[str(columns.ranker or columns.ranking)]),
                "ranking": text_labels(frame[str(columns.ranking or columns.ranker)]),
                "item": text_labels(frame[str(columns.item)]),
                **self._costs(frame[value]),
            }
        )

    def _from_items(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a long table from a table with one column per item, or per ranker."""
        names, who = self._wide(frame)
        item = self.columns.item
        parts = []
        for name in names:
            where = {**who, "item": name}
            if item:
                where = {"ranker": name, "ranking": name, "item": text_labels(frame[item])}
            parts.append(pd.DataFrame({**where, **self._costs(frame[name])}))
        if self.columns.wide == "ranks" and not item:
            _refuse_turned(pd.DataFrame({n: p["cost"] for n, p in zip(names, parts, strict=True)}))
        return pd.concat(parts)

    def _from_places(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a long table from a table with one column per place."""
        places, who = self._wide(frame)
        if n := int(frame[places].isna().all(axis=1).sum()):
            self.note(f"Rankings without an item are left out: {n:,} of {len(frame):,}.")
        parts = [
            pd.DataFrame({**who, "item": frame[place], "cost": n, "last": False, "cell": place})
            for n, place in enumerate(places, start=1)
        ]
        long = pd.concat(parts).dropna(subset=["item"])
        return long.assign(item=text_labels(long["item"]))

    def _from_ballots(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Make a long table from ballots such as "a > b = c"."""
        ballots = frame[self.columns.ballot]
        if ballots.map(lambda cell: isinstance(cell, LISTS)).any():
            ballots = ballots.map(_ballot)
        ballots = ballots.astype("string")
        refuse_rows(ballots.isna(), ballots, "no_ballot")
        counted = ballots.str.fullmatch(r"\d+\s*[:*].*").all()
        refuse_rows([counted] * len(ballots), ballots, "counted_ballot")
        none = not ballots.str.contains("[>=,]").any()
        refuse_rows([none] * len(ballots), ballots, "bad_ballot")
        by = ">" if ballots.str.contains(">").any() else ","
        blocks = [list(enumerate(ballot.split(by), start=1)) for ballot in ballots]
        long = pd.DataFrame({**self._who(frame), "last": False, "block": blocks}).explode("block")
        long["cost"] = [float(place) for place, _ in long["block"]]
        long["cell"] = [f"place {place}" for place, _ in long["block"]]
        long["item"] = [block.split("=") for _, block in long.pop("block")]
        long = long.explode("item")
        long["item"] = long["item"].str.strip()
        items = long["item"].str
        open_list = items.count(r"[\[({]") != items.count(r"[\])}]")
        wrong = (long["item"] == "") | open_list | (items.endswith("-") & (by == ">"))
        refuse_rows(ballots.index.isin(long.index[wrong]), ballots, "bad_ballot")
        return long

    def _wide(self, frame: pd.DataFrame) -> tuple[list[str], dict[str, pd.Series]]:
        """Find the columns of items or places, and the rankers."""
        c = self.columns
        used = {c.ranker, c.item, c.weight, c.by, c.group, c.date}
        chosen = list(c.column) or [name for name in frame.columns if name not in used]
        require_columns(frame, chosen)
        if len(chosen) < 2:
            raise ValueError(sentence("too_narrow", wide=c.wide, columns=chosen))
        if c.wide == "places":
            refuse_disorder(chosen, "--column")
        if not c.column and c.wide != "places":
            for name in chosen:
                if counts_rows(name, frame[name]):
                    raise ValueError(sentence("no_item", column=name, item=c.item, wide=c.wide))
        return chosen, self._who(frame)

    def _who(self, frame: pd.DataFrame) -> dict[str, pd.Series]:
        """Name the ranker of each row, by its number if there is no column."""
        names = [f"{frame.index.name or 'row'} {n}" for n in frame.index.tolist()]
        row = pd.Series(names, frame.index)
        ranker = self.columns.ranker
        return {"ranker": row if ranker is None else text_labels(frame[ranker]), "ranking": row}

    def _costs(self, values: pd.Series) -> dict[str, pd.Series]:
        """Read ranks, or negative ratings, and find codes of the last block."""
        columns = self.columns
        codes = {code.casefold() for code in columns.last_block}
        text = values.astype("string").str.strip().str.casefold()
        last = text.isin(codes).fillna(False).astype(bool)
        try:
            numbers = self.numbers(values.mask(last), columns.of)
        except ValueError as error:
            cells = values.mask(last).dropna().unique()
            words = [str(cell) for cell in cells if not re.search(r"\d", str(cell))]
            hopeless = len(words) == len(cells)
            if not words or (hopeless and not columns.wide):
                raise
            missed = [word for word in words if word.casefold().strip() in NOT_RANKED]
            behind = [word for word in words if word not in missed]
            way_out = sentence(
                "codes",
                hopeless=hopeless,
                all=",".join(words[:MOST_CODES]),
                behind=",".join(behind[:MOST_CODES]),
                missed=",".join(missed[:MOST_CODES]),
                drop=columns.of == "rank",
            )
            raise ValueError(f"{error} {way_out}") from None
        return {
            "cell": values,
            "cost": -numbers if columns.of == "rating" else numbers,
            "last": last,
        }

    # Missing values, codes and repeated rows

    def _settled(self, long: pd.DataFrame) -> pd.DataFrame:
        """Handle missing values and codes of the last block."""
        columns, n = self.columns, len(long)
        if columns.of == "rank" and not (columns.ballot or columns.wide == "places"):
            _refuse_no_rank(long)
        if columns.ballot or columns.wide in ("places", "ranks"):
            named = long[long["cost"].notna() | long["last"]].groupby("ranking", sort=False)["cost"]
            # Places from a longer list may have gaps; then their number means nothing.
            if (named.max().fillna(1) <= named.size()).all():
                self._require_choice(named.size(), long["item"].nunique())
        self._note_doubtful(long)
        # Dense places replace the numbers, which may have more digits than a float.
        long = long.assign(cost=long["cost"].rank(method="dense"))
        if columns.last_block:
            codes, found = ", ".join(columns.last_block), int(long["last"].sum())
            self.note(sentence("last_block", codes=codes, found=found, n=n))
        long = self._without_missing(long)
        if columns.missing == "last" and (columns.ballot or columns.wide == "places"):
            long = self._completed(long)
        if not len(long):
            raise ValueError(f"No row has a {columns.of}, so the data say nothing about ranks.")
        behind = long["cost"].max() + 1 if long["cost"].notna().any() else 1.0
        return long.assign(cost=long["cost"].mask(long["last"], behind))

    def _note_doubtful(self, long: pd.DataFrame) -> None:
        """Note items and ratings that may mean that there is none, and sums."""
        columns = self.columns
        for name in [*long["ranker"].unique(), *long["item"].unique()]:
            if str(name).casefold() in SUMS:
                self.note(sentence("a_sum", name=name))
        if columns.ballot or columns.wide == "places":
            items = long["item"].drop_duplicates()
            for item in items[items.str.casefold().isin(NOTHING)]:
                self.note(sentence("no_name", item=item))
            return
        values = long["cost"].abs() if columns.of == "rank" else -long["cost"]
        distinct, n = np.unique(values.dropna(), return_counts=True)
        far = []
        if len(distinct) > 2 and n[0] > 1 and distinct[0] < 0 <= distinct[1] and distinct[-1] > 1:
            far = [distinct[0]]  # ratings of -1, 0 and 1 may all be meant
        elif len(distinct) > 2 and distinct[-1] in NINES and distinct[-1] > 3 * distinct[-2]:
            far = [distinct[-1]]
        for cell in long.loc[values.isin(far), "cell"].head(1):
            self.note(sentence("far_from_others", of=columns.of, cell=str(cell)))

    def _without_missing(self, long: pd.DataFrame) -> pd.DataFrame:
        """Refuse entries without a value, put them last, or leave them out."""
        columns, missing = self.columns, long["cost"].isna() & ~long["last"]
        if not missing.any():
            return long
        ranks_in_rows = columns.of == "rank" and not (columns.wide or columns.ballot)
        policy = columns.missing or ("refuse" if ranks_in_rows else "drop")
        first = long.index[int(missing.to_numpy().argmax())]
        words = {"of": columns.of, "share": f"{missing.sum():,} of {len(long):,}", "policy": policy}
        message = sentence("missing", where=f"{long.index.name or 'row'} {first}", **words)
        if policy == "refuse":
            raise ValueError(message)
        self.note(message)
        if policy == "last":
            return long.assign(last=long["last"] | missing)
        before, long = _n_rankings(long), long[~missing]
        if gone := before - _n_rankings(long):
            self.note(f"Rankings without other entries are left out: {gone:,} of {before:,}.")
        return long

    def _require_choice(self, named: pd.Series, n_items: int) -> None:
        """Refuse rankings that omit items, unless all omit equally many or --missing is given."""
        if self.columns.missing in ("drop", "last"):
            return
        if named.nunique() < 2:
            if named.max() < n_items and self.columns.wide != "ranks":
                refuse = self.columns.missing == "refuse"
                words = {"n": named.iloc[0], "n_items": n_items, "refuse": refuse}
                message = sentence("of_one_length", **words)
                if refuse:
                    raise ValueError(message)
                self.note(message)
            return
        one, other = named.index[0], named.index[int((named != named.iloc[0]).to_numpy().argmax())]
        names = {"one": one, "n": named.iloc[0], "other": other, "n_other": named[other]}
        raise ValueError(sentence("differ_in_length", **names))

    def _completed(self, long: pd.DataFrame) -> pd.DataFrame:
        """Put the items that a ballot does not name in its last block."""
        row, first = np.unique(long.index.to_numpy(), return_index=True)
        code, items = pd.factorize(long["item"])
        if len(row) * len(items) > MOST_ENTRIES:
            raise ValueError(sentence("too_many_last", n=len(row), items=len(items)))
        named = np.zeros((len(row), len(items)), dtype=bool)
        named[np.searchsorted(row, long.index.to_numpy()), code] = True
        r, i = np.nonzero(~named)
        more = long.iloc[first[r]].assign(item=np.asarray(items)[i], last=True, cell="not named")
        if len(more):
            self.note(sentence("not_named", n=len(more)))
        return pd.concat([long, more])

    def _without_repeats(self, long: pd.DataFrame) -> pd.DataFrame:
        """Leave out exact repetitions, and refuse contradictory ones."""
        keys = ["ranker", "ranking", "item"]
        again = long.duplicated(keys)
        different = again & ~long.duplicated([*keys, "cost", "weight"])
        if different.any():
            _refuse_repeat(long[(long[keys] == long[different].iloc[0][keys]).all(axis=1)])
        if again.any():
            self.note(f"Rows that repeat others exactly are left out: {again.sum():,}.")
        return long[~again]


def _ballot(cell: Any) -> Any:
    """Write a list of items, of which some may be lists of tied items, as a ballot."""
    if not isinstance(cell, LISTS):
        return cell
    return " > ".join(
        " = ".join(map(str, block)) if isinstance(block, LISTS) else str(block) for block in cell
    )


def _refuse_repeat(entries: pd.DataFrame) -> None:
    """Refuse contradictory entries of an item in a ranking."""
    first = entries.iloc[0]
    other = int((entries["cost"] != first["cost"]).to_numpy().argmax())
    one, two = (f"{entries.index.name or 'row'} {entries.index[k]}" for k in (0, other))
    same = first["ranker"] == first["ranking"]
    ranking = first["ranking"] if same else f"{first['ranker']}, {first['ranking']}"
    words = {"ranking": ranking, "item": first["item"], "one": one, "two": two}
    cells = {"cell": first["cell"], "other": entries["cell"].iloc[other]}
    raise ValueError(sentence("twice", **words, **cells))


def refuse_disorder(columns: list[str], option: str) -> None:
    """Refuse columns whose order counts, if their names have another order."""
    places = places_of(columns)
    if places is not None and places != sorted(places):
        names = [name for _, name in sorted(zip(places, columns, strict=True))]
        raise ValueError(sentence("out_of_order", columns=columns, names=names, option=option))


def _refuse_no_rank(long: pd.DataFrame) -> None:
    """Refuse a number below the ranks 1, 2, ... that may mean that an item has no rank."""
    low = long["cost"].min()
    if not low < 1:
        return
    lowest = long["cost"] == low
    begin = long[~lowest].groupby(["ranker", "ranking"])["cost"].min()
    once = lowest.groupby([long["ranker"], long["ranking"]]).sum() == 1
    if len(begin) and (begin == 1).all() and (low < 0 or not once.all()):
        refuse_rows(lowest, long["cell"], "no_rank", code=long["cell"][lowest].iloc[0])


def _refuse_turned(costs: pd.DataFrame) -> None:
    """Refuse ranks that run down the columns instead of along the rows."""
    n_rows, n_columns = costs.shape
    whole = np.arange(1, n_rows + 1)[:, None]
    down = (np.sort(costs.to_numpy(np.float64), axis=0) == whole).all()
    if n_rows > 2 and down and (costs.max(axis=1) > n_columns).any():
        raise ValueError(sentence("turned", n=n_rows))


def _n_rankings(long: pd.DataFrame) -> int:
    return len(long[["ranker", "ranking"]].drop_duplicates())


def _refuse_judged(file: Path) -> None:
    """Refuse LETOR files, which have no items that occur in several rankings."""
    if file.suffix.lower() not in (".txt", ".dat", ".letor", ".svm", ".svmlight"):
        return
    try:
        head = content(file, 1000).decode("latin-1")
    except BROKEN:
        return
    if JUDGED.match(head):
        raise ValueError(sentence("letor", file=shown(file)))
