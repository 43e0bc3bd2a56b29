r"""All second derivatives of sums over pairs in numba, in one pass over the cells.

The log-probability f of a cell depends on its lead d, defined in
`bayesrank.likelihoods.pairs.total_kernel`, and its tie parameter t:

.. math:: \nabla^2 f = f_{dd}\, \nabla d\, \nabla d^\top + f_d\, \nabla^2 d
          + f_{dt} (\nabla d\, \nabla t^\top + \nabla t\, \nabla d^\top)
          + f_{tt}\, \nabla t\, \nabla t^\top ,

where d is linear except for the product of adherence and gap. All pairs of utilities and effects
have second derivatives. Second derivatives by parameters of two different groups are zero.
Derivatives of the slopes of f are central differences, with errors of about 1e-8.
"""

import numba
import numpy as np

from bayesrank.likelihoods.ops.vector_exp import FARTHEST
from bayesrank.likelihoods.pairs.total_kernel import RAO_KUPPER, THURSTONE, add_terms, slopes

__all__ = ["pair_hessian_kernel"]

STEP = 1e-4  # of the lead and of the tie parameter

_kernel = numba.njit(cache=True, error_model="numpy", fastmath=False)


@_kernel
def pair_hessian_kernel(  # type: ignore[no-untyped-def]
    utility, adherence, order_effect, tie, effects,
    first, second, group, which, size, counts, family, within, tying, sparse,
):  # fmt: skip
    """Second derivatives of `pair_total_kernel`, with the same parameters.

    If `sparse`, the first four arrays are empty, and `cells` holds the numbers that they would sum.

    Returns
    -------
    among : ndarray, (n_linear, n_linear)
        By the utilities and then the effects.
    across_adherence, across_order, across_tie : ndarray, (length of the parameter, n_linear)
        By a parameter, and a utility or effect.
    by_group : ndarray, (6, n_groups)
        By two parameters of a group: adherence twice, with order effect, with tie; order effect
        twice, with tie; tie twice. For a parameter that all groups share, sum over the groups.
    cells : tuple of ndarray
        Positions of the utilities and effects of each cell, (n_cells, m), and their second
        derivatives, (n_cells, m, m). Those by a parameter, and a utility or effect, (3, n_cells,
        m), and the positions of the parameters, three of (n_cells,).
    """
    n_terms, n_utilities = which.shape[0], utility.size
    n = n_utilities + effects.size
    # utilities and effects of a cell: their positions, and the slopes of the gap (before the
    # adherence), of the lead and of the log odds of ties with respect to them
    place, gap_slope = np.zeros(2 + n_terms, dtype=np.int64), np.zeros(2 + n_terms)
    lead_slope, tie_slope = np.zeros(2 + n_terms), np.zeros(2 + n_terms)
    least = 1.0 if family == RAO_KUPPER else 0.0
    gap_slope[0], gap_slope[1] = 1.0, -1.0
    n_groups = max(adherence.size, order_effect.size, tie.size)
    by_group = np.zeros((6, n_groups))
    n_dense, n_sparse = (0, first.size) if sparse else (n, 0)
    among = np.zeros((n_dense, n_dense))
    across_adherence = np.zeros((adherence.size, n_dense))
    across_order = np.zeros((order_effect.size, n_dense))
    across_tie = np.zeros((tie.size, n_dense))
    places = np.zeros((n_sparse, 2 + n_terms), dtype=np.int64)
    bends = np.zeros((n_sparse, 2 + n_terms, 2 + n_terms))
    across = np.zeros((3, n_sparse, 2 + n_terms))
    groups = np.minimum(group, n_groups - 1)
    by_adherence, by_order, by_tie = (
        np.minimum(groups, adherence.size - 1),
        np.minimum(groups, order_effect.size - 1),
        np.minimum(groups, tie.size - 1),
    )
    gaps, log_odds = utility[first] - utility[second], np.zeros(first.size)
    add_terms(gaps, effects, which[:within], size[:within])
    leads = adherence[by_adherence] * gaps + order_effect[by_order]
    add_terms(leads, effects, which[within + tying :], size[within + tying :])
    last = within + tying
    add_terms(log_odds, effects, which[within:last], size[within:last])
    factors = np.exp(np.minimum(np.maximum(log_odds, -FARTHEST), FARTHEST))
    levels = least + (tie[by_tie] - least) * factors
    by_d, by_t = slopes(leads, levels, counts, family)
    by_dd, by_dt = _change(
        slopes(leads + STEP, levels, counts, family), slopes(leads - STEP, levels, counts, family)
    )
    _, by_tt = _change(
        slopes(leads, levels + STEP, counts, family), slopes(leads, levels - STEP, counts, family)
    )
    for k in range(first.size):
        g, ga, go, gt = groups[k], by_adherence[k], by_order[k], by_tie[k]
        a, gap, times, t, tied = adherence[ga], gaps[k], factors[k], levels[k], counts[2, k]
        place[0], place[1], lead_slope[0], lead_slope[1] = first[k], second[k], a, -a
        for term in range(n_terms):
            x = size[term, k]
            place[2 + term] = n_utilities + which[term, k]
            if term < within:
                gap_slope[2 + term], lead_slope[2 + term] = x, a * x
            elif term < last:
                tie_slope[2 + term] = x
            else:
                lead_slope[2 + term] = x
        f_d, f_t, f_dd, f_dt, f_tt = by_d[k], by_t[k], by_dd[k], by_dt[k], by_tt[k]
        # by the logarithm s of the factor; the slope of t by s is t - least
        f_ds, f_ss = f_dt * (t - least), (f_tt * (t - least) + f_t) * (t - least)
        f_ts, f_dt = (f_tt * (t - least) + f_t) * times, f_dt * times
        f_tt *= times * times
        if tied > 0.0 and family != THURSTONE:
            f_tt -= tied / (tie[gt] - least) ** 2

        for p in range(2 + n_terms):
            at, x = place[p], lead_slope[p]
            for q in range(2 + n_terms):
                bend = x * lead_slope[q] * f_dd + tie_slope[p] * tie_slope[q] * f_ss
                bend += (x * tie_slope[q] + tie_slope[p] * lead_slope[q]) * f_ds
                if sparse:
                    bends[k, p, q] = bend
                else:
                    among[at, place[q]] += bend
            by_a = x * gap * f_dd + gap_slope[p] * f_d + tie_slope[p] * gap * f_ds
            by_o, by_level = x * f_dd + tie_slope[p] * f_ds, x * f_dt + tie_slope[p] * f_ts
            if sparse:
                places[k, p] = at
                across[0, k, p], across[1, k, p], across[2, k, p] = by_a, by_o, by_level
            else:
                across_adherence[ga, at] += by_a
                across_order[go, at] += by_o
                across_tie[gt, at] += by_level
        by_group[0, g] += gap * gap * f_dd
        by_group[1, g] += gap * f_dd
        by_group[2, g] += gap * f_dt
        by_group[3, g] += f_dd
        by_group[4, g] += f_dt
        by_group[5, g] += f_tt
    cells = places, bends, across, (by_adherence, by_order, by_tie)
    return among, across_adherence, across_order, across_tie, by_group, cells


@_kernel
def _change(ahead, behind):  # type: ignore[no-untyped-def]
    """Central differences of the slopes by the lead and by the tie parameter."""
    return (ahead[0] - behind[0]) / (2.0 * STEP), (ahead[1] - behind[1]) / (2.0 * STEP)
