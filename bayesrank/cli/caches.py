"""Cache of compiled code between runs, in a folder that the user can write to.

PyTensor and numba compile the model and keep the code in PyTensor's folder. PyTensor does not start
if it cannot write there, for example in a container with a read-only home.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

FLAGS = "PYTENSOR_FLAGS"
GIVEN = re.compile(r"(?:^|,)\s*base_compiledir\s*=\s*([^,]+)")


def find_cache() -> str | None:
    """Give PyTensor another folder if it cannot write to its own, and return a message about it.

    Call this before PyTensor is imported.
    """
    os.environ.setdefault("PATH", os.defpath)  # compilers need it to find their parts
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
        # Only this user may write to it, because code from it is executed.
        other = Path(tempfile.mkdtemp(prefix="bayesrank-"))
        os.environ[FLAGS] = ",".join(
            filter(None, [GIVEN.sub("", flags).strip(","), f"base_compiledir={other}"])
        )
        os.environ.setdefault("HOME", str(other))  # PyTensor needs one to start
        os.environ.setdefault(
            "MPLCONFIGDIR", str(other)
        )  # matplotlib probably has the same problem
        return (
            f"Compiled code cannot be kept in {folder} ({why}), so this run compiles it again in "
            f"{other}. Set {FLAGS}=base_compiledir=FOLDER to keep compiled code in another folder."
        )
    return None
