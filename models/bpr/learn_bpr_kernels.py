"""Compiled loops of LearnBPR, which draws triples and takes a gradient step for each of them."""

import numba
import numpy as np

from bayesrank.likelihoods.ops import uniform

__all__ = ["climb_factors", "climb_neighbours", "draw_triple", "step_factors", "step_neighbours"]

AT_ONCE = 64  # triples drawn in one batch, before their steps
LINE = 8  # doubles per cache line

# These flags let LLVM add in any order, and so use vectors. Infinities and NaN keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


@numba.njit(cache=True, error_model="numpy")
def _has(item, first, n, wanted):  # type: ignore[no-untyped-def]
    """Return whether the `n` ascending numbers from `item[first]` on include the wanted number."""
    while n > 1:
        half = n >> 1
        middle = first + half
        # a conditional move, because the processor would mispredict half of all branches
        first = middle if item[middle] <= wanted else first
        n -= half
    return item[first] == wanted


@numba.njit(cache=True, error_model="numpy")
def draw_triple(start, who, item, n_items, state):  # type: ignore[no-untyped-def]
    """Draw a triple uniformly, as unsigned integers, which index faster than signed ones."""
    while True:
        pick = np.uintp(uniform(state) * len(item))
        j = np.uintp(uniform(state) * n_items)
        u = np.uintp(who[pick])
        first = np.uintp(start[u])
        if not _has(item, first, np.uintp(start[u + np.uintp(1)]) - first, np.int32(j)):
            return u, np.uintp(item[pick]), j


@numba.njit(cache=True, error_model="numpy", fastmath=_FAST)
def step_factors(W, H, b, u, i, j, on_user, on_positive, on_negative, on_bias, biased, rate):  # type: ignore[no-untyped-def]
    """Take one gradient step for a triple: user `u`, positive item `i` and negative item `j`."""
    number = W.dtype.type  # the factors' type: a single double would promote all numbers
    one, rate = number(1), number(rate)
    w, h_i, h_j = W[u], H[i], H[j]
    lead = b[i] - b[j]
    for k in range(len(w)):
        lead += w[k] * (h_i[k] - h_j[k])
    move = rate / (one + np.exp(lead))

    keep_w = one - rate * on_user[u]
    keep_i, keep_j = one - rate * on_positive[i], one - rate * on_negative[j]
    for k in range(len(w)):
        before, had, had_not = w[k], h_i[k], h_j[k]
        w[k] = keep_w * before + move * (had - had_not)
        h_i[k] = keep_i * had + move * before
        h_j[k] = keep_j * had_not - move * before
    if biased:
        b[i] += move - rate * on_bias[i] * b[i]
        b[j] -= move + rate * on_bias[j] * b[j]


@numba.njit(cache=True, error_model="numpy", fastmath=_FAST)
def climb_factors(  # type: ignore[no-untyped-def]
    W, H, b, start, who, item, on_user, on_positive, on_negative, on_bias, biased,
    first, last, rate, slope, state,
):  # fmt: skip
    """Take the steps from number `first` to `last`; the rate changes by `slope` per step.

    In large data, a draw spends most of its time waiting for memory. So the function draws triples
    in batches, and first loads the values that a batch will probably need. These are the factors
    and the penalty of each user, and the user's items at the quartiles, where the search begins.
    The sum of the loaded values is returned, because a compiler would otherwise remove the loads.
    The preview assumes that no draw is rejected.
    """
    users, positives, negatives = np.empty((3, AT_ONCE), np.uintp)
    ahead, seen, items = np.empty_like(state), 0.0, np.int64(0)
    one, two = np.uintp(1), np.uintp(2)
    for begin in range(first, last, AT_ONCE):
        n = min(AT_ONCE, last - begin)
        ahead[:] = state
        for k in range(n):
            positives[k] = np.uintp(uniform(ahead) * len(item))
            uniform(ahead)  # would draw the negative item
        for k in range(n):
            users[k] = np.uintp(who[positives[k]])
            items += item[positives[k]]
        for k in range(n):
            u = users[k]
            low, high = np.uintp(start[u]), np.uintp(start[u + one])
            quarter = (high - low) >> two
            items += item[low] + item[low + quarter]
            items += item[(low + high) >> one] + item[high - one - quarter]
            seen += on_user[u]
            for factor in range(0, W.shape[1], LINE):
                seen += W[u, factor]
        for k in range(n):
            users[k], positives[k], negatives[k] = draw_triple(start, who, item, len(b), state)
        for k in range(n):
            step_factors(
                W, H, b, users[k], positives[k], negatives[k],
                on_user, on_positive, on_negative, on_bias, biased, rate + slope * (begin + k),
            )  # fmt: skip
    return seen + items


@numba.njit(cache=True, error_model="numpy", fastmath=_FAST)
def step_neighbours(C, b, mine, i, j, on_positive, on_negative, on_bias, biased, rate):  # type: ignore[no-untyped-def]
    """Take one gradient step for a triple of a user with the items `mine`; C is symmetric."""
    number = C.dtype.type
    one, rate = number(1), number(rate)
    lead = b[i] - b[j]
    for l in mine:  # noqa: E741  (the paper's letter)
        # item i is one of the user's items, but must not predict itself
        lead += (number(0) if l == i else C[i, l]) - C[j, l]
    move = rate / (one + np.exp(lead))

    keep_i, keep_j = one - rate * on_positive[i], one - rate * on_negative[j]
    for l in mine:  # noqa: E741
        if l != i:
            C[i, l] = C[l, i] = keep_i * C[i, l] + move
    for l in mine:  # noqa: E741
        C[j, l] = C[l, j] = keep_j * C[j, l] - move
    if biased:
        b[i] += move - rate * on_bias[i] * b[i]
        b[j] -= move + rate * on_bias[j] * b[j]


@numba.njit(cache=True, error_model="numpy", fastmath=_FAST)
def climb_neighbours(  # type: ignore[no-untyped-def]
    C, b, start, who, item, on_positive, on_negative, on_bias, biased,
    first, last, rate, slope, state,
):  # fmt: skip
    """Take the steps from number `first` to `last`; the rate changes by `slope` per step."""
    for step in range(first, last):
        u, i, j = draw_triple(start, who, item, len(b), state)
        step_neighbours(
            C, b, item[start[u] : start[u + np.uintp(1)]], i, j, on_positive, on_negative, on_bias,
            biased, rate + slope * step,
        )  # fmt: skip
