r"""Partial rankings under Mallows models in numba: sums over the full rankings that complete them.

A partial ranking puts some of the items into blocks, best first. A full ranking *completes* it if
it keeps the order of the blocks; items of one block may have any order. The kernels sum over the
completions and differentiate with respect to t:

.. math:: \log \sum_{\pi \text{ completes } y} e^{-t d(\pi, \rho)} .

If the blocks hold all items, each block fills its own places, and the sum is a product over blocks:

=========  =====================================================================================
kendall    all completions agree on pairs in different blocks; within a block of b items the sum
           is :math:`Z_b(t)` (Fligner & Verducci, JRSS B 1986, for top-k lists)
footrule   a scan along the places: items and places of the block open and close in pairs, as in
           the normaliser; items of the block and its places need not be the same numbers
spearman   a permanent of each block, by sets of its items
=========  =====================================================================================

Items that are left out may have any place. Under the footrule without ties, a similar scan goes
through all places and counts how many ranked items already have theirs. Otherwise the sum is over
*ideals*: the sets of items that can fill the first places. An ideal that contains an item also
contains all items ranked before it.

Every sum is a pair: its logarithm, and the derivative of the logarithm with respect to t.
"""

import math

import numba
import numpy as np

__all__ = ["FOOTRULE", "KENDALL", "SPEARMAN", "completions_kernel"]

FOOTRULE, SPEARMAN, KENDALL = 0, 1, 2  # positions in `DISTANCES`


@numba.njit(cache=True, error_model="numpy")
def _add(sums, slopes, i, f, g):  # type: ignore[no-untyped-def]
    """Add exp(f), where f has the slope g, to entry i of a table of log sums and their slopes."""
    before = sums[i]
    if f == -np.inf:
        return
    if before == -np.inf:
        sums[i], slopes[i] = f, g
        return
    ratio = math.exp(-abs(f - before))
    share = 1.0 / (1.0 + ratio)  # of the larger term
    if f < before:
        share = 1.0 - share
    sums[i] = max(f, before) + math.log1p(ratio)
    slopes[i] += share * (g - slopes[i])


# ---------------------------------------------------------------------------------------------
# Full rankings: one term
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _invert(ranks, consensus, rank_at, seen):  # type: ignore[no-untyped-def]
    """Fill ranks by place in the consensus, from 0; return whether the row is a full ranking."""
    n = ranks.size
    rank_at[:], seen[:] = -1, False
    for i in range(n):
        rank, place = ranks[i] - 1, consensus[i] - 1
        if not (0 <= rank < n and 0 <= place < n) or seen[rank] or rank_at[place] >= 0:
            return False
        seen[rank], rank_at[place] = True, rank
    return True


@numba.njit(cache=True, error_model="numpy")
def _distance(rank_at, distance):  # type: ignore[no-untyped-def]
    """Distance of a full ranking from the consensus."""
    d = 0
    for i in range(rank_at.size):
        if distance == KENDALL:
            for j in range(i):
                d += rank_at[j] > rank_at[i]
        elif distance == FOOTRULE:
            d += abs(rank_at[i] - i)
        else:
            d += (rank_at[i] - i) ** 2
    return d


# ---------------------------------------------------------------------------------------------
# Kendall
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _kendall(t, place, start, n, log_z):  # type: ignore[no-untyped-def]
    """Sum of a partial ranking; `log_z` (n + 1, 2) comes from `_kendall_normalisers`."""
    if place.size < n:
        return _over_ideals(t, place, start, n, KENDALL)
    d, value, slope = 0, 0.0, 0.0
    for b in range(start.size - 1):
        for i in range(start[b], start[b + 1]):
            for j in range(start[b]):
                d += place[j] > place[i]
        value += log_z[start[b + 1] - start[b], 0]
        slope += log_z[start[b + 1] - start[b], 1]
    return value - t * d, slope - d


@numba.njit(cache=True, error_model="numpy")
def _kendall_normalisers(t, n):  # type: ignore[no-untyped-def]
    """Logarithm of Z_b(t) for b = 0, ..., n items, and its slope, (n + 1, 2)."""
    out = np.zeros((n + 1, 2))
    total = weighted = 0.0
    for b in range(1, n + 1):
        q = math.exp(-t * (b - 1))
        total += q
        weighted += (b - 1) * q
        out[b, 0] = out[b - 1, 0] + math.log(total)
        out[b, 1] = out[b - 1, 1] - weighted / total
    return out


# ---------------------------------------------------------------------------------------------
# Footrule
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _footrule(t, place, start, n):  # type: ignore[no-untyped-def]
    """Sum of a partial ranking."""
    n_blocks = start.size - 1
    if place.size < n:
        if n_blocks == place.size:
            return _footrule_without_ties(t, place, n)
        return _over_ideals(t, place, start, n, FOOTRULE)
    value = slope = 0.0
    for b in range(n_blocks):
        f, g = _footrule_of_block(t, place[start[b] : start[b + 1]], start[b] + 1)
        value += f
        slope += g
    return value, slope


