r"""Sums of log-probabilities of pairs in numba: value and gradients in one pass over the cells.

A cell holds the counts of two items in one group (a judge, perhaps), and has the lead

.. math:: d = a_g \Bigl( w_1 - w_2 + \sum_{k \le K'} x_k \beta_k \Bigr) + o_g
          + \sum_{k > K''} x_k \beta_k

with a few effects :math:`\beta` of sizes x: within the adherence those that belong to the items,
such as how well they did at one prompt, and beside it those that belong to whoever judges, such as
what a longer answer gains. Those between, :math:`K' < k \le K''`, belong to ties, and not to the
lead: the odds of a tie of equal items are multiplied by :math:`e^s`, s being their sum, so that

.. math:: \nu = \nu_g e^s, \qquad \theta - 1 = (\theta_g - 1) e^s

under Davidson and under Rao-Kupper. With :math:`y = e^{-|d|}`, and `strong` counting what speaks
for the item that leads, `weak` what speaks for the other (ties for both, under Rao-Kupper),

=============  ===================================================================================
Davidson       :math:`d (\text{first} - \text{second}) / 2 + \text{ties} \log\nu
               - n (|d| / 2 + \log(1 + y^{1/2} (y^{1/2} + \nu)))`; Bradley-Terry at :math:`\nu = 0`
Rao-Kupper     :math:`\text{ties} \log(\theta^2 - 1) - \text{strong} \log(1 + \theta y)
               - \text{weak} (|d| + \log(\theta + y))`
Thurstone      :math:`\text{strong} \log(1 - q) + \text{weak} \log q`,
               :math:`q = \mathrm{erfc}(|d| / \sqrt 2) / 2`
=============  ===================================================================================

The cells are taken by chunks: leads are gathered, then the chunk is evaluated by vector
instructions, then slopes are added to what they belong to.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp, vector_log

__all__ = ["DAVIDSON", "RAO_KUPPER", "THURSTONE", "pair_total_kernel"]

DAVIDSON, RAO_KUPPER, THURSTONE = 0, 1, 2

CHUNK = 256  # cells whose numbers stay in the nearest cache
# Beyond it the distribution function is the series of Mills' ratio, as in `log_ndtr`
FAR_TAIL = 30.0
ROOT_HALF, ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(2 * math.pi)

# Rounded as it is written, wherever it is inlined: draws of one seed are then the same, whether the
# kernel was compiled before or is compiled with what calls it
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
        Of each group, or of all.
    effects : ndarray, (n_effects,)
        What else leads are made of.
    first, second : ndarray of int, (n_cells,)
        Positions in `utility`.
    group : ndarray of int, (n_cells,)
        The faster, the more neighbours are alike.
    which : ndarray of int, (n_terms, n_cells)
        Positions in `effects` of those that a cell has.
    size : ndarray of float, (n_terms, n_cells)
        By what they are multiplied.
    counts : ndarray of float, (3, n_cells)
        How often the first won, the second won and the two tied.
    family : int
    within : int
        How many of the terms, the first ones, are within the adherence.
    tying : int
        How many of them, the next ones, are of ties.

    Returns
    -------
    value : ndarray, ()
    by_utility, by_adherence, by_order_effect, by_tie, by_effects : ndarray
        Gradients, of the shapes of the first five parameters.
    """
    n_cells, n_terms = first.size, which.shape[0]
    by_utility, by_adherence = np.zeros(utility.size), np.zeros(adherence.size)
    by_order, by_tie = np.zeros(order_effect.size), np.zeros(tie.size)
    by_effects, ties = np.zeros(effects.size), np.zeros(tie.size)
    own_adherence, own_order, own_tie = adherence.size > 1, order_effect.size > 1, tie.size > 1
    gap, lead, parameter = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    logp, slope, tie_slope = np.empty(CHUNK), np.empty(CHUNK), np.zeros(CHUNK)
    times, by_times = np.empty(CHUNK), np.empty(CHUNK)
    beside, least = within + tying, 1.0 if family == RAO_KUPPER else 0.0
    value = 0.0
    for start in range(0, n_cells, CHUNK):
        n = min(CHUNK, n_cells - start)
        for k in range(n):
            gap[k] = utility[first[start + k]] - utility[second[start + k]]
        for term in range(within):
            for k in range(n):
                gap[k] += size[term, start + k] * effects[which[term, start + k]]
        for k in range(n):
            g = group[start + k]
            lead[k] = adherence[g if own_adherence else 0] * gap[k]
            lead[k] += order_effect[g if own_order else 0]
            parameter[k] = tie[g if own_tie else 0]
        for term in range(beside, n_terms):
            for k in range(n):
                lead[k] += size[term, start + k] * effects[which[term, start + k]]

        won, lost = counts[0, start : start + n], counts[1, start : start + n]
        tied = counts[2, start : start + n]
        if tying > 0:
            for k in range(n):
                by_times[k] = 0.0
            for term in range(within, beside):
                for k in range(n):
                    by_times[k] += size[term, start + k] * effects[which[term, start + k]]
            for k in range(n):
                near = min(max(by_times[k], -FARTHEST), FARTHEST)
                by_times[k] = 1.0 if near == by_times[k] else 0.0
                value += tied[k] * near
                times[k] = vector_exp(near)
                parameter[k] = least + (parameter[k] - least) * times[k]
        if family == DAVIDSON:
            _davidson(logp, slope, tie_slope, lead, parameter, won, lost, tied)
        elif family == RAO_KUPPER:
            _rao_kupper(logp, slope, tie_slope, lead, parameter, won, lost, tied)
        else:
            _thurstone(logp, slope, lead, won, lost)
        if tying > 0:
            for k in range(n):
                if family == RAO_KUPPER and tied[k] > 0.0:
                    value += tied[k] * math.log1p(parameter[k])
                    tie_slope[k] += tied[k] / (parameter[k] + 1.0)
                by_times[k] *= tied[k] + tie_slope[k] * (parameter[k] - least)
                tie_slope[k] *= times[k]

        for k in range(n):
            g = group[start + k]
            own = g if own_adherence else 0
            value += logp[k]
            by_gap = slope[k] * adherence[own]
            by_utility[first[start + k]] += by_gap
            by_utility[second[start + k]] -= by_gap
            by_adherence[own] += slope[k] * gap[k]
            by_order[g if own_order else 0] += slope[k]
            by_tie[g if own_tie else 0] += tie_slope[k]
            ties[g if own_tie else 0] += tied[k]
            gap[k] = by_gap
        for term in range(n_terms):
            by = gap if term < within else by_times if term < beside else slope
            for k in range(n):
                by_effects[which[term, start + k]] += size[term, start + k] * by[k]

    # what ties have beside the leads: once for each parameter, and nothing where there are none
    for g in range(tie.size):
        if ties[g] > 0.0 and family == DAVIDSON:
            value += ties[g] * math.log(tie[g])
            by_tie[g] += ties[g] / tie[g]
        elif ties[g] > 0.0 and family == RAO_KUPPER:
            value += ties[g] * math.log(tie[g] - 1.0)
            by_tie[g] += ties[g] / (tie[g] - 1.0)
            if tying == 0:  # else that of each cell
                value += ties[g] * math.log1p(tie[g])
                by_tie[g] += ties[g] / (tie[g] + 1.0)
    return np.asarray(value), by_utility, by_adherence, by_order, by_tie, by_effects


