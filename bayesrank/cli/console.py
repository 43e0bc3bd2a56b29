"""What a command says: results on one stream, progress and notes on the other, errors as sentences.

Nothing that is said may steer the terminal: names come from files that others wrote.
"""

import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import click

from bayesrank.cli.caches import broken_cache
from bayesrank.cli.options import Output

# Pandas and PyMC take long to import: functions import what they need, so that --help is instant.


GLANCE = 0.2  # seconds between changes of a bar
LINE = 30.0  # seconds between lines where there is no terminal
AGAIN = 0.02  # seconds until an interrupt that was ignored is raised again


def stopping() -> list[int]:
    """Signals that end a run: Ctrl-C, an end asked for, a terminal that is closed unless nohup."""
    numbers = [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)]
    return [n for n in dict.fromkeys(numbers) if signal.getsignal(n) is not signal.SIG_IGN]


@dataclass
class Talk:
    """What a run has said, and what it may say.

    Attributes
    ----------
    quiet : bool
        Whether to say the verdict alone.
    data : bool
        Whether results are data for a program, so that nothing else may be among them.
    notes : list of str
        What a reader of the page should know as well.
    kept : Path, optional
        The posterior, while it is saved and the run has not come to its end.
    failed : list of str
        What went wrong and did not end the run.
    asked : list of int
        Signals that asked the run to end.
    """

    quiet: bool = False
    data: bool = False
    notes: list[str] = field(default_factory=list)
    kept: Path | None = None
    failed: list[str] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    start: float = field(default_factory=time.perf_counter)
    bar: "Bar | None" = None
    compiled: bool = False

    def result(self, text: str, *, brief: bool = False) -> None:
        """Say a result; of those that are not brief, a quiet run says nothing."""
        if not self.data and (brief or not self.quiet):
            self._write(text)

    def document(self, text: str) -> None:
        """Write data for a program."""
        self._write(text)

    def stage(self, text: str) -> None:
        """Say what is being done, and when it began."""
        self.heed()
        self.end_bar()
        if not self.quiet:
            click.echo(f"[{time.perf_counter() - self.start:5.1f} s] {text}", err=True)

    def compiling(self) -> None:
        """Say, the first time, that code is compiled which other runs will find."""
        if not self.compiled:
            self.compiled = True
            self.stage("Compiling once; later runs skip this step ...")

    def progress(self, done: int, most: int) -> None:
        """Say how far the stage is: a bar on a terminal, a line now and then elsewhere."""
        self.heed()
        if self.quiet:
            return
        if self.bar is None:
            self.bar = Bar(self.start)
        self.bar.show(done, most)

    def heed(self) -> None:
        """End the run if a signal asked for it, and what it interrupted has gone on."""
        if self.asked:
            raise KeyboardInterrupt

    def end_bar(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.clear()
            self.bar = None

    def note(self, sentence: str) -> None:
        """Say once what a reader should know, and remember it for the page."""
        if sentence not in self.notes:
            self.notes.append(sentence)
            self.end_bar()
            if not self.quiet:
                click.echo(f"Note: {_plain(sentence)}", err=True)

    def print_failures(self) -> None:
        """Say what went wrong and did not end the run."""
        for sentence in self.failed:
            click.echo(f"Error: {_plain(sentence)}", err=True)

    def _write(self, text: str) -> None:
        """Write to the reader of results; one that has gone does not end the run."""
        if any("pipe" in sentence for sentence in self.failed):
            return
        self.end_bar()
        try:
            click.echo(_plain(text))
        except BrokenPipeError as error:
            self.failed.append(f"{error.strerror}.")


class Bar:
    """How far a stage is, how fast, and how long it may take: rich's bar, or lines in a log."""

    def __init__(self, start: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self.start, self.began, self.shown = start, time.perf_counter(), -math.inf
        console = Console(stderr=True)
        self.rich: Progress | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            self.rich = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[text]}", markup=False),
                console=console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.rich.start()
            self.task = self.rich.add_task("", text="")

    def show(self, done: int, most: int) -> None:
        """Write it, if it was not just written."""
        now = time.perf_counter()
        if now - self.shown < (GLANCE if self.rich else LINE):
            return
        first, self.shown = self.shown == -math.inf, now
        text = f"{done:,} of at most {most:,} steps"
        rate = done / (now - self.began) if done else 0.0
        if rate:
            left = timedelta(seconds=math.ceil((most - done) / rate))
            text += f", {rate:,.0f} a second, at most {left} left"
        passed = f"[{now - self.start:5.1f} s]"
        if self.rich:
            self.rich.update(
                self.task, description=passed, text=text, completed=done, total=most, refresh=True
            )
        elif not first:  # the stage itself has just been said
            click.echo(f"{passed} {text}", err=True)

    def clear(self) -> None:
        """Leave the line to what comes next."""
        if self.rich:
            self.rich.stop()


def _plain(text: str) -> str:
    """Write a text without the characters that steer terminals."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    from bayesrank.results.page.files import plain

    return plain(text)


def _sentence(error: BaseException) -> str | None:
    """Say an error in a sentence; None of an error that should not happen."""
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(filter(None, [str(error.filename or ""), f"{error.strerror}."]))
    if isinstance(error, ValueError | OSError):
        return str(error)
    return broken_cache(error)


@contextmanager
def errors_as_sentences(output: Output | None = None) -> Iterator[Talk]:
    """Show errors and warnings as sentences, not as tracebacks, and end where asked to."""
    talk = Talk() if output is None else Talk(quiet=output.quiet, data=output.data)

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        # matplotlib warns of each character without a glyph: what to say of them is known before
        if issubclass(category, UserWarning) and not str(message).startswith("Glyph "):
            talk.note(str(message))

    def interrupt(number: int, _: FrameType | None) -> None:
        talk.asked.append(number)
        raise KeyboardInterrupt

    def ignored(what: Any) -> None:
        # Python ignores what is raised in a callback of a C library, such as LLVM when it compiles.
        if talk.asked and isinstance(what.exc_value, KeyboardInterrupt):
            again = threading.Timer(AGAIN, signal.raise_signal, talk.asked[:1])
            again.daemon = True
            again.start()
        else:
            hook(what)

    hook, sys.unraisablehook = sys.unraisablehook, ignored
    before = {number: signal.signal(number, interrupt) for number in stopping()}
    code = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)  # others are for developers
            warnings.showwarning = show
            yield talk
    except (Exception, KeyboardInterrupt) as error:
        talk.end_bar()
        talk.print_failures()
        # compiled code makes errors of its own of what is raised in it
        if talk.asked or isinstance(error, KeyboardInterrupt):
            code = 128 + (talk.asked[0] if talk.asked else signal.SIGINT)
            end = "Interrupted." if talk.kept else "Interrupted. Nothing was written."
        elif (sentence := _sentence(error)) is not None:
            code, end = 1, f"Error: {_plain(sentence)}"
        else:
            _say_where(talk)  # beside the traceback of what should not happen
            raise
        click.echo(end, err=True)
        _say_where(talk)
    else:
        talk.print_failures()
        code = 1 if talk.failed else 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
    if code:
        sys.exit(code)


def _say_where(talk: Talk) -> None:
    """Say where the posterior is, if there is one."""
    if talk.kept is not None:
        name = click.format_filename(talk.kept)
        click.echo(f"The posterior is saved. To continue: bayesrank report '{name}'", err=True)
