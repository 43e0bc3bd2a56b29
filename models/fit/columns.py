"""Tables with columns that no model uses: how often `bayesrank.column_checks` names one of them.

Story: a table of matches or rankings has further columns, such as a scene, a site or a date. The
strengths of the items differ by a label, change over time, or do neither. `rates` counts how often
a column is named. ``study.py`` writes the tables.

Run ``python -m models.fit.columns`` for an example.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

import bayesrank as br

__all__ = ["BY_LABEL", "OVER_TIME", "Board", "Lists", "rates"]

Floats = NDArray[np.float64]
Rng = np.random.Generator


class Board(NamedTuple):
    """Matches with a label each; strengths deviate by label with a standard deviation."""

    n_items: int
    n_matches: int
    n_labels: int
    n_judges: int = 1  # with opinions, if there are several; each judge has one label
    leagues: bool = False  # labels decide which half of the items is shown most
    others: int = 0  # further columns that do not matter, and a column of years

    def __call__(self, sd: float, rng: Rng) -> pd.DataFrame:
        """Draw matches, and test their columns."""
        n, m = self.n_matches, self.n_items
        label, judge = rng.integers(self.n_labels, size=n), rng.integers(self.n_judges, size=n)
        opinions = np.zeros((1, m))
        if self.n_judges > 1:
            label = judge % self.n_labels
            opinions = rng.normal(size=(self.n_judges, m))
        first = rng.integers(m, size=n)
        if self.leagues:
            half = np.where(rng.random(n) < 0.8, label % 2, 1 - label % 2) * (m // 2)
            first = half + rng.integers(m // 2, size=n)
            second = half + (first - half + rng.integers(1, m // 2, size=n)) % (m // 2)
        else:
            second = (first + rng.integers(1, m, size=n)) % m
        strength = rng.normal(size=m) + sd * rng.normal(size=(self.n_labels, m))
        now = strength[label] + opinions[judge]
        table = _matches(first, second, now, rng)
        table["judge"], table["label"] = judge, label.astype(str)
        names = ["label", *(f"column {k}" for k in range(self.others))]
        for name in names[1:]:
            table[name] = rng.choice([*"abc"], size=n)
        table["year"] = rng.integers(1990, 2020, size=n)
        times = ["year"] if self.others else []
        pairs = br.Pairs.from_frame(
            table, first="first", second="second", outcome="outcome", judge="judge",
            by=[*names, *times],
        )  # fmt: skip
        return br.column_checks(pairs, names, times=times, random_seed=int(rng.integers(2**31)))


class Lists(NamedTuple):
    """Rankings with a label each."""

    n_items: int
    places: int
    n_rankings: int
    n_labels: int

    def __call__(self, sd: float, rng: Rng) -> pd.DataFrame:
        """Draw rankings, and test the column."""
        label = rng.integers(self.n_labels, size=self.n_rankings)
        utility = rng.normal(size=self.n_items)
        utility = utility + sd * rng.normal(size=(self.n_labels, self.n_items))
        rankings = _rankings(utility[label], self.places, rng).grouped({"label": label.astype(str)})
        return br.column_checks(rankings, ["label"], random_seed=int(rng.integers(2**31)))


class Years(NamedTuple):
    """Matches or rankings over 40 years; strengths follow a random walk, or change once."""

    n_items: int
    n: int
    places: int = 0  # of rankings; 0 for matches
    once: bool = False  # strengths change after half of the data, instead of in each year

    def __call__(self, sd: float, rng: Rng) -> pd.DataFrame:
        """Draw data whose strengths change by `sd` in all, and test the years."""
        year = np.sort(rng.integers(40, size=self.n))
        steps = rng.normal(size=(40, self.n_items)) * sd / np.sqrt(40)
        if self.once:
            steps = np.zeros((40, self.n_items))
            steps[20] = sd * rng.normal(size=self.n_items)
        now = (rng.normal(size=self.n_items) + steps.cumsum(axis=0))[year]
        seed = int(rng.integers(2**31))
        if self.places:
            data: Any = _rankings(now, self.places, rng).grouped({"year": 1980 + year})
            return br.column_checks(data, [], times=["year"], random_seed=seed)
        first = rng.integers(self.n_items, size=self.n)
        second = (first + rng.integers(1, self.n_items, size=self.n)) % self.n_items
        table = _matches(first, second, now, rng).assign(year=1980 + year)
        data = br.Pairs.from_frame(table, by="year")
        return br.column_checks(data, [], times=["year"], random_seed=seed)


def _matches(first: Any, second: Any, now: Floats, rng: Rng) -> pd.DataFrame:
    """Draw outcomes, given the strengths in each match (n_matches, n_items)."""
    rows = np.arange(len(first))
    won = rng.random(len(first)) < expit(now[rows, first] - now[rows, second] + 0.3)
    outcome = np.where(won, "first", "second")
    return pd.DataFrame({"first": first, "second": second, "outcome": outcome})


def _rankings(now: Floats, places: int, rng: Rng) -> Any:
    """Draw rankings of some items, given the utilities in each (n_rankings, n_items)."""
    orders = []
    for utility in now:
        shown = rng.permutation(len(utility))[:places]
        orders.append(shown[np.argsort(-utility[shown] - rng.gumbel(size=places))].tolist())
    return br.Rankings.from_orderings(orders, rest=(), items=range(now.shape[1]))


BY_LABEL: dict[str, Any] = {
    "4 items, 600 matches, 2 labels": Board(4, 600, 2),
    "10 items, 400 matches, 4 labels": Board(10, 400, 4),
    "10 items, 400 matches, 4 labels, 5 further columns and years": Board(10, 400, 4, others=5),
    "6 items, 400 matches, 20 judges with opinions, 2 labels of judges": Board(6, 400, 2, 20),
    "10 items, 400 matches, labels decide who meets": Board(10, 400, 2, leagues=True),
    "150 rankings of 5 items, 3 labels": Lists(5, 5, 150, 3),
    "60 rankings of 4 of 12 items, 2 labels": Lists(12, 4, 60, 2),
}
OVER_TIME: dict[str, Any] = {
    "10 items, 600 matches, random walk": Years(10, 600),
    "10 items, 600 matches, one change": Years(10, 600, once=True),
    "6 items, 1,500 matches, random walk": Years(6, 1500),
    "100 rankings of 10 of 20 items, random walk": Years(20, 100, 10),
}


def rates(
    one: Callable[[float, Rng], pd.DataFrame], sizes: dict[float, int], seed: int
) -> dict[str, Any]:
    """Count how often a column is named, by the size of the effect; `sizes` has the tables."""
    out: dict[str, Any] = {"tables": " and ".join(map(str, dict.fromkeys(sizes.values())))}
    for sd, n in sizes.items():
        found = [one(sd, np.random.default_rng([seed, k, int(10 * sd)])) for k in range(n)]
        out[f"{sd:g}"] = np.mean([table["fires"].any() for table in found])
    return out


def main() -> pd.DataFrame:
    """Print the tests of one table whose strengths differ by label."""
    found = Board(4, 600, 2, others=2)(1.0, np.random.default_rng(1))
    print(found[["kind", "n_labels", "p", "fires"]])
    print(*br.column_notes(found), sep="\n")
    return found


if __name__ == "__main__":
    main()
