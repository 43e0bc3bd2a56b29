r"""Sums of log-probabilities of pairs in numba: value and gradients in one pass over the cells.

A cell holds the counts of two items in one group, such as a judge. Its lead is

.. math:: d = a_g \Bigl( w_1 - w_2 + \sum_{k \le K'} x_k \beta_k \Bigr) + o_g
          + \sum_{k > K''} x_k \beta_k

with further effects :math:`\beta` of sizes x. The adherence multiplies effects on the items, such
as the advantage of an item at one prompt. It does not multiply effects on the judge, such as the
advantage of a longer answer. The terms :math:`K' < k \le K''` affect ties: their sum s multiplies
the odds of a tie of equal items by :math:`e^s`,

.. math:: \nu = \nu_g e^s, \qquad \theta - 1 = (\theta_g - 1) e^s

under Davidson and Rao-Kupper. Let :math:`y = e^{-|d|}`. `strong` counts the wins of the leading
item, and `weak` the wins of the other item; under Rao-Kupper, ties count for both:

=============  ===================================================================================
Davidson       :math:`d (\text{first} - \text{second}) / 2 + \text{ties} \log\nu
               - n (|d| / 2 + \log(1 + y^{1/2} (y^{1/2} + \nu)))`; Bradley-Terry at :math:`\nu = 0`
Rao-Kupper     :math:`\text{ties} \log(\theta^2 - 1) - \text{strong} \log(1 + \theta y)
               - \text{weak} (|d| + \log(\theta + y))`
Thurstone      :math:`\text{strong} \log(1 - q) + \text{weak} \log q`,
               :math:`q = \mathrm{erfc}(|d| / \sqrt 2) / 2`
=============  ===================================================================================

The kernel works through chunks of cells: it gathers the leads, evaluates the family with vector
instructions, and adds the slopes to the gradients.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp, vector_log

__all__ = ["DAVIDSON", "RAO_KUPPER", "THURSTONE", "add_terms", "pair_total_kernel", "slopes"]

DAVIDSON, RAO_KUPPER, THURSTONE = 0, 1, 2

CHUNK = 256  # cells whose numbers stay in the L1 cache
# Beyond it, the distribution function is the series of Mills' ratio, as in `log_ndtr`
FAR_TAIL = 30.0
ROOT_HALF, ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(2 * math.pi)

# Without fastmath, rounding does not depend on where the kernel is inlined. Draws with one seed are
# then the same, whether the kernel was compiled before or together with its caller.
_kernel = numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=False)


@_kernel
def pair_total_kernel(  # type: ignore[no-untyped-def]
    utility, adherence, order_effect, tie, effects,
    first, second, group, which, size, counts, family, within, tying,
):  # fmt: skip
    """Weighted sum of log-probabilities of outcomes, and its gradients.

    Parameters
    ----------
    utility : ndarray, (n_utilities,)
    adherence, order_effect, tie : ndarray, (n_groups,) or (1,)
        One per group, or one for all groups.
    effects : ndarray, (n_effects,)
        Effects in further terms of leads and ties.
    first, second : ndarray of int, (n_cells,)
        Positions in `utility`.
    group : ndarray of int, (n_cells,)
    which : ndarray of int, (n_terms, n_cells)
        Positions in `effects`.
    size : ndarray of float, (n_terms, n_cells)
        Factors of the effects.
    counts : ndarray of float, (3, n_cells)
        Wins of the first item, wins of the second item, and ties.
    family : int
    within, tying : int
        The adherence multiplies the first `within` terms. The next `tying` terms change the odds of
        ties, and the other terms are added to the lead.

    Returns
    -------
    value : ndarray, ()
    by_utility, by_adherence, by_order, by_tie, by_effects : ndarray
        Gradients, with the shapes of the first five parameters.
    """
    by_utility, by_adherence = np.zeros(utility.size), np.zeros(adherence.size)
    by_order, by_tie = np.zeros(order_effect.size), np.zeros(tie.size)
    by_effects, ties = np.zeros(effects.size), np.zeros(tie.size)
    least, beside, value = 1.0 if family == RAO_KUPPER else 0.0, within + tying, 0.0
    work = np.empty((7, CHUNK))
    for start in range(0, first.size, CHUNK):
        stop = min(start + CHUNK, first.size)
        one, other, at_group = first[start:stop], second[start:stop], group[start:stop]
        won, lost, tied = counts[0, start:stop], counts[1, start:stop], counts[2, start:stop]
        at, x = which[:, start:stop], size[:, start:stop]
        n = stop - start
        gap, lead, level, logp = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
        slope, tie_slope, log_odds = work[4, :n], work[5, :n], work[6, :n]

        # leads and tie parameters
        for k in range(n):
            gap[k] = utility[one[k]] - utility[other[k]]
        add_terms(gap, effects, at[:within], x[:within])
        for k in range(n):
            lead[k] = adherence[_place(at_group[k], adherence)] * gap[k]
            lead[k] += order_effect[_place(at_group[k], order_effect)]
            level[k] = tie[_place(at_group[k], tie)]
        add_terms(lead, effects, at[beside:], x[beside:])
        if tying > 0:
            log_odds[:] = 0.0
            add_terms(log_odds, effects, at[within:beside], x[within:beside])
            value += _raise_ties(level, log_odds, tied, least)

        # log-probabilities and slopes
        _evaluate(logp, slope, tie_slope, lead, level, won, lost, tied, family)
        if tying > 0:
            _by_log_odds(log_odds, tie_slope, level, tied, least)
            _add_slopes(by_effects, log_odds, at[within:beside], x[within:beside])

        # gradients
        _add_slopes(by_effects, slope, at[beside:], x[beside:])
        for k in range(n):
            value += logp[k]
            by_adherence[_place(at_group[k], adherence)] += slope[k] * gap[k]
            by_order[_place(at_group[k], order_effect)] += slope[k]
            by_tie[_place(at_group[k], tie)] += tie_slope[k]
            ties[_place(at_group[k], tie)] += tied[k]
            # from here on, the slope by the gap
            gap[k] = slope[k] * adherence[_place(at_group[k], adherence)]
            by_utility[one[k]] += gap[k]
            by_utility[other[k]] -= gap[k]
        _add_slopes(by_effects, gap, at[:within], x[:within])
    if family != THURSTONE:
        value += _ties_alone(by_tie, tie, ties, least)
    return np.asarray(value), by_utility, by_adherence, by_order, by_tie, by_effects


@_kernel
def _place(group, x):  # type: ignore[no-untyped-def]
    """Position of a group's parameter; there may be one for all groups."""
    return min(group, x.size - 1)


