"""All sets of a few items, their probabilities, and transition matrices written out from them.

Nothing here comes from the package but the numbers log Φ that a test hands in.
"""

from itertools import product
from math import comb

import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import chi2


def all_sets(n):
    """Every set of n items but the empty one, (2^n - 1, n)."""
    return np.array([s for s in product([False, True], repeat=n) if any(s)])


def log_phis(phi, w):
    """Set by set, from a function of the worths of the members: Φ as the definition has it."""
    return np.array([np.log(phi(np.exp(w[s]))) for s in all_sets(w.size)])


def normalised(log_weight):
    return np.exp(log_weight - logsumexp(log_weight))


def index_of(member):
    """Position of each set in all_sets: read as a binary number, less one."""
    return member @ (2 ** np.arange(member.shape[-1])[::-1]) - 1


def gibbs_matrix(log_phi, n):
    """One sweep over the items: the product of the matrices of the single updates."""
    sets, sweep = all_sets(n), np.eye(2**n - 1)
    for i in range(n):
        update = np.zeros_like(sweep)
        for a, s in enumerate(sets):
            flipped = s.copy()
            flipped[i] ^= True
            if flipped.any():
                b = index_of(flipped)
                update[a, b] = expit(log_phi[b] - log_phi[a])
            update[a, a] = 1 - update[a].sum()
        sweep = sweep @ update
    return sweep


def metropolis_matrix(log_phi, n, *, corrected=True):
    """Size uniform, then a uniform set of it: set b is proposed with 1 / (n C(n, |b|))."""
    ways = np.array([comb(n, m) for m in all_sets(n).sum(axis=1)])
    ratio = np.exp(log_phi[None, :] - log_phi[:, None])
    if corrected:
        ratio = ratio * ways[None, :] / ways[:, None]
    matrix = np.minimum(1.0, ratio) / (n * ways)
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    return matrix


def total_variation(p, q):
    return 0.5 * np.abs(p - q).sum()


def chi_square_p_value(member, probability):
    """Of independent sets (n_draws, n) against probabilities of all sets.

    Sets expected fewer than ten times are counted together.
    """
    counts = np.bincount(index_of(member), minlength=probability.size)
    expected = member.shape[0] * probability
    rare = expected < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    used = expected > 1e-9
    assert counts[~used].sum() == 0
    counts, expected = counts[used], expected[used]
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1)
