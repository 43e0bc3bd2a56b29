r"""Can the verdict be trusted? False alarms and power of the checks, and coverage with opinions.

Story: tables are simulated from a model, or from a process that the model does not describe. The
model is fitted and predicts rankings or matches. `bayesrank.worst_checks` then gives the
verdict, as in the commands.

* ``false_alarms``: tables drawn from the model. At most 5 in 100 may fail.
* ``power``: ten misfits, and how often each is detected.
* ``columns`` and ``drift``: how often `bayesrank.column_checks` names a column if strengths differ
  by its labels or change over time, and if they do not.
* ``ballots``: 8 or 3 rankers give 5 ballots each. Intervals must cover, and stated probabilities
  must hold, if rankers differ. If 8 rankers agree, opinions may widen intervals by about a tenth.

``models/fit/model.py`` fits rankings, and `bayesrank.fit_pairs` fits matches. In tables drawn from
the model, strengths are standard normal.

Run ``python -m models.fit.study``. It writes the tables into ``RESULTS.md``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit

import bayesrank as br
from models.fit.columns import BY_LABEL, OVER_TIME, rates
from models.fit.model import Ballots, draw_orders, fit, sample_opinions
from models.shared.results import Run, Table, run

N_DRAWS = 300
Floats = NDArray[np.float64]
Rng = np.random.Generator


# Rankings


def checked_ballots(ballots: Ballots, rng: Rng) -> Any:
    """Fit Plackett-Luce without opinions, predict, and return the verdict."""
    utility = fit(ballots, n_draws=N_DRAWS, rng=rng)
    shown = np.sort(ballots.item, axis=1)
    predicted = draw_orders(
        np.broadcast_to(utility[:, None], (N_DRAWS, len(shown), ballots.n_items)),
        np.broadcast_to(shown, (N_DRAWS, *shown.shape)),
        rng,
    )
    several = len(np.unique(ballots.ranker)) < len(shown)
    constant: dict[str, Any] = {
        "y_item": (("ranking", "slot"), shown),
        "y_weight": ("ranking", np.ones(len(shown))),
        "y_item_rankings": ("item", np.ones(ballots.n_items)),
    }
    if several:
        constant["y_ranker"] = ("ranking", ballots.ranker)
        constant["y_ranker_rankings"] = ("ranker", np.bincount(ballots.ranker))
    outcome = {"y_outcome": ["weak orders given their block sizes"]}
    # slots hold the items in the order of their numbers
    order = (("ranking", "slot"), 1 + np.argsort(ballots.item, axis=1))
    places = 1 + np.argsort(predicted, axis=2)
    data = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"utility": (("chain", "draw", "item"), utility[None])}),
            "posterior_predictive": xr.Dataset(
                {"y": (("chain", "draw", "ranking", "slot"), places[None])}
            ),
            "observed_data": xr.Dataset({"y": order}),
            "constant_data": xr.Dataset(constant, outcome),
        }
    )
    return br.worst_checks(br.ranking_checks(data, ci_prob=0.94, draws=None))


def ballots_of(
    utility: Floats, n_items: int, places: int, n_rankers: int, reps: int, rng: Rng
) -> Ballots:
    """Draw ballots, given the utilities of every ranker (n_rankers or 1, n_items)."""
    ranker = np.repeat(np.arange(n_rankers), reps)
    shown = np.array([rng.permutation(n_items)[:places] for _ in ranker])
    u = np.broadcast_to(utility, (n_rankers, n_items))[ranker]
    return Ballots(draw_orders(u, shown, rng), ranker, n_items)


def plain_ballots(n_items: int, places: int, n_rankers: int, reps: int = 1) -> Callable[[Rng], Any]:
    """Return a function that draws ballots from the model and gives the verdict."""

    def verdict(rng: Rng) -> Any:
        utility = rng.normal(size=n_items)
        return checked_ballots(ballots_of(utility, n_items, places, n_rankers, reps, rng), rng)

    return verdict


def few_winners(rng: Rng) -> Any:
    """Check 24 races of 20 drivers; three drivers win nearly all of them."""
    utility = np.linspace(1.5, -1.5, 20)
    ballots = ballots_of(utility, 20, 20, 24, 1, rng)
    best = np.arange(3)
    item = ballots.item.copy()
    for row in item[:22]:
        place = np.flatnonzero(row == rng.choice(best))[0]
        row[: place + 1] = np.roll(row[: place + 1], 1)
    return checked_ballots(ballots._replace(item=item), rng)


def two_camps(rng: Rng) -> Any:
    """Check 150 rankers, two thirds with one order, the others with the reverse."""
    utility = np.linspace(-1.5, 1.5, 5) * np.where(np.arange(150) < 100, 1, -1)[:, None]
    return checked_ballots(ballots_of(utility, 5, 5, 150, 1, rng), rng)


def some_at_random(rng: Rng) -> Any:
    """Check 150 rankers; a third of them answers at random."""
    utility = np.linspace(-2, 2, 5) * (np.arange(150) < 100)[:, None]
    return checked_ballots(ballots_of(utility, 5, 5, 150, 1, rng), rng)


def last_first(rng: Rng) -> Any:
    """Check 150 rankers who choose the last place first, then the next to last, and so on."""
    ballots = ballots_of(np.linspace(-2, 2, 6), 6, 6, 150, 1, rng)
    return checked_ballots(ballots._replace(item=ballots.item[:, ::-1].copy()), rng)


def normal_noise(rng: Rng) -> Any:
    """Check 150 rankers with normal instead of Gumbel noise (Thurstone)."""
    scores = np.linspace(-2, 2, 6) + 1.28 * rng.normal(size=(150, 6))
    return checked_ballots(Ballots(np.argsort(-scores, axis=1), np.arange(150), 6), rng)


def clustered(rng: Rng) -> Any:
    """Check 8 rankers with 5 ballots each, whose utilities differ by a standard deviation of 1."""
    utility = rng.normal(size=6) + rng.normal(size=(8, 6))
    return checked_ballots(ballots_of(utility, 6, 6, 8, 5, rng), rng)


# Matches


def checked_matches(first: Any, second: Any, outcome: Any, judge: Any, rng: Rng) -> Any:
    """Fit Davidson or Bradley-Terry without judges, predict, and return the verdict by judge."""
    frame = pd.DataFrame({"first": first, "second": second})
    frame["outcome"] = np.array(["first", "second", "tie"])[outcome]
    frame["judge"] = judge
    sides: Any = {"first": "first", "second": "second", "outcome": "outcome"}
    draws = br.fit_pairs(
        br.Pairs.from_frame(frame, **sides), draws=N_DRAWS, chains=1,
        random_seed=int(rng.integers(2**31)),
    )["posterior"].dataset.isel(chain=0)  # fmt: skip
    pairs = br.Pairs.from_frame(frame, **sides, judge="judge")
    u = draws["utility"].transpose("draw", "item").sel(item=pairs.coords["item"]).to_numpy()
    half = (u[:, pairs.first] - u[:, pairs.second] + draws["order_effect"].to_numpy()[:, None]) / 2
    tie = np.log(draws["nu"].to_numpy())[:, None] if "nu" in draws else np.full((1, 1), -np.inf)
    worth = np.exp(np.stack(np.broadcast_arrays(half, -half, tie), axis=-1))
    n = pairs.counts.sum(axis=1)
    predicted = rng.multinomial(n, worth / worth.sum(axis=-1, keepdims=True))
    rows = ("pair", "result")
    results = 3 if "nu" in draws else 2
    judges = np.bincount(pairs.judge_idx, n)
    constant = {
        "y_first": ("pair", pairs.first),
        "y_second": ("pair", pairs.second),
        "y_counts": (rows, pairs.counts[:, :results]),
        "y_item_matches": ("item", np.ones(pairs.n_items)),
        "y_judge": ("pair", pairs.judge_idx),
        "y_judge_matches": ("judge", judges),
    }
    data = xr.DataTree.from_dict(
        {
            "posterior_predictive": xr.Dataset(
                {"y": (("chain", "draw", *rows), predicted[None, ..., :results])}
            ),
            "constant_data": xr.Dataset(constant, {"judge": np.arange(len(judges)).astype(str)}),
        }
    )
    by = ["judge"] if len(judges) > 1 else []
    return br.worst_checks(br.match_checks(data, ci_prob=0.94, draws=None, by=by))


class World(NamedTuple):
    """Matches to simulate; `more` replaces the log odds by a function of sides and judges."""

    n_items: int
    n_matches: int
    n_judges: int = 1
    log_nu: float | None = None
    more: Callable[[Floats, Any, Any, Any, Rng], Floats] | None = None

    def __call__(self, rng: Rng) -> Any:
        """Draw matches, and return the verdict."""
        utility = rng.normal(size=self.n_items)
        first = rng.integers(self.n_items, size=self.n_matches)
        second = (first + rng.integers(1, self.n_items, size=self.n_matches)) % self.n_items
        judge = rng.integers(self.n_judges, size=self.n_matches)
        lead = utility[first] - utility[second] + 0.3
        if self.more is not None:
            lead = self.more(utility, first, second, judge, rng)
        tied = np.zeros(self.n_matches)
        if self.log_nu is not None:
            worth = np.exp(lead / 2) + np.exp(-lead / 2)
            tied = np.exp(self.log_nu) / (worth + np.exp(self.log_nu))
        outcome = np.where(rng.random(self.n_matches) < expit(lead), 0, 1)
        outcome = np.where(rng.random(self.n_matches) < tied, 2, outcome)
        return checked_matches(first, second, outcome, judge, rng)


def circle(utility: Floats, first: Any, second: Any, judge: Any, rng: Rng) -> Floats:
    """Let three styles beat each other in a circle."""
    return utility[first] - utility[second] + 1.5 * ((first - second + 1) % 3 - 1)


def halves(utility: Floats, first: Any, second: Any, judge: Any, rng: Rng) -> Floats:
    """Draw new strengths for the second half of the matches."""
    late = rng.normal(size=len(utility))
    now = np.where((np.arange(len(first)) < len(first) // 2)[:, None], utility, late) * 1.5
    rows = np.arange(len(first))
    return now[rows, first] - now[rows, second]


def contrary(utility: Floats, first: Any, second: Any, judge: Any, rng: Rng) -> Floats:
    """Let one judge vote for the weaker item."""
    return np.where(judge == 0, -1, 1) * (utility[first] - utility[second])


def position(utility: Floats, first: Any, second: Any, judge: Any, rng: Rng) -> Floats:
    """Let one judge favour the first item."""
    return utility[first] - utility[second] + 1.5 * (judge == 0)


# Tables

RIGHT: dict[str, Any] = {
    "24 rankings of 20 items": plain_ballots(20, 20, 24),
    "150 rankings of 5 items": plain_ballots(5, 5, 150),
    "60 rankings of 4 of 12 items": plain_ballots(12, 4, 60),
    "8 rankers with 5 rankings of 6 items": plain_ballots(6, 6, 8, 5),
    "10 items, 400 matches": World(10, 400),
    "30 items, 300 matches": World(30, 300),
    "10 items, 600 matches with ties, 6 judges": World(10, 600, 6, -0.5),
}
WRONG: dict[str, Any] = {
    "three of 20 items win 22 of 24 rankings": few_winners,
    "two camps of rankers with reverse orders": two_camps,
    "a third of the rankers answers at random": some_at_random,
    "rankers choose the last place first": last_first,
    "normal noise instead of Gumbel noise": normal_noise,
    "rankers with 5 rankings have opinions": clustered,
    "items beat each other in a circle": World(9, 400, more=circle),
    "strengths change after half of the matches": World(10, 600, more=halves),
    "one of six judges is contrary": World(10, 600, 6, more=contrary),
    "one of six judges favours the first item": World(10, 600, 6, more=position),
}


def _verdicts(one: Callable[[Rng], Any], n: int, seed: int) -> list[Any]:
    return [one(np.random.default_rng([seed, k])) for k in range(n)]


def false_alarms(how: Run) -> Table:
    """Count how often a correct model fails, by the shape of the data."""
    n = 3 if how.quick else 30
    rows = {}
    for name, one in RIGHT.items():
        found = _verdicts(one, n, how.seed)
        rows[name] = {
            "tables": str(n),
            "fails": np.mean([not fits.ok for fits in found]),
            "families with power": np.mean([len(fits.seen) for fits in found]),
            "families without": np.mean([len(fits.unseen) for fits in found]),
            "single checks that fail": np.mean([f.failed / max(f.n, 1) for f in found]),
        }
    rows["all"] = {"tables": str(n * len(RIGHT)), **pd.DataFrame(rows).T.iloc[:, 1:].mean()}
    return Table(pd.DataFrame(rows).T, digits=3, corner="data")


def power(how: Run) -> Table:
    """Count how often each misfit is detected, and by which family."""
    n = 2 if how.quick else 20
    rows = {}
    for name, one in WRONG.items():
        found = _verdicts(one, n, how.seed)
        leads = pd.Series([f.families.index[0] for f in found if not f.ok], dtype=object)
        rows[name] = {
            "tables": str(n),
            "fails": np.mean([not fits.ok for fits in found]),
            "worst family": "" if leads.empty else str(leads.mode()[0]),
        }
    return Table(pd.DataFrame(rows).T, corner="misfit")


CLUSTERS = ((8, 1.0), (8, 0.5), (8, 0.0), (3, 1.0), (3, 0.5))  # rankers, and how they differ


def columns(how: Run) -> Table:
    """Count how often a column is named, by the deviation of strengths between labels."""
    return _named(how, BY_LABEL, {0.0: 100, 0.5: 20, 1.0: 20})


def drift(how: Run) -> Table:
    """Count how often years are named, by the change of strengths over the data."""
    return _named(how, OVER_TIME, {0.0: 200, 0.5: 20, 1.0: 20})


def _named(how: Run, designs: dict[str, Any], sizes: dict[float, int]) -> Table:
    sizes = {0.0: 2, 1.0: 1} if how.quick else sizes
    rows = {name: rates(one, sizes, how.seed) for name, one in designs.items()}
    tables = " and ".join(str(n * len(designs)) for n in dict.fromkeys(sizes.values()))
    rows["all"] = {"tables": tables, **pd.DataFrame(rows).T.iloc[:, 1:].mean()}
    return Table(pd.DataFrame(rows).T, digits=3, corner="data")


def ballots(how: Run) -> Table:
    """Measure coverage and P(best) of the leader, with and without opinions."""
    n = 6 if how.quick else 250
    rows = {}
    for n_rankers, sd in CLUSTERS:
        name = f"{n_rankers} rankers, {sd:g}"
        every = how.once(f"ballots {name}", partial(_clusters, n_rankers, sd, n, how))
        narrow = every["without opinions"][3].mean()
        for way, one in every.items():
            covers, stated, best, width = one.mean(axis=1)
            rows[f"{name}, {way}"] = {
                "0.9 intervals contain": covers,
                "±": one[0].std() / np.sqrt(n),
                "stated P(leader is best)": stated,
                "leader is best": best,
                "width of intervals": width / narrow,
            }
    digits = {"0.9 intervals contain": 3, "±": 3}
    return Table(pd.DataFrame(rows).T, digits=digits, corner="rankers, and how they differ")


def _clusters(n_rankers: int, sd: float, n: int, how: Run) -> dict[str, Floats]:
    """Fit tables of ballots by rankers who differ; return what `_covered` does, by model."""
    ways: dict[str, Any] = {"without opinions": independent, "with opinions": sample_opinions}
    if sd:
        ways["with opinions, scales known"] = partial(sample_opinions, known=(1.0, sd))
    found: dict[str, list[Floats]] = {way: [] for way in ways}
    for n_items in (5, 6):
        rng = np.random.default_rng([how.seed, n_rankers, n_items, int(10 * sd)])
        utility = rng.normal(size=(n // 2, n_items))
        opinion = utility[:, None] + sd * rng.normal(size=(n // 2, n_rankers, n_items))
        noise = rng.gumbel(size=(n // 2, n_rankers, 5, n_items))
        orders = np.argsort(-(opinion[:, :, None] + noise), axis=-1)
        for way, draw in ways.items():
            draws = draw(orders, n_draws=100 if how.quick else 1000, rng=rng)
            found[way].append(_covered(draws, utility))
    return {way: np.concatenate(parts, axis=1) for way, parts in found.items()}


def independent(orders: Floats, *, n_draws: int, rng: Rng) -> Floats:
    """Draw utilities (n_draws, n_tables, n_items) from the posteriors without opinions."""
    n_items = orders.shape[-1]
    tables = [
        Ballots(x.reshape(-1, n_items), np.zeros(x[..., 0].size, int), n_items) for x in orders
    ]
    return np.stack([fit(table, n_draws=n_draws, rng=rng) for table in tables], axis=1)


def _covered(draws: Floats, truth: Floats) -> Floats:
    """Return coverage, stated and actual success of the leader, and mean width, by table."""
    apart = draws - draws.mean(axis=2, keepdims=True)
    low, high = np.quantile(apart, [0.05, 0.95], axis=0)
    centred = truth - truth.mean(axis=1, keepdims=True)
    leader = apart.mean(axis=0).argmax(axis=1)
    stated = (apart.argmax(axis=2) == leader).mean(axis=0)
    covers = ((low <= centred) & (centred <= high)).mean(axis=1)
    right = leader == truth.argmax(axis=1)
    return np.array([covers, stated, right, (high - low).mean(axis=1)])


TABLES: dict[str, Callable[[Run], Table]] = {
    "false_alarms": false_alarms,
    "power": power,
    "columns": columns,
    "drift": drift,
    "ballots": ballots,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("fit", TABLES, arguments=arguments)


if __name__ == "__main__":
    main()
