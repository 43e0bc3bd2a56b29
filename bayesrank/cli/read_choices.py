"""Read the tasks of ``bayesrank choices``: cells as the options say, tasks as `Rankings` does."""

import re
from pathlib import Path

import pandas as pd

from bayesrank.cli.options import ChoiceColumns, shown
from bayesrank.cli.read_cells import refuse_rows, text_labels
from bayesrank.cli.read_rankings import RankReader, refuse_disorder
from bayesrank.data import Rankings

# Words of Python in the errors of `Rankings.from_best_worst`, and the options that mean the same
OPTIONS = {
    r"Translate it: .*": "Replace it by one of these.",
    r"missing='drop'": "--missing drop",
    r"give positions=False": "leave --positions out",
    r"(several|positions)=True": r"--\1",
    r"`?(best|worst|choice|item)[=`]": r"--\1",
}


class ChoiceReader(RankReader):
    """Read best-worst tasks, long or wide, and anchors."""

    columns: ChoiceColumns

    def rankings(self, file: Path) -> Rankings:
        """Read the tasks of a file."""
        single = [name for name in self.columns.names if name not in self.columns.column]
        frame = self._chosen(self.cells(file, single, every=True), single, shown(file))
        c = self.columns
        if c.positions:
            refuse_disorder(list(c.column), "--item")
        labels = filter(None, (c.ranker, c.ranking, c.by))
        frame = frame.assign(**{name: text_labels(frame[name]) for name in labels})
        cells = filter(None, (*c.column, c.best, c.worst, c.choice, c.threshold))
        frame = self._one_spelling(frame.assign(**{name: _text(frame[name]) for name in cells}))
        if c.weight is not None:
            weight = self.numbers(frame[c.weight], "weight")
            refuse_rows(weight.isna(), weight, "no_weight")
            frame = frame.assign(**{c.weight: weight})
        by = {} if c.by is None else {"category": frame[c.by]}
        try:
            return Rankings.from_best_worst(
                frame.assign(**by),
                respondent=str(c.ranker),
                task=c.ranking,
                item=c.column[0] if len(c.column) == 1 else list(c.column),
                best=c.best,
                worst=c.worst,
                choice=c.choice,
                several=c.several,
                missing="drop" if c.missing == "drop" else "raise",
                positions=c.positions,
                anchor=c.threshold,
                weight=c.weight,
                by=list(by),
            )
        except ValueError as error:
            text = str(error)
            for pattern, option in OPTIONS.items():
                text = re.sub(pattern, option, text)
            raise ValueError(text) from None

    def _one_spelling(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Merge items and respondents that differ only in their spelling, or note them."""
        c, who = self.columns, str(self.columns.ranker)
        chosen = () if c.positions or len(c.column) == 1 else (c.best, c.worst)
        cells = [*c.column, *filter(None, chosen)]
        items = self.one_spelling(frame[cells].melt()["value"].dropna(), "items")
        rankers = self.one_spelling(frame[who], "respondents")
        frame = frame.assign(**{who: frame[who].replace(rankers)})
        return frame.assign(**{name: frame[name].replace(items) for name in cells})


def _text(cells: pd.Series) -> pd.Series:
    """Write cells as text without spaces around it; whole numbers have no decimals."""
    text = cells.map(str).str.strip().str.replace(r"^(-?\d+)\.0$", r"\1", regex=True)
    return text.astype(object).where(cells.notna(), None)
