r"""Partial rankings under Mallows models in numba: sums over the full rankings that complete them.

A partial ranking puts some of the items into blocks, best first. A full ranking *completes* it if
it puts these items into that order, with those of one block in any. What the partial ranking is
worth is the sum over its completions,

.. math:: \log \sum_{\pi \text{ completes } y} e^{-t d(\pi, \rho)},

and the kernels give it with its first two derivatives by t. Blocks that hold all items leave each
block its own places, and the sum is a product over blocks:

=========  =====================================================================================
kendall    pairs in different blocks are in one order for all completions, and within a block of
           b items the sum is :math:`Z_b(t)` (Fligner & Verducci, JRSS B 1986, of top-k lists)
footrule   a scan along the places: items and places of the block open and close in pairs, as in
           the normaliser; items of the block and its places need not be the same numbers
spearman   a permanent of each block, by sets of its items
=========  =====================================================================================

If items are left out, they may be anywhere. Under the footrule, and without ties, the same scan
goes through all places and counts how many of the ranked items have theirs. Otherwise the sum is
one over *ideals*: the sets of items that may fill the first places, which hold with an item all
that are ranked before it.
"""

import math

import numba
import numpy as np

__all__ = [
    "completions_kernel",
    "discordant_pairs",
    "log_sums_of_completions",
]

FOOTRULE, SPEARMAN, KENDALL = 0, 1, 2  # positions in `DISTANCES`


# ---------------------------------------------------------------------------------------------
# Logarithms of sums, with their first and second derivatives
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _add(x, f, g, h):  # type: ignore[no-untyped-def]
    """Add exp(f) to the exponential of x[0]; g and h are derivatives of f, x[1:] those of x[0]."""
    if f == -np.inf:
        return
    if x[0] == -np.inf:
        x[0], x[1], x[2] = f, g, h
        return
    top = max(x[0], f)
    a, b = math.exp(x[0] - top), math.exp(f - top)
    total = a + b
    a, b = a / total, b / total
    apart = x[1] - g
    x[2] = a * x[2] + b * h + a * b * apart * apart
    x[1] = a * x[1] + b * g
    x[0] = top + math.log(total)


# ---------------------------------------------------------------------------------------------
# Blocks that hold all items
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def discordant_pairs(place, start):  # type: ignore[no-untyped-def]
    """Count pairs of items in different blocks that the consensus has the other way round.

    Parameters
    ----------
    place : ndarray of int, (s,)
        Places in the consensus, block after block.
    start : ndarray of int, (n_blocks + 1,)
        Where blocks begin, and the last one ends.
    """
    out = 0
    for b in range(start.size - 1):
        for i in range(start[b], start[b + 1]):
            for j in range(start[b]):
                out += place[j] > place[i]
    return out


@numba.njit(cache=True, error_model="numpy")
def _kendall_table(t, n):  # type: ignore[no-untyped-def]
    """Logarithm of Z_b(t) of b = 0, ..., n items, with derivatives, (n + 1, 3)."""
    out = np.zeros((n + 1, 3))
    zeroth = first = second = 0.0
    for b in range(1, n + 1):
        q = math.exp(-t * (b - 1))
        zeroth += q
        first += (b - 1) * q
        second += (b - 1.0) ** 2 * q
        mean = first / zeroth
        out[b, 0] = out[b - 1, 0] + math.log(zeroth)
        out[b, 1] = out[b - 1, 1] - mean
        out[b, 2] = out[b - 1, 2] + second / zeroth - mean * mean
    return out


@numba.njit(cache=True, error_model="numpy")
def _footrule(t, place, first, x):  # type: ignore[no-untyped-def]
    """Of a block that has the places from `first` on: scan them, and the places of its items.

    With u items open, as many more places are as have been met more: v = u + places - items.
    """
    b = place.size
    items = np.sort(place)
    table = np.full((b + 2, 3), -np.inf)  # by u
    table[:, 1:] = 0.0
    table[0, 0] = 0.0
    n_items = n_places = 0
    here = min(items[0], first)
    end = max(items[-1], first + b - 1)
    while here <= end:
        if n_items < b and items[n_items] == here:
            for u in range(n_items + 1, -1, -1):  # one more: open, or to one of v open places
                v = u + n_places - n_items
                kept = table[u].copy()
                table[u, 0] = -np.inf
                if v > 0 and kept[0] > -np.inf:
                    _add(table[u], kept[0] + math.log(v), kept[1], kept[2])
                if u > 0:
                    _add(table[u], table[u - 1, 0], table[u - 1, 1], table[u - 1, 2])
            n_items += 1
        if first <= here < first + b:
            for u in range(n_items + 1):  # stays open, or to one of u + 1 open items
                if u < n_items and table[u + 1, 0] > -np.inf:
                    log_ways = math.log(u + 1.0)
                    f, g, h = table[u + 1]
                    _add(table[u], f + log_ways, g, h)
            n_places += 1
        after = here + 1
        if n_places == 0 and n_items < b:  # nothing but open items until the first place
            after = min(items[n_items], first)
        for u in range(n_items + 1):
            v = u + n_places - n_items
            if v < 0 or table[u, 0] == -np.inf:
                table[u, 0] = -np.inf
                continue
            step = (u + v) * (after - here)
            table[u, 0] -= t * step
            table[u, 1] -= step
        here = after
    x[:] = table[0]


