"""Base class of the jobs of the commands: the model to fit and the report to write."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayesrank.cli.estimate import Size
from bayesrank.cli.options import Fit
from bayesrank.cli.texts import paragraphs, sentence, some

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.cli.parts import Part
    from bayesrank.cli.report import Report
    from bayesrank.data import Connectivity, Pairs, Rankings

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

NAMED = 3  # most items to name in a note


LEVEL = 1e-6  # largest error of levels that explain the order of all matches


class Job(ABC):
    """The model and the report of a command.

    Attributes
    ----------
    data : Rankings or Pairs
    title : str
        Heading of the page.
    fit : Fit
    model : str
        The model in words.
    reading : str, optional
        Meaning of a difference of utilities, if it is not the one for rankings.
    checked : sequence of (str, str)
        Variables whose convergence is checked, and their dims.
    drawn : str
        If no sampler is used: how accurate the draws are, in words. Then `draw` returns them.
    entries : int
        Number of values in the observed variable.
    groups : sequence of str
        Columns whose labels have deviations.
    finds_start : bool
        Whether `start` gives the initial values; then there is no quick answer.
    has_categories : bool
        Whether the model can have utilities by category, so that unused columns are tested.
    simple : bool
        For matches: whether `fit_pairs` has the same model.
    readings : mapping of str to Rankings
        The same table with another meaning of omitted items or codes.
    """

    data: Any
    model: str
    pymc_model: Any = None
    reading: str | None = None
    checked: Sequence[tuple[str, str]] = (("utility", "item"),)
    drawn: str = ""
    entries: int = 0
    groups: Sequence[str] = ()
    finds_start: bool = False
    simple: bool = False
    has_categories: bool = False

    def __init__(self, title: str, fit: Fit) -> None:
        self.title, self.fit = title, fit
        self.readings: Mapping[str, Rankings] = {}

    @abstractmethod
    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""

    @abstractmethod
    def seen(self) -> "pd.Series":
        """Count the rankings or matches that each item is in."""

    @abstractmethod
    def parts(self, report: "Report") -> "list[Part]":
        """Return the sections of the report after the ranks."""

    @property
    def data_text(self) -> str:
        """The data in words."""
        return repr(self.data)

    def size(self) -> Size:
        """Count the parameters, for an estimate of the memory."""
        n = len(self.data.coords["item"])
        return Size(self.entries, n + 1, 2 * n + 1)

    def draw(self, watch: Callable[[int, int], None]) -> Any:
        """Return draws from the posterior, if `drawn` is set; report the progress of the fit."""
        return None

    def resume(self, posterior: Any) -> None:
        """Take what else a saved posterior contains, if `drawn` is set; refuse what is wrong."""
        return

    def start(self, model: Any, note: Callable[[str], None]) -> dict[str, Any]:
        """Find initial values for the chains."""
        return {}

    def last_seen(self) -> "pd.Series | None":
        """Return when each item was last in a ranking or match, if the data have dates."""
        return None

    def headline(self, posterior: Any) -> str:
        """Return a sentence to add to the verdict."""
        return ""

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose settings of NUTS for the model."""
        return {}

    def moved(self, posterior: Any) -> Any:
        """Return draws of the same posterior with a smaller Monte Carlo error, or reordered."""
        return posterior

    def some(self, entries: int) -> "Job | None":
        """Return this job with this many random entries, or None if it cannot have fewer."""
        return None

    def described(self, fit: Fit) -> str:
        """Describe the data, model and draws for the page."""
        if self.drawn:
            n = fit.chains * fit.draws
            return f"{self.data_text}. Model: {self.model}; {n:,} draws; seed {fit.seed}."
        return (
            f"{self.data_text}. Model: {self.model}; utilities {fit.prior} {fit.spread}; "
            f"{fit.sampling}; seed {fit.seed}."
        )


def times_ranked(rankings: "Rankings", name: str = "rankings") -> "pd.Series":
    """Sum the weights of the rankings that contain each item."""
    import numpy as np
    import pandas as pd

    row, slot = np.nonzero(rankings.mask)
    n = np.bincount(rankings.item[row, slot], rankings.weight[row], rankings.n_items)
    return pd.Series(n, rankings.coords["item"], name=name)


def confounded(pairs: "Pairs") -> str:
    """Say which items are always first or always second, so that the order effect is unknown.

    The effect is unknown if items have levels, and the first item of each match is one level above
    the second. On neutral ground both have the same level.
    """
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsqr

    played = pairs.counts.sum(axis=1)
    used = played > 0
    neutral = np.zeros(len(played), dtype=bool)
    if "neutral" in pairs.groups:
        neutral = np.asarray(pairs.group_labels("neutral") == "yes")[pairs.group_idx("neutral")]
    rows = np.stack([pairs.first, pairs.second, neutral], axis=1)[used].astype(np.int64)
    rows = np.unique(rows, axis=0)
    home = rows[rows[:, 2] == 0, :2]
    both = {*map(tuple, home.tolist())}
    if not both or any((j, i) in both for i, j in both):
        return ""
    n = len(rows)
    sides = (np.tile(np.arange(n), 2), rows[:, :2].T.ravel())
    ahead = csr_array((np.repeat([1.0, -1.0], n), sides), shape=(n, pairs.n_items))
    level = lsqr(ahead, 1.0 - rows[:, 2], atol=1e-10, btol=1e-10)[0]
    if abs(ahead @ level + rows[:, 2] - 1).max() > LEVEL:
        return ""
    # The side with fewer items is named.
    sides_of = {"first": np.unique(home[:, 0]), "second": np.unique(home[:, 1])}
    side = min(sides_of, key=lambda name: len(sides_of[name]))
    names = pairs.coords["item"][sides_of[side]]
    items = some([repr(str(name)) for name in names], 3)
    apart = not {*sides_of["first"].tolist()} & {*sides_of["second"].tolist()}
    n_names, n_rows = len(names) if apart else 0, int(played[~neutral].sum())
    return sentence("confounded", n=n_names, apart=apart, items=items, side=side, rows=n_rows)


def open_ranks(found: "Connectivity", fit: Fit | None = None) -> list[str]:
    """Say which ranks the comparisons leave open, and describe the prior that decides them."""
    rest = found.components[1:]  # the first is the largest
    return paragraphs(
        "open_ranks",
        apart=sum(map(len, rest)),
        total=len(found.items),
        rankings=found.source == "rankings",
        never_behind=found.never_loses,
        never_ahead=found.never_wins,
        one_way=[] if found.is_strongly_connected else found.strong_components,
        groups=_groups,
        items=_named,
        fit=fit,
    )


def _named(items: "pd.Index") -> str:
    """Name a few items, or count them."""
    names = [repr(str(item)) for item in items[: NAMED + 1]]
    if len(names) > NAMED:
        return f"{len(items):,} items"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _groups(components: Sequence["pd.Index"]) -> str:
    """Name the first groups by their first items."""
    named = [f"{{{some([repr(str(item)) for item in group], 4)}}}" for group in components[:4]]
    return ", ".join([*named, "..."] if len(components) > 4 else named)
