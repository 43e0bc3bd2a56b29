r"""Probabilities of the outcomes of matches, as arrays.

`bayesrank.likelihoods.pairs` has the same formulas as graphs. This file needs NumPy only, so tables
and plots of results do not wait for PyTensor.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

__all__ = ["davidson_probabilities", "rao_kupper_probabilities"]

Floats = NDArray[np.float64]


def davidson_probabilities(lead: ArrayLike, nu: ArrayLike = 0.0) -> tuple[Floats, Floats, Floats]:
    r"""Compute the probabilities of a win of the first item, of the second, and of a tie.

    .. math:: \propto e^{d/2}, \quad e^{-d/2}, \quad \nu

    Without ties, :math:`\nu = 0`, the model is Bradley and Terry's.

    Parameters
    ----------
    lead : array, (...)
        Utility of the first item minus the utility of the second item.
    nu : array, (...)
        Tie parameter, >= 0.

    Returns
    -------
    first, second, tie : array, (...)

    Examples
    --------
    >>> [round(float(p), 3) for p in davidson_probabilities(np.log(4.0), 2.0)]
    [0.444, 0.111, 0.444]
    """
    d = np.asarray(lead, dtype=np.float64)
    # divided by the weight of a win of the better item, so that nothing overflows
    half = np.exp(-0.5 * np.abs(d))
    level = np.asarray(nu, dtype=np.float64) * half
    worse = half**2
    total = 1 + worse + level
    ahead = d >= 0
    return np.where(ahead, 1, worse) / total, np.where(ahead, worse, 1) / total, level / total


def rao_kupper_probabilities(
    lead: ArrayLike, log_theta: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    r"""Compute the probabilities of a win of the first item, of the second, and of a tie.

    .. math:: \sigma(d - \kappa), \quad \sigma(-d - \kappa), \quad
              (1 - e^{-2 \kappa}) \, \sigma(\kappa - d) \, \sigma(\kappa + d),
              \qquad \kappa = \log \theta

    Parameters
    ----------
    lead : array, (...)
        Utility of the first item minus the utility of the second item.
    log_theta : array, (...)
        Logarithm of the tie parameter, >= 0.

    Returns
    -------
    first, second, tie : array, (...)

    Examples
    --------
    >>> [round(float(p), 6) for p in rao_kupper_probabilities(0.0, np.log(3.0))]
    [0.25, 0.25, 0.5]
    """
    d, kappa = np.asarray(lead, dtype=np.float64), np.asarray(log_theta, dtype=np.float64)
    tie = -np.expm1(-2 * kappa) * expit(kappa - d) * expit(kappa + d)
    return expit(d - kappa), expit(-d - kappa), tie
