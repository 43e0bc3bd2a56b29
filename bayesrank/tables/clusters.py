"""Columns of a table of matches that group matches which are not independent, such as prompts.

If an item does better than expected on a prompt, the residuals of its matches there have the same
sign. Their products are summed over all items and labels. Without dependence the sum has the mean 0
and a known variance.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["clusters"]

LEAST_LABELS, LEAST_EACH = 10, 1.5  # fewest labels of a column, and matches per label on average
MOST_MATCHES, MOST_COLUMNS = 200_000, 20
CLEARLY = 4.0  # standard deviations: of twenty columns none does so by chance
STEPS = 100
PRIOR = 1.0  # matches won and lost against an average item, added to those of each item

Floats = NDArray[np.float64]


def clusters(table: pd.DataFrame, others: pd.DataFrame) -> list[str]:
    """Find columns whose labels group dependent matches, the clearest first.

    Parameters
    ----------
    table : DataFrame
        Matches with the columns first, second and outcome (first, second or tie).
    others : DataFrame
        Further columns of the same rows.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> prompt = np.repeat(np.arange(100), 4)
    >>> deviation = 2 * rng.normal(size=(100, 3))
    >>> first = rng.integers(3, size=400)
    >>> second = (first + rng.integers(1, 3, size=400)) % 3
    >>> lead = deviation[prompt, first] - deviation[prompt, second]
    >>> won = rng.random(400) < 1 / (1 + np.exp(-lead))
    >>> table = pd.DataFrame({"first": first, "second": second})
    >>> table["outcome"] = np.where(won, "first", "second")
    >>> clusters(table, pd.DataFrame({"prompt": prompt, "colour": rng.integers(20, size=400)}))
    ['prompt']
    """
    if not 0 < len(table) <= MOST_MATCHES:
        return []
    first, second = table["first"].to_numpy(), table["second"].to_numpy()
    codes, items = pd.factorize(np.concatenate([first, second]))
    sides = codes.reshape(2, -1)
    outcome = table["outcome"].to_numpy()
    points: Floats = np.select([outcome == "first", outcome == "tie"], [1.0, 0.5], 0.0)
    residual: Floats = points - _expected(sides, points, len(items))
    residual -= residual.mean()  # an advantage of the first item
    found = {}
    for name, labels in _labels(others):
        z = _dependence(sides, residual, labels, len(items))
        if z > CLEARLY:
            found[name] = z
    return sorted(found, key=lambda name: -found[name])


def _labels(others: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Return the columns whose labels repeat often enough, without rows that lack a label."""
    for name in others.columns[:MOST_COLUMNS]:
        codes, labels = pd.factorize(others[name])
        n = len(labels)
        if n >= LEAST_LABELS and (codes >= 0).sum() >= LEAST_EACH * n:
            yield str(name), codes


def _expected(sides: NDArray[np.intp], points: Floats, n_items: int) -> Floats:
    """Compute the expected points of the first items under Bradley-Terry (Hunter 2004)."""
    first, second = sides
    won = PRIOR + np.bincount(first, points, n_items) + np.bincount(second, 1 - points, n_items)
    worth = np.ones(n_items)
    for _ in range(STEPS):
        met = 1 / (worth[first] + worth[second])
        rest = np.bincount(first, met, n_items) + np.bincount(second, met, n_items)
        worth = won / (rest + 2 * PRIOR / (worth + 1))
    return worth[first] / (worth[first] + worth[second])


def _dependence(
    sides: NDArray[np.intp], residual: Floats, labels: NDArray[np.intp], n_items: int
) -> float:
    """Return the correlation of the residuals of an item within labels, in standard errors."""
    known = labels >= 0
    cell = np.concatenate([labels[known] * n_items + side[known] for side in sides])
    signed = np.concatenate([residual[known], -residual[known]])
    _, cell = np.unique(cell, return_inverse=True)
    # sums of products, and of their squares, over ordered pairs of matches of one cell
    together = (np.bincount(cell, signed) ** 2).sum() - (signed**2).sum()
    squares = (np.bincount(cell, signed**2) ** 2).sum() - (signed**4).sum()
    # two matches of the same two items share two cells, so that their products count twice
    return float(together / max(np.sqrt(4 * squares), 1e-12))
