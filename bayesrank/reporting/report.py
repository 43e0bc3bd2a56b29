"""Report of a posterior: the ranks, a verdict, the sections, the page and the files."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import xarray as xr

from bayesrank.analysis.analysis import Analysis, Settings
from bayesrank.analysis.fitting import check_convergence
from bayesrank.analysis.listener import Listener
from bayesrank.analysis.readings import check_units, read_readings, with_scores
from bayesrank.analysis.saved import read_record, restore
from bayesrank.analysis.sensitivity import compare_choices
from bayesrank.plots import plot_ranks, use_fonts_for
from bayesrank.reporting.choices import choices_section, variants_of
from bayesrank.reporting.column_sections import columns_part
from bayesrank.reporting.draft import Draft
from bayesrank.reporting.options import FORMS, LAYOUT, ORDERS, SCALES, Layout
from bayesrank.reporting.page.files import whole_file
from bayesrank.reporting.page.pair_results import pair_results
from bayesrank.reporting.page.report import report_html, table_text, verdict
from bayesrank.reporting.parts import Part, marked_svg, marked_table
from bayesrank.reporting.parts_of import headline_of, parts_of
from bayesrank.reporting.python_calls import python_calls
from bayesrank.results import pair_wins

__all__ = ["POSTERIOR", "Report", "records", "report"]

MOST_COMPARED = 100  # most items that the page compares in pairs: half a second, 100 kB
POSTERIOR = "posterior.nc"
QUICK = (
    "This answer is approximate: a normal distribution around the most probable utilities. It is "
    "least accurate for items with little data. Use `method='nuts'` to sample the posterior."
)


def report(
    posterior: xr.DataTree,
    folder: str | Path | None = None,
    *,
    title: str = "",
    top: int = 3,
    ci_prob: float | None = None,
    scale: str = "utility",
    anchor: str | None = None,
    sort: str = "mean",
    tables: str = "csv",
    same_units: bool = False,
    force: bool = False,
) -> "Report":
    """Report a posterior: who leads, how sure that is, and whether the model fits.

    It writes what the command writes. A notebook shows the page.

    Parameters
    ----------
    posterior : DataTree
        From `bayesrank.fit`, or the ``posterior.nc`` of a command.
    folder : path, optional
        Folder for the page, the tables, the pictures and the posterior. By default nothing is
        written.
    title : str
        Heading of the page.
    top : int
        The k of P(top k).
    ci_prob : float, optional
        Probability of the intervals, in (0, 1), by default ``arviz.rcParams["stats.ci_prob"]``.
    scale : {"utility", "elo"}
        With "elo", also show Elo ratings.
    anchor : str, optional
        Item with an Elo rating of 1000. By default the mean of all items is 1000.
    sort : {"mean", "lower"}
        Order of the table: by mean rank, or by the lower end of the utility's interval.
    tables : {"csv", "md", "xlsx"}
        Format of the tables.
    same_units : bool
        Whether the scores of all cases have the same units, so that a difference means the same in
        each, as one of two accuracies may. The page then also has a model of the scores themselves,
        `scores_model`. Only for rankings that were made from scores.
    force : bool
        Whether to write into a folder that contains files already.

    Returns
    -------
    Report
        With ``verdict`` (text), ``table`` (ranks) and ``checks`` (DataFrames), and ``write``.

    Raises
    ------
    ValueError
        If the posterior does not come from `bayesrank.fit`, or an argument is invalid.
    FileExistsError
        If the folder contains files and `force` is False.

    See Also
    --------
    fit, rank_summary, ranking_checks, match_checks

    Examples
    --------
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "a", "b"]] * 3)
    >>> posterior = br.fit(br.ranking_model(rankings), method="inla", random_seed=1)
    >>> br.report(posterior).table.index[0]
    'a'
    """
    given: dict[str, Any] = {
        "title": title, "top": top, "ci_prob": ci_prob, "scale": scale, "anchor": anchor,
        "sort": sort, "tables": tables, "same_units": same_units,
    }  # fmt: skip
    known = {"scale": SCALES, "sort": ORDERS, "tables": FORMS}
    for name, value in given.items():
        if not LAYOUT[name](value) and (name, value) != ("ci_prob", None):
            one_of = f" It must be one of {', '.join(known[name])}." if name in known else ""
            raise ValueError(f"`{name}` is {value!r}, which is not valid.{one_of}")
    record = read_record(posterior, LAYOUT)
    given |= {
        name: record.more[name] for name in (LAYOUT.keys() - given.keys()) & record.more.keys()
    }
    listener, analysis = Listener(notes=list(record.notes)), restore(posterior, record)
    if same_units:
        check_units(with_scores(analysis.data, posterior))
    found = Report(posterior, analysis, record.settings, Layout.of(**given), listener)
    if folder is not None:
        found.write(Path(folder), force=force)
    return found


class Report(Draft):
    """Report of a posterior: a draft with its verdict, its sections, its page and its files."""

    def __init__(
        self,
        posterior: Any,
        analysis: Analysis,
        settings: Settings,
        layout: Layout,
        listener: Listener,
    ) -> None:
        super().__init__(posterior, analysis, settings, layout, listener)
        self.headline = self._spell(headline_of(self))
        self.converged, texts = (
            (True, [QUICK]) if self.quick else check_convergence(posterior, analysis)
        )
        self.convergence = list(map(self._spell, texts))

    def __repr__(self) -> str:
        return f"{table_text(self.summary)}\n\n{self.verdict}"

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        page = self.page.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" width="100%" height="700" frameborder="0"></iframe>'

    @property
    def title(self) -> str:
        """Heading of the page."""
        items = self.analysis.columns.get("item", "the items")
        return self.layout.title or f"Ranks of {items}"

    @cached_property
    def table(self) -> pd.DataFrame:
        """Table of ranks, in the order of the layout."""
        table = self.summary
        if self.layout.sort == "lower":
            table = table.sort_values("lower", ascending=False, kind="stable")
        return table

    @property
    def verdict(self) -> str:
        """The leader and how certain that is."""
        text = f"{self.analysis.named(verdict(self.summary))} {self.headline}".rstrip()
        return f"Quick answer: {text}" if self.quick else text

    @property
    def checks(self) -> pd.DataFrame:
        """By family of checks: its worst omnibus check, its tail probability, and if it fails."""
        found = [part.data[name] for part in self.parts for name in ("fit",) if name in part.data]
        return found[0] if found else pd.DataFrame()

    @property
    def failures(self) -> list[str]:
        """Misfits of the model."""
        return [sentence for part in self.parts for sentence in part.failures]

    @property
    def warnings(self) -> list[str]:
        """Other warnings of the sections."""
        return [sentence for part in self.parts for sentence in part.warnings]

    @property
    def good_fit(self) -> str:
        """A sentence if the model fits, otherwise empty."""
        return "" if self.failures else " ".join(part.fit for part in self.parts if part.fit)

    @property
    def fits(self) -> bool | None:
        """Whether the model fits, or None if the checks cannot tell."""
        unclear = not self.failures and any(part.unclear for part in self.parts)
        return None if unclear else not self.failures

    @cached_property
    def choices(self) -> dict[str, pd.DataFrame]:
        """The ranks under other choices that the analyst could have made."""
        return compare_choices(
            self.analysis,
            self.prior_sd,
            self.settings.random_seed,
            read_readings(self.posterior),
            top=self.layout.top,
            ci_prob=self.layout.ci_prob,
        )

    @cached_property
    def parts(self) -> list[Part]:
        """Sections after the ranks."""
        _ = self.predicted
        self.listener.stage("Checking and drawing ...")
        with self._drawing():
            chosen = choices_section(
                self.choices, self.summary.index[0], scores="case" in self.analysis.columns
            )
            found = [chosen, *parts_of(self), columns_part(self.posterior)]
            parts = [part for part in found if part is not None]
        for sentence in (sentence for part in parts for sentence in part.notes):
            self.listener.note(self.analysis.named(sentence))
        return [part.spelled(self._spell) for part in parts]

    def _spell(self, text: str) -> str:
        """Write a text with the nouns of the data, and arguments as the user gives them."""
        return self.listener.spell(self.analysis.named(text))

    @cached_property
    def picture(self) -> bytes:
        """The ranks as SVG."""
        with self._drawing():
            plot = plot_ranks(
                self.posterior,
                max_items=100,
                ci_prob=self.layout.ci_prob,
                prior_sd=self.prior_sd,
                compared=self.compared,
                equal=self.equal,
                seen=self.seen,
            )
            return marked_svg(plot, self.posterior)

    @cached_property
    def page(self) -> str:
        """The page as HTML."""
        layout, parts = self.layout, self.parts
        paragraphs = [self._described]
        if self.converged:
            paragraphs += self.convergence
        when = f"{layout.made}, " if layout.made else ""
        made = f"{when}bayesrank {layout.version}, seed {self.settings.random_seed}"
        doubtful = self.convergence if self.quick or not self.converged else ()
        return report_html(
            self.title,
            self.summary,
            paragraphs=paragraphs,
            verdict_too=self.headline,
            failures=self.failures,
            fit=self.good_fit,
            warnings=[*self.warnings, *doubtful],
            notes=self.listener.notes,
            sections=[replace(part, file=self._in_form(part.file)) for part in parts],
            command=layout.command,
            code=python_calls(self.analysis, self.settings, layout),
            made=f"Quick answer. {made}" if self.quick else made,
            file=self._in_form("ranks.csv"),
            reading=self.analysis.reading,
            named=self.analysis.named,
            interval=layout.ci_prob,
            results={
                "result": self.document,
                "pairs": self._pairs(),
                "variants": variants_of(self.choices),
            },
        )

    @property
    def _described(self) -> str:
        attrs = self.posterior["posterior"].attrs
        return self.analysis.named(self.analysis.described(self.settings, attrs))

    def _pairs(self) -> dict[str, Any] | None:
        """Compare each two of the first items, for the script of the page."""
        items = self.summary.index[:MOST_COMPARED]
        if len(items) < 2:
            return None
        counted = pair_wins(self.analysis.data) if self.compared is not None else None
        return pair_results(self.posterior, items, counted)

    @property
    def document(self) -> dict[str, Any]:
        """The result for JSON."""
        tables = {name: table for part in self.parts for name, table in part.data.items()}
        return {
            "title": self.title,
            "verdict": self.verdict,
            "quick": self.quick,
            "fits": self.fits,
            "converged": self.converged,
            "warnings": [
                *self.failures,
                *self.warnings,
                *([] if self.converged else self.convergence),
            ],
            "notes": self.listener.notes,
            "described": self._described,
            "ranks": records(self.table),
            **{name: records(table) for name, table in tables.items()},
        }

    def files(self) -> Iterable[tuple[str, bytes]]:
        """Return the names and contents of all files, without the posterior."""
        form = self.layout.tables
        yield self._in_form("ranks.csv"), marked_table(self.table, self.posterior, form)
        yield "ranks.svg", self.picture
        contents: dict[str, bytes | pd.DataFrame] = {}
        for part in self.parts:
            contents |= part.files
        yield "report.html", self.page.encode("utf-8", "replace")
        for name, content in contents.items():
            if isinstance(content, pd.DataFrame):
                content = marked_table(content, self.posterior, form)
            yield self._in_form(name), content

    def write(self, folder: Path, *, force: bool = False) -> None:
        """Write the page, the tables, the pictures and the posterior into a folder.

        Raises
        ------
        FileExistsError
            If the folder contains files and `force` is False.
        """
        folder.mkdir(parents=True, exist_ok=True)
        if not force and any(folder.iterdir()):
            raise FileExistsError(
                f"The folder {folder} contains files already. Choose another one, or overwrite "
                "them with force=True."
            )
        with whole_file(folder / POSTERIOR) as unfinished:
            self.posterior.to_netcdf(unfinished, engine="netcdf4")
        for name, content in self.files():
            with whole_file(folder / name) as unfinished:
                unfinished.write_bytes(content)

    def _in_form(self, name: str) -> str:
        """Name the file of a table in the format of the layout."""
        form = self.layout.tables
        return f"{name.removesuffix('.csv')}.{form}" if name.endswith(".csv") else name

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Choose fonts for the names; afterwards, restore the settings and close the figures."""
        before = set(plt.get_fignums())
        with mpl.rc_context():
            if lacking := use_fonts_for(self.summary.index):
                self.listener.note(
                    "No installed font has some characters of the names "
                    f"({' '.join(lacking[:10])}). Pictures show boxes instead; the tables are "
                    "right."
                )
            try:
                yield
            finally:
                for number in set(plt.get_fignums()) - before:
                    plt.close(number)


def records(table: pd.DataFrame) -> Any:
    """Convert a table to a list of objects; missing numbers become null."""
    return json.loads(table.reset_index().to_json(orient="records", double_precision=6))
