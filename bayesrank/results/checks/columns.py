"""Checks of columns that no model uses: whether the order of the items differs by their labels."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import label_times
from bayesrank.results.checks.interaction_score import Comparisons, fitted, score_test

__all__ = ["column_checks", "column_notes"]

FALSE_ALARMS = 0.05  # probability that any column fires if none should
LEAST_ROWS = 10  # fewest rankings or matches with a label
LEAST_CLUSTERS = 8  # judges or rankers from which labels may differ within one
MOST_ITEMS = 300  # items with the most data, among which columns are tested
MOST_COMPARISONS = 3_000_000  # beyond them random rankings are tested
SPREAD = 0.5  # standard deviation of deviations by label for which the test is best
WAVES = 4  # half periods of changes over time
DRIFT = 0.45  # standard deviation of the slowest wave if strengths change by about 1
FUNCTION = 0.95  # share of labels that an item explains, from which they are its property
TELLS = 0.1  # share of the variance of outcomes that a label explains if it records the outcome
NAMED = 3  # labels named in a note

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def column_checks(
    data: Rankings | Pairs,
    columns: Sequence[str] | None = None,
    *,
    times: Sequence[str] = (),
    category: str | None = None,
    neutral: str | None = None,
    clusters: Sequence[str] = (),
    random_seed: int | None = None,
) -> pd.DataFrame:
    r"""Test for each column whether the order of the items differs by its labels, or over time.

    One omnibus test per column compares a model with common utilities to one whose utilities
    deviate by label,

    .. math:: u_{li} = u_i + \delta_{li},

    or along :math:`\cos(\pi b t)` for b = 1, ..., 4, where t in (0, 1) is the share of the data
    before a time. The statistic is a score test; its null distribution comes from random signs of
    the contributions of rankings or matches. See `bayesrank.results.checks.interaction_score`.

    Parameters
    ----------
    data : Rankings or Pairs
        With the columns as groups. Rows with an empty label are left out of a test.
    columns : sequence of str, optional
        Groups with labels. By default the columns of the table that no argument of
        `bayesrank.read_rankings` or `bayesrank.read_matches` named, and those of them that contain
        times. The result is empty if there are none.
    times : sequence of str
        Groups whose labels are times: numbers or dates.
    category : str, optional
        A group by which the model has separate utilities already.
    neutral : str, optional
        A group with the labels yes and no: whether the first item of a match has no advantage.
    clusters : sequence of str
        Groups of matches or rankings that are not independent, such as prompts, in addition to
        judges and rankers with several rows.
    random_seed : int, optional

    Returns
    -------
    DataFrame
        Indexed by column:

        kind
            "labels" or "time".

        n_labels, n_units
            Number of labels, and of independent units: rankings, matches, judges or clusters.

        statistic, p
            Statistic of the test, and its tail probability. NaN for columns without a test.

        fires
            Whether p times the number of tests is at most 0.05. So all columns together raise a
            false alarm with probability 0.05 or less.

        leaders
            For a column of labels that fires: the best item under each label, as a dict.

        note
            Why a column has no test. A property of one item, such as the country of the winner, is
            not a category. Neither is a record of the outcome, such as goals.

    Raises
    ------
    ValueError
        If a group does not exist, or labels are not times.

    See Also
    --------
    column_notes, ranking_checks, match_checks

    Notes
    -----
    Judges, rankers and clusters are the units if each has one label, or if there are 8 or more.
    Otherwise rows are the units. The cost grows linearly with the number of comparisons and
    cubically with the number of items. Only the 300 items with the most data are tested.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(1)
    >>> table = pd.DataFrame({"first": rng.integers(4, size=300)})
    >>> table["second"] = (table["first"] + rng.integers(1, 4, size=300)) % 4
    >>> table["scene"] = rng.choice(["day", "night"], size=300)
    >>> strength = np.array([[2, 1, 0, 0], [0, 1, 0, 2]])[(table["scene"] == "night") * 1]
    >>> rows = np.arange(300)
    >>> lead = strength[rows, table["first"]] - strength[rows, table["second"]]
    >>> won = rng.random(300) < 1 / (1 + np.exp(-lead))
    >>> table["outcome"] = np.where(won, "first", "second")
    >>> pairs = br.Pairs.from_frame(table, by="scene")
    >>> found = br.column_checks(pairs, ["scene"], random_seed=1)
    >>> bool(found.loc["scene", "fires"]), found.loc["scene", "leaders"]
    (True, {'day': 0, 'night': 3})
    """
    rng = np.random.default_rng(random_seed)
    if columns is None:
        columns = ()
        if data.unused is not None:
            data, columns, times = data.unused
    groups = {name: _group(data, name) for name in (*columns, *times)}
    basic = _comparisons(data, category, neutral, rng)
    within = _clusters(data, clusters)
    rows = {name: _row_of_column(name, group, name in times) for name, group in groups.items()}
    for name, (labels, idx) in groups.items():
        row = rows[name]
        codes = idx[basic.source]
        used = basic.data.times * (labels != "")[codes] > 0
        row["note"] = _left_out(basic, data, codes, labels, used, is_time=name in times)
        if row["note"]:
            continue
        basis, spread = (
            _waves(labels, codes, name, basic.data.times * used)
            if name in times
            else _indicators(codes, used)
        )
        cluster = _unit(within, basic.source, codes, used)
        found = score_test(basic.data, basis, spread, cluster, rng)
        row |= {"n_units": found.n_units, "statistic": found.statistic, "p": found.p}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=COLUMNS)
    table.index.name = "column"
    table["fires"] = table["p"] * table["p"].notna().sum() <= FALSE_ALARMS
    leaders = [
        _leaders(data, *groups[name]) if fires and kind == "labels" else {}
        for name, fires, kind in zip(table.index, table["fires"], table["kind"], strict=True)
    ]
    return table.assign(leaders=pd.Series(leaders, table.index, dtype=object))


def column_notes(table: pd.DataFrame) -> list[str]:
    """Say for each column that fires how the items differ, and which argument models it.

    See Also
    --------
    column_checks

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> table = pd.DataFrame(
    ...     {"kind": "labels", "p": 0.0003, "fires": True, "leaders": [{"day": "a", "night": "b"}]},
    ...     index=["scene"])
    >>> print(*br.column_notes(table))
    The strengths of the items differ by 'scene' (p = 0.0003). In 'day' a leads, in 'night' b leads.
    Add category='scene'.
    """
    out = []
    for name, row in table[table["fires"].astype(bool)].sort_values("p", kind="stable").iterrows():
        chance = f"p = {row['p']:.4f}"
        if row["kind"] == "time":
            says = f"The strengths of the items change over {name!r} ({chance})."
            out.append(f"{says} Add date={str(name)!r}.")
            continue
        says = f"The strengths of the items differ by {name!r} ({chance})."
        leaders = [f"in {str(label)!r} {item} leads" for label, item in row["leaders"].items()]
        more = len(leaders) - NAMED
        named = ", ".join(leaders[:NAMED]) + (f", and {more} more labels" if more > 0 else "")
        out.append(f"{says} {named[:1].upper()}{named[1:]}. Add category={str(name)!r}.")
    return out


COLUMNS = ["kind", "n_labels", "n_units", "statistic", "p", "note"]


class _Basic(NamedTuple):
    """The comparisons of the data, and the ranking or pair that each row comes from."""

    data: Comparisons
    source: Ints  # (n_rows,)
    first: Ints  # (n_rows,) item that is first
    last: Ints  # (n_rows,) item that is last
    sides: tuple[Ints, Ints] | None  # items of a match, in the order of the table
    chosen: Ints  # items that are compared


def _group(data: Rankings | Pairs, name: str) -> tuple[pd.Index, Ints]:
    """Return the labels of a group, and the position of each row among them."""
    if name not in data.groups:
        known = ", ".join(map(repr, data.groups)) or "none"
        raise ValueError(f"There is no group {name!r}; the groups are {known}.")
    group = data.groups[name]
    return group.labels, group.idx.astype(np.int64)


def _row_of_column(name: str, group: tuple[pd.Index, Ints], is_time: bool) -> dict[str, Any]:
    n_labels = len(np.unique(group[1][(group[0] != "")[group[1]]]))
    out: dict[str, Any] = {"kind": "time" if is_time else "labels", "n_labels": n_labels}
    return out | {"n_units": 0, "statistic": np.nan, "p": np.nan, "note": ""}


def _comparisons(
    data: Rankings | Pairs, category: str | None, neutral: str | None, rng: np.random.Generator
) -> _Basic:
    """Split rankings or matches into comparisons of two items."""
    found = _of_pairs(data, neutral) if isinstance(data, Pairs) else _of_rankings(data, rng)
    comparisons, n_items = found.data, data.n_items
    if category is not None:
        labels, idx = _group(data, category)
        offset = n_items * idx[found.source][comparisons.row]
        comparisons = comparisons._replace(
            ahead=comparisons.ahead + offset,
            behind=comparisons.behind + offset,
            n_items=n_items * len(labels),
        )
    comparisons, chosen = _most_frequent(comparisons)
    return found._replace(data=comparisons, chosen=chosen)


def _of_pairs(pairs: Pairs, neutral: str | None) -> _Basic:
    """Return one row per pair and decided outcome."""
    source, outcome = np.nonzero(pairs.counts[:, :2])
    first, second = (x[source].astype(np.int64) for x in (pairs.first, pairs.second))
    won = outcome == 0
    ahead, behind = np.where(won, first, second), np.where(won, second, first)
    home = np.where(won, 1.0, -1.0) * pairs.ordered
    if neutral is not None:
        labels, idx = _group(pairs, neutral)
        home *= ~np.asarray(labels == "yes")[idx][source]
    n = len(source)
    times = pairs.counts[source, outcome]
    if times.sum() > MOST_COMPARISONS:  # as many random matches
        share = MOST_COMPARISONS / times.sum()
        times = np.random.default_rng(0).binomial(times, share)
    data = Comparisons(
        ahead, behind, home, np.ones(n), np.arange(n), times, pairs.weight[source], pairs.n_items
    )
    return _Basic(data, source, ahead, behind, (first, second), np.arange(pairs.n_items))


def _of_rankings(rankings: Rankings, rng: np.random.Generator) -> _Basic:
    """Return one row per ranking, with a comparison for each two items that are not tied."""
    n_slots = rankings.ranks.shape[1]
    one, other = np.triu_indices(n_slots, 1)
    n = rankings.n_rankings
    source = np.arange(n)
    if n * len(one) > MOST_COMPARISONS:
        few = max(MOST_COMPARISONS // len(one), 1)
        source = np.sort(rng.permutation(n)[:few])
    item, ranks = rankings.item[source].astype(np.int64), rankings.ranks[source]
    row, pair = np.nonzero((ranks[:, one] < ranks[:, other]) & (ranks[:, one] > 0))
    ahead, behind = item[row, one[pair]], item[row, other[pair]]
    times, weight = rankings.count, rankings.weight
    last = np.maximum((ranks > 0).sum(axis=1) - 1, 0)
    data = Comparisons(
        ahead, behind, np.zeros(len(row)), np.ones(len(row)), row, times[source], weight[source],
        rankings.n_items,
    )  # fmt: skip
    chosen = np.arange(rankings.n_items)
    return _Basic(data, source, item[:, 0], item[np.arange(len(item)), last], None, chosen)


def _most_frequent(data: Comparisons) -> tuple[Comparisons, Ints]:
    """Keep the comparisons of the items with the most data, and weigh those of a ranking."""
    times = data.times[data.row].astype(np.float64)
    met = np.bincount(data.ahead, times, data.n_items) + np.bincount(
        data.behind, times, data.n_items
    )
    chosen = np.sort(np.argsort(-met, kind="stable")[:MOST_ITEMS])
    chosen = chosen[met[chosen] > 0]
    place = np.full(data.n_items, -1)
    place[chosen] = np.arange(len(chosen))
    ahead, behind = place[data.ahead], place[data.behind]
    stay = (ahead >= 0) & (behind >= 0)
    ahead, behind, row = ahead[stay], behind[stay], data.row[stay]
    n_pairs = np.bincount(row, minlength=len(data.times))
    # m items have m (m - 1) / 2 pairs, and m - 1 independent comparisons
    m = (1 + np.sqrt(1 + 8 * n_pairs)) / 2
    kept = data._replace(
        ahead=ahead, behind=behind, home=data.home[stay], size=2 / m[row], row=row,
        n_items=len(chosen),
    )  # fmt: skip
    return kept, chosen


def _clusters(data: Rankings | Pairs, names: Sequence[str]) -> list[Ints]:
    """Return the codes of judges, rankers and clusters that have several rows."""
    own = data.judge_idx if isinstance(data, Pairs) else data.ranker_idx
    found = [own.astype(np.int64), *(_group(data, name)[1] for name in names)]
    if isinstance(data, Rankings) and (data.count > 1).any():
        found = found[1:]  # a row stands for several rankers
    return [codes for codes in found if 1 < len(np.unique(codes)) < len(codes)]


def _unit(clusters: list[Ints], source: Ints, codes: Ints, used: Any) -> Ints | None:
    """Choose the units that are independent: the largest ones that leave the test some power.

    Units across which labels differ are always right. If labels differ within units, there must be
    many units.
    """
    fit = []
    for cluster in (cluster[source] for cluster in clusters):
        n_units = len(np.unique(cluster[used]))
        pairs = len(np.unique(np.stack([cluster[used], codes[used]]), axis=1).T)
        if n_units >= LEAST_CLUSTERS or pairs == n_units:
            fit.append((n_units, cluster))
    return min(fit, key=lambda one: one[0])[1] if fit else None


# The basis of a test


def _indicators(codes: Ints, used: Any) -> tuple[Floats, Floats]:
    """Return a column per label, and the spread of deviations."""
    _, label = np.unique(np.where(used, codes, -1), return_inverse=True)
    label = label - (not used.all())
    basis = np.eye(label.max() + 1)[np.maximum(label, 0)] * used[:, None]
    return basis, np.full(basis.shape[1], SPREAD)


def _waves(labels: pd.Index, codes: Ints, name: str, times: Ints) -> tuple[Floats, Floats]:
    """Return cosines of time, as the share of the data before it, and their spread."""
    known = np.flatnonzero(labels != "")
    time = np.zeros(len(labels))
    time[known] = label_times(labels[known], name)
    at = rankdata(time, "dense") - 1
    amount = np.bincount(at[codes].astype(np.int64), times, int(at.max()) + 1)
    middle = (amount.cumsum() - amount / 2) / amount.sum()
    share = middle[at[codes].astype(np.int64)]
    n = min(WAVES, int((amount > 0).sum()) - 1)
    wave = np.arange(1, n + 1)
    basis = np.cos(np.pi * share[:, None] * wave) * (times > 0)[:, None]
    basis[(times > 0) & ~basis.any(axis=1)] = 1e-12  # in the middle of a single wave
    return basis, DRIFT / wave


# Columns without a test


def _left_out(
    basic: _Basic, data: Rankings | Pairs, codes: Ints, labels: pd.Index, used: Any, *,
    is_time: bool,
) -> str:  # fmt: skip
    """Say why a column is not tested: too little data, an item's property, or the outcome."""
    times = basic.data.times * used
    n = np.bincount(codes, times, len(labels))
    if times.sum() < LEAST_ROWS or (n > 0).sum() < 2 or basic.data.n_items < 2:
        return "too little data"
    if is_time:
        return ""
    sides = () if basic.sides is None else basic.sides
    names = np.array([*map(str, data.items)], dtype=object)
    texts = np.array([*map(str, labels)], dtype=object)[codes]
    for item in (basic.first, basic.last, *sides):
        if times @ (names[item] == texts) >= FUNCTION * times.sum():
            return "names items"
        if _explains(item, codes, times, data.n_items, len(labels)):
            return "property of an item"
    if isinstance(data, Pairs) and data.ordered and _tells(basic, codes, times, len(labels)):
        return "records the outcome"
    return ""


