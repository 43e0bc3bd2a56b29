"""The analysis of dated matches or rankings: strengths over time, and who is best today."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.analysis.analysis import Analysis, Settings, confounded, open_ranks, times_ranked
from bayesrank.analysis.matches import READING
from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import label_times
from bayesrank.inference import DynamicFit, fit_dynamic
from bayesrank.results import rank_summary
from bayesrank.texts import MATCHES, sentence, some

DRAWN = 25_000_000  # nodes (items at times) by draws per chain, from which there are fewer draws
LEAST_DRAWS = 250  # draws per chain that there always are; they are independent
AWAY = 0.1  # share of the time in which items enter at first, or after which they have left
HUGE = 1e100  # larger draws are damaged, and their squares overflow
NAMED = 5  # items to name in a note
HOW = (
    "The posterior of the strengths is approximated by a normal around the mode, with all "
    "covariances (Laplace's approximation). It is least accurate for items with little data."
)


class DynamicAnalysis(Analysis):
    """Dynamic strengths at the latest date, from matches or rankings with a group of dates.

    Parameters
    ----------
    data : Pairs or Rankings
    time : str
        The group whose labels are dates or numbers.
    since : str, optional
        Leave out items that were last seen before this date.
    coming : DataFrame, optional
        Future matches or rankings.
    order_effect : bool, optional
        For matches: whether the first item may have an advantage; by default ``data.ordered``.
    neutral : str, optional
        For matches: the group with "yes" where the first item has no advantage.
    utility_scale : float, optional
        Standard deviation of the strengths. By default it is learned.
    """

    KIND = "dynamic"
    ARGUMENTS: ClassVar = ("time", "since", "order_effect", "neutral", "utility_scale")

    accuracy = HOW
    checked = ()

    def __init__(
        self,
        data: Pairs | Rankings,
        *,
        time: str = "date",
        since: str | None = None,
        coming: pd.DataFrame | None = None,
        order_effect: bool | None = None,
        neutral: str | None = None,
        utility_scale: float | None = None,
    ) -> None:
        if isinstance(data, Rankings):  # each ranking is predicted separately
            data = data.expand()
        self.data, self.time, self.since, self.coming = data, time, since, coming
        self.neutral, self.utility_scale = neutral, utility_scale
        self.order_effect = False
        if isinstance(data, Pairs):
            self.order_effect = data.ordered if order_effect is None else order_effect
        self.items: list[Any] = []  # items in the table of ranks
        self.nodes: pd.DataFrame | None = None  # hyperparameters of a saved fit
        self.watch: Callable[[int, int], None] | None = None
        self.random_seed = 0
        self.effects: dict[str, Any] = {"order_effect": self.order_effect}
        if isinstance(data, Pairs):
            self.words, self.reading = MATCHES, READING
            if self.order_effect and neutral is not None:
                group = data.groups[neutral]
                advantage = has_advantage(group.labels.take(group.idx))
                self.effects = {"order_effect": False, "covariates": {"order_effect": advantage}}
        ties = isinstance(data, Pairs) and bool(data.counts[:, 2].any())
        self.description = sentence(
            "dated_model",
            pairs=isinstance(data, Pairs),
            ties=ties,
            order=self.order_effect,
            neutral="covariates" in self.effects,
            detail=data.detail if isinstance(data, Pairs) else "",
        )

    @property
    def labels(self) -> pd.Index:
        """Labels of the dates."""
        return self.data.groups[self.time].labels

    @cached_property
    def times(self) -> NDArray[np.float64]:
        """Dates as numbers."""
        return label_times(self.labels, self.time)

    @cached_property
    def dynamic_fit(self) -> DynamicFit:
        """Posterior of the strengths over time."""
        scale = self.utility_scale
        given = None if scale is None else {"scale": scale}
        return fit_dynamic(
            self.data,
            time=self.time,
            hyperparameters=given if self.nodes is None else self.nodes,
            watch=self.watch,
            random_seed=self.random_seed,
            **self.effects,
        )

    def _n_draws(self, draws: int) -> int:
        """Draws per chain."""
        n_nodes = self.dynamic_fit.observations.nodes.item.size
        return min(draws, max(LEAST_DRAWS, DRAWN // n_nodes))

    def draw(self, settings: Settings, watch: Callable[[int, int], None]) -> Any:
        """Draw the strengths at the last date."""
        self.watch, self.random_seed = watch, settings.random_seed
        found = self.dynamic_fit
        out = found.draws(
            since=self.since,
            draws=self._n_draws(settings.draws),
            chains=settings.chains,
            random_seed=settings.random_seed,
        )
        # prior standard deviation of a strength today
        scale, drift = found.nodes["scale"].to_numpy(), found.nodes["drift"].to_numpy()
        sd = np.sqrt(scale**2 + drift**2 * np.ptp(self.times))
        posterior = out["posterior"].to_dataset()
        posterior["utility_scale"] = (("chain", "draw"), sd[out["sample_stats"]["node"]])
        # There is no full answer to this model, so this one is not marked as quick.
        posterior.attrs["method"] = posterior.attrs.pop("approximation")
        out["posterior"] = posterior
        if self.coming is not None and len(self.coming):
            out["coming"] = xr.DataTree(self.coming.astype(object).to_xarray())
        self.items[:] = posterior["item"].to_numpy().tolist()
        return out

    def resume(self, posterior: Any, settings: Settings) -> None:
        """Take hyperparameters, items and future matches or rankings of a saved posterior."""
        self.random_seed = settings.random_seed
        draws = posterior["posterior"].to_dataset()
        for name, dims in {"utility": ("item",), "utility_scale": ()}.items():
            if draws[name].dims != ("chain", "draw", *dims) or not _are_draws(draws[name].values):
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
    def ends(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions among all dates at which each item was first and last seen."""
        data, place = self.data, np.argsort(np.argsort(self.times))
        when = place[data.groups[self.time].idx]
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
        labels = self.labels[np.argsort(self.times)]
        return pd.Series(labels[self.ends[1]].map(str), self.data.coords["item"])

    @cached_property
    def gone(self) -> tuple[pd.Index, str]:
        """Items that may have left, the most frequent ones first, and the date since then.

        There are none if `since` chose the items.
        """
        times = np.sort(self.times)
        last = times[self.ends[1]]
        bound = last.max() - AWAY * (last.max() - times[0])
        labels = self.labels[np.argsort(self.times)]
        since = str(labels[np.searchsorted(times, bound)])
        gone = self.data.coords["item"][(last < bound) & (self.since is None)]
        return gone[np.argsort(-self.seen()[gone].to_numpy(), kind="stable")], since

    def leader_left(self, posterior: Any) -> str:
        """Say when the leader was last seen, if it may have left."""
        leader, (gone, since) = rank_summary(posterior, top=1).index[0], self.gone
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
        if isinstance(self.data, Pairs) and self.order_effect and (text := confounded(self.data)):
            out.append(text)
        gone, since = self.gone
        if len(gone):
            items = some(gone, NAMED)
            out.append(sentence("gone", items=items, n=len(gone), since=since))
        if len(self.labels) == 1:
            out.append(sentence("one_date", label=self.labels[0]))
        return out


def has_advantage(neutral: Any) -> NDArray[np.float64]:
    """Return 0 for matches on neutral ground, 1 for others."""
    return np.asarray(neutral != "yes", dtype=float)


def _are_draws(values: Any) -> bool:
    """Whether an array contains draws that are finite and not huge."""
    return values.dtype.kind == "f" and values.size > 0 and bool((np.abs(values) < HUGE).all())
