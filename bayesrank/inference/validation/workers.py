"""Solve many problems on processes of this machine or of a cluster, each compiling once.

The preparing function is pickled and sent with every batch of problems. A worker recognises it by a
digest of the pickle and runs it once. Workers belong to joblib, or to the backend, such as a dask
cluster, that `joblib.parallel_config` sets.

>>> import math
>>> from functools import partial
>>> found = {}
>>> for some in on_workers(partial(partial, math.pow, 2), {"square": 2, "cube": 3}):
...     found |= some
>>> found
{'square': 4.0, 'cube': 8.0}
"""

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from pickle import PicklingError
from typing import Any

import cloudpickle
import joblib
from rich.progress import track

from bayesrank.data.read import label_repr
from bayesrank.inference.approximation.modes import one_blas_thread

__all__ = ["WorkersDiedError", "on_workers"]

Solve = Callable[[Any], Any]
_Attempt = Generator[dict[Hashable, Any], None, tuple[list[Hashable], Exception | None]]

MOST_DEATHS = (
    10  # deaths of processes in one call: more are not an accident, and each costs a start
)


class WorkersDiedError(RuntimeError):
    """Worker processes died before they had solved some of the problems.

    Attributes
    ----------
    lost : dict
        The errors, by the labels of these problems.
    """

    def __init__(self, lost: dict[Hashable, Exception]) -> None:
        self.lost = lost
        label, error = next(iter(lost.items()))
        super().__init__(
            f"Worker processes died on {len(lost)} problems, or could not read them. The first is "
            f"{label_repr(label)}: {type(error).__name__}: {error}"
        )


def on_workers(
    prepare: Callable[[], Solve],
    problems: Mapping[Any, Any],
    *,
    n_jobs: int | None = None,
    description: str = "Solving",
    progressbar: bool = False,
) -> Iterator[dict[Hashable, Any]]:
    """Solve problems, a few at a time, in the next free process.

    Parameters
    ----------
    prepare : callable
        Called once in every process. It compiles, and returns a function of a problem. Workers
        import it, or receive it by cloudpickle.
    problems : mapping of label to problem
    n_jobs : int, optional
        Number of processes: 1 for only this process, -1 for one per core. The default is the
        setting of `joblib.parallel_config`, or else 1. Workers of a cluster need bayesrank, and
        only one thread, because PyTensor cannot compile in several threads at a time.
    description : str
        Text of the progress bar.
    progressbar : bool
        Whether to show a progress bar, on a terminal only.

    Yields
    ------
    dict
        Results by label, a few at a time, as they come in.

    Raises
    ------
    WorkersDiedError
        If processes died, or could not read their problems. All other problems are solved first,
        and the affected problems are tried once more, one at a time.
    Exception
        Any error of the function; the remaining problems are not solved.
    """
    pickled = cloudpickle.dumps(prepare)
    digest = hashlib.sha256(pickled).hexdigest()
    labels = list(problems)
    size = _handful(len(labels), joblib.effective_n_jobs(n_jobs))
    parts = [labels[k : k + size] for k in range(0, len(labels), size)]

    def until_one_dies(waiting: deque[list[Hashable]]) -> _Attempt:
        """Solve waiting problems; if a process dies, return the pending labels and the error."""
        under_way: dict[Hashable, None] = {}

        def tasks() -> Iterator[Any]:
            while waiting:
                part = waiting.popleft()
                under_way.update(dict.fromkeys(part))
                yield joblib.delayed(_solve_some)(digest, pickled, [(x, problems[x]) for x in part])

        try:
            for some in joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks()):
                for label in some:
                    del under_way[label]
                yield some
        except (BrokenProcessPool, PicklingError) as error:
            return list(under_way), error
        return [], None

    def attempts() -> Iterator[dict[Hashable, Any]]:
        waiting, suspects = deque(parts), deque[Hashable]()
        deaths: list[Exception] = []
        lost: dict[Hashable, Exception] = {}
        while (waiting or suspects) and len(deaths) < MOST_DEATHS:
            alone = not waiting
            queue = deque([[suspects.popleft()]]) if alone else waiting
            under_way, error = yield from until_one_dies(queue)
            if error:
                deaths.append(error)
                if alone:
                    lost |= dict.fromkeys(under_way, error)
                else:
                    suspects += under_way
        if waiting or suspects:
            lost |= dict.fromkeys([*suspects, *chain(*waiting)], deaths[-1])
        if lost:
            raise WorkersDiedError(lost)

    yield from track(attempts(), description, len(parts), transient=True, disable=not progressbar)


_prepared: dict[str, Solve] = {}  # in a worker, by digest: only the last one


def _solve_some(
    digest: str, pickled: bytes, problems: list[tuple[Hashable, Any]]
) -> dict[Hashable, Any]:
    """Solve a few problems in the current process."""
    if digest not in _prepared:
        _prepared.clear()
        _prepared[digest] = cloudpickle.loads(pickled)()
    solve = _prepared[digest]
    with one_blas_thread():  # entered once, because entering it costs as much as a fit
        return {label: solve(problem) for label, problem in problems}


def _handful(n_problems: int, n_workers: int) -> int:
    """Return how many problems to send at a time."""
    return max(1, min(200, n_problems // (8 * max(n_workers, 1))))
