r"""Chains of states in numba: smoothing, draws, and what observations that join chains add to them.

A *chain* is an item, a *node* one of the times at which it is there; nodes of a chain stand beside
each other, in the order of time. The states of different chains are independent in the prior. Given
a weight :math:`w_k \ge 0` for every node, `chain_smooth` multiplies vectors over nodes by

.. math:: S = (K^{-1} + \operatorname{diag} w)^{-1}

where K is the prior covariance of the utilities at the nodes, which nobody forms: that is a filter
forwards and a smoother backwards, linear in the nodes. Covariances alone are needed and never their
inverses, so that times may be as near to each other as they like, and parts without noise are
nothing special. With w = 0 it multiplies by K.

References
----------
Durbin & Koopman, Time series analysis by state space methods, 2012, section 4.4: the smoother that
goes without inverses.
"""

import numba
import numpy as np

__all__ = [
    "add_joins",
    "add_on_rows",
    "chain_draw",
    "chain_gains",
    "chain_smooth",
    "column_dots",
    "information_parts",
    "step_along",
    "turn_along",
]

_kernel = numba.njit(cache=True, error_model="numpy", fastmath=False)


@_kernel
def chain_gains(start, F, Q, P, reads, weight):  # type: ignore[no-untyped-def]
    """Filter the covariances.

    Parameters
    ----------
    start : ndarray of int, (n_chains + 1,)
        First node of every chain.
    F, Q : ndarray, (n_nodes, d, d)
        Transitions to every node from the one before it; those of the first of a chain are not
        read.
    P : ndarray, (n_chains, d, d)
        Covariance of the first state of every chain.
    reads : ndarray, (d,)
    weight : ndarray, (n_nodes,)

    Returns
    -------
    gain : ndarray, (n_nodes, d)
        Covariance of the state and the utility, before the node's own weight.
    shrink : ndarray, (n_nodes,)
        1 / (1 + w v), where v is the variance of the utility then.
    log_det : float
        log |1 + K diag(w)|.
    """
    n, d = weight.size, reads.size
    gain, shrink, log_det = np.empty((n, d)), np.empty(n), 0.0
    C, half = np.empty((d, d)), np.empty((d, d))
    for c in range(start.size - 1):
        for k in range(start[c], start[c + 1]):
            if k == start[c]:
                C[:] = P[c]
            else:
                for i in range(d):
                    for j in range(d):
                        half[i, j] = 0.0
                        for m in range(d):
                            half[i, j] += F[k, i, m] * C[m, j]
                for i in range(d):
                    for j in range(d):
                        C[i, j] = Q[k, i, j]
                        for m in range(d):
                            C[i, j] += half[i, m] * F[k, j, m]
            v = 0.0
            for i in range(d):
                gain[k, i] = 0.0
                for j in range(d):
                    gain[k, i] += C[i, j] * reads[j]
                v += reads[i] * gain[k, i]
            shrink[k] = 1.0 / (1.0 + weight[k] * v)
            log_det -= np.log(shrink[k])
            known = weight[k] * shrink[k]
            for i in range(d):
                for j in range(d):
                    C[i, j] -= known * gain[k, i] * gain[k, j]
    return gain, shrink, log_det


