r"""Sums over all orders of items in numba, by sets: value, gradient, and exact draws.

The cost of an item in an order depends on the set S of items before it:

============  ================================================  ===================================
``PLACES``    :math:`c_i(S) = C_{i, |S|}`, of its place          a permanent
``PAIRS``     :math:`c_i(S) = \sum_{j \in S} C_{ij}`, of pairs   i after j costs :math:`C_{ij}`
============  ================================================  ===================================

The sum over orders of exp(-cost) is F of the set of all items, with

.. math:: F(S) = \sum_{i \in S} F(S \setminus i) \, e^{-c_i(S \setminus i)}, \qquad
          B(S) = \sum_{i \notin S} e^{-c_i(S)} B(S \cup i), \qquad F(\{\}) = B(\text{all}) = 1,

and F(S) exp(-c_i(S)) B(S + i) / F(all) is the probability that i follows exactly the set S. The
time is :math:`2^n n`. A set is stored as the bits of an integer. The three lowest bits index a
*lane* of eight adjacent numbers, which the processor handles at once. 20 items take 0.03 s.

Costs are first *reduced* by the part that every order pays: the dual prices of the cheapest
assignment, or the cheaper order of each pair. Then the cheapest order costs nothing, or little if
the majorities form a cycle. Therefore large costs neither overflow the sums nor remove the orders
that matter. If a cycle costs more than doubles can hold, logarithms are summed, which takes ten
times as long.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.splitmix import uniform

__all__ = [
    "MOST_ITEMS",
    "PAIRS",
    "PLACES",
    "draw_order_kernel",
    "log_sum_of_orders",
    "log_total_of_orders",
    "orders_kernel",
    "places_of_orders",
    "reduced_costs",
    "table_of_sets",
]

PLACES, PAIRS = 0, 1
MOST_ITEMS = 22  # two tables of 2^22 numbers: 67 MB, and a fifth of a second
LOW = 3  # items whose sets form the lane
LANE = 1 << LOW
MID = 8  # items of the first of two tables of products
SMALLEST = 1e-200  # sums above it have lost nothing to underflow


# ---------------------------------------------------------------------------------------------
# Costs
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def _prices(cost):  # type: ignore[no-untyped-def]
    """Dual prices (u, v) of the cheapest assignment: u_i + v_j <= cost_ij, and equal along it.

    The Hungarian method by shortest augmenting paths (Jonker & Volgenant, Computing 1987).
    """
    n = cost.shape[0]
    u, v = np.zeros(n + 1), np.zeros(n + 1)
    row_of = np.zeros(n + 1, np.int64)  # of each column; a search begins at row and column 0
    for row in range(1, n + 1):
        row_of[0] = row
        least = np.full(n + 1, np.inf)
        before = np.zeros(n + 1, np.int64)
        seen = np.zeros(n + 1, np.bool_)
        j = 0
        while True:
            seen[j] = True
            i, step, nearest = row_of[j], np.inf, 0
            for k in range(1, n + 1):
                if not seen[k]:
                    slack = cost[i - 1, k - 1] - u[i] - v[k]
                    if slack < least[k]:
                        least[k], before[k] = slack, j
                    if least[k] < step:
                        step, nearest = least[k], k
            for k in range(n + 1):
                if seen[k]:
                    u[row_of[k]] += step
                    v[k] -= step
                else:
                    least[k] -= step
            j = nearest
            if row_of[j] == 0:
                break
        while j:
            row_of[j] = row_of[before[j]]
            j = before[j]
    return u[1:], v[1:]


@numba.njit(cache=True, error_model="numpy")
def reduced_costs(cost, cost_type):  # type: ignore[no-untyped-def]
    """Return the costs (m, m) minus the part that every order pays, non-negative, and that part.

    With fewer than three items, items are added that can only come last, in a fixed order.
    """
    n = cost.shape[0]
    m = max(n, LOW)
    out = np.full((m, m), np.inf)
    paid = 0.0
    if cost_type == PLACES:
        u, v = _prices(cost)
        for i in range(n):
            for j in range(n):
                out[i, j] = max(cost[i, j] - u[i] - v[j], 0.0)
        paid = u.sum() + v.sum()
        for i in range(n, m):
            out[i, i] = 0.0
    else:
        for i in range(n):
            out[i, i] = 0.0
            for j in range(i):
                least = min(cost[i, j], cost[j, i])
                out[i, j], out[j, i] = cost[i, j] - least, cost[j, i] - least
                paid += least
        for i in range(n, m):
            out[i, : i + 1] = 0.0
    return out, paid


@numba.njit(cache=True, error_model="numpy")
def _weights(cost, cost_type):  # type: ignore[no-untyped-def]
    """Weight of every item after a set: a product of three factors, from the bits of the set.

    lane[i, h, l] depends on the lowest bits l and the number h of higher bits that are set. The
    next eight bits determine mid[i, .], and the rest top[i, .].
    """
    n = cost.shape[0]
    n_high = n - LOW
    n_mid = min(n_high, MID)
    lane = np.ones((n, n_high + 1, LANE))
    mid = np.ones((n, 1 << n_mid))
    top = np.ones((n, 1 << (n_high - n_mid)))
    for i in range(n):
        for low in range(LANE):
            size, total = 0, 0.0
            for j in range(LOW):
                if low >> j & 1:
                    size += 1
                    total += cost[i, j]
            for h in range(n_high + 1):
                if cost_type == PAIRS:
                    lane[i, h, low] = math.exp(-total)
                elif h + size < n:
                    lane[i, h, low] = math.exp(-cost[i, h + size])
        if cost_type == PAIRS:
            _products(cost[i], LOW, mid[i])
            _products(cost[i], LOW + n_mid, top[i])
    return lane, mid, top


@numba.njit(cache=True, error_model="numpy")
def _products(cost, first, out):  # type: ignore[no-untyped-def]
    """Fill in exp(-sum of the costs) for all sets of the items from `first` on."""
    sums = np.zeros(out.size)
    for s in range(1, out.size):
        j = _lowest(s)
        sums[s] = sums[s & (s - 1)] + cost[first + j]
        out[s] = math.exp(-sums[s])


@numba.njit(cache=True)
def _lowest(s):  # type: ignore[no-untyped-def]
    j = 0
    while not s >> j & 1:
        j += 1
    return j


@numba.njit(cache=True)
def _size(s):  # type: ignore[no-untyped-def]
    size = 0
    while s:
        s &= s - 1
        size += 1
    return size


# ---------------------------------------------------------------------------------------------
# Sums
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy", fastmath=False)
def _forward(lane, mid, top):  # type: ignore[no-untyped-def]
    """F of all sets, (sets of the higher bits, sets of the lowest bits)."""
    n = lane.shape[0]
    table = np.empty((1 << (n - LOW), LANE))
    last = mid.shape[1] - 1
    n_mid = _size(last)
    row = np.empty(LANE)
    for high in range(table.shape[0]):
        size = _size(high)
        row[:] = 0.0
        row[0] = 1.0 if high == 0 else 0.0
        left, j = high, LOW
        while left:
            if left & 1:
                p = high ^ (1 << (j - LOW))
                scale = mid[j, p & last] * top[j, p >> n_mid]
                for low in range(LANE):
                    row[low] += table[p, low] * (scale * lane[j, size - 1, low])
            left >>= 1
            j += 1
        for low in range(1, LANE):
            for i in range(LOW):
                if low >> i & 1:
                    scale = mid[i, high & last] * top[i, high >> n_mid]
                    p = low ^ (1 << i)
                    row[low] += row[p] * (scale * lane[i, size, p])
        for low in range(LANE):
            table[high, low] = row[low]
    return table


@numba.njit(cache=True, error_model="numpy", fastmath=False)
def _backward(table, lane, mid, top, cost_type):  # type: ignore[no-untyped-def]
    """How often each factor of a weight is used, times F of the set of all items."""
    n = lane.shape[0]
    by_lane, by_mid, by_top = np.zeros(lane.shape), np.zeros(mid.shape), np.zeros(top.shape)
    n_sets = table.shape[0]
    last = mid.shape[1] - 1
    n_mid = _size(last)
    back = np.empty((n_sets, LANE))
    row, used = np.empty(LANE), np.empty(LANE)
    for high in range(n_sets - 1, -1, -1):
        size = _size(high)
        row[:] = 0.0
        if high == n_sets - 1:
            row[LANE - 1] = 1.0
        for j in range(LOW, n):
            if high >> (j - LOW) & 1:
                continue
            scale = mid[j, high & last] * top[j, high >> n_mid]
            after = high | (1 << (j - LOW))
            for low in range(LANE):
                term = scale * lane[j, size, low] * back[after, low]
                row[low] += term
                used[low] = table[high, low] * term
                by_lane[j, size, low] += used[low]
            if cost_type == PAIRS:
                total = 0.0
                for low in range(LANE):
                    total += used[low]
                by_mid[j, high & last] += total
                by_top[j, high >> n_mid] += total
        for low in range(LANE - 2, -1, -1):
            for i in range(LOW):
                if not low >> i & 1:
                    scale = mid[i, high & last] * top[i, high >> n_mid]
                    term = scale * lane[i, size, low] * row[low | (1 << i)]
                    row[low] += term
                    total = table[high, low] * term
                    by_lane[i, size, low] += total
                    by_mid[i, high & last] += total
                    by_top[i, high >> n_mid] += total
        for low in range(LANE):
            back[high, low] = row[low]
    return by_lane, by_mid, by_top


@numba.njit(cache=True, error_model="numpy")
def _frequencies(by_lane, by_mid, by_top, cost_type):  # type: ignore[no-untyped-def]
    """How often an item has each place, or comes after each other item, (n, n)."""
    n, n_high = by_lane.shape[0], by_lane.shape[1]
    n_mid = _size(by_mid.shape[1] - 1)
    out = np.zeros((n, n))
    for i in range(n):
        for h in range(n_high):
            for low in range(LANE):
                count = by_lane[i, h, low]
                if cost_type == PLACES:
                    place = h + _size(low)
                    if place < n:
                        out[i, place] += count
                    continue
                for j in range(LOW):
                    if low >> j & 1:
                        out[i, j] += count
        if cost_type == PAIRS:
            _add_by_bits(by_mid[i], LOW, out[i])
            _add_by_bits(by_top[i], LOW + n_mid, out[i])
    return out


@numba.njit(cache=True, error_model="numpy")
def _add_by_bits(counts, first, out):  # type: ignore[no-untyped-def]
    for s in range(1, counts.size):
        left, j = s, first
        while left:
            if left & 1:
                out[j] += counts[s]
            left >>= 1
            j += 1


@numba.njit(cache=True, error_model="numpy")
def _cost_after(cost, i, s, cost_type):  # type: ignore[no-untyped-def]
    """Cost of item i after the set s."""
    if cost_type == PLACES:
        return cost[i, _size(s)]
    total, j = 0.0, 0
    while s:
        if s & 1:
            total += cost[i, j]
        s >>= 1
        j += 1
    return total


@numba.njit(cache=True, error_model="numpy")
def _log_forward(cost, cost_type):  # type: ignore[no-untyped-def]
    """Logarithm of F of all sets, (2^n,)."""
    n = cost.shape[0]
    table = np.full(1 << n, -np.inf)
    table[0] = 0.0
    terms = np.empty(n)
    for s in range(1, table.size):
        most = -np.inf
        for i in range(n):
            terms[i] = -np.inf
            if s >> i & 1:
                p = s ^ (1 << i)
                terms[i] = table[p] - _cost_after(cost, i, p, cost_type)
                most = max(most, terms[i])
        if most > -np.inf:
            table[s] = most + math.log(np.exp(terms - most).sum())
    return table


@numba.njit(cache=True, error_model="numpy")
def _log_frequencies(table, cost, cost_type, counted):  # type: ignore[no-untyped-def]
    """Probability that an item has a place, or comes after another, from logarithms."""
    n = cost.shape[0]
    share = np.zeros(table.size)  # of the orders that begin with a set
    share[-1] = 1.0
    out = np.zeros((n, n))
    for s in range(table.size - 1, 0, -1):
        if share[s] == 0.0:
            continue
        for i in range(n):
            if s >> i & 1:
                p = s ^ (1 << i)
                part = share[s] * math.exp(table[p] - _cost_after(cost, i, p, cost_type) - table[s])
                share[p] += part
                if counted == PLACES:
                    out[i, _size(p)] += part
                else:
                    for j in range(n):
                        if p >> j & 1:
                            out[i, j] += part
    return out


@numba.njit(cache=True, error_model="numpy")
def _sum_and_shares(cost, cost_type, counted):  # type: ignore[no-untyped-def]
    """Log sum over orders, and the probability that an item has a place, or comes after another."""
    n = cost.shape[0]
    reduced, paid = reduced_costs(cost, cost_type)
    lane, mid, top = _weights(reduced, cost_type)
    table = _forward(lane, mid, top)
    total = table[-1, -1]
    if total > SMALLEST:
        by_lane, by_mid, by_top = _backward(table, lane, mid, top, cost_type)
        share = _frequencies(by_lane, by_mid, by_top, counted) / total
        return math.log(total) - paid, share[:n, :n]
    logs = _log_forward(reduced, cost_type)
    return logs[-1] - paid, _log_frequencies(logs, reduced, cost_type, counted)[:n, :n]


@numba.njit(cache=True, error_model="numpy")
def log_sum_of_orders(cost, cost_type):  # type: ignore[no-untyped-def]
    """Logarithm of the sum over orders of exp(-cost), and its gradient with respect to the costs.

    The gradient (n, n) is minus the probability that an item has a place, or comes after another.
    The sum is -inf if a cost is not finite.
    """
    if not np.isfinite(cost).all():
        return -np.inf, np.zeros(cost.shape)
    value, share = _sum_and_shares(cost, cost_type, cost_type)
    return value, -share


@numba.njit(cache=True, error_model="numpy")
def orders_kernel(cost, cost_type):  # type: ignore[no-untyped-def]
    """Apply `log_sum_of_orders` to each row: values (r,) and gradients (r, n, n)."""
    value, slope = np.empty(cost.shape[0]), np.empty(cost.shape)
    for r in range(cost.shape[0]):
        value[r], slope[r] = log_sum_of_orders(cost[r], cost_type)
    return value, slope


# ---------------------------------------------------------------------------------------------
# Draws
# ---------------------------------------------------------------------------------------------


@numba.njit(cache=True, error_model="numpy")
def log_total_of_orders(cost, cost_type):  # type: ignore[no-untyped-def]
    """Logarithm of the sum over orders of exp(-cost), without the gradient."""
    table, _, paid = table_of_sets(cost, cost_type)
    return table[-1] - paid


@numba.njit(cache=True, error_model="numpy")
def places_of_orders(cost, cost_type):  # type: ignore[no-untyped-def]
    """Probability that an item has a place, (n, n), if orders are weighted by exp(-cost)."""
    return _sum_and_shares(cost, cost_type, PLACES)[1]


@numba.njit(cache=True, error_model="numpy")
def table_of_sets(cost, cost_type):  # type: ignore[no-untyped-def]
    """Log F of all sets, (2^max(n, 3),), the reduced costs, and the part that every order pays."""
    reduced, paid = reduced_costs(cost, cost_type)
    lane, mid, top = _weights(reduced, cost_type)
    table = _forward(lane, mid, top)
    if table[-1, -1] > SMALLEST:
        return np.log(table.ravel()), reduced, paid
    return _log_forward(reduced, cost_type), reduced, paid


@numba.njit(cache=True, error_model="numpy")
def draw_order_kernel(table, cost, cost_type, state, place):  # type: ignore[no-untyped-def]
    """Draw an order with probability proportional to exp(-cost), from the last item to the first.

    `table_of_sets` returns `table` and `cost`. The state (1,) of the generator is advanced, and
    `place` (n,) is overwritten with the place of every item, from 0.
    """
    s = table.size - 1
    for k in range(cost.shape[0] - 1, -1, -1):
        left = uniform(state)
        chosen = -1
        for i in range(cost.shape[0]):
            if s >> i & 1:
                p = s ^ (1 << i)
                share = math.exp(table[p] - _cost_after(cost, i, p, cost_type) - table[s])
                if share > 0.0:
                    chosen = i
                left -= share
                if left < 0.0:
                    break
        s ^= 1 << chosen
        if chosen < place.size:
            place[chosen] = k
