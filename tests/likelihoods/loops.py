"""Cases that differ by a number only: a loop inside one test, which says what it failed with."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

SEED = 20020217  # that of the fixture `rng`, which every case has anew


def for_each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[..., Any]:
    """Run a test with every case, as `pytest.mark.parametrize` does, but as one test.

    Parameters
    ----------
    names : str or tuple of str
        Arguments of the test that differ.
    cases : iterable
        Values, or as many of them as there are names. Fixtures are shared by all but `rng`.
    """
    cases, given = list(cases), (names,) if isinstance(names, str) else names

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            for case in cases:
                values = dict(zip(given, [case] if isinstance(names, str) else case, strict=True))
                fresh = {"rng": np.random.default_rng(SEED)} if "rng" in fixtures else {}
                try:
                    test(**fixtures | fresh | values)
                except BaseException as error:
                    error.add_note(f"with {values}")
                    raise

        left = [p for name, p in signature.parameters.items() if name not in given]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
