"""Base class of analyses: data, a model of them, and what a reader should know before the fit."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from bayesrank.analysis.size import Size
from bayesrank.priors import LEARNED
from bayesrank.texts import Words, paragraphs, sentence, some
from bayesrank.texts.nouns import OCCASIONS, in_words, nouns_of, unused_nouns, with_nouns

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.data import Connectivity, Pairs, Rankings

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

Method = Literal["auto", "nuts", "inla"]

NAMED = 3  # most items to name in a note
LEVEL = 1e-6  # largest error of levels that explain the order of all matches


class Settings(NamedTuple):
    """How to fit: the arguments of `bayesrank.fit`.

    `top` is the k for which P(top k) must be precise.
    """

    method: Method = "auto"
    draws: int = 1000
    tune: int = 500
    chains: int = 4
    random_seed: int = 0
    top: int = 3

    def text(self, attrs: Mapping[str, Any] | None = None) -> str:
        """Describe the draws in words; `attrs` are those of a posterior."""
        drawn, attrs = f"{self.chains * self.draws:,} draws", attrs or {}
        if "approximation" in attrs:
            return f"{drawn} of an approximation"
        if "effective_draws" in attrs:
            return f"{drawn} by importance sampling"
        chains = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        return f"{chains} of {self.draws:,} draws after {self.tune:,} tuning steps"


class Analysis(ABC):
    """Data and a model of them.

    Attributes
    ----------
    data : Rankings or Pairs
    model : pm.Model or None
        None if the analysis does not use PyMC.
    description : str
        The model in words.
    reading : str, optional
        Meaning of a difference of utilities, if it is not the one for rankings.
    words : Words
        What texts call rankers and rankings.
    checked : sequence of (str, str)
        Variables whose convergence is checked, and their dims.
    accuracy : str
        If no sampler is used: how accurate the draws are, in words. Then `draw` returns them.
    entries : int
        Number of values in the observed variable.
    groups : sequence of str
        Columns whose labels have deviations.
    finds_start : bool
        Whether `start` gives the initial values; then there is no approximation.
    has_categories : bool
        Whether the model can have utilities by category, so that unused columns are tested.
    simple : bool
        Whether `fit_pairs` or `fit_rankings` has the same model.
    """

    KIND: ClassVar[str]
    ARGUMENTS: ClassVar[tuple[str, ...]]
    """Arguments of the class that a saved posterior records."""

    data: Any
    description: str
    model: Any = None
    reading: str | None = None
    words: Words = Words()
    checked: Sequence[tuple[str, str]] = (("utility", "item"),)
    accuracy: str = ""
    entries: int = 0
    groups: Sequence[str] = ()
    finds_start: bool = False
    simple: bool = False
    has_categories: bool = False
    prior: str = "normal"
    utility_scale: float | None = None

    @abstractmethod
    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""

    @abstractmethod
    def seen(self) -> "pd.Series":
        """Count the rankings or matches that each item is in."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Columns of the table that the data came from, by role."""
        return self.data.roles

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the class that a saved posterior records."""
        return {name: getattr(self, name) for name in self.ARGUMENTS}

    @property
    def data_text(self) -> str:
        """The data in words."""
        return in_words(repr(self.data), **self.nouns)

    @cached_property
    def nouns(self) -> dict[str, str | None]:
        """Nouns for sentences about the data, from the names of the columns."""
        return nouns_of(self.columns)

    @cached_property
    def _nouns_of_texts(self) -> dict[str, str | None]:
        """Nouns of texts: a word that stands in a label keeps its meaning."""
        nouns, data = dict(self.nouns), self.data
        if nouns["ranking"] is None and nouns["ranker"] in OCCASIONS:
            once = len(data.coords["ranker"]) == len(data.labels)
            nouns["ranking"] = nouns["ranker"] if once else None
        labels = (label for axis in data.coords.values() for label in axis)
        return unused_nouns(nouns, [*labels, *self.columns.values(), *data.groups])

    def named(self, text: str) -> str:
        """Write a text with the nouns of the data, such as drivers for items."""
        return with_nouns(text, **self._nouns_of_texts)

    @property
    def prior_text(self) -> str:
        """The prior of the utilities in words."""
        if self.utility_scale is not None:
            return f"{self.prior} with standard deviation {self.utility_scale:g}"
        return (
            f"{self.prior} with a standard deviation learned from the data (prior: half-normal "
            f"with scale {LEARNED:g})"
        )

    def size(self) -> Size:
        """Count the parameters, for an estimate of the memory."""
        n = len(self.data.coords["item"])
        return Size(self.entries, n + 1, 2 * n + 1)

    def draw(self, settings: Settings, watch: Callable[[int, int], None]) -> Any:
        """Return draws from the posterior, if `accuracy` is set; report the progress of the fit."""
        return None

    def resume(self, posterior: Any, settings: Settings) -> None:
        """Take what else a saved posterior contains, if `accuracy` is set; refuse what is wrong."""
        return

    def start(self, model: Any, random_seed: int, note: Callable[[str], None]) -> dict[str, Any]:
        """Find initial values for the chains."""
        return {}

    def last_seen(self) -> "pd.Series | None":
        """Return when each item was last in a ranking or match, if the data have dates."""
        return None

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose settings of NUTS for the model."""
        return {}

    def moved(self, posterior: Any, random_seed: int) -> Any:
        """Return draws of the same posterior with a smaller Monte Carlo error, or reordered."""
        return posterior

    def some(self, entries: int, random_seed: int) -> "Analysis | None":
        """Return this analysis with this many random entries, or None if it needs all."""
        return None

    @property
    def each(self) -> "Analysis | None":
        """Return this analysis with a row for each independent ranking, if rows are others."""
        return None

    def described(self, settings: Settings, attrs: Mapping[str, Any]) -> str:
        """Describe the data, model and draws for the page; `attrs` are those of the posterior."""
        seed = settings.random_seed
        if self.accuracy:
            n = settings.chains * settings.draws
            return f"{self.data_text}. Model: {self.description}; {n:,} draws; seed {seed}."
        return (
            f"{self.data_text}. Model: {self.description}; utilities {self.prior_text}; "
            f"{settings.text(attrs)}; seed {seed}."
        )


def times_ranked(rankings: "Rankings", name: str = "rankings") -> "pd.Series":
    """Count the rankings that contain each item, each with its count and weight."""
    import numpy as np
    import pandas as pd

    row, slot = np.nonzero(rankings.mask)
    n = np.bincount(rankings.item[row, slot], rankings.evidence[row], rankings.n_items)
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


def open_ranks(found: "Connectivity", prior: str = "") -> list[str]:
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
        prior=prior,
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
