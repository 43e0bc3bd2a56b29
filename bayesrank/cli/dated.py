"""The commands with ``--date``: strengths that change over time, and who is best today."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit, softmax

from bayesrank.cli import fitting, match_sections, sections
from bayesrank.cli.job import Job, confounded, open_ranks, times_ranked
from bayesrank.cli.matches import COMPARED, MOST_AUDITED, READING
from bayesrank.cli.options import Fit, MatchColumns, RankColumns
from bayesrank.cli.parts import SAMPLE, Part, formatted, interval_table, marked_svg
from bayesrank.cli.saved_runs import are_draws
from bayesrank.cli.texts import paragraphs, sentence, some
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import OUTCOMES, are_instants, label_times, time_coordinates
from bayesrank.inference import DynamicFit, fit_dynamic, forward_validation
from bayesrank.plots import plot_dynamic
from bayesrank.results import rank_summary
from bayesrank.results.draws import ranks_of
from bayesrank.tables.cells import time_text

if TYPE_CHECKING:
    from bayesrank.cli.report import Report

MOMENTS = 60  # most times in the picture
NUMBERS = 20_000_000  # most numbers in its draws
DRAWS = 100  # most draws per chain for it
DRAWN = 25_000_000  # nodes (items at times) by draws per chain, from which there are fewer draws
LEAST_CHECKED = 100  # least number of draws for the checks
LEAST_DRAWS = 250  # draws per chain that there always are; they are independent
LATELY = 0.25  # share of the time over which changes are reported (for dates at most a year)
AWAY = 0.1  # share of the time in which items enter at first, or after which they have left
CERTAIN = 0.95
TESTED = 0.2  # share of matches or rankings to predict from the earlier ones
STEPS = 40  # number of steps of these predictions
MOST_TESTED = 20_000  # matches or rankings beyond which predictions need --full
HOW = (
    "The posterior of the strengths is approximated by a normal around the mode, with all "
    "covariances (Laplace's approximation). It is least accurate for items with little data."
)


class DatedJob(Job):
    """Dynamic strengths at the latest date, from matches or rankings with the group "date".

    Parameters
    ----------
    data : Pairs or Rankings
    columns : RankColumns or MatchColumns
    coming : DataFrame, optional
        Future matches or rankings.
    """

    drawn = HOW
    checked = ()

    def __init__(
        self,
        data: Pairs | Rankings,
        title: str,
        fit: Fit,
        columns: RankColumns | MatchColumns,
        *,
        coming: pd.DataFrame | None = None,
    ) -> None:
        super().__init__(title, fit)
        if isinstance(data, Rankings):  # each ranking is predicted separately
            data = data.expand()
        self.data, self.since, self.coming = data, columns.since, coming
        self.order = isinstance(columns, MatchColumns) and columns.ordered
        self.items: list[Any] = []  # items in the table of ranks
        self.nodes: pd.DataFrame | None = None  # hyperparameters of a saved run
        self.watch: Callable[[int, int], None] | None = None
        self.effects: dict[str, Any] = {"order_effect": self.order}
        if self.order and "neutral" in data.groups:
            group = data.groups["neutral"]
            advantage = _has_advantage(group.labels.take(group.idx))
            self.effects = {"order_effect": False, "covariates": {"order_effect": advantage}}
        pairs = isinstance(data, Pairs)
        self.reading = READING if pairs else None
        ties = isinstance(data, Pairs) and bool(data.counts[:, 2].any())
        neutral = "covariates" in self.effects
        self.model = sentence(
            "dated_model", pairs=pairs, ties=ties, order=self.order, neutral=neutral
        )

    @property
    def _labels(self) -> pd.Index:
        return self.data.groups["date"].labels

    @cached_property
    def _times(self) -> NDArray[np.float64]:
        return label_times(self._labels, "date")

    @cached_property
    def dynamic_fit(self) -> DynamicFit:
        """Posterior of the strengths over time."""
        scale = self.fit.prior_scale
        given = None if scale is None else {"scale": scale}
        return fit_dynamic(
            self.data,
            time="date",
            hyperparameters=given if self.nodes is None else self.nodes,
            watch=self.watch,
            random_seed=self.fit.seed,
            **self.effects,
        )

    @property
    def _n_draws(self) -> int:
        """Draws per chain."""
        n_nodes = self.dynamic_fit.observations.nodes.item.size
        return min(self.fit.draws, max(LEAST_DRAWS, DRAWN // n_nodes))

    def draw(self, watch: Callable[[int, int], None]) -> Any:
        """Draw the strengths at the last date."""
        self.watch = watch
        fit, found = self.fit, self.dynamic_fit
        out = found.draws(
            since=self.since, draws=self._n_draws, chains=fit.chains, random_seed=fit.seed
        )
        # prior standard deviation of a strength today
        scale, drift = found.nodes["scale"].to_numpy(), found.nodes["drift"].to_numpy()
        sd = np.sqrt(scale**2 + drift**2 * np.ptp(self._times))
        posterior = out["posterior"].to_dataset()
        posterior["utility_scale"] = (("chain", "draw"), sd[out["sample_stats"]["node"]])
        # There is no full answer to this model, so this one is not marked as quick.
        posterior.attrs["method"] = posterior.attrs.pop("approximation")
        out["posterior"] = posterior
        if self.coming is not None and len(self.coming):
            out["coming"] = xr.DataTree(self.coming.astype(object).to_xarray())
        self.items[:] = posterior["item"].to_numpy().tolist()
        return out

    def resume(self, posterior: Any) -> None:
        """Take hyperparameters, items and future matches or rankings of a saved posterior."""
        draws = posterior["posterior"].to_dataset()
        for name, dims in {"utility": ("item",), "utility_scale": ()}.items():
            if draws[name].dims != ("chain", "draw", *dims) or not are_draws(draws[name].values):
                raise ValueError(f"{name} has invalid draws")
        self.items[:] = draws["item"].to_numpy().tolist()
        known = self.data.coords["item"]
        self.nodes = posterior["hyperparameters"].to_dataset().to_dataframe()
        if "coming" in posterior.children:
            self.coming = posterior["coming"].to_dataset().to_dataframe()
            names = ("first", "second") if isinstance(self.data, Pairs) else ("item",)
            coming = self.coming[list(names)].to_numpy().ravel()
        else:
            coming = np.array([], dtype=object)
        if not {*self.items, *coming} <= {*known}:
            raise ValueError("it names items that the data do not have")
        _ = self.dynamic_fit

    def seen(self) -> pd.Series:
        """Count the matches or rankings with each item of the table."""
        data = self.data
        seen = data.matches_by_item if isinstance(data, Pairs) else times_ranked(data)
        return seen.loc[self.items] if self.items else seen

    @cached_property
    def _ends(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions among all dates at which each item was first and last seen."""
        data, place = self.data, np.argsort(np.argsort(self._times))
        when = place[data.groups["date"].idx]
        if isinstance(data, Pairs):
            item, when = np.concatenate([data.first, data.second]), np.tile(when, 2)
        else:
            row, slot = np.nonzero(data.mask)
            item, when = data.item[row, slot], when[row]
        first, last = np.full(data.n_items, len(place) - 1), np.zeros(data.n_items, dtype=np.intp)
        np.minimum.at(first, item, when)
        np.maximum.at(last, item, when)
        return first, last

    def last_seen(self) -> pd.Series:
        """Return when each item was last in a match or ranking."""
        labels = self._labels[np.argsort(self._times)]
        return pd.Series(labels[self._ends[1]].map(str), self.data.coords["item"])

    @cached_property
    def _gone(self) -> tuple[pd.Index, str]:
        """Items that may have left, the most frequent ones first, and the date since then.

        There are none if --since chose the items.
        """
        times = np.sort(self._times)
        last = times[self._ends[1]]
        bound = last.max() - AWAY * (last.max() - times[0])
        labels = self._labels[np.argsort(self._times)]
        since = str(labels[np.searchsorted(times, bound)])
        gone = self.data.coords["item"][(last < bound) & (self.since is None)]
        return gone[np.argsort(-self.seen()[gone].to_numpy(), kind="stable")], since

    def headline(self, posterior: Any) -> str:
        """Say when the leader was last seen, if it may have left."""
        leader, (gone, since) = rank_summary(posterior, top=1).index[0], self._gone
        if leader not in gone:
            return ""
        last = self.last_seen()[leader]
        return sentence("leader_gone", leader=leader, last=last, since=since)

    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""
        found = self.data.connectivity()
        if len(found.uncompared) == self.data.n_items:
            raise ValueError(
                "No item is compared with another, so the data say nothing about ranks."
            )
        out = open_ranks(found)
        if isinstance(self.data, Pairs) and self.order and (text := confounded(self.data)):
            out.append(text)
        gone, since = self._gone
        if len(gone):
            items = some(gone, COMPARED)
            out.append(sentence("gone", items=items, n=len(gone), since=since))
        if len(self._labels) == 1:
            out.append(sentence("one_date", label=self._labels[0]))
        return out

    def parts(self, report: "Report") -> list[Part]:
        """Return the sections, those on the latest date first."""
        posterior, summary = report.posterior, report.summary
        several = len(self._labels) > 1
        pairs = isinstance(self.data, Pairs)
        out = [*self._forecasts(), self._checks()]
        if several:
            out += [*self._changes(), *self._over_time(posterior)]
        if pairs and len(summary) > 1:
            out.append(match_sections.leader(posterior, summary, COMPARED))
        if several:
            self.watch = report.talk.progress
            out.append(self._tested())
        if isinstance(self.data, Pairs) and self.data.n_items <= MOST_AUDITED:
            out.append(match_sections.audit_of_dated(self.data, order=self.order))
        out.append(sections.places(posterior, summary))
        return out + sections.wins(posterior, summary)

    def _drawn(self, at: list[Any], draws: int, since: str | None = None) -> xr.DataArray:
        """Draw the strengths at the given times."""
        found = self.dynamic_fit.draws(
            at=at, since=since, draws=draws, chains=self.fit.chains, random_seed=self.fit.seed
        )
        return found["posterior"].to_dataset()["utility"]

    def _checks(self) -> Part:
        """Compare simulated with observed matches or rankings."""
        data, n_nodes = self.data, self.dynamic_fit.observations.nodes.item.size
        entries = data.counts.size if isinstance(data, Pairs) else data.item.size
        most = fitting.MOST_NUMBERS // max(entries, n_nodes)
        n = min(fitting.SIMULATED, max(LEAST_CHECKED, most))
        tree = self.dynamic_fit.draws(
            draws=n, chains=1, random_seed=self.fit.seed, predictions=True
        )
        # rankings of the past do not follow the utilities of today
        posterior = tree["posterior"].to_dataset().drop_vars("utility")
        posterior.attrs.pop("approximation")  # as in `draw`
        tree["posterior"] = xr.DataTree(posterior)
        if isinstance(data, Pairs):
            return sections.checks_of_matches(tree, remedy="dated")
        return sections.checks(tree, "dated", among=data.n_rankings)

    def _forecasts(self) -> list[Part]:
        """Forecast future matches or rankings."""
        coming = self.coming
        if coming is None or not len(coming):
            return []
        if isinstance(self.data, Rankings):
            return [self._forecast_rankings(coming)]
        neutral, more = "covariates" in self.effects, {}
        if neutral:
            more["covariates"] = {"order_effect": _has_advantage(coming["neutral"])}
        found = self.dynamic_fit.predict(
            coming["first"].tolist(), coming["second"].tolist(), at=coming["date"].tolist(), **more
        )
        csv = found.set_index("date")
        columns = {"First": "{first}", "Second": "{second}", "First wins": "{p_first:.2f}"}
        if neutral:
            csv.insert(2, "neutral", coming["neutral"].to_numpy())
            columns = {"First": "{first}", "Second": "{second}", "Neutral": "{neutral}"}
            columns["First wins"] = "{p_first:.2f}"
        if "p_tie" in found:
            columns["Tie"] = "{p_tie:.2f}"
        columns["Second wins"] = "{p_second:.2f}"
        table = formatted(csv, "Date", columns)
        text, file = paragraphs("forecasts", order=self.order, neutral=neutral), "forecasts.csv"
        return [Part("The next matches", text, table, file=file, files={file: csv})]

    def _forecast_rankings(self, coming: pd.DataFrame) -> Part:
        """Forecast the first place and the mean ranks of future rankings."""
        dates = list(dict.fromkeys(coming["date"]))
        most = NUMBERS // (len(dates) * self.data.n_items * self.fit.chains)
        drawn = self._drawn(dates, max(20, min(self.fit.draws, most)))
        values = drawn.to_numpy().reshape(-1, *drawn.shape[2:])  # (draws, dates, items)
        column = pd.Index(drawn["item"].to_numpy()).get_indexer(pd.Index(coming["item"]))
        at = pd.Index(dates).get_indexer(pd.Index(coming["date"]))
        csv = coming[["ranking", "date", "item"]].assign(p_first=1.0, mean_rank=1.0)
        for rows in coming.groupby("ranking", sort=False).indices.values():
            utility = values[:, at[rows], column[rows]]
            # Under Plackett-Luce j is ahead of i with probability 1 / (1 + exp(u_i - u_j)).
            ahead = [expit(utility - one[:, None]).mean(axis=0).sum() - 0.5 for one in utility.T]
            csv.loc[rows, "p_first"] = softmax(utility, axis=1).mean(axis=0)
            csv.loc[rows, "mean_rank"] = 1 + np.array(ahead)
        csv["place"] = csv.groupby("ranking", sort=False).ngroup()
        csv = csv.sort_values(["place", "mean_rank"], kind="stable").drop(columns="place")
        csv = csv.set_index("date")
        columns = {"Ranking": "{ranking}", "Item": "{item}", "First": "{p_first:.2f}"}
        table = formatted(csv, "Date", columns | {"Mean rank": "{mean_rank:.1f}"})
        text, file = paragraphs("forecast_rankings"), "forecasts.csv"
        return Part("The next rankings", text, table, file=file, files={file: csv})

    def _changes(self) -> list[Part]:
        """Say which items are rising and falling."""
        then, now = self._lately()
        drawn = self._drawn([then, now], min(self.fit.draws, LEAST_DRAWS), self.since)
        values = drawn.to_numpy().reshape(-1, 2, drawn.sizes["item"])
        both = ~np.isnan(values[0, 0])
        if both.sum() < 2:
            return []
        values = values[:, :, both]
        values -= values.mean(axis=2, keepdims=True)
        change = values[:, 1] - values[:, 0]
        ranks = [ranks_of(np.ascontiguousarray(values[:, k])).mean(axis=0) for k in (0, 1)]
        csv = pd.DataFrame(
            {
                "mean_rank_then": ranks[0],
                "mean_rank_now": ranks[1],
                "change": change.mean(axis=0),
                "change_sd": change.std(axis=0),
                "p_rising": (change > 0).mean(axis=0),
            },
            index=pd.Index(drawn["item"].to_numpy()[both], name="item"),
        ).sort_values("p_rising", ascending=False, kind="stable")
        columns = {
            "Mean rank then": "{mean_rank_then:.1f}",
            "Now": "{mean_rank_now:.1f}",
            "Change": "{change:+.2f} ± {change_sd:.2f}",
            "P(rising)": "{p_rising:.2f}",
        }
        rising = csv.index[csv["p_rising"] >= CERTAIN]
        falling = csv.index[csv["p_rising"] <= 1 - CERTAIN][::-1]
        text = paragraphs(
            "changes",
            then=time_text(then),
            certain=CERTAIN,
            rising=some(rising, COMPARED) or "no item",
            falling=some(falling, COMPARED) or "no item",
        )
        table, file = formatted(csv, "Item", columns), "changes.csv"
        return [Part("Who is rising", text, table, file=file, files={file: csv})]

    def _lately(self) -> tuple[Any, Any]:
        """Return an earlier time and the last one, a year or a quarter of all time apart."""
        whole = time_coordinates(self._used, "date")
        first, last = whole.min(), whole.max()
        back = (last - first) * LATELY
        if np.issubdtype(whole.dtype, np.datetime64):
            back = min(back, np.timedelta64(365 * 24, "h"))
            then = (last - back).astype("datetime64[D]")
            return pd.Timestamp(max(then, first)), pd.Timestamp(last)
        return float(whole[whole <= last - back].max()), float(last)

    @property
    def _used(self) -> pd.Index:
        return self._labels[np.unique(self.data.groups["date"].idx)]

    def _moments(self) -> list[Any]:
        """Choose the times of the picture: all, or evenly spaced ones.

        The picture begins when all early items have been seen, because the best of only two items
        is not the best of all.
        """
        dates, first = np.sort(time_coordinates(self._labels, "date")), self._ends[0]
        early = first[dates[first] <= dates[0] + AWAY * (dates[-1] - dates[0])]
        whole = np.sort(time_coordinates(self._used, "date"))
        whole = whole[whole >= dates[early.max()]]
        if len(whole) > MOMENTS:
            whole = whole[0] + np.linspace(0, 1, MOMENTS) * (whole[-1] - whole[0])
        if not np.issubdtype(whole.dtype, np.datetime64):
            return [float(x) for x in whole]
        if not are_instants(self._used, "date"):
            whole = np.unique(whole.astype("datetime64[D]"))
        return [pd.Timestamp(x) for x in whole]

    def _over_time(self, posterior: Any) -> list[Part]:
        """Show the strengths over time, and who was best when."""
        moments, fit = self._moments(), self.fit
        most = NUMBERS // (len(moments) * len(self.items) * fit.chains)
        utility = self._drawn(moments, max(20, min(DRAWS, fit.draws, most)), self.since)
        last = time_coordinates(pd.Index(self.last_seen()[utility["item"].to_index()]), "date")
        late = utility["date"] > xr.DataArray(last, dims="item")
        utility = utility.where(~(late & utility["item"].isin(self._gone[0])))
        csv = _table_of(utility, fit.interval)
        strengths = marked_svg(plot_dynamic(utility, ci_prob=fit.interval), posterior)
        best_when = marked_svg(plot_dynamic(utility, show="best", ci_prob=fit.interval), posterior)
        best = csv.loc[csv.groupby("date")["p_best"].idxmax()].reset_index()
        spells = (best["item"] != best["item"].shift()).cumsum()
        leaders = best.groupby(spells).agg({"date": "first", "item": "first"})
        best_names = ", ".join(
            f"{row.item} from {time_text(row.date)}" for row in leaders.tail(COMPARED).itertuples()
        )
        omitted = max(len(leaders) - COMPARED, 0)
        file = "history.csv"
        strength = Part(
            "Over time",
            paragraphs("over_time"),
            picture=strengths,
            alt=f"Utilities over time; at the last date {_at_last(csv)}",
            file=file,
            files={file: csv.set_index(["date", "item"]), "history.svg": strengths},
            printed=False,
        )
        when = Part(
            "Who was best when",
            [f"Most likely best: {best_names}."
             + (f" (The first {omitted} leaders are omitted.)" if omitted else "")],
            picture=best_when,
            alt=f"Probability of being best over time, as stacked areas: {best_names}",
            file=file,
            files={"best.svg": best_when},
        )  # fmt: skip
        return [strength, when]

    def _tested(self) -> Part:
        """Predict the last matches or rankings from earlier ones, and score the predictions."""
        data, heading = self.data, "How well it predicts"
        n = int(data.counts.sum()) if isinstance(data, Pairs) else data.n_rankings
        if self.fit.quick or (n > MOST_TESTED and self.fit.quick is None):
            skipped = "Predictions of the last results were not tested. Use --full to test them."
            return Part(heading, [skipped], printed=False)
        try:
            walk, constant = map(self._forward, ("random_walk", "constant"))
        except ValueError as error:
            return Part(heading, [str(error)], printed=False)
        if isinstance(data, Pairs):
            noun, count = "match", walk["count"]
            random: Any = -np.log(sum(f"p_{side}" in walk for side in OUTCOMES))
        else:
            noun, count = "ranking", pd.Series(1.0, walk.index)
            random = walk["at_random"]
        by_random, spread = _gain(walk, random, count)
        by_constant, apart = _gain(walk, constant["log_p"], count)
        values = {
            "noun": noun,
            "n": count.sum(),
            "by_random": by_random,
            "spread": spread,
            "by_constant": by_constant,
            "apart": apart,
        }
        file = "predictions.csv"
        return Part(
            heading,
            paragraphs("tested", **values),
            file=file,
            files={file: walk.set_index("time")},
            failures=paragraphs("tested_badly", **values),
            fit=sentence("tested_well", times=np.exp(by_random), **values),
        )

    def _forward(self, dynamics: str) -> pd.DataFrame:
        """Predict the last matches or rankings, a few dates at a time."""
        when = np.sort(self._times[self.data.groups["date"].idx])
        return forward_validation(
            self.data,
            time="date",
            start=1 - TESTED,
            dynamics=dynamics,
            step=float(when[-1] - when[int((1 - TESTED) * len(when))]) / STEPS,
            watch=self.watch,
            random_seed=self.fit.seed,
            **self.effects,
        ).predictions


def _has_advantage(neutral: Any) -> NDArray[np.float64]:
    """Return 0 for matches on neutral ground, 1 for others."""
    return np.asarray(neutral != "yes", dtype=float)


def _gain(table: pd.DataFrame, other: Any, count: pd.Series) -> tuple[float, float]:
    """Mean difference of log-probabilities, and its standard error with independent dates."""
    gain = table["log_p"] - other
    mean = float(np.average(gain, weights=count))
    off = ((gain - mean) * count).groupby(table["time"]).sum()
    return mean, float(np.sqrt((off**2).sum()) / count.sum())


def _table_of(drawn: xr.DataArray, prob: float) -> pd.DataFrame:
    """Tabulate the utility of each item at each time, and its probability of being best."""
    best = (drawn == drawn.max("item")).mean(SAMPLE)
    table = interval_table(drawn, prob).drop(columns="sd").assign(p_best=best.to_series())
    return table.dropna().reset_index()


def _at_last(csv: pd.DataFrame) -> str:
    """Name the best items at the last date with their utilities, for the alternative text."""
    last = csv[csv["date"] == csv["date"].max()].nlargest(3, "mean")
    return ", ".join(f"{row.item} {row.mean:z.2f}" for row in last.itertuples())
