r"""Kalman filter and Rauch-Tung-Striebel smoother of many chains of states, in numba.

A *chain* is an item, and a *node* is one of the times at which it is observed. The nodes of a chain
are adjacent and in the order of time. The state at a node is F times the state at the previous
node, plus noise with covariance Q. At the first node of a chain, F is zero and Q is the prior
covariance, so chains are independent. Given the precision :math:`w_k \ge 0` of an observation of
the utility at every node, `rts_smooth` multiplies vectors over nodes by

.. math:: S = (K^{-1} + \operatorname{diag} w)^{-1},

where K is the prior covariance of the utilities at the nodes. Time is linear in the number of
nodes. No covariance is inverted, so times may be arbitrarily close and parts may have no noise.
With w = 0, S equals K.

References
----------
Durbin & Koopman, Time series analysis by state space methods, 2012, section 4.4.
"""

import numba
import numpy as np

__all__ = ["kalman_filter", "prior_draws", "rts_smooth"]

_kernel = numba.njit(cache=True, error_model="numpy", fastmath=False)


@_kernel
def _add_product(matrices, k, x, out):  # type: ignore[no-untyped-def]
    """Add the product of a matrix, ``matrices[k]``, and x, (d, m), to `out`."""
    d, m = out.shape
    for i in range(d):
        for e in range(d):
            for j in range(m):
                out[i, j] += matrices[k, i, e] * x[e, j]


@_kernel
def kalman_filter(F, Q, readout, weight):  # type: ignore[no-untyped-def]
    """Filter the covariances.

    Parameters
    ----------
    F, Q : ndarray, (n_nodes, d, d)
        Transitions to every node, and the covariances of their noise.
    readout : ndarray, (d,)
    weight : ndarray, (n_nodes,)

    Returns
    -------
    gain : ndarray, (n_nodes, d)
        Covariance of state and utility, before the observation at the node.
    shrink : ndarray, (n_nodes,)
        1 / (1 + w v), where v is the variance of the utility before the observation.
    log_det : float
        log |1 + K diag(w)|.
    """
    n, d = weight.size, readout.size
    gain, shrink, log_det = np.zeros((n, d)), np.empty(n), 0.0
    C, half = np.zeros((d, d)), np.empty((d, d))
    for k in range(n):
        half[:] = 0.0
        _add_product(F, k, C, half)
        for i in range(d):
            for j in range(d):
                C[i, j] = Q[k, i, j]
                for e in range(d):
                    C[i, j] += half[i, e] * F[k, j, e]
        v = 0.0
        for i in range(d):
            for j in range(d):
                gain[k, i] += C[i, j] * readout[j]
            v += readout[i] * gain[k, i]
        shrink[k] = 1.0 / (1.0 + weight[k] * v)
        log_det -= np.log(shrink[k])
        for i in range(d):
            for j in range(d):
                C[i, j] -= weight[k] * shrink[k] * gain[k, i] * gain[k, j]
    return gain, shrink, log_det


@_kernel
def rts_smooth(F, readout, weight, gain, shrink, b, out, innovation):  # type: ignore[no-untyped-def]
    """Multiply the columns of `b`, (n_nodes, m), by S into `out`.

    Other arguments are inputs and outputs of `kalman_filter`. `readout` is a tuple, so that the
    compiler knows its length and unrolls the loops over states. `innovation`, (n_nodes, m), is
    overwritten.
    """
    n, m = b.shape
    mean, other = np.zeros((len(readout), m)), np.empty((len(readout), m))
    for k in range(n):
        for j in range(m):
            utility = 0.0
            for i in range(len(readout)):
                predicted = 0.0
                for e in range(len(readout)):
                    predicted += F[k, i, e] * mean[e, j]
                other[i, j] = predicted
                utility += readout[i] * predicted
            out[k, j] = utility
            innovation[k, j] = (b[k, j] - weight[k] * utility) * shrink[k]
            for i in range(len(readout)):
                other[i, j] += gain[k, i] * innovation[k, j]
        mean, other = other, mean
    back, before = mean, other
    back[:] = 0.0
    for k in range(n - 1, -1, -1):
        for j in range(m):
            later = 0.0  # the correction of this utility by later nodes
            for i in range(len(readout)):
                later += gain[k, i] * back[i, j]
            residual = innovation[k, j] - weight[k] * shrink[k] * later
            out[k, j] += later
            for i in range(len(readout)):
                out[k, j] += gain[k, i] * readout[i] * residual
                back[i, j] += readout[i] * residual
            for e in range(len(readout)):
                before[e, j] = 0.0
                for i in range(len(readout)):
                    before[e, j] += F[k, i, e] * back[i, j]
        back, before = before, back


@_kernel
def prior_draws(F, noise_root, readout, noise):  # type: ignore[no-untyped-def]
    """Draw utilities from the prior, (n_nodes, m).

    Parameters
    ----------
    F, readout
        See `kalman_filter`.
    noise_root : ndarray, (n_nodes, d, d)
        Roots of the covariances Q.
    noise : ndarray, (n_nodes, d, m)
        Standard normal.
    """
    n, d, m = noise.shape
    out = np.zeros((n, m))
    state, other = np.zeros((d, m)), np.empty((d, m))
    for k in range(n):
        other[:] = 0.0
        _add_product(F, k, state, other)
        _add_product(noise_root, k, noise[k], other)
        state, other = other, state
        for i in range(d):
            for j in range(m):
                out[k, j] += readout[i] * state[i, j]
    return out
