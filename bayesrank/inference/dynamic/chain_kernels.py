r"""Kalman filter and Rauch-Tung-Striebel smoother of many chains of states, in numba.

A *chain* is an item, and a *node* one of the times at which it is seen. Nodes of a chain stand
beside each other, in the order of time. States of different chains are independent in the prior.
Given the precision :math:`w_k \ge 0` of an observation of the utility at every node,
`rts_smooth` multiplies vectors over nodes by

.. math:: S = (K^{-1} + \operatorname{diag} w)^{-1},

where K is the prior covariance of the utilities at the nodes. It is linear in the nodes. No
covariance is inverted, so that times may be arbitrarily close and parts may have no noise. With
w = 0 it multiplies by K.

References
----------
Durbin & Koopman, Time series analysis by state space methods, 2012, section 4.4.
"""

import numba
import numpy as np

__all__ = ["kalman_filter", "prior_draws", "rts_smooth"]

_kernel = numba.njit(cache=True, error_model="numpy", fastmath=False)


@_kernel
def kalman_filter(start, F, Q, P, readout, weight):  # type: ignore[no-untyped-def]
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
    readout : ndarray, (d,)
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
    n, d = weight.size, readout.size
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
                    gain[k, i] += C[i, j] * readout[j]
                v += readout[i] * gain[k, i]
            shrink[k] = 1.0 / (1.0 + weight[k] * v)
            log_det -= np.log(shrink[k])
            known = weight[k] * shrink[k]
            for i in range(d):
                for j in range(d):
                    C[i, j] -= known * gain[k, i] * gain[k, j]
    return gain, shrink, log_det


@_kernel
def rts_smooth(  # type: ignore[no-untyped-def]
    start, F, readout, weight, gain, shrink, b, out, innovation
):
    """Multiply the columns of `b`, (n_nodes, m), by S into `out`.

    The others are those of `kalman_filter`. `innovation`, (n_nodes, m), is overwritten with what
    every node adds to the nodes before it.
    """
    d, m = readout.size, b.shape[1]
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
                    out[k, j] += readout[i] * mean[i, j]
            for j in range(m):
                innovation[k, j] = (b[k, j] - weight[k] * out[k, j]) * shrink[k]
            for i in range(d):
                for j in range(m):
                    mean[i, j] += gain[k, i] * innovation[k, j]
        back, before = mean, other
        back[:] = 0.0
        for k in range(start[c + 1] - 1, start[c] - 1, -1):
            known = weight[k] * shrink[k]
            for j in range(m):  # what later nodes say of this utility, in units of it
                later = 0.0
                for i in range(d):
                    later += gain[k, i] * back[i, j]
                residual = innovation[k, j] - known * later
                out[k, j] += later
                for i in range(d):
                    out[k, j] += gain[k, i] * readout[i] * residual
                    back[i, j] += readout[i] * residual
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
def prior_draws(start, F, noise_root, first_root, readout, noise):  # type: ignore[no-untyped-def]
    """Draw utilities from the prior, (n_nodes, m).

    Parameters
    ----------
    start, F, readout
        As in `kalman_filter`.
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
                    out[k, j] += readout[i] * state[i, j]
    return out
