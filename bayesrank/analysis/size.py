"""Memory and time of a run, estimated from the shapes of its largest arrays.

The estimate is made before PyMC is loaded. It is printed only if the run is large. A run that needs
more memory than is free is refused, with a way out.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bayesrank.analysis.listener import Listener
from bayesrank.texts import sentence

__all__ = ["Size", "arrays_of", "bytes_of", "check_memory", "free_memory", "seconds_of", "way_out"]

PYTHON = 0.7e9  # bytes of Python with PyMC and compiled code
LARGE, LONG = 2e9, 120.0  # bytes and seconds of a run from which the estimate is printed
SPARE = 0.9  # share of the free memory that a run may use
FEWEST = 100  # fewest draws per chain to recommend
PREDICTED = 1000  # draws for the log-likelihood
MOST_PREDICTED = 30_000_000  # most numbers in predictions and the log-likelihood
NODES = 32  # approximations that are in memory, one for each node of three or more scales
FEW_NODES = 16  # of one or two scales, as models without blocks have
BESIDE = 16  # numbers per parameter and node: the mean, and shifts with up to 12 scales
DENSE = 1_000_000  # second derivatives of matches that are kept in a dense matrix, or
PER_ENTRY = 40  # for each entry, if that is more
SMALL = 300  # parameters up to which `fit_inla` does not look for blocks
MOST_WEIGHED = 400  # parameters up to which `fit_inla` computes importance weights
FEW, N_HYPER, N_OF_MANY = 60, 256, 128  # proposals with up to this many parameters, and with more
PRODUCTS = 2_000  # parameters beyond which it multiplies by second derivatives without a matrix
COLUMNS = 500  # directions and bases of such products, in memory together
STEPS = 10_000  # operations per parameter and precision of such products
SETUP = 4.0  # seconds in which an approximation compiles its functions
FITS, SLOW_FITS = 60, 400  # precisions that an approximation computes, and with blocks or products
CALLS = 1.5e-3  # seconds of a precision's calls, whatever the size
PER_ENTRY_SECONDS = 1e-7  # of a gradient
FLOPS = 1e9  # floating-point operations per second in small matrices


class Size(NamedTuple):
    """What the sizes of arrays depend on.

    Attributes
    ----------
    entries : int
        Values of the observed variable.
    free, kept : int
        Numbers per draw: free parameters, and all that the posterior keeps.
    blocks, block : int
        Free parameters in blocks that no match or ranking links, and those in the largest block.
    """

    entries: int
    free: int
    kept: int
    blocks: int = 0
    block: int = 0


def arrays_of(size: Size, draws: int, *, quick: bool) -> dict[str, Sequence[float]]:
    """Return the shapes of the largest arrays of a run, by what they hold.

    `draws` counts those of all chains.

    >>> arrays_of(Size(100, 10, 20), 4000, quick=True)["draws"]
    (2, 4000, 20)
    """
    n = size.free
    predicted = min(PREDICTED * size.entries, MOST_PREDICTED)
    arrays: dict[str, Sequence[float]] = {
        "draws": (2, draws, size.kept),
        "predictions": (2, predicted),
    }
    if quick:
        rest = n - size.blocks
        apart = n > SMALL and 2 * size.blocks >= n
        # second derivatives at two points, directions with their products, precisions at the nodes
        bends = min(n, max(DENSE, PER_ENTRY * size.entries) / n)
        width = 2 * bends + 8 * (rest + 2 * size.block) + NODES * (rest + size.block + BESIDE)
        if apart or n <= PRODUCTS:
            arrays["approximation"] = (n, width) if apart else (n, n, 5 + FEW_NODES)
        else:
            arrays["approximation"] = (n, COLUMNS)
    return arrays


def bytes_of(arrays: Mapping[str, Sequence[float]]) -> float:
    """Add up the memory of arrays of eight-byte numbers, and of Python.

    >>> bytes_of({"draws": (1000, 1000, 100)}) / 1e9
    1.5
    """
    return PYTHON + 8 * sum(map(math.prod, arrays.values()))


def seconds_of(size: Size, *, draws: int = 0) -> float:
    """Estimate the time of an approximation; `nuts_seconds` estimates that of sampling.

    With `draws`, their importance weights are included. The time is infinite if the model is too
    large for weights, or has blocks.
    """
    n, rest = size.free, size.free - size.blocks
    gradient = PER_ENTRY_SECONDS * size.entries
    if n > SMALL and 2 * size.blocks >= n:
        each = n * (rest + size.block) ** 2 / FLOPS + gradient
        return math.inf if draws else SETUP + SLOW_FITS * each
    if n > PRODUCTS:
        return math.inf if draws else SETUP + SLOW_FITS * (n * STEPS / FLOPS + gradient)
    # one large matrix is ten times as fast as many small ones
    each = CALLS + 6 * gradient + n * n * 4e-7 + n**3 / (30 * FLOPS)
    if not draws:
        return SETUP + FITS * each
    if n > MOST_WEIGHED or size.blocks:
        return math.inf
    proposals = N_OF_MANY if n > FEW else N_HYPER
    return SETUP + (FITS + proposals) * each + draws * gradient


def free_memory() -> float | None:
    """Return the free memory of the machine or container in bytes, or None if it is unknown.

    >>> free_memory() > 0
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        known = dict(line.split(":", 1) for line in lines)
        found = [1024.0 * int(known["MemAvailable"].split()[0])]
    except (OSError, KeyError, ValueError):
        try:  # other systems tell only how much there is
            found = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))]
        except (AttributeError, OSError, ValueError):
            return None
    try:
        group = Path("/sys/fs/cgroup")
        most = (group / "memory.max").read_text("ascii")
        found.append(float(most) - float((group / "memory.current").read_text("ascii")))
    except (OSError, ValueError):  # no container, or no limit
        pass
    return min(found)


