"""Slow and independent routes to the same numbers: enumeration, exact arithmetic, dense rules.

Nothing here shares a formula with the package beyond the definitions. Plackett-Luce: the items are
chosen one after the other, each with probability worth / (worth of what is left). PMOP: sets are,
each with probability mean worth / (sum of the mean worths of all sets of what is left).
"""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, localcontext
from functools import cache
from itertools import combinations, permutations, product
from math import comb
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import chisquare

# Number of weak orders of 0, 1, 2, ... items (Fubini numbers, OEIS A000670)
N_WEAK_ORDERS = (1, 1, 3, 13, 75, 541, 4683)


# Enumeration


def weak_orders(n: int) -> np.ndarray:
    """All dense rank vectors of n items, (number, n)."""
    vectors = np.array(list(product(range(1, n + 1), repeat=n)))
    ordered = np.sort(vectors, axis=1)
    dense = (ordered[:, 0] == 1) & (np.diff(ordered, axis=1) <= 1).all(axis=1)
    return vectors[dense]


def random_weak_orders(
    rng: np.random.Generator, n_rankings: int, n_slots: int, largest: int | None = None
) -> np.ndarray:
    """Draw weak orders of some of the slots, with blocks of all sizes or of up to the largest."""
    ranks = np.zeros((n_rankings, n_slots), dtype=np.int64)
    for row in ranks:
        used = rng.permutation(n_slots)[: rng.integers(n_slots + 1)]
        if largest:
            row[used] = np.arange(used.size) // rng.integers(1, largest + 1) + 1
        else:
            places = rng.integers(0, rng.integers(1, n_slots + 1), size=used.size)
            row[used] = np.unique(places, return_inverse=True)[1] + 1
    return ranks


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
    left = np.logaddexp.accumulate(u[::-1])[::-1]  # of those that are not chosen yet
    return float((u - left).sum())


def weak_order_logp(utility: np.ndarray, ranks: np.ndarray) -> float:
    """Plackett-Luce summed over all consistent orderings."""
    return float(np.logaddexp.reduce([ordering_logp(utility, o) for o in orderings_within(ranks)]))


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
        total += stage(utility[ranks == m] - np.logaddexp.reduce(utility[ranks > m]))
    return total


# Sets, chosen in proportion to a mean of their worths


@cache
def subsets(n: int) -> np.ndarray:
    """All sets of n items but the empty one, (2^n - 1, n)."""
    return np.array(list(product([False, True], repeat=n)))[1:]


def log_mean_worth(w: np.ndarray, sets: np.ndarray, aggregate: str) -> np.ndarray:
    """Logarithm of the mean of the worths exp(w) of each set, for worths that may overflow."""
    n = sets.sum(axis=1)
    if aggregate == "mean":
        return logsumexp(np.where(sets, w, -np.inf), axis=1) - np.log(n)
    if aggregate == "harmonic":
        return np.log(n) - logsumexp(np.where(sets, -w, -np.inf), axis=1)
    if aggregate == "geometric":
        return np.where(sets, w, 0.0).sum(axis=1) / n
    if aggregate == "max":
        return np.where(sets, w, -np.inf).max(axis=1)
    return np.where(sets, w, np.inf).min(axis=1)


def log_set_weights(
    w: np.ndarray, aggregate: str, size: int = 0, log_weight: np.ndarray | None = None
) -> np.ndarray:
    """log δ Φ(S) of all subsets in the order of `subsets`, -inf where they are impossible.

    Possible are those of a size, if it is not 0, or of sizes up to that of `log_weight`.
    """
    sets = subsets(w.size)
    n, out = sets.sum(axis=1), log_mean_worth(w, sets, aggregate)
    if size:
        return np.where(n == size, out, -np.inf)
    if log_weight is None or not len(log_weight):
        return out
    padded = np.append(log_weight, np.full(w.size, -np.inf))
    return out + padded[n - 1]


def each_ranking(
    logp: Callable[..., float], utility: np.ndarray, rankings: Any, **options: Any
) -> np.ndarray:
    """Log-probability of every ranking, given one utility per item; empty slots do not count."""
    rows = zip(rankings.item, rankings.ranks, strict=True)
    used = ((utility[item[ranks > 0]], ranks[ranks > 0]) for item, ranks in rows)
    return np.array([logp(u, ranks, **options) for u, ranks in used])


def partition_logp(
    utility: np.ndarray,
    ranks: np.ndarray,
    aggregate: str,
    *,
    given_sizes: bool = False,
    log_weight: np.ndarray | None = None,
    stage_weight: np.ndarray | None = None,
) -> float:
    """Log-probability of a weak order, set after set, each among all that there are."""
    total, w, ranks = 0.0, utility[ranks > 0], ranks[ranks > 0]
    for m in range(1, int(ranks.max(initial=0)) + 1):
        left, block = w[ranks >= m], ranks[ranks >= m] == m
        size = int(block.sum()) if given_sizes else 0
        weights = log_set_weights(left, aggregate, size, log_weight)
        chosen = (subsets(left.size) == block).all(axis=1)
        exponent = 1.0 if stage_weight is None else stage_weight[m - 1]
        total += exponent * (weights[chosen].item() - np.logaddexp.reduce(weights))
    return total


