r"""Set functions: compute the worth of a set from the worths of its members.

A probabilistic model over ordered partitions chooses a block :math:`S` from the remainder :math:`R`
with probability :math:`\Phi(S) / Z(R)`. The constant :math:`Z(R)` is the sum of :math:`\Phi` over
all non-empty subsets of :math:`R`. A set function computes :math:`\log \Phi`. It is a callable
``log_phi(utility, member)`` of two arrays of shape (..., n_items): the log worths, and the members
of the set. It returns one number per set, shape (...). It is never called with an empty set.

>>> import numpy as np
>>> def total(utility, member):  # the product of the worths
...     return np.where(member, utility, 0.0).sum(axis=-1)
>>> utility = np.array([1.0, 2.0, 4.0])
>>> member = np.array([[True, False, True], [False, True, False]])
>>> total(utility, member)
array([5., 2.])

If NumPy does not have a masked form of a function, write it for one set, and wrap it. A Python loop
then evaluates it:

>>> median = each_set(np.median)
>>> median(utility, member)
array([2.5, 2. ])

`SET_FUNCTIONS` contains the five functions of the paper, with their gradients:

====================  ===============================================  ======================
aggregate             :math:`\log \Phi(S)`                             gradient in :math:`w_i`
====================  ===============================================  ======================
mean                  :math:`\log \frac1{|S|} \sum_S e^{w_i}`          softmax of w in S
max                   :math:`\max_S w_i`                               1 at the largest
min                   :math:`\min_S w_i`                               1 at the smallest
geometric             :math:`\frac1{|S|} \sum_S w_i`                   :math:`1 / |S|`
harmonic              :math:`-\log \frac1{|S|} \sum_S e^{-w_i}`        softmax of -w in S
====================  ===============================================  ======================
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["SET_FUNCTIONS", "SetFunction", "each_set", "evaluate", "set_gradient"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
LogPhi = Callable[[Floats, Bools], Floats]

# Central differences: the cube root of the machine epsilon balances truncation and rounding.
STEP = 6e-6


@dataclass(frozen=True)
class SetFunction:
    r"""A set function together with its gradient.

    Parameters
    ----------
    log_phi : callable
        ``log_phi(utility, member)``, (..., n_items) to (...).
    gradient : callable
        ``gradient(utility, member)``, (..., n_items) to (..., n_items):
        :math:`\partial \log\Phi(S) / \partial w_i`, zero for items that are not members.

    Examples
    --------
    >>> total = SetFunction(lambda u, s: np.where(s, u, 0.0).sum(-1), lambda u, s: s.astype(float))
    >>> float(total(np.array([1.0, 2.0, 4.0]), np.array([True, True, False])))
    3.0
    """

    log_phi: LogPhi
    gradient: LogPhi

    def __call__(self, utility: Floats, member: Bools) -> Floats:
        """Evaluate log Φ of each set."""
        return self.log_phi(utility, member)


def each_set(log_phi: Callable[[Floats], float]) -> LogPhi:
    """Make a set function of a function of the members' utilities.

    Parameters
    ----------
    log_phi : callable
        From the utilities of the members of one set, a 1-d array of 1 to n_items numbers, to
        log Φ.

    Returns
    -------
    callable
        ``log_phi(utility, member)`` for any number of sets; it loops over the distinct ones in
        Python.

    Examples
    --------
    >>> median = each_set(np.median)
    >>> median(np.array([1.0, 2.0, 4.0]), np.array([[True, True, True], [True, True, False]]))
    array([2. , 1.5])
    """

    def all_sets(utility: Floats, member: Bools) -> Floats:
        n_items = member.shape[-1]
        us = np.broadcast_to(utility, member.shape).reshape(-1, n_items)
        rows = np.concatenate([us, member.reshape(-1, n_items)], axis=1)
        distinct, place = np.unique(rows, axis=0, return_inverse=True)  # chains share many sets
        values = [log_phi(row[:n_items][row[n_items:] > 0]) for row in distinct]
        return np.array(values, dtype=np.float64)[place].reshape(member.shape[:-1])

    return all_sets


def evaluate(log_phi: LogPhi, utility: Floats, member: Bools) -> Floats:
    """Call a set function and check what it returned.

    Parameters
    ----------
    log_phi : callable
        The set function.
    utility, member : array, (..., n_items)
        Log worths, and the sets.

    Returns
    -------
    array, (...)
        log Φ; -inf for a set that cannot be chosen.

    Raises
    ------
    ValueError
        If it is not one number per set, or one of them is NaN or +inf.

    Examples
    --------
    >>> evaluate(SET_FUNCTIONS["max"], np.array([1.0, 4.0]), np.array([[True, False]]))
    array([1.])
    """
    value = np.asarray(log_phi(np.broadcast_to(utility, member.shape), member), dtype=np.float64)
    if value.shape != member.shape[:-1]:
        raise ValueError(
            f"The set function returned shape {value.shape} for sets of shape {member.shape}; it "
            f"must return one number per set, shape {member.shape[:-1]}. Reduce over the last "
            "axis, or wrap a function of one set in each_set()."
        )
    bad = np.isnan(value) | np.isposinf(value)
    if bad.any():
        first = member[bad][0]
        raise ValueError(
            f"The set function returned {value[bad][0]} for the set of items "
            f"{np.flatnonzero(first).tolist()} with utilities "
            f"{np.broadcast_to(utility, member.shape)[bad][0][first].tolist()}; it must be finite, "
            "or -inf for a set that cannot be chosen. Compute it in log space."
        )
    return value


def set_gradient(log_phi: LogPhi, utility: Floats, member: Bools) -> Floats:
    r"""Compute :math:`\partial \log\Phi(S) / \partial w_i`, by central differences if needed.

    Parameters
    ----------
    log_phi : callable or SetFunction
        The set function. A `SetFunction` contains its gradient; any other callable is evaluated
        twice per item.
    utility, member : array, (..., n_items)
        Log worths, and the sets.

    Returns
    -------
    array, (..., n_items)
        Zero for items that are not members.

    Raises
    ------
    ValueError
        If the function or its gradient does not fit the sets or is not finite.

    Examples
    --------
    >>> member = np.array([True, True, False])
    >>> set_gradient(SET_FUNCTIONS["geometric"], np.array([1.0, 2.0, 4.0]), member)
    array([0.5, 0.5, 0. ])
    >>> set_gradient(each_set(np.median), np.array([1.0, 2.0, 4.0]), member).round(6)
    array([0.5, 0.5, 0. ])
    """
    utility = np.broadcast_to(utility, member.shape)
    if isinstance(log_phi, SetFunction):
        gradient = np.asarray(log_phi.gradient(utility, member), dtype=np.float64)
        if gradient.shape != member.shape:
            raise ValueError(
                f"The gradient of the set function has shape {gradient.shape} for sets of shape "
                f"{member.shape}; it must have one number per item, the shape of the sets."
            )
    else:
        gradient = np.empty(member.shape)
        for i in range(member.shape[-1]):
            step = np.zeros(member.shape[-1])
            step[i] = STEP
            above = evaluate(log_phi, utility + step, member)
            gradient[..., i] = (above - evaluate(log_phi, utility - step, member)) / (2 * STEP)
    if not np.isfinite(gradient).all():
        raise ValueError(
            "The gradient of the set function is not finite everywhere. Take it in log space, and "
            "of sets that can be chosen (log Φ > -inf)."
        )
    return np.where(member, gradient, 0.0)


# The paper's five. The smallest and the harmonic mean use the largest and the mean of 1 / worth.


def _worths(utility: Floats, member: Bools) -> tuple[Floats, Floats]:
    """Return the worths of the members divided by the largest, and the log of the largest."""
    w = np.where(member, utility, -np.inf)
    top = w.max(axis=-1, keepdims=True)
    return np.exp(w - top), top[..., 0]


def _log_mean(utility: Floats, member: Bools) -> Floats:
    worth, log_top = _worths(utility, member)
    return log_top + np.log(worth.sum(axis=-1) / member.sum(axis=-1))


def _softmax(utility: Floats, member: Bools) -> Floats:
    worth, _ = _worths(utility, member)
    return worth / worth.sum(axis=-1, keepdims=True)


def _largest(utility: Floats, member: Bools) -> Floats:
    return np.where(member, utility, -np.inf).max(axis=-1)


def _at_largest(utility: Floats, member: Bools) -> Floats:
    at = member & (utility == _largest(utility, member)[..., None])
    return at / at.sum(axis=-1, keepdims=True)  # equal utilities share


SET_FUNCTIONS: dict[str, SetFunction] = {
    "mean": SetFunction(_log_mean, _softmax),
    "max": SetFunction(_largest, _at_largest),
    "min": SetFunction(lambda u, s: -_largest(-u, s), lambda u, s: _at_largest(-u, s)),
    "geometric": SetFunction(
        lambda u, s: np.where(s, u, 0.0).sum(axis=-1) / s.sum(axis=-1),
        lambda u, s: s / s.sum(axis=-1, keepdims=True),
    ),
    "harmonic": SetFunction(lambda u, s: -_log_mean(-u, s), lambda u, s: _softmax(-u, s)),
}
