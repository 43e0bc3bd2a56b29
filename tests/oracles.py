"""Slow and independent routes to the same numbers: enumeration, exact arithmetic, dense rules.

Nothing here shares a formula with the package beyond the definition of Plackett-Luce itself: the
items are chosen one after the other, each with probability worth / (worth of what is left).
"""

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from itertools import permutations, product

import numpy as np
from scipy.special import logsumexp

# Number of weak orders of 0, 1, 2, ... items (Fubini numbers, OEIS A000670)
N_WEAK_ORDERS = (1, 1, 3, 13, 75, 541, 4683)


# Enumeration


def weak_orders(n: int) -> np.ndarray:
    """All dense rank vectors of n items, (number, n)."""
    vectors = np.array(list(product(range(1, n + 1), repeat=n)))
    ordered = np.sort(vectors, axis=1)
    dense = (ordered[:, 0] == 1) & (np.diff(ordered, axis=1) <= 1).all(axis=1)
    return vectors[dense]


def compositions(n: int) -> list[tuple[int, ...]]:
    """All ways to cut n into block sizes: (1, 2) is one item, then a block of two."""
    if n == 0:
        return [()]
    return [(first, *rest) for first in range(1, n + 1) for rest in compositions(n - first)]


def block_sizes(ranks: np.ndarray) -> tuple[int, ...]:
    """Sizes of the blocks of dense ranks, best first; 0 marks an empty slot."""
    return tuple(np.bincount(ranks[ranks > 0])[1:].tolist())


def orderings_within(ranks: np.ndarray) -> Iterator[tuple[int, ...]]:
    """All orderings, best first, that are consistent with a weak order."""
    blocks = [np.flatnonzero(ranks == m) for m in range(1, ranks.max(initial=0) + 1)]
    for inside in product(*(permutations(block) for block in blocks)):
        yield tuple(int(item) for block in inside for item in block)


def ordering_logp(utility: np.ndarray, ordering: tuple[int, ...]) -> float:
    """Plackett-Luce, choice after choice."""
    u = np.asarray(utility, dtype=float)[list(ordering)]
    return float(sum(u[j] - logsumexp(u[j:]) for j in range(u.size)))


def weak_order_logp(utility: np.ndarray, ranks: np.ndarray) -> float:
    """Plackett-Luce summed over all consistent orderings."""
    return float(logsumexp([ordering_logp(utility, o) for o in orderings_within(ranks)]))


# The stage integral: a block with utilities w, measured from the logsumexp of what is below it


def inclusion_exclusion(w: np.ndarray, digits: int = 200) -> float:
    """log of the sum over subsets A of (-1)^|A| / (1 + sum of worths in A), in long decimals.

    The terms cancel to as little as 1e-60, so double or long double would not do.
    """
    with localcontext() as context:
        context.prec = digits
        sums, signs = [Decimal(1)], [1]
        for worth in (Decimal(float(x)).exp() for x in w):
            sums += [s + worth for s in sums]
            signs += [-sign for sign in signs]
        return float(sum(sign / s for sign, s in zip(signs, sums, strict=True)).ln())


def dense_trapezoid(w: np.ndarray, nodes: int = 4000) -> float:
    """The stage integral in y, u = exp(-e^y), by equal steps over everything that has mass.

    The window has no knowledge of the block: at its left end the integrand is below e^y = 3e-20 of
    a factor that only falls further; at its right end, e^8 = 2981, it has decayed for any block
    of up to a thousand items (its mode is at e^y <= 1 + n).
    """
    y, step = np.linspace(-45.0, 8.0, nodes, retstep=True)
    s = np.exp(y)
    log_g = y - s
    for worth in np.exp(w):
        log_g += np.log(-np.expm1(-worth * s))
    return float(logsumexp(log_g) + np.log(step))


def weak_order_by_stages(
    utility: np.ndarray, ranks: np.ndarray, stage: Callable[[np.ndarray], float]
) -> float:
    """Log-probability of a weak order as a product of stages, each by `stage`."""
    total = 0.0
    for m in range(1, int(ranks.max())):
        total += stage(utility[ranks == m] - logsumexp(utility[ranks > m]))
    return total


# Calculus


def gradient(f: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of a scalar (or, along a new last axis, an array) valued function."""
    columns = []
    for i in range(x.size):
        shift = np.zeros(x.size)
        shift[i] = step
        shift = shift.reshape(x.shape)
        columns.append((np.asarray(f(x + shift)) - np.asarray(f(x - shift))) / (2 * step))
    out = np.stack(columns, axis=-1)
    return out.reshape(*out.shape[:-1], *x.shape)