@_kernel
def _davidson(logp, slope, tie_slope, lead, nu, won, lost, tied):  # type: ignore[no-untyped-def]
    """Write log-probabilities, but for the logarithms of nu, and slopes by lead and by nu."""
    for k in range(won.size):
        half, n = 0.5 * abs(lead[k]), won[k] + lost[k] + tied[k]
        y = vector_exp(-min(half, FARTHEST)) if half < FARTHEST else 0.0
        rest = 1.0 + y * (y + nu[k])
        # what a win of the item that leads is more probable by than one of the other, halved
        away = 0.5 * (1.0 - y * y) / rest
        logp[k] = 0.5 * (won[k] - lost[k]) * lead[k] - n * (half + vector_log(rest))
        slope[k] = 0.5 * (won[k] - lost[k]) - n * (away if lead[k] > 0.0 else -away)
        tie_slope[k] = -n * y / rest


@_kernel
def _rao_kupper(logp, slope, tie_slope, lead, theta, won, lost, tied):  # type: ignore[no-untyped-def]
    """Write log-probabilities, but for what ties have, and slopes by lead and by theta."""
    for k in range(won.size):
        size, positive = abs(lead[k]), lead[k] > 0.0
        strong = (won[k] if positive else lost[k]) + tied[k]
        weak = (lost[k] if positive else won[k]) + tied[k]
        y = vector_exp(-min(size, FARTHEST)) if size < FARTHEST else 0.0
        one, other = 1.0 + theta[k] * y, theta[k] + y
        logp[k] = -strong * vector_log(one) - weak * (size + vector_log(other))
        along = theta[k] * (strong * y / one - weak / other)
        slope[k] = along if positive else -along
        tie_slope[k] = -strong * y / one - weak / other


@_kernel
def _thurstone(logp, slope, lead, won, lost):  # type: ignore[no-untyped-def]
    """Write log-probabilities and slopes by lead."""
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
