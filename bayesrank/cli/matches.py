"""The command ``bayesrank matches``: what it reads, and what it says beside the ranks."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bayesrank.cli.run import Fit, Job, Part, cautions_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.data import Pairs

# PyMC takes seconds to import: functions import what they need, so that --help is instant.

COMPARED = 5  # items that the leader is set against
CERTAIN = 20  # decided matches from which it is no chance that the same side wins all
MOST_JUDGES = 100  # in the picture, and rows on the page


@dataclass(frozen=True)
class Columns:
    """Columns of the table, and how outcomes are written in it."""

    first: str
    second: str
    outcome: str
    first_wins: tuple[str, ...] = ("first",)
    second_wins: tuple[str, ...] = ("second",)
    tie: tuple[str, ...] = ("tie",)
    count: str | None = None
    judge: str | None = None
    category: str | None = None
    order: bool = True

    @property
    def spelled(self) -> dict[str, str]:
        """What each spelling of an outcome means."""
        out: dict[str, str] = {}
        written = {"first": self.first_wins, "second": self.second_wins, "tie": self.tie}
        for outcome, texts in written.items():
            for text in texts:
                if out.setdefault(text, outcome) != outcome:
                    raise click.UsageError(
                        f"{text!r} cannot mean both {out[text]} and {outcome}: look at "
                        "--first-wins, --second-wins and --tie."
                    )
        return out


def read_pairs(file: Path, columns: Columns) -> "Pairs":
    """Read the table; the group of the categories, if there are any, is called category."""
    from bayesrank.data import Pairs, read_table
    from bayesrank.data.read import require_columns

    spelled = columns.spelled  # wrong options first
    frame = read_table(file)
    require_columns(frame, [columns.outcome])
    outcome = _translated(frame[columns.outcome], spelled)
    pairs = Pairs.from_frame(
        frame.assign(**{columns.outcome: outcome}),
        first=columns.first,
        second=columns.second,
        outcome=columns.outcome,
        count=columns.count,
        judge=columns.judge,
        by=columns.category or (),
    )
    if columns.category is None:
        return pairs
    # One name in all results: a column may have one that files cannot hold.
    return replace(pairs, groups={"category": pairs.groups[columns.category]})


def _translated(column: "pd.Series[Any]", spelled: dict[str, str]) -> "pd.Series[Any]":
    """Outcomes as first, second and tie."""
    import pandas as pd

    codes, distinct = pd.factorize(column)
    # A table of 1, 0 and 0.5 is read as numbers: "1" is 1.0 there.
    numbers = {_number(text): meaning for text, meaning in spelled.items()}
    meant = [spelled.get(str(value), numbers.get(_number(value))) for value in distinct]
    for row, code in enumerate(codes):
        if code < 0 or meant[code] is None:
            _refuse(column, row, spelled)
    return pd.Series(pd.Index(meant).take(codes), index=column.index)


def _number(value: Any) -> Any:
    """Return the number that a text is, or else what is equal to nothing."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return object()


def _refuse(column: "pd.Series[Any]", row: int, spelled: dict[str, str]) -> NoReturn:
    from bayesrank.data.read import label_repr, row_name

    value, where = column.iloc[row], row_name(column.index, row)
    ways = [
        " or ".join(repr(text) for text, meaning in spelled.items() if meaning == outcome)
        + f" ({meant})"
        for outcome, meant in (
            ("first", "the first wins"), ("second", "the second wins"), ("tie", "a tie")
        )
    ]  # fmt: skip
    raise ValueError(
        f"An outcome must be {', '.join(ways)}; column {column.name!r} has {label_repr(value)} in "
        f"{where}. If outcomes are written otherwise, say how with --first-wins, --second-wins and "
        "--tie, each as often as there are ways."
    )


def matches_job(file: Path, columns: Columns, fit: Fit) -> Job:
    """Read the table, and say what is to be done with it."""
    pairs = read_pairs(file, columns)
    judges = len(pairs.judges) > 1
    categories = bool(pairs.groups) and len(pairs.group_labels("category")) > 1
    ties = bool(pairs.counts[:, 2].any())

    def build() -> Any:
        from bayesrank.leaderboard import leaderboard_model

        return leaderboard_model(
            pairs,
            category="category" if categories else None,
            prior=fit.prior,
            utility_scale=fit.prior_scale,
            order_effect=columns.order,
        )

    def nuts(model: Any) -> dict[str, Any]:
        from bayesrank.leaderboard import nuts_settings

        return nuts_settings(model)

    def parts(posterior: Any, predicted: Any, summary: "pd.DataFrame") -> list[Part]:
        from bayesrank.cli import match_sections, sections

        out = [match_sections.leader(posterior, summary, COMPARED)] if len(summary) > 1 else []
        if judges:
            out.append(match_sections.judges(posterior, pairs, MOST_JUDGES))
        if categories:
            out += match_sections.categories(posterior, pairs, summary, fit.top)
        out.append(sections.predictions(predicted, "pair", "match"))
        out.append(sections.places(posterior, summary))
        win = sections.wins(posterior, summary, "match")
        return [*out, win] if win is not None else out

    model = "Davidson's, with ties as outcomes" if ties else "Bradley-Terry, as nothing ties"
    model += ", the first item having an advantage or not" * columns.order
    model += ", judges with an adherence each" * judges
    model += " and an order effect each" * (judges and columns.order)
    model += " and a readiness to call ties each" * (judges and ties)
    model += ", utilities by category around those of the table" * categories
    return Job(
        title=f"Ranks by the matches in {file.name}",
        data=pairs,
        build=build,
        model=model,
        cautions=lambda: _cautions(pairs, columns, fit),
        reading=(
            "an item beats another, if the two do not tie, with probability "
            "1 / (1 + exp(−difference))" + ", by the judgement of a typical judge" * judges
        ),
        checked=[
            ("utility", "item"),
            *([("adherence", "judge")] * judges),
            *([("category_utility", "item")] * categories),
        ],
        parts=parts,
        nuts=nuts,
        files=[
            *(["adherence.png", "judges.csv"] * judges),
            *(["categories.csv"] * categories),
            *("predictions.csv", "places.png", "wins.png"),
        ],
        entries=pairs.n_pairs,
    )


def _cautions(pairs: "Pairs", columns: Columns, fit: Fit) -> list[str]:
    """Say what a reader should know about the data."""
    found = pairs.connectivity()
    if len(found.uncompared) == pairs.n_items:
        raise ValueError(
            f"Column {columns.count!r} counts no match, so the data say nothing about ranks."
        )
    out = cautions_of(found, fit)
    first, second = pairs.counts.sum(axis=0)[:2]
    if columns.order and min(first, second) == 0 and first + second >= CERTAIN:
        side = "first" if first else "second"
        out.append(
            f"The {side} item wins all {first + second:,} matches that are decided. If the columns "
            "hold winner and loser, and not who stood first, the advantage of the first item "
            "that this model finds does not exist: use --no-order."
        )
    if columns.judge is not None and len(pairs.judges) == 1:
        out.append(
            f"There is one judge only ({pairs.judges[0]!r}): the result says how one opinion "
            "compares with the prior, not what others would say."
        )
    if columns.category is not None and len(pairs.group_labels("category")) == 1:
        label = pairs.group_labels("category")[0]
        out.append(f"There is one category only ({label!r}): --category changes nothing.")
    return out
