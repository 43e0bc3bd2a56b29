r"""All second derivatives of sums over pairs in numba, in one pass over the cells.

The log-probability f of a cell depends on its lead d, defined in
`bayesrank.likelihoods.pairs.total_kernel`, and its tie parameter t:

.. math:: \nabla^2 f = f_{dd}\, \nabla d\, \nabla d^\top + f_d\, \nabla^2 d
          + f_{dt} (\nabla d\, \nabla t^\top + \nabla t\, \nabla d^\top)
          + f_{tt}\, \nabla t\, \nabla t^\top ,

where d is linear except for the product of adherence and gap. All pairs of utilities and effects
have second derivatives. Second derivatives by parameters of two different groups are zero.
"""

import math

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST
from bayesrank.likelihoods.pairs.total_kernel import (
    DAVIDSON,
    FAR_TAIL,
    RAO_KUPPER,
    ROOT_HALF,
    ROOT_TWO_PI,
    THURSTONE,
)

__all__ = ["pair_hessian_kernel"]

_kernel = numba.njit(cache=True, error_model="numpy", fastmath=False)


@_kernel
def pair_hessian_kernel(  # type: ignore[no-untyped-def]
    utility, adherence, order_effect, tie, effects,
    first, second, group, which, size, counts, family, within, tying,
):  # fmt: skip
    """Second derivatives of `pair_total_kernel`, with the same parameters.

    Returns
    -------
    among : ndarray, (n_linear, n_linear)
        By the utilities and then the effects.
    across_adherence, across_order, across_tie : ndarray, (length of the parameter, n_linear)
        By a parameter, and a utility or effect.
    own : ndarray, (6, n_groups)
        By two parameters of a group: adherence twice, with order effect, with tie; order effect
        twice, with tie; tie twice. For a parameter that all groups share, sum over the groups.
    """
    n_terms, n_utilities = which.shape[0], utility.size
    n = n_utilities + effects.size
    # utilities and effects of a cell: their positions, and the slopes of the gap (before the
    # adherence), of the lead and of the log odds of ties with respect to them
    place, of_gap = np.zeros(2 + n_terms, dtype=np.int64), np.zeros(2 + n_terms)
    of_lead, of_tie = np.zeros(2 + n_terms), np.zeros(2 + n_terms)
    least = 1.0 if family == RAO_KUPPER else 0.0
    of_gap[0], of_gap[1] = 1.0, -1.0
    n_groups = max(adherence.size, order_effect.size, tie.size)
    among, own = np.zeros((n, n)), np.zeros((6, n_groups))
    across_adherence = np.zeros((adherence.size, n))
    across_order, across_tie = np.zeros((order_effect.size, n)), np.zeros((tie.size, n))
    for k in range(first.size):
        g, i, j = min(group[k], n_groups - 1), first[k], second[k]
        ga, go, gt = (
            min(g, adherence.size - 1), min(g, order_effect.size - 1), min(g, tie.size - 1),
        )  # fmt: skip
        a, gap, beside, log_times = adherence[ga], utility[i] - utility[j], 0.0, 0.0
        place[0], place[1], of_lead[0], of_lead[1] = i, j, a, -a
        for term in range(n_terms):
            x, effect = size[term, k], which[term, k]
            place[2 + term] = n_utilities + effect
            if term < within:
                gap += x * effects[effect]
                of_gap[2 + term], of_lead[2 + term] = x, a * x
            elif term < within + tying:
                log_times += x * effects[effect]
                of_tie[2 + term] = x
            else:
                beside += x * effects[effect]
                of_lead[2 + term] = x
        d, tied = a * gap + order_effect[go] + beside, counts[2, k]
        times = math.exp(min(max(log_times, -FARTHEST), FARTHEST))
        t = least + (tie[gt] - least) * times
        if family == DAVIDSON:
            f_d, f_dd, f_dt, f_t, f_tt = _davidson(d, t, counts[0, k], counts[1, k], tied)
        elif family == RAO_KUPPER:
            f_d, f_dd, f_dt, f_t, f_tt = _rao_kupper(d, t, counts[0, k], counts[1, k], tied)
        else:
            f_d, f_dd, f_dt, f_t, f_tt = _thurstone(d, counts[0, k], counts[1, k])
        # by the logarithm s of the factor; the slope of t by s is t - least
        f_ds, f_ss = f_dt * (t - least), (f_tt * (t - least) + f_t) * (t - least)
        f_ts, f_dt = (f_tt * (t - least) + f_t) * times, f_dt * times
        f_tt *= times * times
        if tied > 0.0 and family != THURSTONE:
            f_tt -= tied / (tie[gt] - least) ** 2

        for p in range(2 + n_terms):
            at, x = place[p], of_lead[p]
            for q in range(2 + n_terms):
                bend = x * of_lead[q] * f_dd + of_tie[p] * of_tie[q] * f_ss
                bend += (x * of_tie[q] + of_tie[p] * of_lead[q]) * f_ds
                among[at, place[q]] += bend
            across_adherence[ga, at] += x * gap * f_dd + of_gap[p] * f_d + of_tie[p] * gap * f_ds
            across_order[go, at] += x * f_dd + of_tie[p] * f_ds
            across_tie[gt, at] += x * f_dt + of_tie[p] * f_ts
        own[0, g] += gap * gap * f_dd
        own[1, g] += gap * f_dd
        own[2, g] += gap * f_dt
        own[3, g] += f_dd
        own[4, g] += f_dt
        own[5, g] += f_tt
    return among, across_adherence, across_order, across_tie, own


