"""What a command fits and has to say: its settings, and the base of its jobs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bayesrank

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.cli.parts import Part
    from bayesrank.cli.report import Report
    from bayesrank.data import Connectivity, Pairs, Rankings

# PyMC takes seconds to import: functions import what they need, so that --help is instant.


@dataclass(frozen=True)
class Fit:
    """How to fit and what to report."""

    output_dir: Path
    seed: int
    draws: int
    tune: int
    chains: int
    top: int
    prior: str
    prior_scale: float | None  # learned if None
    made: str  # the date
    version: str = bayesrank.__version__
    interval: float = 0.94
    scale: str = "utility"  # or elo
    anchor: str | None = None  # the item with 1000 points
    sort: str = "mean"  # the table of ranks, or lower
    title: str | None = None
    save: Path | None = None
    force: bool = False
    open: bool = False
    quick: bool | None = None  # where it would take too long, if None
    command: str = ""  # that asked for this

    @property
    def sampling(self) -> str:
        """What the sampler does, in words."""
        if self.quick:
            return f"{self.chains * self.draws:,} draws of an approximation"
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        return f"{chains} of {self.draws:,} draws after {self.tune:,} tuning steps"

    @property
    def spread(self) -> str:
        """How far apart utilities are before the data, in words."""
        if self.prior_scale is not None:
            return f"with standard deviation {self.prior_scale:g}"
        from bayesrank.priors import LEARNED

        return (
            "with a standard deviation that is learned from the data (half-normal with scale "
            f"{LEARNED:g} before them)"
        )

    def remembered(self) -> dict[str, Any]:
        """Return the settings that a posterior remembers."""
        forgotten = ("output_dir", "save", "force", "open")
        return {name: value for name, value in asdict(self).items() if name not in forgotten}


class Job:
    """What a command fits, and what it has to say. Subclasses say how to build the model.

    Attributes
    ----------
    data : Rankings or Pairs
    title : str
        Heading of the page.
    fit : Fit
    request : dict
        What ``bayesrank report`` needs to make this job again.
    model : str
        The model in words.
    reading : str, optional
        What a difference of utilities means, if not what it means in rankings.
    checked : sequence of (str, str)
        Variables whose convergence is checked, and their dims.
    drawn : str
        How good draws are that no sampler made, in words; then `draw` makes them without a model.
    entries : int
        Numbers of the observed variable.
    finds_start : bool
        Whether chains begin where `start` says; then there is no quick answer.
    """

    data: Any
    request: Mapping[str, Any]
    model: str
    reading: str | None = None
    checked: Sequence[tuple[str, str]] = (("utility", "item"),)
    drawn: str = ""
    entries: int = 0
    finds_start: bool = False

    def __init__(self, title: str, fit: Fit) -> None:
        self.title, self.fit = title, fit

    @cached_property
    def pymc_model(self) -> Any:
        """Build the model."""
        raise NotImplementedError

    def draw(self) -> Any:
        """Draw from the posterior of what is `drawn`."""
        raise NotImplementedError

    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""
        raise NotImplementedError

    def seen(self) -> "pd.Series":
        """Count the rankings or matches that each item is in."""
        raise NotImplementedError

    def last_seen(self) -> "pd.Series | None":
        """When each item was last in a ranking or match, if data have dates."""
        return None

    def headline(self, posterior: Any) -> str:
        """Say what the verdict does not."""
        return ""

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose settings of NUTS for the model."""
        return {}

    def start(self, model: Any, note: Callable[[str], None]) -> dict[str, Any]:
        """Find where chains begin."""
        raise NotImplementedError

    def moved(self, posterior: Any) -> Any:
        """Return draws that say more of the same posterior."""
        return posterior

    def some(self, entries: int) -> "Job | None":
        """Return this job with this many random entries, or None if it cannot have fewer."""
        return None

    def parts(self, report: "Report") -> "list[Part]":
        """Say what there is besides the ranks."""
        raise NotImplementedError

    def described(self, fit: Fit) -> str:
        """Say what was done, for the page."""
        if self.drawn:
            n = fit.chains * fit.draws
            return f"{self.data!r}. Model: {self.model}; {n:,} draws; seed {fit.seed}."
        return (
            f"{self.data!r}. Model: {self.model}; utilities {fit.prior} {fit.spread}; "
            f"{fit.sampling}; seed {fit.seed}."
        )


def times_ranked(rankings: "Rankings") -> "pd.Series":
    """Count the rankings that each item is in, those of a weight so often."""
    import numpy as np
    import pandas as pd

    row, slot = np.nonzero(rankings.mask)
    n = np.bincount(rankings.item[row, slot], rankings.weight[row], rankings.n_items)
    return pd.Series(n, rankings.coords["item"], name="rankings")


def times_played(pairs: "Pairs") -> "pd.Series":
    """Count the matches that each item is in."""
    import numpy as np
    import pandas as pd

    n = pairs.counts.sum(axis=1)
    times = sum(np.bincount(side, n, pairs.n_items) for side in (pairs.first, pairs.second))
    return pd.Series(times, pairs.coords["item"], name="matches")


def open_ranks_and_prior(found: "Connectivity", fit: Fit) -> list[str]:
    """Say which ranks the comparisons leave open, and what the prior is then."""
    out = open_ranks(found)
    if out:
        out.append(
            f"The prior of the utilities is {fit.prior} {fit.spread}; --prior-scale sets another, "
            "which shows how much it decides."
        )
    return out


def open_ranks(found: "Connectivity") -> list[str]:
    """Say which ranks the comparisons leave open."""
    out = []
    if not found.is_connected:
        out.append(
            f"No comparison links the {found.n_components:,} groups {_groups(found.components)}: "
            "the data do not say which of them is better."
        )
    if len(found.never_loses):
        items, are, they = _named(found.never_loses)
        out.append(
            f"{items} {are} never behind any other item: how far ahead {they} the prior limits, "
            "and not the data."
        )
    if len(found.never_wins):
        items, are, they = _named(found.never_wins)
        out.append(
            f"{items} {are} never ahead of any other item: how far behind {they} the prior limits, "
            "and not the data."
        )
    if not out and not found.is_strongly_connected:
        out.append(
            f"Of the groups {_groups(found.strong_components)} one is always ahead of another: how "
            "far, the prior limits, and not the data."
        )
    return out


def _groups(components: Sequence["pd.Index"]) -> str:
    """Name the first groups by their first items."""
    named = [f"{{{_some(group, 4)}}}" for group in components[:4]]
    return ", ".join([*named, "..."] if len(components) > 4 else named)


def _named(items: "pd.Index") -> tuple[str, str, str]:
    """Name items, with the verb and the pronoun."""
    return _some(items, 5), *(("is", "it is") if len(items) == 1 else ("are", "they are"))


def _some(items: "pd.Index", most: int) -> str:
    shown = ", ".join(repr(str(item)) for item in items[:most])
    return shown + (f" and {len(items) - most} more" if len(items) > most else "")