@_kernel
def add_terms(out, effects, which, size):  # type: ignore[no-untyped-def]
    """Add the products of effects and sizes to `out`, which has a number per cell."""
    for term in range(which.shape[0]):
        for k in range(out.size):
            out[k] += size[term, k] * effects[which[term, k]]


@_kernel
def _add_slopes(by_effects, slope, which, size):  # type: ignore[no-untyped-def]
    """Add the slopes by some terms to the gradient by the effects."""
    for term in range(which.shape[0]):
        for k in range(slope.size):
            by_effects[which[term, k]] += size[term, k] * slope[k]


@_kernel
def _raise_ties(level, log_odds, tied, least):  # type: ignore[no-untyped-def]
    """Multiply the odds of ties; return the resulting change in the log-probabilities of ties.

    It overwrites `log_odds` with the factors, negated if they are clipped and have a slope of zero.
    """
    value = 0.0
    for k in range(level.size):
        near = min(max(log_odds[k], -FARTHEST), FARTHEST)
        value += tied[k] * near
        factor = vector_exp(near)
        level[k] = least + (level[k] - least) * factor
        log_odds[k] = factor if near == log_odds[k] else -factor
    return value


@_kernel
def _by_log_odds(log_odds, tie_slope, level, tied, least):  # type: ignore[no-untyped-def]
    """Replace the factors of the odds of ties by the slopes by their logarithms.

    It turns the slopes by the multiplied tie parameter into slopes by the original parameter.
    """
    for k in range(level.size):
        factor = abs(log_odds[k])
        moves = log_odds[k] > 0.0
        log_odds[k] = tied[k] + tie_slope[k] * (level[k] - least) if moves else 0.0
        tie_slope[k] *= factor