@_kernel
def _davidson(d, nu, won, lost, tied):  # type: ignore[no-untyped-def]
    """Return derivatives by the lead d and the tie parameter t: d, dd, dt, t, tt.

    They omit the terms log nu and log(theta - 1) of ties, which depend only on t.
    """
    n, y = won + lost + tied, math.exp(-0.5 * abs(d))
    rest = 1.0 + y * (y + nu)
    away = 0.5 * (1.0 - y * y) / rest
    away = away if d > 0.0 else -away
    level = y / rest
    f_dd = -n * y * (y + 0.25 * nu * (1.0 + y * y)) / (rest * rest)
    return 0.5 * (won - lost) - n * away, f_dd, n * level * away, -n * level, n * level * level


@_kernel
def _rao_kupper(d, theta, won, lost, tied):  # type: ignore[no-untyped-def]
    sign, y = 1.0 if d > 0.0 else -1.0, math.exp(-abs(d))
    strong, weak = (won if d > 0.0 else lost) + tied, (lost if d > 0.0 else won) + tied
    one, other = 1.0 + theta * y, theta + y
    f_d = sign * theta * (strong * y / one - weak / other)
    f_t = tied / (theta + 1.0) - strong * y / one - weak / other
    strong, weak = strong / (one * one), weak / (other * other)
    f_tt = strong * y * y + weak - tied / (theta + 1.0) ** 2
    return f_d, -theta * y * (strong + weak), sign * y * (strong - weak), f_t, f_tt


@_kernel
def _thurstone(d, won, lost):  # type: ignore[no-untyped-def]
    size, positive = abs(d), d > 0.0
    strong, weak = (won, lost) if positive else (lost, won)
    if size < FAR_TAIL:
        density = math.exp(-0.5 * size * size) / ROOT_TWO_PI
        q = 0.5 * math.erfc(size * ROOT_HALF)
        up, down = density / (1.0 - q), density / q
        away = down - size
    else:
        s, series, up = 1.0 / (size * size), 0.0, 0.0
        for i in range(6):
            series = -(11.0 - 2.0 * i) * s * (1.0 + series)
        down = size / (1.0 + series)
        away = -size * series / (1.0 + series)
    f_d = strong * up - weak * down
    f_dd = -strong * up * (size + up) - weak * down * away
    return (f_d if positive else -f_d), f_dd, 0.0, 0.0, 0.0
