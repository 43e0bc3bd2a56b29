"""The command ``bayesrank matches``: what it fits, and what it says beside the ranks."""

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bayesrank.cli.run import Fit, Job, Part, Sampler, cautions_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.data import Pairs

# PyMC takes seconds to import: functions import what they need, so that --help is instant.

COMPARED = 5  # items that the leader is set against
CERTAIN = 20  # decided matches from which it is no chance that the same side wins all
MOST_AUDITED = 1000  # items: its matrices have a cell for every two
MOST_JUDGES = 100  # in the picture, and rows on the page


def matches_job(
    pairs: "Pairs",
    title: str,
    fit: Fit,
    *,
    order: bool,
    judged: bool = False,
    groups: Sequence[str] = (),
    opinions: bool | None = None,
    ties_by: Sequence[str] = (),
) -> Job:
    """Say what is to be done with matches, which are grouped by category and neutral, if at all."""
    from bayesrank.leaderboard import have_opinions

    judges = len(pairs.judges) > 1
    own = judges and (have_opinions(pairs) if opinions is None else opinions)
    categories = "category" in pairs.groups and len(pairs.group_labels("category")) > 1
    ties = bool(pairs.counts[:, 2].any())
    if ties_by and not ties:
        raise ValueError("No match is a tie, so there is nothing for --ties-by: leave it out.")

    @functools.cache
    def build(*, features: bool = True) -> Any:
        from bayesrank.leaderboard import leaderboard_model

        return leaderboard_model(
            pairs,
            groups=groups,
            features=features,
            opinions=own,
            category="category" if categories else None,
            prior=fit.prior,
            utility_scale=fit.prior_scale,
            order_effect=order,
            neutral="neutral" if "neutral" in pairs.groups else None,
            ties_by=ties_by,
        )

    def nuts(model: Any) -> dict[str, Any]:
        from bayesrank.leaderboard import nuts_settings

        return nuts_settings(model)

    def parts(
        posterior: Any, predicted: Any, summary: "pd.DataFrame", sampler: Sampler
    ) -> list[Part]:
        import numpy as np

        from bayesrank.cli import coming_matches, counted_sections, match_sections, sections

        out = []
        if len(summary) > 1:
            out.append(match_sections.leader(posterior, summary, COMPARED))
            out.append(coming_matches.coming(posterior, summary, fit.top, groups))
        if pairs.features is not None:
            raw = sampler(functools.partial(build, features=False))
            out += match_sections.features(posterior, summary, raw, fit)
        if groups:
            out.append(match_sections.together(posterior, pairs, groups, fit))
        if ties_by:
            out.append(match_sections.ties(posterior, pairs, summary, fit))
        if judges:
            out.append(match_sections.judges(posterior, pairs, MOST_JUDGES, fit))
        if categories:
            n = np.bincount(pairs.group_idx("category"), pairs.counts.sum(axis=1))
            labels = pairs.coords["category"]
            out += match_sections.categories(posterior, labels, n, "Matches", summary, fit)
        out.append(sections.predictions(predicted, "pair", "match"))
        by = ["judge"] * judges + ["category"] * categories
        out.append(sections.checks_of_matches(predicted, by))
        if len(summary) <= MOST_AUDITED:
            time = match_sections.dated_group(pairs, groups)
            timed = pairs if time is None else match_sections.in_time(pairs, time)
            out.append(match_sections.audit_of(timed, predicted, order=order, time=time))
        out += counted_sections.counted_matches(pairs, summary)
        out.append(sections.places(posterior, summary))
        win = sections.wins(posterior, summary, "match")
        return [*out, win] if win is not None else out

    model = "Davidson's, with ties as outcomes" if ties else "Bradley-Terry, as nothing ties"
    model += ", the first item having an advantage or not" * order
    model += ", but on neutral ground" * ("neutral" in pairs.groups)
    model += ", judges with an adherence each" * judges
    model += " and opinions of their own" * own
    model += " and an order effect each" * (judges and order)
    model += " and a readiness to call ties each" * (judges and ties)
    model += ", ties by item" * bool(ties_by) + " and by strength" * ("strength" in ties_by)
    model += ", utilities by category around those of the table" * categories
    if pairs.feature_names is not None:
        model += f", {_listed(pairs.feature_names)} held equal" + ", by judges" * judges
    if groups:
        model += f", matches going together by {_listed(groups)}"
    return Job(
        title=title,
        data=pairs,
        build=build,
        model=model,
        cautions=lambda: _cautions(pairs, fit, order=order, judged=judged, opinions=own),
        seen=lambda: seen(pairs),
        request={
            "command": "matches",
            "order": order,
            "judged": judged,
            "groups": list(groups),
            "opinions": own,
            "ties_by": list(ties_by),
        },
        reading=(
            "an item beats another, if the two do not tie, with probability "
            "1 / (1 + exp(−difference))" + ", by the judgement of a typical judge" * judges
        ),
        checked=[
            ("utility", "item"),
            *([("adherence", "judge")] * judges),
            *([("category_utility", "item")] * categories),
            *([("feature_effect", "feature")] * (pairs.features is not None)),
            *([("item_tie_effect", "item")] * bool(ties_by)),
        ],
        parts=parts,
        nuts=nuts,
        entries=pairs.counts.size,
        simulated=True,
    )


def _listed(names: Iterable[Any]) -> str:
    """Write names as a list in a sentence."""
    *some, last = map(str, names)
    return f"{', '.join(some)} and {last}" if some else last


def seen(pairs: "Pairs") -> "pd.Series":
    """How many matches each item is in."""
    import numpy as np
    import pandas as pd

    n = pairs.counts.sum(axis=1)
    times = sum(np.bincount(side, n, pairs.n_items) for side in (pairs.first, pairs.second))
    return pd.Series(times, pairs.coords["item"], name="matches")


def _cautions(pairs: "Pairs", fit: Fit, *, order: bool, judged: bool, opinions: bool) -> list[str]:
    """Say what a reader should know about the data."""
    import numpy as np

    from bayesrank.leaderboard import may_decide_alone

    found = pairs.connectivity()
    if len(found.uncompared) == pairs.n_items:
        raise ValueError("All counts are 0: no match was played, so nothing is known of the ranks.")
    out = cautions_of(found, fit)
    first, second = pairs.counts.sum(axis=0)[:2]
    if order and min(first, second) == 0 and first + second >= CERTAIN:
        side = "first" if first else "second"
        out.append(
            f"The {side} item wins all {first + second:,} matches that are decided. If the columns "
            "hold winner and loser, and not who stood first, the advantage of the first item "
            "that this model finds does not exist: give them as --winner and --loser."
        )
    if judged and len(pairs.judges) == 1:
        out.append(
            f"There is one judge only ({pairs.judges[0]!r}): the result says how one opinion "
            "compares with the prior, not what others would say."
        )
    if may_decide_alone(pairs) and not opinions:
        n = np.bincount(pairs.judge_idx, pairs.counts.sum(axis=1), len(pairs.judges))
        judge, share = pairs.judges[int(n.argmax())], n.max() / n.sum()
        out.append(
            f"{judge!r} has {100 * share:.0f} % of the matches, and "
            "decides alone if that judge is sure of another order. Judges and items are too many "
            "for each judge to have opinions of its own, unless that is asked for: name the "
            "column of the judges as --group as well."
        )
    if "category" in pairs.groups and len(pairs.group_labels("category")) == 1:
        label = pairs.group_labels("category")[0]
        out.append(f"There is one category only ({label!r}): --category changes nothing.")
    return out