def check_memory(
    arrays: Mapping[str, Sequence[float]],
    listener: Listener,
    *,
    seconds: float = 0.0,
    way_out: str = "",
) -> None:
    """Print the memory and time of a large run, and refuse one that does not fit into memory.

    Parameters
    ----------
    arrays : mapping of str to sequence of int
        Shapes of the largest arrays, by what they hold, in words.
    listener : Listener
    seconds : float
        Estimated time, 0 if it is unknown.
    way_out : str
        What to do if the memory does not suffice, as a sentence.
    """
    needed, free = bytes_of(arrays), free_memory()
    if free is not None and needed > SPARE * free:
        largest = max(arrays, key=lambda name: math.prod(arrays[name]))
        words = {"memory": _memory(needed), "free": _memory(free), "largest": largest}
        raise ValueError(sentence("too_large", **words, way_out=way_out))
    if needed > LARGE or seconds > LONG:
        minutes = max(round(seconds / 60), 1) if seconds else 0
        listener.stage(sentence("size", memory=_memory(needed), minutes=minutes))


def way_out(size: Size, draws: int, chains: int, groups: Sequence[str], *, quick: bool) -> str:
    """Recommend what makes a run fit into memory, empty if it fits; `draws` are those per chain."""
    arrays, most = arrays_of(size, chains * draws, quick=quick), SPARE * (free_memory() or math.inf)
    if bytes_of(arrays) <= most:
        return ""
    rest = bytes_of(arrays | {"draws": (0,)})
    share = (most - rest) / (bytes_of(arrays) - rest)
    fewer = int(draws * share / FEWEST) * FEWEST
    full = quick and bytes_of(arrays_of(size, chains * draws, quick=False)) <= most
    return sentence("way_out", draws=max(fewer, 0), full=full, groups=groups)


def _memory(n: float) -> str:
    """Write a number of bytes."""
    return f"{n / 1e9:.0f} GB" if n > 9.5e9 else f"{n / 1e9:.1f} GB"