@_kernel
def chain_smooth(start, F, reads, weight, gain, shrink, b, out, new):  # type: ignore[no-untyped-def]
    """Multiply the columns of `b`, (n_nodes, m), by S into `out`; see `chain_gains` for the others.

    `new` is room, (n_nodes, m): what a node says that was not known before it.
    """
    d, m = reads.size, b.shape[1]
    if d == 1:  # as most are: a pass each way over all of a node
        _smooth_numbers(start, F, reads[0], weight, gain, shrink, b, out, new)
        return
    mean, other = np.zeros((d, m)), np.zeros((d, m))
    for c in range(start.size - 1):
        for k in range(start[c], start[c + 1]):
            if k == start[c]:
                mean[:] = 0.0
            else:
                for i in range(d):
                    for j in range(m):
                        other[i, j] = 0.0
                    for e in range(d):
                        for j in range(m):
                            other[i, j] += F[k, i, e] * mean[e, j]
                mean, other = other, mean
            for j in range(m):
                out[k, j] = 0.0
            for i in range(d):
                for j in range(m):
                    out[k, j] += reads[i] * mean[i, j]
            for j in range(m):
                new[k, j] = (b[k, j] - weight[k] * out[k, j]) * shrink[k]
            for i in range(d):
                for j in range(m):
                    mean[i, j] += gain[k, i] * new[k, j]
        back, before = mean, other
        back[:] = 0.0
        for k in range(start[c + 1] - 1, start[c] - 1, -1):
            known = weight[k] * shrink[k]
            for j in range(m):  # what later nodes say of this utility, in units of it
                later = 0.0
                for i in range(d):
                    later += gain[k, i] * back[i, j]
                told = new[k, j] - known * later
                out[k, j] += later
                for i in range(d):
                    out[k, j] += gain[k, i] * reads[i] * told
                    back[i, j] += reads[i] * told
            # the state before the node, from what is said of the one at the node
            if k > start[c]:
                for i in range(d):
                    for j in range(m):
                        before[i, j] = 0.0
                    for e in range(d):
                        for j in range(m):
                            before[i, j] += F[k, e, i] * back[e, j]
                back, before = before, back
        mean, other = back, before


@_kernel
def _smooth_numbers(start, F, reads, weight, gain, shrink, b, out, new):  # type: ignore[no-untyped-def]
    """Do what `chain_smooth` does where states are numbers."""
    m = b.shape[1]
    mean = np.zeros(m)
    for c in range(start.size - 1):
        mean[:] = 0.0
        for k in range(start[c], start[c + 1]):
            f, w, h, g = F[k, 0, 0], weight[k], shrink[k], gain[k, 0]
            for j in range(m):
                before = f * mean[j]
                out[k, j] = reads * before
                new[k, j] = (b[k, j] - w * out[k, j]) * h
                mean[j] = before + g * new[k, j]
        back = mean
        back[:] = 0.0
        for k in range(start[c + 1] - 1, start[c] - 1, -1):
            g, known = gain[k, 0], weight[k] * shrink[k]
            f = F[k, 0, 0] if k > start[c] else 0.0
            for j in range(m):
                told = new[k, j] - known * g * back[j]
                out[k, j] += g * (back[j] + reads * told)
                back[j] = f * (back[j] + reads * told)


@_kernel
def chain_draw(start, F, noise_root, first_root, reads, noise):  # type: ignore[no-untyped-def]
    """Draw utilities from the prior, (n_nodes, m).

    Parameters
    ----------
    start, F, reads
        As in `chain_gains`.
    noise_root : ndarray, (n_nodes, d, d)
        Roots of the covariances Q.
    first_root : ndarray, (n_chains, d, d)
        And of P.
    noise : ndarray, (n_nodes, d, m)
        Standard normal.
    """
    n, d, m = noise.shape
    out = np.zeros((n, m))
    state, other = np.zeros((d, m)), np.zeros((d, m))
    for c in range(start.size - 1):
        for k in range(start[c], start[c + 1]):
            first = k == start[c]
            if d == 1:
                root = first_root[c, 0, 0] if first else noise_root[k, 0, 0]
                along = 0.0 if first else F[k, 0, 0]
                for j in range(m):
                    state[0, j] = along * state[0, j] + root * noise[k, 0, j]
                    out[k, j] = reads[0] * state[0, j]
                continue
            for i in range(d):
                for j in range(m):
                    other[i, j] = 0.0
                for e in range(d):
                    root = first_root[c, i, e] if first else noise_root[k, i, e]
                    along = 0.0 if first else F[k, i, e]
                    for j in range(m):
                        other[i, j] += along * state[e, j] + root * noise[k, e, j]
            state, other = other, state
            for i in range(d):
                for j in range(m):
                    out[k, j] += reads[i] * state[i, j]
    return out


