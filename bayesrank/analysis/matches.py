"""The analysis of matches."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from bayesrank.analysis.analysis import Analysis, confounded, open_ranks
from bayesrank.analysis.size import Size
from bayesrank.data.read import SWAP
from bayesrank.texts import MATCHES, sentence

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.data import Pairs

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

CERTAIN = 20  # decided matches from which a side that wins all cannot do so by chance
GRADED = (
    "a difference of 1 adds 1 to the log odds that a vote is on the item's side of a boundary "
    "between grades"
)
GROUNDED = "a difference of 1 adds 1 to the log odds of a win, if both are far above the threshold"
READING = "an item beats another with probability 1 / (1 + exp(−difference)) if the two do not tie"


class MatchAnalysis(Analysis):
    """Matches: Davidson, Bradley-Terry, grades or both bad, with judges, categories and groups.

    Parameters
    ----------
    pairs : Pairs
    category, groups, features, opinions, contrary, prior, utility_scale, order_effect, neutral, \
ties_by, target, kind, swaps
        As in `bayesrank.leaderboard_model`.
    """

    KIND = "matches"
    ARGUMENTS: ClassVar = (
        "category", "groups", "features", "opinions", "contrary", "prior", "utility_scale",
        "order_effect", "neutral", "ties_by", "target", "kind", "swaps",
    )  # fmt: skip
    has_categories = True
    words = MATCHES

    def __init__(
        self,
        pairs: "Pairs",
        *,
        category: str | None = None,
        groups: Sequence[str] = (),
        features: bool = True,
        opinions: bool | None = None,
        contrary: bool = False,
        prior: str = "zero-sum",
        utility_scale: float | None = None,
        order_effect: bool | None = None,
        neutral: str | None = None,
        ties_by: Sequence[str] = (),
        target: str | None = None,
        kind: str | None = None,
        swaps: bool | None = None,
    ) -> None:
        from bayesrank.analysis.leaderboard import are_graded, have_opinions
        from bayesrank.analysis.targets import kinds_of, of_kinds

        self.data = self.pairs = pairs
        self.category, self.opinions, self.contrary = category, opinions, contrary
        self.features, self.neutral = features, neutral
        self.order_effect = pairs.ordered if order_effect is None else order_effect
        self.groups = [group for group in groups if group != "judge"]
        self.ties_by, self.prior, self.utility_scale = list(ties_by), prior, utility_scale
        self.graded = are_graded(pairs)
        self.both_bad = pairs.both_bad is not None
        outcomes = pairs.with_both_bad if self.both_bad else pairs.counts
        self.entries = pairs.by_grade[1].size if self.graded else outcomes.size
        self.judges = len(pairs.judges) > 1
        if "judge" in groups:
            opinions = self.opinions = True
        self.swaps = swaps
        self.joins = SWAP in pairs.groups if swaps is None else swaps
        self.target = target
        self.kinds = None if target is None else kinds_of(pairs, target, kind)
        self.kind = None if self.kinds is None else self.kinds.group
        mine = pairs if self.kinds is None else of_kinds(pairs, self.kinds)[0]
        by_default = have_opinions(mine) and not contrary
        self.differ = self.judges and (by_default if opinions is None else opinions)
        self.categories = category is not None and len(pairs.group_labels(category)) > 1
        self.ties = not self.graded and not self.both_bad and bool(pairs.counts[:, 2].any())
        self.adjusted = bool(self.feature_names)
        if self.ties_by and not self.ties:
            why = "Grades have no tie parameter" if self.graded else "No match is a tie"
            why = "Ties depend on the threshold of both bad" if self.both_bad else why
            raise ValueError(f"{why}, so `ties_by` has no effect. Leave it out.")
        more = (self.graded, self.both_bad, self.judges, self.groups, self.ties_by, pairs.groups)
        self.simple = not any(more) and pairs.features is None
        self.reading = GRADED if self.graded else GROUNDED if self.both_bad else READING
        if self.judges:
            whom = "a typical judge" if self.kinds is None else f"a typical judge of {target}"
            self.reading += f", judged by {whom}"
        self.description = self._in_words()
        self.checked = self._variables()

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the class that a saved posterior records, without what has no effect."""
        used = {
            "category": self.category if self.categories else None,
            "neutral": self.neutral if self.order_effect else None,
        }
        return {name: used.get(name, getattr(self, name)) for name in self.ARGUMENTS}

    @property
    def all_groups(self) -> list[str]:
        """Groups whose labels have deviations, also of kinds and of votes in both orders."""
        more = [SWAP] if self.joins else []
        return [*self.groups, *more, *([] if self.kind is None else [self.kind])]

    @property
    def feature_names(self) -> list[str]:
        """Names of the features that the model adjusts for."""
        names = self.pairs.feature_names
        return list(map(str, names)) if self.features and names is not None else []

    @property
    def category_name(self) -> str:
        """The name of the column of categories."""
        return self.columns.get("category", str(self.category))

    def _in_words(self) -> str:
        """Describe the model in words."""
        return sentence(
            "match_model",
            ties=self.ties,
            grades=len(self.pairs.boundaries) + 1 if self.graded else 0,
            both_bad=self.both_bad,
            order=self.order_effect,
            neutral=self.neutral is not None,
            judges=self.judges,
            opinions=self.differ,
            ties_by=self.ties_by,
            categories=self.categories,
            features=self.feature_names,
            groups=self.groups,
            target=self.target,
            swaps=self.joins,
        )

    def of_kinds(self) -> "tuple[MatchAnalysis, MatchAnalysis]":
        """Return the analyses of the votes of the target alone, and of all others alone.

        The sides have the options of this analysis, but no target.
        """
        from bayesrank.analysis.targets import of_kinds

        assert self.kinds is not None  # for the type checker
        same = self.arguments | {"target": None, "kind": None, "ties_by": []}
        if "judge" not in same["groups"]:
            same["opinions"] = self.opinions
        same["swaps"] = None if self.joins else False
        mine, theirs = of_kinds(self.pairs, self.kinds)
        return MatchAnalysis(mine, **same), MatchAnalysis(theirs, **same)

    def _variables(self) -> list[tuple[str, str]]:
        """List the variables whose convergence is checked, and their dims."""
        variables = {
            ("utility", "item"): True,
            ("adherence", "judge"): self.judges,
            ("category_utility", "item"): self.categories,
            ("feature_effect", "feature"): self.adjusted,
            ("item_tie_effect", "item"): bool(self.ties_by),
        }
        return [variable for variable, is_used in variables.items() if is_used]

    @cached_property
    def model(self) -> Any:
        """Build the model."""
        from bayesrank.analysis.leaderboard import leaderboard_model

        return leaderboard_model(self.pairs, **self.arguments)

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose settings of NUTS for the model."""
        from bayesrank.analysis.leaderboard import nuts_settings

        return nuts_settings(model)

    def size(self) -> Size:
        """Count the parameters, for an estimate of the memory."""
        import numpy as np

        pairs, n = self.pairs, self.pairs.n_items
        rest, apart = n, [(0, 0)]
        if self.categories:
            rest += n * len(pairs.group_labels(str(self.category)))
        if self.judges:
            cuts = len(pairs.boundaries) // 2 if self.graded else 0
            n_parameters = 1 + self.order_effect + self.ties + cuts + 2 * self.both_bad
            if self.adjusted:
                rest += len(pairs.judges) * len(self.feature_names)
            apart.append((n_parameters * len(pairs.judges), n_parameters))
        for group in dict.fromkeys([*self.groups, *(["judge"] if self.differ else [])]):
            codes = pairs.group_idx(group).astype(np.int64) * n
            seen = np.unique(np.concatenate([codes + pairs.first, codes + pairs.second])) // n
            labels = np.bincount(seen)
            ties = self.ties and group != "judge"
            apart.append((len(seen) + ties * len(labels), int(labels.max()) + ties))
        if self.joins:
            apart.append((len(pairs.group_labels(SWAP)), 1))
        free = rest + sum(number for number, _ in apart)
        return Size(self.entries, free, 2 * free, *max(apart))

    def seen(self) -> "pd.Series":
        """Count the matches with each item."""
        return self.pairs.matches_by_item

    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""
        import numpy as np

        from bayesrank.analysis.leaderboard import may_decide_alone

        pairs = self.pairs
        found = pairs.connectivity()
        if len(found.uncompared) == pairs.n_items:
            raise ValueError("All counts are 0, so the data say nothing about ranks.")
        out = open_ranks(found, self.prior_text)
        first, second = pairs.counts.sum(axis=0)[:2]
        if self.order_effect and min(first, second) == 0 and first + second >= CERTAIN:
            side = "first" if first else "second"
            out.append(sentence("one_side_wins", side=side, n=first + second))
        elif self.order_effect and (text := confounded(pairs)):
            out.append(text)
        if "judge" in self.columns and not self.judges:
            out.append(sentence("one_alone", who="judge", name=pairs.judges[0]))
        if may_decide_alone(pairs) and not self.differ and self.kinds is None:
            n = np.bincount(pairs.judge_idx, pairs.matches, len(pairs.judges))
            judge = pairs.judges[int(n.argmax())]
            out.append(sentence("decides_alone", judge=judge, share=n.max() / n.sum()))
        if self.category is not None and not self.categories:
            label = pairs.group_labels(self.category)[0]
            out.append(sentence("one_category", label=label))
        return out
