"""What an analysis tells while it works: stages, notes and progress."""

import logging
from dataclasses import dataclass, field

__all__ = ["Listener"]

_log = logging.getLogger("bayesrank")
if not _log.handlers:  # as PyMC does, so that a notebook shows what a fit says
    _log.setLevel(logging.INFO)
    _log.addHandler(logging.StreamHandler())


@dataclass
class Listener:
    """Log stages and notes; the console of the command shows progress as well.

    Attributes
    ----------
    notes : list of str
        Notes for the page, each once.
    """

    notes: list[str] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether a signal has asked the analysis to stop."""
        return False

    def spell(self, text: str) -> str:
        """Write the arguments in a text as the user gives them."""
        return text

    def stage(self, text: str) -> None:
        """Log which stage begins."""
        _log.info(text)

    def progress(self, done: int, most: int) -> None:
        """Hear how many steps are done."""

    def compiling(self) -> None:
        """Hear that code is compiled which later fits find."""

    def heed(self) -> None:
        """End the analysis if a signal asked for it but the interrupted code continued."""

    def note(self, sentence: str) -> None:
        """Keep a note, and log it."""
        if sentence not in self.notes:
            self.notes.append(sentence)
            _log.info(sentence)