# ---------------------------------------------------------------------------------------------
# Items that are left out
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _footrule_of_some(t, place, n, x):  # type: ignore[no-untyped-def]
    """Of some items in one order: scan all places, with a of these put so far, and u others open.

    The place of a ranked item costs at once how far it is from that in the consensus; the others
    open and close with their places.
    """
    s = place.size
    is_ranked = np.zeros(n + 1, np.bool_)
    is_ranked[place] = True
    table = np.full((s + 1, n - s + 2, 3), -np.inf)
    table[:, :, 1:] = 0.0
    table[0, 0, 0] = 0.0
    new = table.copy()
    n_items = 0  # left out, so far
    for here in range(1, n + 1):
        new[:, :, 0] = -np.inf
        for a in range(min(s, here - 1) + 1):
            n_places = here - 1 - a  # for those left out, so far
            for u in range(n_items + 1):
                v = u + n_places - n_items
                f, g, h = table[a, u]
                if v < 0 or f == -np.inf:
                    continue
                f, g = f - t * (u + v), g - (u + v)
                if is_ranked[here]:
                    _with_place(t, place, here, a, u, f, g, h, new)
                else:
                    _with_place(t, place, here, a, u + 1, f, g, h, new)
                    if v > 0:
                        _with_place(t, place, here, a, u, f + math.log(v), g, h, new)
        n_items += not is_ranked[here]
        table, new = new, table
    x[:] = table[s, 0]


@numba.njit(cache=True, error_model="numpy")
def _with_place(t, place, here, a, u, f, g, h, new):  # type: ignore[no-untyped-def]
    """Give a place to the next ranked item, to one of u open ones, or leave it open."""
    if a < place.size:
        step = abs(here - place[a])
        _add(new[a + 1, u], f - t * step, g - step, h)
    _add(new[a, u], f, g, h)
    if u > 0:
        _add(new[a, u - 1], f + math.log(u), g, h)


@numba.njit(cache=True, error_model="numpy")
def _over_ideals(t, place, start, n, kind, x):  # type: ignore[no-untyped-def]
    """Any partial ranking, over the sets that may fill the first places.

    An ideal is a state of the blocks, all of some and a subset of the next, and a set of items
    that are left out.
    """
    n_blocks = start.size - 1
    is_ranked = np.zeros(n + 1, np.bool_)
    is_ranked[place] = True
    out = np.empty(n - place.size, np.int64)  # places of items that are left out
    m = 0
    for i in range(1, n + 1):
        if not is_ranked[i]:
            out[m] = i
            m += 1
    base = np.zeros(n_blocks + 1, np.int64)  # state of all blocks before each
    for b in range(n_blocks):
        base[b + 1] = base[b] + (1 << (start[b + 1] - start[b])) - 1
    sets = 1 << m
    table = np.full(((base[n_blocks] + 1) * sets, 3), -np.inf)
    table[:, 1:] = 0.0
    table[0, 0] = 0.0
    block = 0
    for state in range(base[n_blocks] + 1):
        while block < n_blocks and state > base[block + 1]:
            block += 1
        some = state - base[block] if block < n_blocks else 0  # of this block
        chosen = 0
        for i in range(start[block], start[block + 1] if n_blocks else start[block]):
            chosen += some >> (i - start[block]) & 1
        n_ranked = start[block] + chosen
        for free in range(sets):
            row = table[state * sets + free]
            size = n_ranked
            left = free
            while left:
                left &= left - 1
                size += 1
            if size == 0:
                continue
            for i in range(m):  # last is one that is left out
                if free >> i & 1:
                    before = state * sets + (free ^ (1 << i))
                    d = _cost(out[i], size, place, start, block, some, out, free, kind)
                    f, g, h = table[before]
                    _add(row, f - t * d, g - d, h)
            if chosen:  # or one of this block
                for i in range(start[block], start[block + 1]):
                    bit = 1 << (i - start[block])
                    if some & bit:
                        before = (state - bit) * sets + free
                        d = _cost(place[i], size, place, start, block, some, out, free, kind)
                        f, g, h = table[before]
                        _add(row, f - t * d, g - d, h)
    x[:] = table[-1]


@numba.njit(cache=True, error_model="numpy")
def _cost(own, size, place, start, block, some, out, free, kind):  # type: ignore[no-untyped-def]
    """Distance that an item adds as the last of an ideal, of so many items."""
    if kind == FOOTRULE:
        return abs(own - size)
    if kind == SPEARMAN:
        return (own - size) ** 2
    d = 0
    for i in range(start[block]):
        d += place[i] > own
    for i in range(start[block], start[block + 1] if start.size > 1 else start[block]):
        d += (some >> (i - start[block]) & 1) and place[i] > own
    for i in range(out.size):
        d += (free >> i & 1) and out[i] > own
    return d