@numba.njit(cache=True, error_model="numpy")
def _footrule_of_block(t, place, first):  # type: ignore[no-untyped-def]
    """Sum of a block that has the places from `first` on: scan its places and its items' places.

    With u items open, v = u + places so far - items so far places are open. Each step adds one to
    the cost of every open item and every open place.
    """
    b = place.size
    if b == 1:
        d = abs(place[0] - first)
        return -t * d, -float(d)
    items = np.sort(place)
    sums, slopes = np.full(b + 2, -np.inf), np.zeros(b + 2)  # by u
    sums[0] = 0.0
    n_items = n_places = 0
    position = min(items[0], first)
    end = max(items[-1], first + b - 1)
    while position <= end:
        if n_items < b and items[n_items] == position:
            _meet_item(sums, slopes, n_items, n_places)
            n_items += 1
        if first <= position < first + b:
            for u in range(n_items):  # the place stays open, or goes to one of u + 1 open items
                _add(sums, slopes, u, sums[u + 1] + math.log(u + 1.0), slopes[u + 1])
            n_places += 1
        after = position + 1
        if n_places == 0 and n_items < b:  # nothing but open items until the first place
            after = min(items[n_items], first)
        for u in range(n_items + 1):
            v = u + n_places - n_items
            if v < 0:
                sums[u] = -np.inf
            else:
                sums[u] -= t * (u + v) * (after - position)
                slopes[u] -= (u + v) * (after - position)
        position = after
    return sums[0], slopes[0]


@numba.njit(cache=True, error_model="numpy")
def _meet_item(sums, slopes, n_items, n_places):  # type: ignore[no-untyped-def]
    """Process an item of the block: it stays open, or goes to one of v open places."""
    for u in range(n_items + 1, -1, -1):
        v = u + n_places - n_items
        f, g = sums[u], slopes[u]
        sums[u] = -np.inf
        if v > 0:
            _add(sums, slopes, u, f + math.log(v), g)
        if u > 0:
            _add(sums, slopes, u, sums[u - 1], slopes[u - 1])


@numba.njit(cache=True, error_model="numpy")
def _footrule_without_ties(t, place, n):  # type: ignore[no-untyped-def]
    """Sum for a strict order of some items: scan all places.

    The state (a, u) counts the ranked items that already have their places, and the open items
    among those left out. A ranked item adds its distance as soon as it has a place. The other items
    open and close with their places.
    """
    s = place.size
    is_ranked = np.zeros(n + 1, np.bool_)
    is_ranked[place] = True
    shape = s + 1, n - s + 2
    sums, slopes = np.full(shape, -np.inf), np.zeros(shape)
    new_sums, new_slopes = sums.copy(), slopes.copy()
    sums[0, 0] = 0.0
    n_items = 0  # left out, so far
    for position in range(1, n + 1):
        new_sums[:] = -np.inf
        for a in range(min(s, position - 1) + 1):
            for u in range(n_items + 1):
                v = u + position - 1 - a - n_items
                if v < 0 or sums[a, u] == -np.inf:
                    continue
                f, g = sums[a, u] - t * (u + v), slopes[a, u] - (u + v)
                if is_ranked[position]:
                    _give_place(t, place, position, a, u, f, g, new_sums, new_slopes)
                else:
                    _give_place(t, place, position, a, u + 1, f, g, new_sums, new_slopes)
                    if v > 0:
                        f += math.log(v)
                        _give_place(t, place, position, a, u, f, g, new_sums, new_slopes)
        n_items += not is_ranked[position]
        sums, slopes, new_sums, new_slopes = new_sums, new_slopes, sums, slopes
    return sums[s, 0], slopes[s, 0]


@numba.njit(cache=True, error_model="numpy")
def _give_place(t, place, position, a, u, f, g, sums, slopes):  # type: ignore[no-untyped-def]
    """Give a place to the next ranked item, to one of u open ones, or leave it open."""
    if a < place.size:
        step = abs(position - place[a])
        _add(sums, slopes, (a + 1, u), f - t * step, g - step)
    _add(sums, slopes, (a, u), f, g)
    if u > 0:
        _add(sums, slopes, (a, u - 1), f + math.log(u), g)


