r"""Mixtures: each unit belongs to one of several components, and its component is unknown.

A unit u is a ranking, or all rankings of one ranker. Component g has the weight :math:`\pi_g`, and
:math:`p_g(y_u)` is the probability of the data of u under it:

.. math:: \log p(y_u) = \log \sum_g e^{\ell_{ug}}, \qquad
          \ell_{ug} = \log \pi_g + \log p_g(y_u),

The gradient with respect to :math:`\ell_{ug}` is the probability that u belongs to component g,
:math:`r_{ug} = e^{\ell_{ug}} / p(y_u)`, which the E-step of the EM algorithm computes.

>>> joint = pt.constant([[np.log(0.1), np.log(0.3)]])
>>> terms = mixture_logp(joint)
>>> terms.exp().eval().round(4).tolist(), membership_of(joint).eval().round(4).tolist()
([0.4], [[0.25, 0.75]])
"""

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops import CompiledOp, stop_gradient

__all__ = ["MixtureLogp", "joint_of", "membership_of", "mixture_logp"]


@numba.njit(cache=True, error_model="numpy", fastmath=False)
def mixture_kernel(joint):  # type: ignore[no-untyped-def]
    """Log of the sum over components, and its gradient; -inf and zero if all are impossible."""
    n_units, n_components = joint.shape
    out, membership = np.empty(n_units), np.zeros((n_units, n_components))
    for u in range(n_units):
        peak = -np.inf
        for g in range(n_components):
            peak = max(peak, joint[u, g])
        if peak == -np.inf:
            out[u] = joint[u].sum()  # -inf or NaN
            continue
        total = 0.0
        for g in range(n_components):
            membership[u, g] = np.exp(joint[u, g] - peak)
            total += membership[u, g]
        out[u] = peak + np.log(total)
        for g in range(n_components):
            membership[u, g] /= total
    return out, membership


class MixtureLogp(CompiledOp):
    """Log-probability of each unit, (n_units,), from its joint log-probabilities."""

    kernel = staticmethod(mixture_kernel)
    signature = "(u,g)->(u)"

    def graph(self, *inputs: Variable) -> TensorVariable:
        (joint,) = inputs
        peak = stop_gradient(pt.max(joint, axis=1))
        possible = peak > -np.inf
        shifted = joint - pt.switch(possible, peak, 0.0)[:, None]
        total = pt.sum(pt.exp(shifted), axis=1)
        return pt.switch(possible, peak + pt.log(pt.switch(possible, total, 1.0)), peak)


def mixture_logp(joint: TensorLike) -> TensorVariable:
    r"""Log-probability of units of unknown components, :math:`\log \sum_g e^{\ell_{ug}}`.

    The joint log-probabilities :math:`\ell_{ug} = \log \pi_g + \log p_g(y_u)` are
    (n_units, n_components), -inf where impossible; the result is (n_units,).

    References
    ----------
    Mollica & Tardella, Bayesian Plackett-Luce mixture models for partially ranked data,
    Psychometrika 2017 (the likelihood of the mixture).

    Examples
    --------
    >>> float(mixture_logp([[0.0, 0.0]]).eval()[0].round(4))
    0.6931
    """
    return MixtureLogp()(pt.cast(pt.as_tensor_variable(joint), "float64"))


def membership_of(joint: TensorLike) -> TensorVariable:
    """Probability of each component for each unit, (n_units, n_components), given its rankings."""
    joint = pt.cast(pt.as_tensor_variable(joint), "float64")
    return pytensor.grad(mixture_logp(joint).sum(), joint)


def joint_of(terms: TensorVariable) -> TensorVariable:
    """Return the joint log-probabilities of the mixture in the graph of a log-likelihood.

    Raises
    ------
    ValueError
        If the graph does not contain exactly one `mixture_logp`.
    """
    nodes = {x.owner for x in ancestors([terms]) if x.owner is not None}
    found = [node.inputs[0] for node in nodes if isinstance(node.op, MixtureLogp)]
    if len(found) != 1:
        raise ValueError(f"Expected one mixture in this log-likelihood; found {len(found)}.")
    return found[0]
