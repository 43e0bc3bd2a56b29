"""What a command fits and has to say: the base of its jobs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayesrank.cli.options import Fit
from bayesrank.cli.texts import paragraphs, some

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.cli.parts import Part
    from bayesrank.cli.report import Report
    from bayesrank.data import Connectivity, Pairs, Rankings

# PyMC takes seconds to import: functions import what they need, so that --help is instant.


class Job(ABC):
    """What a command fits, and what it has to say.

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
    pymc_model: Any = None
    reading: str | None = None
    checked: Sequence[tuple[str, str]] = (("utility", "item"),)
    drawn: str = ""
    entries: int = 0
    finds_start: bool = False

    def __init__(self, title: str, fit: Fit) -> None:
        self.title, self.fit = title, fit

    @abstractmethod
    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""

    @abstractmethod
    def seen(self) -> "pd.Series":
        """Count the rankings or matches that each item is in."""

    @abstractmethod
    def parts(self, report: "Report") -> "list[Part]":
        """Say what there is besides the ranks."""

    def draw(self) -> Any:
        """Draw from the posterior of what is `drawn`."""
        return None

    def start(self, model: Any, note: Callable[[str], None]) -> dict[str, Any]:
        """Find where chains begin."""
        return {}

    def last_seen(self) -> "pd.Series | None":
        """When each item was last in a ranking or match, if data have dates."""
        return None

    def headline(self, posterior: Any) -> str:
        """Say what the verdict does not."""
        return ""

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose settings of NUTS for the model."""
        return {}

    def moved(self, posterior: Any) -> Any:
        """Return draws that say more of the same posterior."""
        return posterior

    def some(self, entries: int) -> "Job | None":
        """Return this job with this many random entries, or None if it cannot have fewer."""
        return None

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


def open_ranks(found: "Connectivity", fit: Fit | None = None) -> list[str]:
    """Say which ranks the comparisons leave open, and what the prior of a fit is then."""
    return paragraphs(
        "open_ranks",
        apart=[] if found.is_connected else found.components,
        never_behind=found.never_loses,
        never_ahead=found.never_wins,
        one_way=[] if found.is_strongly_connected else found.strong_components,
        groups=_groups,
        items=lambda items: some([repr(str(item)) for item in items], 5),
        fit=fit,
    )


def _groups(components: Sequence["pd.Index"]) -> str:
    """Name the first groups by their first items."""
    named = [f"{{{some([repr(str(item)) for item in group], 4)}}}" for group in components[:4]]
    return ", ".join([*named, "..."] if len(components) > 4 else named)
