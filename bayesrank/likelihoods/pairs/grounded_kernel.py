r"""Sums of log-probabilities of grounded Rao-Kupper in numba: value and gradients in one pass.

The leads d are those of `bayesrank.likelihoods.pairs.total_kernel`. The level of a cell is

.. math:: l = \frac{a_g}{2} \Bigl( w_1 + w_2 + \sum_{k \le K'} |x_k| \beta_k \Bigr) - \tau_g

with the threshold :math:`\tau_g`. With :math:`p = e^{l + d / 2}`, :math:`q = e^{l - d / 2}`, and
counts of wins of the first, wins of the second, ties, and both bad, a cell has

.. math:: (n_1 + n_t) \log p + (n_2 + n_t) \log q + n_t \log (\theta - 1)
          - (n_1 + n_t) \log F - (n_2 + n_t) \log G + n_t \log H - (n_t + n_b) \log S

where :math:`F = 1 + p + \theta q`, :math:`G = 1 + q + \theta p`, :math:`S = 1 + p + q` and
:math:`H = 2 + (1 + \theta)(p + q)`. All are divided by the largest of 1, p and q.
"""

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp, vector_log
from bayesrank.likelihoods.pairs.total_kernel import (
    CHUNK,
    _add_slopes,
    _by_log_odds,
    _place,
    _raise_ties,
    _ties_alone,
    add_terms,
)

__all__ = ["grounded_total_kernel"]

_kernel = numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=False)


@_kernel
def grounded_total_kernel(  # type: ignore[no-untyped-def]
    utility, adherence, order_effect, theta, threshold, effects,
    first, second, group, which, size, counts, within, tying,
):  # fmt: skip
    """Weighted sum of log-probabilities of outcomes, and its gradients.

    Parameters
    ----------
    theta, threshold : ndarray, (n_groups,) or (1,)
    counts : ndarray of float, (4, n_cells)
        Wins of either item, ties, and both bad.
    utility, adherence, order_effect, effects, first, second, group, which, size, within, tying
        As in `pair_total_kernel`.

    Returns
    -------
    value : ndarray, ()
    by_utility, by_adherence, by_order, by_theta, by_threshold, by_effects : ndarray
        Gradients, with the shapes of the first six parameters.
    """
    by_utility, by_adherence = np.zeros(utility.size), np.zeros(adherence.size)
    by_order, by_theta = np.zeros(order_effect.size), np.zeros(theta.size)
    by_threshold, ties = np.zeros(threshold.size), np.zeros(theta.size)
    by_effects, beside, value = np.zeros(effects.size), within + tying, 0.0
    weight = np.abs(size)
    work = np.empty((9, CHUNK))
    for start in range(0, first.size, CHUNK):
        stop = min(start + CHUNK, first.size)
        one, other, at_group = first[start:stop], second[start:stop], group[start:stop]
        at, x, n = which[:, start:stop], size[:, start:stop], stop - start
        met, tied = weight[:, start:stop], counts[2, start:stop]
        gap, both, lead, level = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
        odds, log_odds, logp = work[4, :n], work[5, :n], work[6, :n]
        by_odds, along = work[7, :n], work[8, :n]

        # leads, levels and tie parameters
        for k in range(n):
            gap[k] = utility[one[k]] - utility[other[k]]
            both[k] = utility[one[k]] + utility[other[k]]
        add_terms(gap, effects, at[:within], x[:within])
        add_terms(both, effects, at[:within], met[:within])
        for k in range(n):
            factor = adherence[_place(at_group[k], adherence)]
            lead[k] = factor * gap[k] + order_effect[_place(at_group[k], order_effect)]
            level[k] = 0.5 * factor * both[k] - threshold[_place(at_group[k], threshold)]
            odds[k] = theta[_place(at_group[k], theta)]
        add_terms(lead, effects, at[beside:], x[beside:])
        if tying > 0:
            log_odds[:] = 0.0
            add_terms(log_odds, effects, at[within:beside], x[within:beside])
            value += _raise_ties(odds, log_odds, tied, 1.0)

        # log-probabilities; the leads and levels become slopes by them
        _grounded(
            logp, lead, level, by_odds, odds, counts[0, start:stop], counts[1, start:stop], tied,
            counts[3, start:stop],
        )  # fmt: skip
        if tying > 0:
            _by_log_odds(log_odds, by_odds, odds, tied, 1.0)
            _add_slopes(by_effects, log_odds, at[within:beside], x[within:beside])

        # gradients
        _add_slopes(by_effects, lead, at[beside:], x[beside:])
        for k in range(n):
            value += logp[k]
            half = 0.5 * level[k]
            factor = adherence[_place(at_group[k], adherence)]
            by_adherence[_place(at_group[k], adherence)] += lead[k] * gap[k] + half * both[k]
            by_order[_place(at_group[k], order_effect)] += lead[k]
            by_threshold[_place(at_group[k], threshold)] -= level[k]
            by_theta[_place(at_group[k], theta)] += by_odds[k]
            ties[_place(at_group[k], theta)] += tied[k]
            by_utility[one[k]] += factor * (half + lead[k])
            by_utility[other[k]] += factor * (half - lead[k])
            along[k], both[k] = factor * lead[k], factor * half
        _add_slopes(by_effects, along, at[:within], x[:within])
        _add_slopes(by_effects, both, at[:within], met[:within])
    value += _ties_alone(by_theta, theta, ties, 1.0)
    return (
        np.asarray(value), by_utility, by_adherence, by_order, by_theta, by_threshold, by_effects
    )  # fmt: skip


@_kernel
def _grounded(logp, lead, level, by_theta, theta, won, lost, tied, both_bad):  # type: ignore[no-untyped-def]
    """Write log-probabilities without the terms log(theta - 1), and their slopes."""
    for k in range(lead.size):
        half, t = 0.5 * lead[k], theta[k]
        a, b = level[k] + half, level[k] - half
        top = max(max(a, b), 0.0)
        a, b = a - top, b - top
        p = vector_exp(max(a, -FARTHEST)) if a > -FARTHEST else 0.0
        q = vector_exp(max(b, -FARTHEST)) if b > -FARTHEST else 0.0
        rest = vector_exp(-min(top, FARTHEST)) if top < FARTHEST else 0.0
        up, down, seen = won[k] + tied[k], lost[k] + tied[k], both_bad[k] + tied[k]
        either = p + q
        total, over, under = rest + either, rest + p + t * q, rest + q + t * p
        both = 2.0 * rest + (1.0 + t) * either
        logp[k] = (
            up * (a - vector_log(over)) + down * (b - vector_log(under))
            + tied[k] * vector_log(both) - seen * vector_log(total) - both_bad[k] * top
        )  # fmt: skip
        # per unit of p and of q
        win, lose, even = up / over, down / under, tied[k] / both
        common = even * (1.0 + t) - seen / total
        by_a = win * (rest + t * q) + p * (common - t * lose)
        by_b = lose * (rest + t * p) + q * (common - t * win)
        by_theta[k] = even * either - win * q - lose * p
        lead[k], level[k] = 0.5 * (by_a - by_b), by_a + by_b
