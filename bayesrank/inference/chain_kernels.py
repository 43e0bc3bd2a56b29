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
    "add_information",
    "chain_draw",
    "chain_gains",
    "chain_smooth",
    "column_dots",
    "information_diagonal",
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
def chain_smooth(start, F, reads, weight, gain, shrink, b):  # type: ignore[no-untyped-def]
    """Multiply the columns of `b`, (n_nodes, m), by S; see `chain_gains` for the others."""
    n, m = b.shape
    d = reads.size
    out = np.empty((n, m))
    mean, other = np.zeros((d, m)), np.zeros((d, m))
    new = np.empty((n, m))  # what a node says that was not known before it
    for c in range(start.size - 1):
        for k in range(start[c], start[c + 1]):
            if k == start[c]:
                mean[:] = 0.0
            elif d == 1:
                for j in range(m):
                    mean[0, j] *= F[k, 0, 0]
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
    return out


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
def add_information(v, out, pointer, node, value, first_row, block, block_start):  # type: ignore[no-untyped-def]
    r"""Add :math:`Z' B Z v` to `out`, where B has a block for the rows of every observation.

    Parameters
    ----------
    v, out : ndarray, (n_nodes, m)
    pointer, node, value : ndarray
        Of Z, (n_rows, n_nodes), by rows.
    first_row : ndarray of int, (n_observations + 1,)
        First row of every observation.
    block : ndarray, (sum of squared numbers of rows,)
        Symmetric blocks, one after the other.
    block_start : ndarray of int, (n_observations,)
    """
    m = v.shape[1]
    largest = 0
    for o in range(first_row.size - 1):
        largest = max(largest, first_row[o + 1] - first_row[o])
    seen, told = np.empty((largest, m)), np.empty(m)
    for o in range(first_row.size - 1):
        first, n = first_row[o], first_row[o + 1] - first_row[o]
        for r in range(n):
            for j in range(m):
                seen[r, j] = 0.0
            for e in range(pointer[first + r], pointer[first + r + 1]):
                for j in range(m):
                    seen[r, j] += value[e] * v[node[e], j]
        for r in range(n):
            for j in range(m):
                told[j] = 0.0
            for s in range(n):
                B = block[block_start[o] + n * r + s]
                for j in range(m):
                    told[j] += B * seen[s, j]
            for e in range(pointer[first + r], pointer[first + r + 1]):
                for j in range(m):
                    out[node[e], j] += value[e] * told[j]


@_kernel
def information_diagonal(out, pointer, node, value, first_row, block, block_start):  # type: ignore[no-untyped-def]
    """Add the diagonal of the same matrix to `out`, (n_nodes,).

    A node may be in several rows of an observation, but only once in a row.
    """
    for o in range(first_row.size - 1):
        first, n = first_row[o], first_row[o + 1] - first_row[o]
        for r in range(n):
            for e in range(pointer[first + r], pointer[first + r + 1]):
                for s in range(n):
                    B = block[block_start[o] + n * r + s]
                    for f in range(pointer[first + s], pointer[first + s + 1]):
                        if node[f] == node[e]:
                            out[node[e]] += value[e] * B * value[f]


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
def step_along(length, along, along_dual, bent, x, dual, left):  # type: ignore[no-untyped-def]
    """Go so far in every column: x and its dual, and what is left of the right-hand side."""
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            x[i, j] += length[j] * along[i, j]
            dual[i, j] += length[j] * along_dual[i, j]
            left[i, j] -= length[j] * bent[i, j]


@_kernel
def turn_along(ratio, weight, left, z, along, along_dual):  # type: ignore[no-untyped-def]
    """Turn the direction: z, plus so much of the old one, (m,)."""
    n, m = z.shape
    for i in range(n):
        w = weight[i]
        for j in range(m):
            along[i, j] = z[i, j] + ratio[j] * along[i, j]
            along_dual[i, j] = left[i, j] - w * z[i, j] + ratio[j] * along_dual[i, j]
