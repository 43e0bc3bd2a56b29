"""Outcome counts, summed over matches that have the same likelihood.

If the likelihood depends on utilities only, all matches of two items are equivalent. Without an
order effect, a win of the second item equals a win of the first item in the mirrored pair.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["PairTotals", "log_multinomial", "pair_totals"]

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class PairTotals(NamedTuple):
    """Weighted counts of distinct pairs of items in every group (the cells)."""

    first: Ints  # (n_cells,)
    second: Ints  # (n_cells,)
    group: Ints  # (n_cells,)
    counts: Floats  # (n_outcomes, n_cells), evidence weight times counts
    which: Ints  # (n_terms, n_cells), effects of each cell besides its items
    size: Floats  # (n_terms, n_cells), the factors of these effects


def pair_totals(
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    counts: NDArray[np.integer],
    weight: NDArray[np.floating],
    *,
    ordered: bool,
    group: NDArray[np.integer] | None = None,
    which: NDArray[np.integer] | None = None,
    size: NDArray[np.floating] | None = None,
    even: slice = slice(0),
) -> PairTotals:
    """Sum the counts of pairs of the same two items in the same group.

    Parameters
    ----------
    first, second, counts, weight : array
        As in `Pairs`; the counts of ties may be omitted.
    ordered : bool
        Whether a pair and its mirror image are different.
    group : array of int, shape (n_pairs,), optional
        Group of each pair; pairs of different groups are not merged. One group, 0, by default.
    which, size : array of int and of float, shape (n_pairs, n_terms), optional
        Effects of each pair, and their factors, which change sign in the mirrored pair. None by
        default.
    even : slice
        Terms that keep their sign in the mirrored pair, such as effects on ties. None by default.

    Returns
    -------
    PairTotals
        Cells, sorted by group and then by items.
    """
    weighted = (weight[:, None] * counts).T
    one, other = first.astype(np.int64), second.astype(np.int64)
    none = np.zeros((0, len(one)))
    terms = none.astype(np.int32) if which is None else which.T.astype(np.int32)
    sizes = none if size is None else size.T.astype(np.float64)
    if not ordered:
        mirrored = one > other
        one, other = np.minimum(one, other), np.maximum(one, other)
        weighted[:2, mirrored] = weighted[1::-1, mirrored]
        turned = np.where(mirrored, -sizes, sizes) + 0.0  # no -0
        turned[even] = sizes[even]
        sizes = turned
    whose = np.zeros(len(one), dtype=np.int64) if group is None else group.astype(np.int64)
    n_items = 1 + max(one.max(initial=0), other.max(initial=0))
    place = (whose * n_items + one) * n_items + other
    if (place[1:] > place[:-1]).all():  # already sorted and distinct
        a, b, g = (x.astype(np.int32) for x in (one, other, whose))
        return PairTotals(a, b, g, np.ascontiguousarray(weighted), terms, sizes.copy())
    by = (*sizes, *terms, place)  # items and group as one number: five times faster
    order = np.lexsort(by) if len(terms) else np.argsort(place, kind="stable")
    place, terms, sizes = place[order], terms[:, order], sizes[:, order]
    is_new = np.ones(len(one), dtype=bool)
    is_new[1:] = place[1:] != place[:-1]
    for row in (*terms, *sizes):
        is_new[1:] |= row[1:] != row[:-1]
    cell = is_new.cumsum() - 1
    totals = np.stack([np.bincount(cell, row[order], cell[-1] + 1) for row in weighted])
    met = order[is_new]
    a, b, g = (x[met].astype(np.int32) for x in (one, other, whose))
    return PairTotals(a, b, g, totals, terms[:, is_new], sizes[:, is_new])


def log_multinomial(counts: NDArray[np.integer]) -> Floats:
    r"""Return the log number of orders in which the outcomes of each pair can have occurred.

    .. math:: \log n! - \sum_o \log c_o!, \qquad n = \sum_o c_o

    Parameters
    ----------
    counts : array of int, shape (n_pairs, n_outcomes)
        How often each outcome occurred.
    """
    return gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1)