def elementary_symmetric(x: list[Decimal], largest: int, digits: int = 40) -> list[Decimal]:
    """Sums e_0, ..., e_largest of the products of all subsets, item after item."""
    with localcontext() as context:
        context.prec = digits
        e = [Decimal(1)] + [Decimal(0)] * largest
        for count, factor in enumerate(x, start=1):
            for m in range(min(count, largest), 0, -1):
                e[m] += factor * e[m - 1]
        return e


def log_elementary_symmetric(v: np.ndarray, m: int) -> float:
    """log e_m(exp(v)): few digits suffice, nothing is subtracted."""
    return float(elementary_symmetric([Decimal(float(x)).exp() for x in v], m)[m].ln())


def log_sums_by_size(w: np.ndarray, aggregate: str) -> np.ndarray:
    """log Z_m, the sum over the sets of each size m = 1, ..., N, for sets that no one can list.

    The mean, item by item: C(N - 1, m - 1) sets have it. The extremes likewise. The geometric mean
    in long decimals, the harmonic one by thousands of nodes.
    """
    n = w.size
    if aggregate == "harmonic":
        return dense_harmonic(w)
    worth = [Decimal(float(x)).exp() for x in np.sort(w)]
    if aggregate == "geometric":
        return np.array([log_elementary_symmetric(w / m, m) for m in range(1, n + 1)])
    if aggregate == "min":
        worth = worth[::-1]
    out = []
    for m in range(1, n + 1):
        if aggregate == "mean":
            total = sum(worth) * comb(n - 1, m - 1) / m
        else:  # the extreme one at k, with k others to choose from
            total = sum(comb(k, m - 1) * x for k, x in enumerate(worth))
        out.append(float(total.ln()))
    return np.array(out)


def dense_harmonic(w: np.ndarray, nodes: int = 4000) -> np.ndarray:
    """log Z_m of the harmonic mean for m = 1, ..., N, by equal steps in x = log t.

    1/y = ∫ exp(-ty) dt makes m / (sum of 1/worth) a product over the set under the integral, and
    their sum over sets of a size is the recursion over items. All terms are positive, so double
    precision loses nothing. The window: at its left end the integrand is e^-45 of what Z_m is at
    least, C(N, m) times the lowest worth; at its right end every factor is exp(-e^7) = 0.
    """
    x, step = np.linspace(w.min() - 45.0, w.max() + 7.0, nodes, retstep=True)
    e = np.zeros((w.size + 1, nodes))
    e[0] = 1.0
    for count, lowered in enumerate(x - w[:, None], start=1):
        e[1 : count + 1] += np.exp(-np.exp(lowered)) * e[:count]
    with np.errstate(divide="ignore"):  # some are zero
        log_f = x + np.log(e[1:])
    return np.log(np.arange(1, w.size + 1) * step) + logsumexp(log_f, axis=1)


def harmonic_by_counting(inverse_worth: np.ndarray) -> np.ndarray:
    """log Z_m of the harmonic mean for worths that are one over small integers.

    It counts the sets of each size and each sum of integers, item after item: no integral.
    """
    count = np.zeros((inverse_worth.size + 1, int(inverse_worth.sum()) + 1))
    count[0, 0] = 1.0
    for d in inverse_worth:
        count[1:, d:] += count[:-1, :-d].copy()
    sums, sizes = np.arange(1, count.shape[1]), np.arange(1, inverse_worth.size + 1)
    return np.log((count[1:, 1:] / sums).sum(axis=1) * sizes)


# Frequencies


def places_in(support: Iterable[Any], values: Iterable[Any]) -> np.ndarray:
    """Where each value stands in the list of all that can be drawn."""
    place = {tuple(np.ravel(x).tolist()): i for i, x in enumerate(support)}
    return np.array([place[tuple(np.ravel(x).tolist())] for x in values])


def frequency_p_value(outcomes: np.ndarray, probability: np.ndarray) -> float:
    """Chi-square of integer outcomes against the probability of each; rare ones count together."""
    counts = np.bincount(outcomes, minlength=probability.size)
    expected = counts.sum() * probability
    assert counts.size == probability.size
    assert counts[probability == 0].sum() == 0
    rare = expected < 20
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] == 0:
        counts, expected = counts[:-1], expected[:-1]
    return float(chisquare(counts, expected * (counts.sum() / expected.sum())).pvalue)


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


def listed_pairs(ranks, ties):
    """Pairs of rankings by the definition: (ranking, better slot, worse slot, outcome)."""
    out = []
    for n, row in enumerate(ranks):
        for i, j in combinations(np.flatnonzero(row), 2):
            if row[i] == row[j] and ties == "keep":
                out.append((n, i, j, 2))
            elif row[i] != row[j]:
                out.append((n, i, j, 0) if row[i] < row[j] else (n, j, i, 0))
    return sorted(out)