def _explains(item: Ints, codes: Ints, times: Ints, n_items: int, n_labels: int) -> bool:
    """Whether labels are a property of an item of the row: Goodman and Kruskal's lambda."""
    table: NDArray[Any] = np.bincount(item * n_labels + codes, times, n_items * n_labels)
    table = table.reshape(n_items, n_labels)
    several = table.sum(axis=1) > 0
    total, common = table.sum(), table.sum(axis=0).max()
    if several.sum() <= (table.sum(axis=0) > 0).sum():
        return False  # one label per item may be an effect as strong as that
    share = (table.max(axis=1).sum() - common) / max(total - common, 1e-12)
    return bool(share >= FUNCTION and total > 2 * several.sum())


def _tells(basic: _Basic, codes: Ints, times: Ints, n_labels: int) -> bool:
    """Whether labels explain which side won, whoever met, as goals of the first side would."""
    data = basic.data
    utility, advantage = fitted(data, times.astype(np.float64))
    lead = utility[data.ahead] - utility[data.behind] + advantage * data.home
    side = np.where(basic.first == basic.sides[0], 1.0, -1.0) if basic.sides else np.ones(0)
    off = side[data.row] / (1 + np.exp(lead))
    amount = times[data.row]
    n = np.bincount(codes[data.row], amount, n_labels)
    sums = np.bincount(codes[data.row], amount * off, n_labels)
    explained = (sums[n > 0] ** 2 / n[n > 0]).sum()
    total = (amount * off**2).sum()
    chance = (n > 0).sum() / max(n.sum(), 1)
    return bool(explained / max(total, 1e-12) > TELLS + 3 * chance)


# Leaders


def _leaders(data: Rankings | Pairs, labels: pd.Index, idx: Ints) -> dict[Hashable, Hashable]:
    """Return the best item under each label; labels with little data stay near all others."""
    plain = _comparisons(data, None, None, np.random.default_rng(0))
    items = data.items[plain.chosen].tolist()
    common, _ = fitted(plain.data, plain.data.times.astype(np.float64))
    codes = idx[plain.source]
    found: dict[Hashable, Hashable] = {}
    for code, label in enumerate(labels):
        times = np.where(codes == code, plain.data.times, 0).astype(np.float64)
        if label == "" or not times.any():
            continue
        utility, _ = fitted(plain.data, times, prior=common, precision=1.0)
        amount = times[plain.data.row]
        seen = np.bincount(plain.data.ahead, amount, len(items)) > 0
        seen |= np.bincount(plain.data.behind, amount, len(items)) > 0
        found[str(label)] = items[int(np.where(seen, utility, -np.inf).argmax())]
    return found
