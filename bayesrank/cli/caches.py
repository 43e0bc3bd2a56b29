"""Where compiled code is kept between runs: in a folder that can be written to, or else elsewhere.

PyTensor and numba compile the model, and keep what they compiled in PyTensor's folder. It does
not start where nothing can be written there, as in a container whose home is read-only.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FLAGS = "PYTENSOR_FLAGS"
GIVEN = re.compile(r"(?:^|,)\s*base_compiledir\s*=\s*([^,]+)")


def find_cache() -> str | None:
    """Have PyTensor use another folder, if it cannot write to its own; return what to say of it.

    Must be called before PyTensor is imported.
    """
    os.environ.setdefault("PATH", os.defpath)  # without it a compiler does not find its parts
    flags = os.environ.get(FLAGS, "")
    if "pytensor" in sys.modules or re.search(r"(?:^|,)\s*compiledir\s*=", flags):
        return None
    given = GIVEN.search(flags)
    folder = Path(given[1].strip() if given else "~/.pytensor")
    try:
        folder = folder.expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a name and HOME
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        # of this user alone: what is loaded from it is run
        other = Path(tempfile.mkdtemp(prefix="bayesrank-"))
        os.environ[FLAGS] = ",".join(
            filter(None, [GIVEN.sub("", flags).strip(","), f"base_compiledir={other}"])
        )
        os.environ.setdefault("HOME", str(other))  # without one PyTensor does not start
        os.environ.setdefault("MPLCONFIGDIR", str(other))  # matplotlib's is most likely lost, too
        return (
            f"Compiled code cannot be kept in {folder} ({why}), so this run compiles "
            f"anew, in {other}. Set {FLAGS}=base_compiledir=FOLDER to keep it in another folder."
        )
    return None


@contextmanager
def compiling_said(say: Callable[[], None]) -> Iterator[None]:
    """Have it said when code is compiled that later runs will find, and not read back from there.

    What cannot be kept, such as calls from compiled code to Python, takes a quarter of a second.
    """
    from numba.core import event
    from numba.core.caching import Cache

    class Compiling(event.Listener):
        def on_start(self, begun: event.Event) -> None:
            if isinstance(getattr(begun.data["dispatcher"], "_cache", None), Cache):
                say()

        def on_end(self, _: event.Event) -> None: ...

    with event.install_listener("numba:compile", Compiling()):
        yield


def broken_cache(error: BaseException) -> str | None:
    """Say what to do if an error is that of compiled code that cannot be read back."""
    trace = error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).parts[-2:] == ("core", "caching.py"):
            import pytensor

            return (
                f"Code that was compiled before cannot be read back from "
                f"{pytensor.config.base_compiledir}, which may have been cut off by a full disk "
                f"({type(error).__name__}: {error}). Delete that folder, and run this again."
            )
        trace = trace.tb_next
    return None
