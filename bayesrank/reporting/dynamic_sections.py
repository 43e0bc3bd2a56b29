"""Sections of strengths over time: forecasts, changes, history, and a test of predictions."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import expit, softmax

from bayesrank.analysis import fitting
from bayesrank.analysis.dynamic import AWAY, LEAST_DRAWS, DynamicAnalysis, has_advantage
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import OUTCOMES, are_instants, time_coordinates
from bayesrank.inference import forward_validation
from bayesrank.plots import plot_dynamic
from bayesrank.reporting import match_sections, sections
from bayesrank.reporting.draft import Draft
from bayesrank.reporting.match_sections import COMPARED, MOST_AUDITED
from bayesrank.reporting.parts import SAMPLE, Part, formatted, interval_table, marked_svg
from bayesrank.results.draws import centred, places_of
from bayesrank.tables.cells import time_text
from bayesrank.texts import paragraphs, sentence, some

MOMENTS = 60  # most times in the picture
NUMBERS = 20_000_000  # most numbers in its draws
DRAWS = 100  # most draws per chain for it
LEAST_CHECKED = 100  # least number of draws for the checks
LATELY = 0.25  # share of the time over which changes are reported (for dates at most a year)
CERTAIN = 0.95
TESTED = 0.2  # share of matches or rankings to predict from the earlier ones
STEPS, FEWER_STEPS = 40, 10  # number of steps of these predictions, with many data fewer
MOST_STEPPED = 4_000  # matches or rankings up to which there are all steps
MOST_TESTED = 20_000  # most matches or rankings to predict, unless `method` is "nuts"


def dynamic_parts(report: Draft, analysis: DynamicAnalysis) -> list[Part]:
    """Return the sections, those on the latest date first."""
    return _DynamicSections(report, analysis).parts()


class _DynamicSections:
    """The sections of one report."""

    def __init__(self, report: Draft, analysis: DynamicAnalysis) -> None:
        self.report, self.analysis, self.data = report, analysis, analysis.data
        self.settings, self.ci_prob = report.settings, report.layout.ci_prob

    def parts(self) -> list[Part]:
        """Return the sections, those on the latest date first."""
        posterior, summary = self.report.posterior, self.report.summary
        several = len(self.analysis.labels) > 1
        pairs = isinstance(self.data, Pairs)
        out = [*self._forecasts(), self._checks()]
        if several:
            out += [*self._changes(), *self._over_time(posterior)]
        if pairs and len(summary) > 1:
            out.append(match_sections.leader(posterior, summary, COMPARED))
        if several:
            out.append(self._tested())
        if isinstance(self.data, Pairs) and self.data.n_items <= MOST_AUDITED:
            out.append(match_sections.audit_of_dated(self.data, order=self.analysis.order_effect))
        out.append(sections.places(posterior, summary))
        return out + sections.wins(posterior, summary)

    def _drawn(self, at: list[Any], draws: int, since: str | None = None) -> xr.DataArray:
        """Draw the strengths at the given times."""
        found = self.analysis.dynamic_fit.draws(
            at=at,
            since=since,
            draws=draws,
            chains=self.settings.chains,
            random_seed=self.settings.random_seed,
        )
        return found["posterior"].to_dataset()["utility"]

    def _checks(self) -> Part:
        """Compare simulated with observed matches or rankings."""
        data, n_nodes = self.data, self.analysis.dynamic_fit.observations.nodes.item.size
        entries = data.counts.size if isinstance(data, Pairs) else data.item.size
        most = fitting.MOST_NUMBERS // max(entries, n_nodes)
        n = min(fitting.SIMULATED, max(LEAST_CHECKED, most))
        tree = self.analysis.dynamic_fit.draws(
            draws=n, chains=1, random_seed=self.settings.random_seed, predictions=True
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
        coming = self.analysis.coming
        if coming is None or not len(coming):
            return []
        if isinstance(self.data, Rankings):
            return [self._forecast_rankings(coming)]
        neutral, more = "covariates" in self.analysis.effects, {}
        if neutral:
            more["covariates"] = {"order_effect": has_advantage(coming["neutral"])}
        found = self.analysis.dynamic_fit.predict(
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
        text, file = (
            paragraphs("forecasts", order=self.analysis.order_effect, neutral=neutral),
            "forecasts.csv",
        )
        return [Part("The next matches", text, table, file=file, files={file: csv})]

    def _forecast_rankings(self, coming: pd.DataFrame) -> Part:
        """Forecast the first place and the mean ranks of future rankings."""
        dates = list(dict.fromkeys(coming["date"]))
        most = NUMBERS // (len(dates) * self.data.n_items * self.settings.chains)
        drawn = self._drawn(dates, max(20, min(self.settings.draws, most)))
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
        drawn = self._drawn([then, now], min(self.settings.draws, LEAST_DRAWS), self.analysis.since)
        values = drawn.to_numpy().reshape(-1, 2, drawn.sizes["item"])
        both = ~np.isnan(values[0, 0])
        if both.sum() < 2:
            return []
        values = values[:, :, both]
        values -= values.mean(axis=2, keepdims=True)
        change = values[:, 1] - values[:, 0]
        ranks = [places_of(np.ascontiguousarray(values[:, k])).mean_rank for k in (0, 1)]
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
        whole = time_coordinates(self._used, self.analysis.time)
        first, last = whole.min(), whole.max()
        back = (last - first) * LATELY
        if np.issubdtype(whole.dtype, np.datetime64):
            back = min(back, np.timedelta64(365 * 24, "h"))
            then = (last - back).astype("datetime64[D]")
            return pd.Timestamp(max(then, first)), pd.Timestamp(last)
        return float(whole[whole <= last - back].max()), float(last)

    @property
    def _used(self) -> pd.Index:
        return self.analysis.labels[np.unique(self.data.groups[self.analysis.time].idx)]

    def _moments(self) -> list[Any]:
        """Choose the times of the picture: all, or evenly spaced ones.

        The picture begins when all early items have been seen, because the best of only two items
        is not the best of all.
        """
        dates, first = (
            np.sort(time_coordinates(self.analysis.labels, self.analysis.time)),
            self.analysis.ends[0],
        )
        early = first[dates[first] <= dates[0] + AWAY * (dates[-1] - dates[0])]
        whole = np.sort(time_coordinates(self._used, self.analysis.time))
        whole = whole[whole >= dates[early.max()]]
        if len(whole) > MOMENTS:
            evenly = whole[0] + np.linspace(0, 1, MOMENTS) * (whole[-1] - whole[0])
            years = whole.dtype.kind != "M" and not np.any(whole % 1)  # or rounds
            whole = np.unique(np.round(evenly)) if years else evenly
        if not np.issubdtype(whole.dtype, np.datetime64):
            return [float(x) for x in whole]
        if not are_instants(self._used, self.analysis.time):
            whole = np.unique(whole.astype("datetime64[D]"))
        return [pd.Timestamp(x) for x in whole]

    def _over_time(self, posterior: Any) -> list[Part]:
        """Show the strengths over time, and who was best when."""
        moments, settings = self._moments(), self.settings
        most = NUMBERS // (len(moments) * len(self.analysis.items) * settings.chains)
        utility = self._drawn(
            moments, max(20, min(DRAWS, settings.draws, most)), self.analysis.since
        )
        last = time_coordinates(
            pd.Index(self.analysis.last_seen()[utility["item"].to_index()]), self.analysis.time
        )
        late = utility["date"] > xr.DataArray(last, dims="item")
        utility = utility.where(~(late & utility["item"].isin(self.analysis.gone[0])))
        csv = _table_of(utility, self.ci_prob)
        strengths = marked_svg(plot_dynamic(utility, ci_prob=self.ci_prob), posterior)
        best_when = marked_svg(plot_dynamic(utility, show="best", ci_prob=self.ci_prob), posterior)
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
        method = self.settings.method
        if method == "inla" or (n > MOST_TESTED and method == "auto"):
            skipped = (
                "Predictions of the last results were not tested. Use `method='nuts'` to test them."
            )
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
        when = np.sort(self.analysis.times[self.data.groups[self.analysis.time].idx])
        # each step fits all data before it
        steps = STEPS if len(when) <= MOST_STEPPED else FEWER_STEPS
        return forward_validation(
            self.data,
            time=self.analysis.time,
            start=1 - TESTED,
            dynamics=dynamics,
            step=float(when[-1] - when[int((1 - TESTED) * len(when))]) / steps,
            watch=self.report.listener.progress,
            random_seed=self.settings.random_seed,
            **self.analysis.effects,
        ).predictions


def _gain(table: pd.DataFrame, other: Any, count: pd.Series) -> tuple[float, float]:
    """Mean difference of log-probabilities, and its standard error with independent dates."""
    gain = table["log_p"] - other
    mean = float(np.average(gain, weights=count))
    off = ((gain - mean) * count).groupby(table["time"]).sum()
    return mean, float(np.sqrt((off**2).sum()) / count.sum())


def _table_of(drawn: xr.DataArray, prob: float) -> pd.DataFrame:
    """Tabulate the utility of each item at each time, and its probability of being best.

    Utilities are relative to the mean of the items present. Equal items share the best place.
    """
    first = drawn == drawn.max("item")
    best = (first / first.sum("item")).mean(SAMPLE)
    table = interval_table(centred(drawn, "item"), prob)
    table = table.drop(columns="sd").assign(p_best=best.to_series())
    return table.dropna().reset_index()


def _at_last(csv: pd.DataFrame) -> str:
    """Name the best items at the last date with their utilities, for the alternative text."""
    last = csv[csv["date"] == csv["date"].max()].nlargest(3, "mean")
    return ", ".join(f"{row.item} {row.mean:z.2f}" for row in last.itertuples())