# ---------------------------------------------------------------------------------------------
# Sums over ideals
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _over_ideals(t, place, start, n, distance):  # type: ignore[no-untyped-def]
    """Sum of any partial ranking, over the sets that can fill the first places.

    An ideal consists of some whole blocks, a subset of the next block, and a subset of the items
    that are left out. Its last item comes from the next block or from those left out.
    """
    n_blocks = start.size - 1
    out = _left_out(place, n)
    base = np.zeros(n_blocks + 1, np.int64)  # the state when all blocks before a block are full
    for b in range(n_blocks):
        base[b + 1] = base[b] + (1 << (start[b + 1] - start[b])) - 1
    n_sets = 1 << out.size
    n_ideals = (base[n_blocks] + 1) * n_sets
    sums, slopes = np.full(n_ideals, -np.inf), np.zeros(n_ideals)
    sums[0] = 0.0
    block = 0
    for state in range(base[n_blocks] + 1):
        while block < n_blocks and state > base[block + 1]:
            block += 1
        before = place[: start[block]]
        block_places = place[start[block] : start[block + 1]] if block < n_blocks else place[:0]
        chosen = state - base[block] if block < n_blocks else 0  # a subset of this block
        for free in range(n_sets):
            ideal = state * n_sets + free
            size = before.size + _size(chosen) + _size(free)
            for i in range(out.size):
                if free >> i & 1:
                    d = _cost(out[i], size, before, block_places, chosen, out, free, distance)
                    last = ideal ^ (1 << i)
                    _add(sums, slopes, ideal, sums[last] - t * d, slopes[last] - d)
            for i in range(block_places.size):
                if chosen >> i & 1:
                    d = _cost(
                        block_places[i], size, before, block_places, chosen, out, free, distance
                    )
                    last = ideal - (n_sets << i)
                    _add(sums, slopes, ideal, sums[last] - t * d, slopes[last] - d)
    return sums[-1], slopes[-1]


@numba.njit(cache=True, error_model="numpy")
def _left_out(place, n):  # type: ignore[no-untyped-def]
    """Places in the consensus of the items that are left out."""
    is_ranked = np.zeros(n + 1, np.bool_)
    is_ranked[place] = True
    return np.flatnonzero(~is_ranked[1:]) + 1


@numba.njit(cache=True)
def _size(subset):  # type: ignore[no-untyped-def]
    size = 0
    while subset:
        subset &= subset - 1
        size += 1
    return size


@numba.njit(cache=True, error_model="numpy")
def _cost(item, size, before, block_places, chosen, out, free, distance):  # type: ignore[no-untyped-def]
    """Distance that an item adds as the last item of an ideal of `size` items."""
    if distance == FOOTRULE:
        return abs(item - size)
    if distance == SPEARMAN:
        return (item - size) ** 2
    d = 0
    for other in before:
        d += other > item
    for i in range(block_places.size):
        d += (chosen >> i & 1) and block_places[i] > item
    for i in range(out.size):
        d += (free >> i & 1) and out[i] > item
    return d


# ---------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _blocks(ranks, consensus, n):  # type: ignore[no-untyped-def]
    """Places in the consensus, block after block, and where blocks start.

    The starts are empty if the ranks are not dense or the places are invalid.
    """
    order = np.argsort(ranks, kind="mergesort")
    first = np.searchsorted(ranks[order], 1)
    order = order[first:]
    place, start = consensus[order], np.zeros(order.size + 1, np.int64)
    seen = np.zeros(n + 1, np.bool_)
    n_blocks = 0
    for i in range(order.size):
        rank, item_place = ranks[order[i]], place[i]
        out_of_range = item_place < 1 or item_place > n or ranks.min() < 0 or ranks[order[0]] != 1
        if out_of_range or seen[item_place] or rank > n_blocks + 1:
            return place, start[:0]
        seen[item_place] = True
        n_blocks = rank
        start[n_blocks] = i + 1
    return place, start[: n_blocks + 1]


@numba.njit(cache=True, error_model="numpy")
def completions_kernel(t, ranks, consensus, n, distance):  # type: ignore[no-untyped-def]
    """Log sum over the completions of each row, and its derivative with respect to t, (r,) each.

    Parameters
    ----------
    t : ndarray of float, (r,)
        Cost of one unit of distance.
    ranks : ndarray of int, (r, s)
        Dense ranks from 1; 0 in empty slots.
    consensus : ndarray of int, (r, s)
        Places in the consensus, 1 to n; any value in empty slots.
    n, distance : int
        Number of items, and the position of the distance in `DISTANCES`.

    The value is -inf for rows that are not rankings.
    """
    n_rows = ranks.shape[0]
    value, slope = np.full(n_rows, -np.inf), np.zeros(n_rows)
    log_z, previous = np.zeros((0, 2)), np.nan
    rank_at, seen = np.empty(n, np.int64), np.empty(n, np.bool_)
    for r in range(n_rows):
        if not math.isfinite(t[r]):
            continue
        if ranks.shape[1] == n and _invert(ranks[r], consensus[r], rank_at, seen):
            d = _distance(rank_at, distance)
            value[r], slope[r] = -t[r] * d, -float(d)
            continue
        place, start = _blocks(ranks[r], consensus[r], n)
        if start.size == 0:
            continue
        if distance == KENDALL:
            if t[r] != previous:
                log_z, previous = _kendall_normalisers(t[r], n), t[r]
            value[r], slope[r] = _kendall(t[r], place, start, n, log_z)
        elif distance == FOOTRULE:
            value[r], slope[r] = _footrule(t[r], place, start, n)
        else:
            value[r], slope[r] = _over_ideals(t[r], place, start, n, SPEARMAN)
    return value, slope
