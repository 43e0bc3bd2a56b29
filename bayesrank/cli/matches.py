"""The command ``bayesrank matches``: its model and its report."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayesrank.cli.estimate import Size
from bayesrank.cli.job import Job, confounded, open_ranks
from bayesrank.cli.options import MATCHES, Fit, MatchColumns
from bayesrank.cli.texts import sentence

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.cli.parts import Part
    from bayesrank.cli.report import Report
    from bayesrank.data import Pairs

# PyMC takes seconds to import. Functions import what they need, so that --help is instant.

COMPARED = 5  # items compared with the leader
CERTAIN = 20  # decided matches from which a side that wins all cannot do so by chance
MOST_AUDITED = 1000  # most items to audit, because its matrices have a cell per pair
MOST_JUDGES = 100  # most judges in the picture and the table of the page
READING = "an item beats another with probability 1 / (1 + exp(−difference)) if the two do not tie"


class MatchJob(Job):
    """Davidson or Bradley-Terry, with judges, categories, features and groups of matches.

    Parameters
    ----------
    pairs : Pairs
        Possibly grouped by category and neutral.
    columns : MatchColumns
        Judges have separate opinions by default if one might decide the ranking alone.
    features : bool
        Whether to adjust for the features of the matches.
    """

    has_categories = True

    def __init__(
        self,
        pairs: "Pairs",
        title: str,
        fit: Fit,
        columns: MatchColumns,
        *,
        features: bool = True,
    ) -> None:
        from bayesrank.leaderboard import have_opinions

        super().__init__(title, fit)
        self.data = self.pairs = pairs
        self.columns, self.features = columns, features
        self.entries = pairs.counts.size
        self.order, self.groups, self.ties_by = columns.ordered, columns.groups, columns.ties_by
        self.judges = len(pairs.judges) > 1
        opinions = columns.opinions
        self.opinions = self.judges and (have_opinions(pairs) if opinions is None else opinions)
        self.categories = "category" in pairs.groups and len(pairs.group_labels("category")) > 1
        self.ties = bool(pairs.counts[:, 2].any())
        if self.ties_by and not self.ties:
            raise ValueError("No match is a tie, so --ties-by has no effect. Leave it out.")
        more = (self.judges, self.groups, self.ties_by, pairs.groups, pairs.features is not None)
        self.simple = not any(more)
        self.reading = READING
        if self.judges:
            self.reading += ", judged by a typical judge"
        self.model = self._in_words()
        if features:
            self.checked = self._variables()

    def _in_words(self) -> str:
        """Describe the model in words."""
        pairs = self.pairs
        return sentence(
            "match_model",
            ties=self.ties,
            order=self.order,
            neutral="neutral" in pairs.groups,
            judges=self.judges,
            opinions=self.opinions,
            ties_by=self.ties_by,
            categories=self.categories,
            features=[] if pairs.feature_names is None else list(map(str, pairs.feature_names)),
            groups=self.groups,
        )

    def _variables(self) -> list[tuple[str, str]]:
        """List the variables whose convergence is checked, and their dims."""
        variables = {
            ("utility", "item"): True,
            ("adherence", "judge"): self.judges,
            ("category_utility", "item"): self.categories,
            ("feature_effect", "feature"): self.pairs.features is not None,
            ("item_tie_effect", "item"): bool(self.ties_by),
        }
        return [variable for variable, is_used in variables.items() if is_used]

    @cached_property
    def pymc_model(self) -> Any:
        """Build the model."""
        from bayesrank.leaderboard import leaderboard_model

        return leaderboard_model(
            self.pairs,
            groups=self.groups,
            features=self.features,
            opinions=self.opinions,
            category="category" if self.categories else None,
            prior=self.fit.prior,
            utility_scale=self.fit.prior_scale,
            order_effect=self.order,
            neutral="neutral" if "neutral" in self.pairs.groups else None,
            ties_by=self.ties_by,
        )

    def nuts(self, model: Any) -> dict[str, Any]:
        """Choose settings of NUTS for the model."""
        from bayesrank.leaderboard import nuts_settings

        return nuts_settings(model)

    def size(self) -> Size:
        """Count the parameters, for an estimate of the memory."""
        import numpy as np

        pairs, n = self.pairs, self.pairs.n_items
        rest, apart = n, [(0, 0)]
        if self.categories:
            rest += n * len(pairs.group_labels("category"))
        if self.judges:
            n_parameters = 1 + self.order + self.ties
            if pairs.feature_names is not None:
                rest += len(pairs.judges) * len(pairs.feature_names)
            apart.append((n_parameters * len(pairs.judges), n_parameters))
        for group in dict.fromkeys([*self.groups, *(["judge"] if self.opinions else [])]):
            codes = pairs.group_idx(group).astype(np.int64) * n
            seen = np.unique(np.concatenate([codes + pairs.first, codes + pairs.second])) // n
            labels = np.bincount(seen)
            ties = self.ties and group != "judge"
            apart.append((len(seen) + ties * len(labels), int(labels.max()) + ties))
        free = rest + sum(number for number, _ in apart)
        return Size(self.entries, free, 2 * free, *max(apart))

    def seen(self) -> "pd.Series":
        """Count the matches with each item."""
        return self.pairs.matches_by_item

    def cautions(self) -> list[str]:
        """Say what a reader should know about the data."""
        import numpy as np

        from bayesrank.leaderboard import may_decide_alone

        pairs = self.pairs
        found = pairs.connectivity()
        if len(found.uncompared) == pairs.n_items:
            raise ValueError("All counts are 0, so the data say nothing about ranks.")
        out = open_ranks(found, self.fit)
        first, second = pairs.counts.sum(axis=0)[:2]
        if self.order and min(first, second) == 0 and first + second >= CERTAIN:
            side = "first" if first else "second"
            out.append(sentence("one_side_wins", side=side, n=first + second))
        elif self.order and (text := confounded(pairs)):
            out.append(text)
        if self.columns.judge is not None and not self.judges:
            out.append(sentence("one_alone", who="judge", name=pairs.judges[0]))
        if may_decide_alone(pairs) and not self.opinions:
            n = np.bincount(pairs.judge_idx, pairs.counts.sum(axis=1), len(pairs.judges))
            judge = pairs.judges[int(n.argmax())]
            out.append(sentence("decides_alone", judge=judge, share=n.max() / n.sum()))
        if "category" in pairs.groups and not self.categories:
            label = pairs.group_labels("category")[0]
            out.append(sentence("one_category", label=label, option="--category"))
        return out

    def parts(self, report: "Report") -> "list[Part]":
        """Return the sections of the report after the ranks."""
        import numpy as np

        from bayesrank.cli import counted_sections, match_sections, next_matches, sections

        pairs, fit = self.pairs, self.fit
        posterior, predicted, summary = report.posterior, report.predicted, report.summary
        out = []
        if len(summary) > 1:
            out.append(match_sections.leader(posterior, summary, COMPARED))
            out.append(next_matches.coming(posterior, summary, fit.top, self.groups))
        if pairs.features is not None:
            raw = report.sample(MatchJob(pairs, self.title, fit, self.columns, features=False))
            out += match_sections.features(posterior, summary, raw, fit)
        if self.groups:
            out.append(match_sections.together(posterior, pairs, self.groups, fit))
        if self.ties_by:
            out.append(match_sections.ties(posterior, pairs, summary, fit))
        if self.judges:
            out.append(match_sections.judges(posterior, pairs, MOST_JUDGES, fit))
        if self.categories:
            n = np.bincount(pairs.group_idx("category"), pairs.counts.sum(axis=1))
            labels = pairs.coords["category"]
            name = str(self.columns.category)
            out += match_sections.categories(posterior, name, labels, n, "Matches", summary, fit)
        out.append(sections.predictions(predicted, "pair", MATCHES))
        groups = {"judge": self.judges, "category": self.categories}
        by = [name for name, several in groups.items() if several]
        out.append(sections.checks_of_matches(predicted, by))
        if len(summary) <= MOST_AUDITED:
            out.append(
                match_sections.audit_of(
                    pairs,
                    self.groups,
                    order=self.order,
                    opinions=self.opinions,
                    leader=summary.index[0],
                )
            )
        return [
            *out,
            *counted_sections.counted_matches(pairs, summary),
            sections.places(posterior, summary),
            *sections.wins(posterior, summary),
        ]