@_kernel
def _ties_alone(by_tie, tie, ties, least):  # type: ignore[no-untyped-def]
    """Add the terms log nu or log(theta - 1) of ties, once per tie parameter."""
    value = 0.0
    for g in range(tie.size):
        if ties[g] > 0.0:
            value += ties[g] * math.log(tie[g] - least)
            by_tie[g] += ties[g] / (tie[g] - least)
    return value


@_kernel
def _evaluate(logp, slope, tie_slope, lead, level, won, lost, tied, family):  # type: ignore[no-untyped-def]
    """Write log-probabilities without the terms of `_ties_alone`, and their slopes."""
    if family == DAVIDSON:
        _davidson(logp, slope, tie_slope, lead, level, won, lost, tied)
    elif family == RAO_KUPPER:
        _rao_kupper(logp, slope, tie_slope, lead, level, won, lost, tied)
    else:
        _thurstone(logp, slope, tie_slope, lead, won, lost)


@_kernel
def slopes(lead, level, counts, family):  # type: ignore[no-untyped-def]
    """Return the slopes of all cells by the lead and by the tie parameter."""
    logp, slope, tie_slope = np.empty(lead.size), np.empty(lead.size), np.empty(lead.size)
    _evaluate(logp, slope, tie_slope, lead, level, counts[0], counts[1], counts[2], family)
    return slope, tie_slope


@_kernel
def _davidson(logp, slope, tie_slope, lead, nu, won, lost, tied):  # type: ignore[no-untyped-def]
    """Write log-probabilities without the terms log nu, and slopes by the lead and by nu."""
    for k in range(won.size):
        half, n = 0.5 * abs(lead[k]), won[k] + lost[k] + tied[k]
        y = vector_exp(-min(half, FARTHEST)) if half < FARTHEST else 0.0
        rest = 1.0 + y * (y + nu[k])
        # half the difference between the probabilities of a win of the leading and the other item
        away = 0.5 * (1.0 - y * y) / rest
        logp[k] = 0.5 * (won[k] - lost[k]) * lead[k] - n * (half + vector_log(rest))
        slope[k] = 0.5 * (won[k] - lost[k]) - n * (away if lead[k] > 0.0 else -away)
        tie_slope[k] = -n * y / rest


@_kernel
def _rao_kupper(logp, slope, tie_slope, lead, theta, won, lost, tied):  # type: ignore[no-untyped-def]
    """Write log-probabilities without the terms log(theta - 1), and slopes by lead and theta."""
    for k in range(won.size):
        size, positive = abs(lead[k]), lead[k] > 0.0
        strong = (won[k] if positive else lost[k]) + tied[k]
        weak = (lost[k] if positive else won[k]) + tied[k]
        y = vector_exp(-min(size, FARTHEST)) if size < FARTHEST else 0.0
        one, other = 1.0 + theta[k] * y, theta[k] + y
        logp[k] = tied[k] * vector_log(1.0 + theta[k])
        logp[k] -= strong * vector_log(one) + weak * (size + vector_log(other))
        along = theta[k] * (strong * y / one - weak / other)
        slope[k] = along if positive else -along
        tie_slope[k] = tied[k] / (1.0 + theta[k]) - strong * y / one - weak / other


@_kernel
def _thurstone(logp, slope, tie_slope, lead, won, lost):  # type: ignore[no-untyped-def]
    """Write log-probabilities and slopes by the lead; the model has no ties."""
    tie_slope[:] = 0.0
    for k in range(won.size):
        size, positive = abs(lead[k]), lead[k] > 0.0
        strong, weak = (won[k], lost[k]) if positive else (lost[k], won[k])
        value = along = 0.0
        if size < FAR_TAIL:
            density = math.exp(-0.5 * size * size) / ROOT_TWO_PI
            q = 0.5 * math.erfc(size * ROOT_HALF)
            if strong != 0.0:
                value += strong * math.log1p(-q)
                along += strong * density / (1.0 - q)
            if weak != 0.0:
                value += weak * math.log(q)
                along -= weak * density / q
        elif weak != 0.0:
            s, series = 1.0 / (size * size), 0.0
            for i in range(6):
                series = -(11.0 - 2.0 * i) * s * (1.0 + series)
            value -= weak * (0.5 * size * size + math.log(size * ROOT_TWO_PI) - math.log1p(series))
            along -= weak * size / (1.0 + series)
        logp[k] = value
        slope[k] = along if positive else -along