@_kernel
def add_on_rows(noise, out, pointer, node, value, first_row, root, block_start):  # type: ignore[no-untyped-def]
    r"""Add :math:`Z' R x` to `out`, where R has a block for the rows of every observation.

    Parameters
    ----------
    noise : ndarray, (n_rows, m)
        What R is multiplied by.
    out : ndarray, (n_nodes, m)
    pointer, node, value : ndarray
        Of Z, (n_rows, n_nodes), by rows.
    first_row : ndarray of int, (n_observations + 1,)
        First row of every observation.
    root : ndarray, (sum of squared numbers of rows,)
        Blocks, one after the other.
    block_start : ndarray of int, (n_observations,)
        Where they begin.
    """
    m = noise.shape[1]
    told = np.empty(m)
    for o in range(first_row.size - 1):
        first, n = first_row[o], first_row[o + 1] - first_row[o]
        for r in range(n):
            told[:] = 0.0
            for s in range(n):
                R = root[block_start[o] + n * r + s]
                for j in range(m):
                    told[j] += R * noise[first + s, j]
            for e in range(pointer[first + r], pointer[first + r + 1]):
                for j in range(m):
                    out[node[e], j] += value[e] * told[j]


@_kernel
def information_parts(  # type: ignore[no-untyped-def]
    weight, beside, one, other, joined, pointer, node, value, first_row, block, block_start
):
    """Take :math:`Z' B Z` apart: its diagonal, what joins two nodes, and its last columns.

    Parameters
    ----------
    weight : ndarray, (n_nodes,)
        The diagonal is added to it.
    beside : ndarray, (n_nodes, n_common)
        The columns of what is common to all observations, which joins any two, are added to it,
        without the diagonal.
    one, other, joined : ndarray, (n_joins,)
        Two nodes of an observation, and their entry: written.
    pointer, node, value, first_row, block_start
        As in `add_on_rows`; what is common is last among the nodes, and in a row.
    block : ndarray
        Of B, symmetric.
    """
    common = weight.size - beside.shape[1]
    t = 0
    for o in range(first_row.size - 1):
        first, n = first_row[o], first_row[o + 1] - first_row[o]
        for r in range(n):
            for e in range(pointer[first + r], pointer[first + r + 1]):
                for s in range(n):
                    B = value[e] * block[block_start[o] + n * r + s]
                    for f in range(pointer[first + s], pointer[first + s + 1]):
                        if f == e:
                            weight[node[e]] += B * value[f]
                        elif node[f] >= common:
                            beside[node[e], node[f] - common] += B * value[f]
                        elif e < f and node[e] < common:
                            one[t], other[t], joined[t] = node[e], node[f], B * value[f]
                            t += 1


@_kernel
def add_joins(v, out, beside, one, other, joined):  # type: ignore[no-untyped-def]
    r"""Add :math:`(Z' B Z - \operatorname{diag}) v` to `out`, (n_nodes, m).

    The parts are those of `information_parts`: loops over lists, so that what is far away in memory
    is asked for long before it is needed.
    """
    n, m = v.shape
    n_common = beside.shape[1]
    common = n - n_common
    for t in range(one.size):
        i, k, B = one[t], other[t], joined[t]
        for j in range(m):
            out[i, j] += B * v[k, j]
        for j in range(m):
            out[k, j] += B * v[i, j]
    whole = np.zeros((n_common, m))
    for i in range(n):
        for c in range(n_common):
            B = beside[i, c]
            for j in range(m):
                out[i, j] += B * v[common + c, j]
    for i in range(common):
        for c in range(n_common):
            B = beside[i, c]
            for j in range(m):
                whole[c, j] += B * v[i, j]
    out[common:] += whole


# Steps of conjugate gradients, each in one pass: arrays are far larger than caches.


@_kernel
def column_dots(a, b):  # type: ignore[no-untyped-def]
    """Sum the products of two matrices over each column, (m,)."""
    n, m = a.shape
    out = np.zeros(m)
    for i in range(n):
        for j in range(m):
            out[j] += a[i, j] * b[i, j]
    return out


@_kernel
def step_along(length, along, told, bent, x, sum_told, left):  # type: ignore[no-untyped-def]
    """Go so far in every column: x, the sum of what was told, and what is left to be solved for."""
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            x[i, j] += length[j] * along[i, j]
            sum_told[i, j] += length[j] * told[i, j]
            left[i, j] -= length[j] * bent[i, j]


@_kernel
def turn_along(ratio, left, z, along, told):  # type: ignore[no-untyped-def]
    """Turn the direction: z, plus so much of the old one, (m,); and what S makes it of."""
    n, m = z.shape
    for i in range(n):
        for j in range(m):
            along[i, j] = z[i, j] + ratio[j] * along[i, j]
            told[i, j] = left[i, j] + ratio[j] * told[i, j]
