"""Report of a posterior: on the terminal, as files, as a page and as JSON."""

import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd

from bayesrank.cli import sensitivity
from bayesrank.cli.caches import compiling_said
from bayesrank.cli.column_sections import columns_part
from bayesrank.cli.console import Talk
from bayesrank.cli.counted_sections import countable
from bayesrank.cli.fitting import checked, predictions, sampled
from bayesrank.cli.job import Job
from bayesrank.cli.options import Fit
from bayesrank.cli.parts import Part, interval_table, marked_svg, marked_table
from bayesrank.plots import plot_ranks, use_fonts_for
from bayesrank.results import (
    comparisons,
    elo_scale,
    pair_results,
    pair_wins,
    rank_summary,
    report_html,
    standing,
    table_text,
    verdict,
)

mpl.use("agg")  # pictures go to files, so no display is needed

MOST_COMPARED = 100  # most items that the page compares in pairs: half a second, 100 kB
QUICK = (
    "This answer is approximate: a normal distribution around the most probable utilities. It is "
    "least accurate for items with little data. Use --full to sample the posterior."
)


class Report:
    """Report of a posterior: the ranks, then the sections of the job.

    Parameters
    ----------
    job : Job
    fit : Fit
        Settings of the fit and of the report.
    talk : Talk
    posterior : DataTree
    """

    def __init__(self, job: Job, fit: Fit, talk: Talk, posterior: Any) -> None:
        self.job, self.fit, self.talk, self.posterior = job, fit, talk, posterior
        self.compared = comparisons(job.data) if countable(job.data) else None
        self.seen = job.seen()
        self.summary = self._summary()
        self.headline = job.headline(posterior)
        self.converged, self.checks = (True, [QUICK]) if fit.quick else checked(posterior, job)
        self.parts: list[Part] = []
        self.choices: dict[str, pd.Series] = {}

    def _summary(self) -> pd.DataFrame:
        """Table of ranks with counts and the columns that the options ask for."""
        fit, posterior, seen = self.fit, self.posterior, self.seen
        table = rank_summary(
            posterior,
            top=fit.top,
            ci_prob=fit.interval,
            prior_sd=self._prior_sd,
            compared=self.compared,
        )
        table.insert(list(table.columns).index("mean"), str(seen.name), seen[table.index])
        if (last_seen := self.job.last_seen()) is not None:
            table["last_seen"] = last_seen[table.index]
        if fit.scale == "elo":
            table = table.join(self._elo())
        if fit.sort == "lower":
            table["lower"] = table["elo_low"] if fit.scale == "elo" else self._lower()
        return table

    @cached_property
    def _prior_sd(self) -> float:
        """Prior standard deviation of utilities, learned or given."""
        if "utility_scale" in self.posterior["posterior"]:
            return float(self.posterior["posterior"]["utility_scale"].mean())
        assert self.fit.prior_scale is not None  # otherwise the posterior has a learned scale
        return self.fit.prior_scale

    def _elo(self) -> pd.DataFrame:
        """Elo ratings with intervals."""
        table = interval_table(elo_scale(self.posterior, anchor=self.fit.anchor), self.fit.interval)
        columns = {"mean": "elo", "low": "elo_low", "high": "elo_high"}
        return table.drop(columns="sd").rename(columns=columns)

    def _lower(self) -> pd.Series:
        """Lower ends of the intervals of the centred utilities."""
        utility = self.posterior["posterior"]["utility"]
        return interval_table(utility - utility.mean("item"), self.fit.interval)["low"]

    @cached_property
    def _table(self) -> pd.DataFrame:
        """Table for the file, in the chosen order."""
        table = self.summary.assign(standing=standing(self.summary))
        if self.fit.sort == "lower":
            table = table.sort_values("lower", ascending=False, kind="stable")
        return table

    @property
    def verdict(self) -> str:
        """The leader and how certain that is."""
        text = f"{verdict(self.summary)} {self.headline}".rstrip()
        return f"Quick answer: {text}" if self.fit.quick else text

    @property
    def _failures(self) -> list[str]:
        return [sentence for part in self.parts for sentence in part.failures]

    @property
    def _warnings(self) -> list[str]:
        return [sentence for part in self.parts for sentence in part.warnings]

    @property
    def _good_fit(self) -> str:
        if self._failures:
            return ""
        return " ".join(part.fit for part in self.parts if part.fit)

    @property
    def _fits(self) -> bool | None:
        """Whether the model fits, or None if the checks cannot tell."""
        unclear = not self._failures and any(part.unclear for part in self.parts)
        return None if unclear else not self._failures

    def print_ranks(self) -> None:
        """Print the table of ranks, the verdict, and whether the chains have converged."""
        talk, doubtful = self.talk, self.fit.quick or not self.converged
        talk.result(f"\n{table_text(self.summary)}\n")
        talk.result(self.verdict, brief=True)
        checks = " ".join(self.checks)
        talk.result(checks if self.converged else f"Warning: {checks}", brief=bool(doubtful))

    def write(self, folder: Path) -> None:
        """Make the sections, print them, and write files and page."""
        form = self.fit.tables
        ranks = marked_table(self._table, self.posterior, form)
        _write(folder / self._in_form("ranks.csv"), ranks)
        self._choose_fonts()
        _ = self.predicted
        self.talk.stage("Checking and drawing ...")
        picture = self._picture()
        self.choices = sensitivity.choices(self.job, self._prior_sd, self.job.readings)
        chosen = sensitivity.section(self.choices, self.summary.index[0])
        columns = columns_part(self.posterior)
        parts = [chosen, *self.job.parts(self), columns]
        self.parts = [part for part in parts if part is not None]
        plt.close("all")
        self._print_parts()
        page = self._page().encode("utf-8", "replace")
        contents: dict[str, bytes | pd.DataFrame] = {"ranks.svg": picture, "report.html": page}
        for part in self.parts:
            contents |= part.files
        for name, content in contents.items():
            if isinstance(content, pd.DataFrame):
                content = marked_table(content, self.posterior, form)
            _write(folder / self._in_form(name), content)

    def _in_form(self, name: str) -> str:
        """Name the file of a table in the format of --tables."""
        return f"{name.removesuffix('.csv')}.{self.fit.tables}" if name.endswith(".csv") else name

    def _choose_fonts(self) -> None:
        lacking = use_fonts_for(self.summary.index)
        if lacking:
            self.talk.note(
                "No installed font has some characters of the names "
                f"({' '.join(lacking[:10])}). Pictures show boxes instead; the tables are right."
            )

    @cached_property
    def predicted(self) -> Any:
        """Return the posterior with its log-likelihood and predictions."""
        if self.job.drawn:
            return self.posterior
        self.talk.stage("Predicting ...")
        with compiling_said(self.talk.compiling):
            return predictions(self.job, self.posterior)

    def _picture(self) -> bytes:
        """Draw the ranks."""
        plot = plot_ranks(
            self.posterior,
            max_items=100,
            ci_prob=self.fit.interval,
            prior_sd=self._prior_sd,
            compared=self.compared,
            seen=self.seen,
        )
        return marked_svg(plot, self.posterior)

    def sample(self, job: Job) -> Any:
        """Draw from the posterior of another job, for a section that compares the two."""
        self.talk.stage("Fitting another model for comparison:")
        with compiling_said(self.talk.compiling):
            other = sampled(job, self.talk)
        self.talk.heed()
        return other

    def _print_parts(self) -> None:
        """Print notes, warnings and sections."""
        talk = self.talk
        for sentence in (sentence for part in self.parts for sentence in part.notes):
            talk.note(sentence)
        for sentence in self._failures:
            talk.result(f"Warning: {sentence}", brief=True)
        if self._good_fit:
            talk.result(self._good_fit, brief=True)
        for sentence in self._warnings:
            talk.result(f"Warning: {sentence}", brief=True)
        for part in self.parts:
            if part.printed:
                talk.result(f"\n{part.text()}")

    def _page(self) -> str:
        """Compose the page."""
        job, fit = self.job, self.fit
        paragraphs = [job.described(fit)]
        if self.converged:
            paragraphs += self.checks
        made = f"{fit.made}, bayesrank {fit.version}, seed {fit.seed}"
        return report_html(
            fit.title or job.title,
            self.summary,
            paragraphs=paragraphs,
            verdict_too=self.headline,
            failures=self._failures,
            fit=self._good_fit,
            warnings=[*self._warnings, *(self.checks if fit.quick or not self.converged else ())],
            notes=self.talk.notes,
            sections=[replace(part, file=self._in_form(part.file)) for part in self.parts],
            command=fit.command,
            made=f"Quick answer. {made}" if fit.quick else made,
            file=self._in_form("ranks.csv"),
            reading=job.reading,
            interval=fit.interval,
            results={
                "result": self.document(),
                "pairs": self._pairs(),
                "variants": sensitivity.as_variants(self.choices),
            },
        )

    def _pairs(self) -> dict[str, Any] | None:
        """Compare each two of the first items, for the script of the page."""
        items = self.summary.index[:MOST_COMPARED]
        if len(items) < 2:
            return None
        counted = pair_wins(self.job.data) if self.compared is not None else None
        return pair_results(self.posterior, items, counted)

    def document(self) -> dict[str, Any]:
        """Return the result for JSON."""
        tables = {name: table for part in self.parts for name, table in part.data.items()}
        return {
            "title": self.fit.title or self.job.title,
            "verdict": self.verdict,
            "quick": bool(self.fit.quick),
            "fits": self._fits,
            "converged": self.converged,
            "warnings": [
                *self._failures,
                *self._warnings,
                *([] if self.converged else self.checks),
            ],
            "notes": self.talk.notes,
            "described": self.job.described(self.fit),
            "ranks": records(self._table),
            **{name: records(table) for name, table in tables.items()},
        }


def records(table: pd.DataFrame) -> Any:
    """Convert a table to a list of objects; missing numbers become null."""
    return json.loads(table.reset_index().to_json(orient="records", double_precision=6))


def _write(path: Path, content: bytes) -> None:
    """Write a file; an error names it, even on a full disk."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
