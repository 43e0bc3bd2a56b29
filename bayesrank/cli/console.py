"""Output of a command: results on stdout, progress and notes on stderr, errors as sentences.

Names come from files that others wrote, so control characters are removed from all output.
"""

import io
import math
import re
import shutil
import signal
import sys
import textwrap
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

from bayesrank.analysis.listener import Listener
from bayesrank.cli.options import Output

# Pandas and PyMC take long to import. Functions import what they need, so that --help is instant.


GLANCE = 0.2  # seconds between updates of the progress bar
LINE = 30.0  # seconds between lines of progress without a terminal
NARROWEST = 20  # columns of a terminal below which text is not wrapped further
AGAIN = 0.02  # seconds until an ignored interrupt is raised again


def stopping() -> list[int]:
    """List the signals that end a run: Ctrl-C, terminate, and hang-up except under nohup."""
    numbers = [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)]
    return [n for n in dict.fromkeys(numbers) if signal.getsignal(n) is not signal.SIG_IGN]


@dataclass
class Talk(Listener):
    """Console of a run: what it may print, and what it has printed.

    Attributes
    ----------
    quiet : bool
        Whether to print only the verdict and warnings.
    data : bool
        Whether the results are JSON, so that stdout may contain nothing else.
    notes : list of str
        Notes for the page.
    kept : Path, optional
        File of the posterior, from its saving until the end of the run.
    failed : list of str
        Errors that did not end the run.
    asked : list of int
        Signals that asked the run to stop.
    """

    quiet: bool = False
    data: bool = False
    kept: Path | None = None
    failed: list[str] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    start: float = field(default_factory=time.perf_counter)
    bar: "Bar | None" = None
    compiled: bool = False

    @property
    def interrupted(self) -> bool:
        """Whether a signal has asked the run to stop."""
        return bool(self.asked)

    def spell(self, text: str) -> str:
        """Write the arguments in a text as options."""
        return _on_command_line(text)

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None if results go to a file or a program."""
        return count_columns(sys.stdout)

    def result(self, text: str, *, brief: bool = False) -> None:
        """Print a result; a quiet run prints only brief results."""
        if not self.data and (brief or not self.quiet):
            self._write(text)

    def document(self, text: str) -> None:
        """Print data for a program."""
        self._write(text)

    def stage(self, text: str) -> None:
        """Print which stage begins, and the time since the start."""
        self.heed()
        self.end_bar()
        if not self.quiet:
            line = f"[{time.perf_counter() - self.start:5.1f} s] {text}"
            click.echo(wrapped(line, sys.stderr), err=True)
            if text.endswith("...") and sys.stderr.isatty():
                self.bar = Bar(self.start)
                self.bar.wait()

    def compiling(self) -> None:
        """Print once that this run compiles code for later runs."""
        if not self.compiled:
            self.compiled = True
            self.stage("Compiling once; later runs skip this step ...")

    def progress(self, done: int, most: int) -> None:
        """Show progress: a bar on a terminal, otherwise a line from time to time."""
        self.heed()
        if self.quiet:
            return
        if self.bar is None:
            self.bar = Bar(self.start)
        self.bar.show(done, most)

    def heed(self) -> None:
        """End the run if a signal asked for it but the interrupted code continued."""
        if self.asked:
            raise KeyboardInterrupt

    def end_bar(self) -> None:
        """Remove the progress bar."""
        if self.bar is not None:
            self.bar.clear()
            self.bar = None

    def note(self, sentence: str) -> None:
        """Print a note once, with options as the command has them, and keep it for the page."""
        sentence = _on_command_line(sentence)
        if sentence not in self.notes:
            self.notes.append(sentence)
            self.end_bar()
            if not self.quiet:
                click.echo(wrapped(f"Note: {_plain(sentence)}", sys.stderr), err=True)

    def print_failures(self) -> None:
        """Print the errors that did not end the run."""
        for sentence in self.failed:
            click.echo(wrapped(f"Error: {_plain(sentence)}", sys.stderr), err=True)

    def _write(self, text: str) -> None:
        """Print to stdout; if its reader has gone, as after `| head`, print nothing more."""
        self.end_bar()
        try:
            click.echo(wrapped(_plain(text), sys.stdout))
        except BrokenPipeError:
            # Python would report the text that is still in the buffer at the end
            sys.stdout = io.StringIO()


class Bar:
    """Progress of a stage, its speed and the time left: a bar of rich, or lines in a log."""

    def __init__(self, start: float) -> None:
        self.start, self.began, self.shown = start, math.inf, -math.inf
        self.rich: Any = None

    def wait(self) -> None:
        """Count the seconds of a stage, on a terminal, until its steps are known."""
        from rich.progress import TextColumn, TimeElapsedColumn

        if self._draws(
            TextColumn(" " * len("[  0.0 s]")), TimeElapsedColumn(), refresh_per_second=2
        ):
            self.rich.add_task("")

    def show(self, done: int, most: int) -> None:
        """Update the bar, or print a line, unless the last update is too recent."""
        now = time.perf_counter()
        if self.began == math.inf:
            self._count(now)
        if now - self.shown < (GLANCE if self.rich else LINE):
            return
        first, self.shown = self.shown == -math.inf, now
        text = f"{done:,} of at most {most:,} steps"
        rate = done / (now - self.began) if done and now > self.began else 0.0
        if rate:
            left = timedelta(seconds=math.ceil((most - done) / rate))
            pace = f"{rate:,.0f} a second" if rate >= 1 else f"{1 / rate:.1f} s each"
            text += f", {pace}, at most {left} left"
        passed = f"[{now - self.start:5.1f} s]"
        if self.rich:
            self.rich.update(
                self.task, description=passed, text=text, completed=done, total=most, refresh=True
            )
        elif not first:  # the stage itself has just been printed
            click.echo(f"{passed} {text}", err=True)

    def clear(self) -> None:
        """Remove the bar from the terminal."""
        if self.rich:
            self.rich.stop()

    def _count(self, now: float) -> None:
        """Begin to count steps."""
        from rich.progress import BarColumn, TextColumn

        self.began = now
        columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=20)
        if self._draws(
            *columns, TextColumn("{task.fields[text]}", markup=False), auto_refresh=False
        ):
            self.task = self.rich.add_task("", text="")

    def _draws(self, *columns: Any, **options: Any) -> bool:
        """Replace the columns that are drawn; return whether there is a terminal."""
        from rich.console import Console
        from rich.progress import Progress

        self.clear()
        console = Console(stderr=True)
        if not console.is_terminal or console.is_dumb_terminal:
            return False
        self.rich = Progress(
            *columns, console=console, transient=True, redirect_stdout=False,
            redirect_stderr=False, **options,
        )  # fmt: skip
        self.rich.start()
        return True


def count_columns(stream: Any) -> int | None:
    """Count the columns of a terminal; None for another stream."""
    if not stream.isatty():
        return None
    return max(shutil.get_terminal_size().columns, NARROWEST)


def wrapped(text: str, stream: Any) -> str:
    """Break lines at spaces if they are longer than those of a terminal."""
    width = count_columns(stream)
    if width is None:
        return text
    return "\n".join(
        textwrap.fill(
            line, width, subsequent_indent="  ", replace_whitespace=False,
            break_long_words=False, break_on_hyphens=False,
        )
        if len(line) > width
        else line
        for line in text.split("\n")
    )  # fmt: skip


def _plain(text: str) -> str:
    """Remove control characters from a text."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    from bayesrank.reporting.page.files import plain

    return plain(text)


