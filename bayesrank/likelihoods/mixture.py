r"""Mixtures: each unit belongs to one of several components, and its component is unknown.

A unit u is a ranking, or all rankings of one ranker. Component g has the weight :math:`\pi_g`, and
:math:`p_g(y_u)` is the probability of the data of u under it:

.. math:: \log p(y_u) = \log \sum_g e^{\ell_{ug}}, \qquad
          \ell_{ug} = \log \pi_g + \log p_g(y_u),

The gradient with respect to :math:`\ell_{ug}` is the probability that u belongs to component g,
:math:`r_{ug} = e^{\ell_{ug}} / p(y_u)`, which the E-step of the EM algorithm computes.

>>> joint = pt.constant([[np.log(0.1), np.log(0.3)]])
>>> terms = mixture_logp(joint)
>>> terms.exp().eval().round(4).tolist(), component_probs(joint).eval().round(4).tolist()
([0.4], [[0.25, 0.75]])
"""

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.traversal import ancestors
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.likelihoods.ops import stop_gradient
from bayesrank.likelihoods.ops.compiled import FirstInput

__all__ = ["MarkJoint", "component_probs", "joint_logp", "mixture_logp"]


class MarkJoint(FirstInput):
    """Identity that marks the joint log-probabilities of a mixture for `joint_logp`."""

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
        return list(cotangents)


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
    joint = MarkJoint()(pt.cast(pt.as_tensor_variable(joint), "float64"))
    peak = stop_gradient(pt.max(joint, axis=1))
    possible = peak > -np.inf
    shifted = joint - pt.switch(possible, peak, 0.0)[:, None]
    total = pt.sum(pt.exp(shifted), axis=1)
    return pt.switch(possible, peak + pt.log(pt.switch(possible, total, 1.0)), peak)


def component_probs(joint: TensorLike) -> TensorVariable:
    """Probability of each component for each unit, (n_units, n_components), given its rankings."""
    joint = pt.cast(pt.as_tensor_variable(joint), "float64")
    return pytensor.grad(mixture_logp(joint).sum(), joint)


def joint_logp(terms: TensorVariable) -> TensorVariable:
    """Return the joint log-probabilities of the mixture in the graph of a log-likelihood.

    Raises
    ------
    ValueError
        If the graph does not contain exactly one `mixture_logp`.
    """
    nodes = {x.owner for x in ancestors([terms]) if x.owner is not None}
    found = [node.inputs[0] for node in nodes if isinstance(node.op, MarkJoint)]
    if len(found) != 1:
        raise ValueError(f"Expected one mixture in this log-likelihood; found {len(found)}.")
    return found[0]