# ---------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _blocks(ranks, consensus, n):  # type: ignore[no-untyped-def]
    """Places in the consensus, block after block, and where blocks start.

    Nothing starts anywhere if these are no ranks, or no places.
    """
    order = np.argsort(ranks, kind="mergesort")
    first = np.searchsorted(ranks[order], 1)
    order = order[first:]
    place, start = consensus[order], np.zeros(order.size + 1, np.int64)
    seen = np.zeros(n + 1, np.bool_)
    n_blocks = 0
    for i in range(order.size):
        rank, own = ranks[order[i]], place[i]
        out_of_range = own < 1 or own > n or ranks.min() < 0 or ranks[order[0]] != 1
        if out_of_range or seen[own] or rank > n_blocks + 1:
            return place, start[:0]
        seen[own] = True
        n_blocks = rank
        start[n_blocks] = i + 1
    return place, start[: n_blocks + 1]


@numba.njit(cache=True, error_model="numpy")
def _of_full(t, ranks, consensus, kind, at, seen, x):  # type: ignore[no-untyped-def]
    """Whether a row is a full ranking, of which the sum is one term; the quick way to it."""
    n = ranks.size
    at[:], seen[:] = -1, False
    for i in range(n):
        rank, place = ranks[i] - 1, consensus[i] - 1
        inside = 0 <= rank < n and 0 <= place < n
        if not inside or seen[rank] or at[place] >= 0:
            return False
        seen[rank], at[place] = True, rank
    d = 0
    if kind == KENDALL:
        for i in range(n):
            for j in range(i):
                d += at[j] > at[i]
    else:
        for i in range(n):
            apart = at[i] - i
            if kind == FOOTRULE:
                d += abs(apart)
            else:
                d += apart * apart
    x[0], x[1], x[2] = -t * d, -float(d), 0.0
    return True


@numba.njit(cache=True, error_model="numpy")
def _completions(t, ranks, consensus, n, kind):  # type: ignore[no-untyped-def]
    """Value and two derivatives of each row, (r, 3)."""
    n_rows = ranks.shape[0]
    found = np.zeros((n_rows, 3))
    x = np.zeros(3)
    kendall = np.zeros((0, 3))
    before = np.nan
    at, seen = np.empty(n, np.int64), np.empty(n, np.bool_)
    for r in range(n_rows):
        may_be_full = ranks.shape[1] == n and math.isfinite(t[r])
        if may_be_full and _of_full(t[r], ranks[r], consensus[r], kind, at, seen, found[r]):
            continue
        place, start = _blocks(ranks[r], consensus[r], n)
        n_blocks = start.size - 1
        tied = 0  # blocks of several items
        for b in range(n_blocks):
            tied += start[b + 1] - start[b] > 1
        if n_blocks < 0 or not math.isfinite(t[r]):
            found[r, 0] = -np.inf
            continue
        if place.size == 0:  # nothing is said, and every ranking completes it
            start = np.zeros(1, np.int64)
        x[:] = 0.0
        if kind == KENDALL and place.size == n:
            if t[r] != before:
                kendall, before = _kendall_table(t[r], n), t[r]
            d = discordant_pairs(place, start)
            found[r, 0], found[r, 1] = -t[r] * d, -d
            for b in range(n_blocks):
                found[r] += kendall[start[b + 1] - start[b]]
        elif kind == FOOTRULE and tied == 0 and place.size < n:
            _footrule_of_some(t[r], place, n, found[r])
        elif kind == SPEARMAN or place.size < n:
            _over_ideals(t[r], place, start, n, kind, found[r])
        else:
            for b in range(n_blocks):
                own, first = place[start[b] : start[b + 1]], start[b] + 1
                if own.size == 1:
                    d = abs(own[0] - first)
                    x[0], x[1], x[2] = -t[r] * d, -d, 0.0
                else:
                    _footrule(t[r], own, first, x)
                found[r] += x
    return found


@numba.njit(cache=True, error_model="numpy")
def log_sums_of_completions(t, ranks, consensus, n, kind):  # type: ignore[no-untyped-def]
    """Logarithm of the sum over completions of each row, (r,), of the same arguments."""
    return _completions(t, ranks, consensus, n, kind)[:, 0]


@numba.njit(cache=True, error_model="numpy")
def completions_kernel(t, ranks, consensus, n, kind):  # type: ignore[no-untyped-def]
    """Logarithm of the sum over completions of each row, and its derivative by t, (r,) each.

    Parameters
    ----------
    t : ndarray of float, (r,)
        What a step of distance costs.
    ranks : ndarray of int, (r, s)
        Dense ranks from 1, 0 of slots that are empty.
    consensus : ndarray of int, (r, s)
        Places in the consensus, 1 to n; any of empty slots.
    n : int
        Items.
    kind : int
        Position of the distance in `DISTANCES`.

    Returns
    -------
    ndarray of float
        -inf of what is no partial ranking.
    ndarray of float
    """
    found = _completions(t, ranks, consensus, n, kind)
    return found[:, 0].copy(), found[:, 1].copy()