def _on_command_line(text: str) -> str:
    """Write arguments of Python in a message as options."""
    if "=" not in text and "`" not in text:
        return text
    from bayesrank.cli.options import ARGUMENTS, OPTIONS
    from bayesrank.tables.words import on_shell

    for argument, flag in OPTIONS.items():
        text = text.replace(f"`{argument}`", flag)
        text = re.sub(f"`{argument}=([^`]*)`", rf"{flag} \1", text)
    return on_shell(text, ARGUMENTS)


def _sentence(error: BaseException) -> str | None:
    """Return an expected error as a sentence, None for an unexpected one."""
    if isinstance(error, MemoryError):
        return "There is not enough memory."
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(filter(None, [str(error.filename or ""), f"{error.strerror}."]))
    if isinstance(error, ValueError | OSError):
        return _on_command_line(str(error))
    return None


@contextmanager
def errors_as_sentences(output: Output | None = None) -> Iterator[Talk]:
    """Show errors and warnings as sentences, not as tracebacks, and stop at signals."""
    talk = Talk() if output is None else Talk(quiet=output.quiet, data=output.data)

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        # Matplotlib warns about each missing glyph; a note of the report has said so already.
        if category.__name__ == "DamagedCacheWarning":  # its module takes long to import
            talk.stage(str(message))
        elif issubclass(category, UserWarning) and not str(message).startswith("Glyph "):
            talk.note(str(message))

    def interrupt(number: int, _: FrameType | None) -> None:
        talk.asked.append(number)
        raise KeyboardInterrupt

    def ignored(unraisable: Any) -> None:
        # Python ignores exceptions in callbacks of C libraries, such as LLVM during compilation.
        if talk.asked and isinstance(unraisable.exc_value, KeyboardInterrupt):
            again = threading.Timer(AGAIN, signal.raise_signal, talk.asked[:1])
            again.daemon = True
            again.start()
        else:
            hook(unraisable)

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
        # Compiled code turns an exception raised in it into an error of a different type.
        if talk.asked or isinstance(error, KeyboardInterrupt):
            code = 128 + (talk.asked[0] if talk.asked else signal.SIGINT)
            end = "Interrupted." if talk.kept else "Interrupted. Nothing was written."
        elif (sentence := _sentence(error)) is not None:
            code, end = 1, f"Error: {_plain(sentence)}"
        else:
            _say_where(talk)  # printed with the traceback of an unexpected error
            raise
        click.echo(wrapped(end, sys.stderr), err=True)
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
    """Print where the posterior is, if it was saved."""
    if talk.kept is not None:
        name = click.format_filename(talk.kept)
        click.echo(f"The posterior is saved. To continue: bayesrank report '{name}'", err=True)
