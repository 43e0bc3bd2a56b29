r"""Votes that may say "both are bad", as a PyMC distribution.

The value holds counts of outcomes on its last axis: first wins, second wins, ties, and both bad.
Utilities are absolute: they say how good an item is, not only how it compares with others.

>>> import pymc as pm
>>> y = GroundedRaoKupper.dist([0.0, 0.0], theta=2.0)
>>> pm.logp(y, np.eye(4, dtype=int)).exp().eval().round(3).tolist()
[0.25, 0.25, 0.167, 0.333]
"""

from typing import Any, Unpack

import numpy as np
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.distributions.core.observed import as_double
from bayesrank.distributions.pairs.matches import PairOptions, PairOutcomes
from bayesrank.distributions.pairs.variables import GroundedRaoKupperRV

__all__ = ["GroundedRaoKupper"]


class GroundedOptions(PairOptions, total=False):
    """Options of votes that may say that both items are bad."""

    threshold: TensorLike | None


class GroundedRaoKupper(PairOutcomes):
    r"""Log-likelihood of votes with ties and "both are bad", by grounded Rao-Kupper.

    .. math:: P(\text{first wins}) = \frac{p}{p + \theta q + 1}, \qquad
              P(\text{second wins}) = \frac{q}{q + \theta p + 1}, \qquad
              P(\text{both bad}) = \frac{1}{1 + p + q}

    and a tie otherwise, with :math:`p = e^{a w_1 + \delta/2 - \tau}` and
    :math:`q = e^{a w_2 - \delta/2 - \tau}`. The utilities w, the adherence a and the order effect
    :math:`\delta` are those of `BradleyTerry`, and :math:`\tau` is the threshold, by default 0.

    Utilities are *absolute*. One item alone is bad with probability :math:`1 / (1 + e^{w - \tau})`:
    a utility at the threshold means "good enough in one of two cases". Do not constrain the
    utilities to sum to zero, unless you learn the threshold. If both utilities rise far above the
    threshold, the model becomes `RaoKupper`. The order effect raises one item by half and lowers
    the other by half.

    The support is counts >= 0 of the four outcomes with the given total.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Log worths, as in `BradleyTerry`, but their mean matters. Use a prior such as
        ``pm.Normal("utility", level, sd, dims="item")`` with ``level = pm.Normal("level", 0, 2)``,
        or utilities that sum to zero and a learned threshold.
    theta : tensor_like of float, >= 1, as `adherence`
        Threshold of ties, as in `RaoKupper`. At 1 there are no ties.
    threshold : tensor_like of float, as `adherence`, optional
        Utility from which an item is more often good than bad. With `Pairs`, a variable of the
        model may have the dims of any of their groups, such as ``"judge"``. A strict judge has a
        higher threshold. The adherence does not multiply it.
    adherence, order_effect, slope, deviation, tie_effect, total, **kwargs
        As in `RaoKupper`.
    observed : Pairs or array_like of int, (..., 4), optional
        Counts: first wins, second wins, ties, both bad. `Pairs` must tell them apart
        (``Pairs.from_frame(..., both_bad=LABEL)``). The dims are (pair, result), or `dims`.

    Returns
    -------
    TensorVariable of int, (..., 4)
        The counts; one log-probability per pair, times its evidence weight.

    Raises
    ------
    ValueError
        If `theta` is below 1 or not finite, or the pairs do not tell which votes say that both are
        bad. Also for the reasons of `BradleyTerry`.

    See Also
    --------
    RaoKupper, Pairs, leaderboard_model

    References
    ----------
    Frick et al., Prompt-to-Leaderboard, arXiv 2502.14855, 2025. Rao & Kupper, JASA 62, 1967.

    Examples
    --------
    >>> import bayesrank as br, pandas as pd, pymc as pm
    >>> table = pd.DataFrame({"a": ["x", "y", "z"], "b": ["y", "z", "x"]})
    >>> table["vote"] = ["first", "both bad", "tie"]
    >>> votes = br.Pairs.from_frame(
    ...     table, first="a", second="b", outcome="vote", both_bad="both bad"
    ... )
    >>> with pm.Model(coords=votes.coords) as model:
    ...     level = pm.Normal("level", 0, 2)
    ...     utility = pm.Normal("utility", level, 1, dims="item")
    ...     theta = pm.math.exp(pm.HalfNormal("log_theta", 1))
    ...     y = br.GroundedRaoKupper("y", utility, theta=theta, observed=votes)
    ...     p_bad = pm.Deterministic("p_bad", pm.math.invlogit(-utility), dims="item")
    >>> list(model.coords["result"])
    ['first', 'second', 'tie', 'both bad']
    """

    rv_type = GroundedRaoKupperRV
    rv_op = GroundedRaoKupperRV.rv_op

    def __new__(
        cls,
        name: str,
        utility: TensorLike,
        *,
        observed: Any = None,
        **kwargs: Unpack[GroundedOptions],
    ) -> TensorVariable:
        more: Any = {**kwargs}
        return super().__new__(cls, name, utility, observed=observed, **more)

    @classmethod
    def dist(
        cls,
        utility: TensorLike | None = None,
        *,
        threshold: TensorLike | None = None,
        **kwargs: Any,
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `utility`
        has shape (..., 2), for the first and the second item. Draws are counts (..., 4).

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.GroundedRaoKupper.dist([0.0, 0.0], theta=1.0, threshold=1.0)
        >>> pm.logp(y, [0, 0, 0, 1]).exp().eval().round(3).item()  # 1 / (1 + 2 / e)
        0.576
        """
        more: Any = {**kwargs}
        if threshold is not None:
            more["threshold"] = as_double(threshold, "`threshold`")
        return super().dist(utility, **more)

    @classmethod
    def located(cls, first: Any, second: Any, adherence: Any, options: dict[str, Any]) -> list[Any]:
        level = adherence * (first + second) / 2
        return [level - options.pop("threshold", np.zeros(()))]
