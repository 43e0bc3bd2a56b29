r"""Sums of log-probabilities of ordered grades in numba: value and gradients in one pass.

The leads are those of `bayesrank.likelihoods.pairs.total_kernel`. A cell has counts :math:`n_j` of
grades j, from the best for the first item to the worst, with boundaries :math:`b_j` between them
that decrease:

=====================  ============================================================================
`cumulative_logit`     Each boundary adds :math:`n_{j-1} \log\sigma(d - b_j)
                       + n_j \log\sigma(b_j - d)`. With :math:`y = e^{-|d|}`, all logarithms are
                       of :math:`1 + e^{\pm b_j} y`. The terms
                       :math:`n_j \log(1 - e^{-(b_j - b_{j+1})})` of inner grades are summed by
                       group.
`cumulative_probit`    :math:`n_j \log(\Phi(b_j - d) - \Phi(b_{j+1} - d))`
`adjacent_logit`       :math:`n_j (s_j d + l_j) - n_j \log \sum_i e^{s_i d + l_i}`, with points s
                       from 1/2 to -1/2, and l the sums of :math:`b / (G - 1)`. The sum is a
                       polynomial in :math:`e^{-|d| / (G - 1)}`.
=====================  ============================================================================
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST, vector_exp, vector_log
from bayesrank.likelihoods.pairs.total_kernel import (
    CHUNK,
    FAR_TAIL,
    ROOT_HALF,
    ROOT_TWO_PI,
    _add_slopes,
    _place,
    add_terms,
)

__all__ = ["graded_total_kernel"]

CUMULATIVE_LOGIT, CUMULATIVE_PROBIT = 0, 1  # positions among the families; the last is adjacent
LOG_ROOT_TWO_PI = math.log(ROOT_TWO_PI)

_kernel = numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=False)


@_kernel
def graded_total_kernel(  # type: ignore[no-untyped-def]
    utility, adherence, order_effect, boundary, effects,
    first, second, group, which, size, counts, family, within,
):  # fmt: skip
    """Weighted sum of log-probabilities of grades, and its gradients.

    Parameters
    ----------
    boundary : ndarray, (n_groups, m) or (1, m)
        Boundaries between grades, from the best grade for the first item on.
    counts : ndarray of float, (m + 1, n_cells)
        Counts of the grades.
    family : int
        Position in `bayesrank.match_outcomes.FAMILIES`.
    utility, adherence, order_effect, effects, first, second, group, which, size, within
        As in `pair_total_kernel`.

    Returns
    -------
    value : ndarray, ()
    by_utility, by_adherence, by_order, by_boundary, by_effects : ndarray
        Gradients, with the shapes of the first five parameters.
    """
    by_utility, by_adherence = np.zeros(utility.size), np.zeros(adherence.size)
    by_order, by_boundary = np.zeros(order_effect.size), np.zeros(boundary.shape)
    by_effects, value = np.zeros(effects.size), 0.0
    n_groups, m = boundary.shape
    inside = np.zeros((n_groups, m + 1))  # counts of the grades by group
    # exponentials of boundaries and of their negatives, or of levels
    grown, shrunk = np.ones((n_groups, m + 1)), np.ones((n_groups, m + 1))
    level = np.zeros((n_groups, m + 1))
    for g in range(n_groups):
        for j in range(m):
            if family == CUMULATIVE_LOGIT:
                near = min(max(boundary[g, j], -FARTHEST), FARTHEST)
                grown[g, j], shrunk[g, j] = math.exp(near), math.exp(-near)
            else:
                level[g, j + 1] = level[g, j] + boundary[g, j] / m
                grown[g, j + 1] = math.exp(min(max(level[g, j + 1], -FARTHEST), FARTHEST))
    by_level = np.zeros((n_groups, m + 1))
    work = np.empty((11 + m, CHUNK))
    start = 0
    while start < first.size:
        stop, g = min(start + CHUNK, first.size), 0
        if n_groups > 1:  # cells of one group, whose boundaries are numbers; cells are sorted
            g, end = group[start], start + 1
            while end < stop and group[end] == g:
                end += 1
            stop = end
        one, other, at_group = first[start:stop], second[start:stop], group[start:stop]
        at, x, n = which[:, start:stop], size[:, start:stop], stop - start
        gap, lead, slope, logp = work[0, :n], work[1, :n], work[2, :n], work[3, :n]

        # leads
        for k in range(n):
            gap[k] = utility[one[k]] - utility[other[k]]
        add_terms(gap, effects, at[:within], x[:within])
        for k in range(n):
            lead[k] = adherence[_place(at_group[k], adherence)] * gap[k]
            lead[k] += order_effect[_place(at_group[k], order_effect)]
        add_terms(lead, effects, at[within:], x[within:])

        # log-probabilities and slopes
        if family == CUMULATIVE_LOGIT:
            _cumulative_logit(
                slope, logp, work[4:], by_boundary[g], inside[g], lead, boundary[g], grown[g],
                shrunk[g], counts, start,
            )  # fmt: skip
        elif family == CUMULATIVE_PROBIT:
            _cumulative_probit(slope, logp, by_boundary[g], lead, boundary[g], counts, start)
        else:
            _adjacent_logit(
                slope, logp, work[4:], by_level[g], inside[g], lead, grown[g], counts, start
            )

        # gradients
        _add_slopes(by_effects, slope, at[within:], x[within:])
        for k in range(n):
            value += logp[k]
            by_adherence[_place(at_group[k], adherence)] += slope[k] * gap[k]
            by_order[_place(at_group[k], order_effect)] += slope[k]
            # from here on, the slope by the gap
            slope[k] *= adherence[_place(at_group[k], adherence)]
            by_utility[one[k]] += slope[k]
            by_utility[other[k]] -= slope[k]
        _add_slopes(by_effects, slope, at[:within], x[:within])
        start = stop
    if family == CUMULATIVE_LOGIT:
        value += _widths_alone(by_boundary, boundary, inside)
    elif family != CUMULATIVE_PROBIT:
        for g in range(n_groups):  # a boundary moves all levels after it
            rest = 0.0
            for j in range(m, 0, -1):
                value += inside[g, j] * level[g, j]
                rest += by_level[g, j] + inside[g, j]
                by_boundary[g, j - 1] = rest / m
    return np.asarray(value), by_utility, by_adherence, by_order, by_boundary, by_effects


@_kernel
def _cumulative_logit(  # type: ignore[no-untyped-def]
    slope, logp, work, by_boundary, inside, lead, boundary, grown, shrunk, counts, start
):
    """Write slopes by the lead and log-probabilities without the widths, and add other slopes."""
    n = lead.size
    y, along, part = work[0, :n], work[1, :n], work[2, :n]
    for k in range(n):
        size = abs(lead[k])
        y[k] = vector_exp(-min(size, FARTHEST)) if size < FARTHEST else 0.0
        slope[k] = logp[k] = 0.0
    for j in range(boundary.size):
        # rows of the whole array, whose numbers are next to each other
        better, worse = counts[j, start : start + n], counts[j + 1, start : start + n]
        cut, up, down = boundary[j], grown[j], shrunk[j]
        for k in range(n):
            positive = lead[k] > 0.0
            # counts on the side of the leading item, and on the other side
            strong = better[k] if positive else worse[k]
            weak = worse[k] if positive else better[k]
            odds, away = (up if positive else down) * y[k], cut - lead[k]
            total = 1.0 + odds
            part[k] = weak * (away if positive else -away) - (strong + weak) * vector_log(total)
            change = (strong * odds - weak) / total
            along[k] = change if positive else -change
        moved = seen = 0.0
        for k in range(n):
            slope[k] += along[k]
            logp[k] += part[k]
            moved += along[k]
            seen += better[k]
        by_boundary[j] -= moved
        inside[j] += seen


@_kernel
def _widths_alone(by_boundary, boundary, inside):  # type: ignore[no-untyped-def]
    """Add the terms of the widths of inner grades, once per group."""
    value = 0.0
    for g in range(boundary.shape[0]):
        for j in range(1, boundary.shape[1]):
            if inside[g, j] > 0.0:
                width = boundary[g, j - 1] - boundary[g, j]
                value += inside[g, j] * math.log(-math.expm1(-width))
                change = inside[g, j] / math.expm1(width)
                by_boundary[g, j - 1] += change
                by_boundary[g, j] -= change
    return value


@_kernel
def _adjacent_logit(  # type: ignore[no-untyped-def]
    slope, logp, work, by_level, inside, lead, grown, counts, start
):
    """Write slopes by the lead and log-probabilities without the levels, and add other slopes."""
    m, n = grown.size - 1, lead.size
    y, power, total, mean = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
    met, points = work[4, :n], work[5, :n]
    for k in range(n):
        step = abs(lead[k]) / m
        y[k] = vector_exp(-min(step, FARTHEST)) if step < FARTHEST else 0.0
        power[k] = 1.0
        total[k] = mean[k] = met[k] = points[k] = 0.0
    for i in range(m + 1):  # from the best grade of the leading item
        term, s, up, down = work[6 + i, :n], 0.5 - i / m, grown[i], grown[m - i]
        better, worse = counts[i, start : start + n], counts[m - i, start : start + n]
        for k in range(n):
            term[k] = (up if lead[k] > 0.0 else down) * power[k]
            total[k] += term[k]
            mean[k] += i * term[k]
            power[k] *= y[k]
        for k in range(n):
            seen = better[k] if lead[k] > 0.0 else worse[k]
            met[k] += seen
            points[k] += s * seen
    for k in range(n):
        size = abs(lead[k])
        logp[k] = points[k] * size - met[k] * (0.5 * size + vector_log(total[k]))
        change = points[k] - met[k] * (0.5 - mean[k] / (total[k] * m))
        slope[k] = change if lead[k] > 0.0 else -change
        total[k] = met[k] / total[k]
    for j in range(1, m + 1):
        ahead, behind, expected, seen = work[6 + j, :n], work[6 + m - j, :n], 0.0, 0.0
        for k in range(n):
            expected += total[k] * (ahead[k] if lead[k] > 0.0 else behind[k])
            seen += counts[j, start + k]
        by_level[j] -= expected
        inside[j] += seen


@_kernel
def _cumulative_probit(  # type: ignore[no-untyped-def]
    slope, logp, by_boundary, lead, boundary, counts, start
):
    """Write slopes by the lead and log-probabilities, and add the slopes by the boundaries."""
    m = boundary.size
    for k in range(lead.size):
        d = lead[k]
        slope[k] = logp[k] = 0.0
        for j in range(m + 1):
            n = counts[j, start + k]
            if n == 0.0:
                continue
            if j == 0 or j == m:
                z = d - boundary[0] if j == 0 else boundary[m - 1] - d
                log_p = _log_ndtr(z)
                change = n * math.exp(-0.5 * z * z - LOG_ROOT_TWO_PI - log_p)
                logp[k] += n * log_p
                slope[k] += change if j == 0 else -change
                by_boundary[0 if j == 0 else m - 1] -= change if j == 0 else -change
                continue
            high, low = boundary[j - 1] - d, boundary[j] - d
            # from the side on which the distribution function is small, so that nothing cancels
            turned = high + low > 0.0
            b, a = (-low, -high) if turned else (high, low)
            top = _log_ndtr(b)
            log_p = top + math.log(-math.expm1(_log_ndtr(a) - top))
            at_b = n * math.exp(-0.5 * b * b - LOG_ROOT_TWO_PI - log_p)
            at_a = n * math.exp(-0.5 * a * a - LOG_ROOT_TWO_PI - log_p)
            by_high, by_low = (at_a, -at_b) if turned else (at_b, -at_a)
            logp[k] += n * log_p
            by_boundary[j - 1] += by_high
            by_boundary[j] += by_low
            slope[k] -= by_high + by_low


@_kernel
def _log_ndtr(z):  # type: ignore[no-untyped-def]
    """Logarithm of the standard normal distribution function, as in `log_ndtr` of the graphs."""
    if z > 0.0:
        return math.log1p(-0.5 * math.erfc(z * ROOT_HALF))
    if z > -FAR_TAIL:
        return math.log(0.5 * math.erfc(-z * ROOT_HALF))
    s, series = 1.0 / (z * z), 0.0
    for i in range(6):
        series = -(11.0 - 2.0 * i) * s * (1.0 + series)
    return -0.5 * z * z - math.log(-z * ROOT_TWO_PI) + math.log1p(series)
