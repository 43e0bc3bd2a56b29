r"""Ordered grades of matches, from much better to much worse, as a PyMC distribution.

The value holds counts of grades on its last axis, from the best for the first item to the worst.
`cutpoints` makes the boundaries between the grades, and `OrderedPairs` the likelihood. Two and
three grades give the models of wins and ties (`bayesrank.match_outcomes`).

>>> import pymc as pm
>>> y = OrderedPairs.dist([np.log(2.0), 0.0], cutpoints=[-np.log(3.0), 0.0, np.log(3.0)])
>>> pm.logp(y, [1, 0, 0, 0]).exp().eval().round(3).item()
0.4
"""

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor import TensorLike, TensorVariable

from bayesrank.data import Pairs
from bayesrank.data.read import BOUNDARY, coord_values, quoted
from bayesrank.distributions.core.observed import as_double
from bayesrank.distributions.pairs.matches import (
    LeadOptions,
    PairOutcomes,
    refuse_other_counts,
)
from bayesrank.distributions.pairs.variables import OrderedPairRV
from bayesrank.likelihoods.pairs import FAMILIES

__all__ = ["OrderedPairs", "cutpoints", "edges_of", "symmetric"]

# standard deviations of the default priors: gaps of cutpoints, and cutpoints of adjacent grades
SCALES = dict(zip(FAMILIES, (1.0, 0.6, 2.0), strict=True))


class OrderedPairs(PairOutcomes):
    r"""Log-likelihood of matches whose outcomes are ordered grades, such as A>>B, A>B, A=B.

    .. math:: P(y \le g) = F(c_g - d) \quad\text{(cumulative)}, \qquad
              \log \frac{P(y = g + 1)}{P(y = g)} = \frac{d - c_g}{G - 1} \quad\text{(adjacent)}

    where the grades y are numbered from the worst for the first item to the best. The lead is
    :math:`d = a (w_1 - w_2) + \delta`, as in `BradleyTerry`, and F is the logistic or the normal
    distribution function. The cutpoints :math:`c_1, \dots, c_{G-1}` are on the scale of the lead.
    In the cumulative families the lead with noise lies between two cutpoints. In the adjacent
    family, two neighbouring grades are equally likely if the lead is at the cutpoint between them.
    The adherence multiplies differences of utilities, but not cutpoints.

    Without an order effect, the mirrored match has the mirrored grade if the cutpoints are
    symmetric, :math:`c_g = -c_{G-g}`. `bayesrank.cutpoints` makes such cutpoints.

    =====================  ==========  ===========================================================
    family                 two grades  three grades
    =====================  ==========  ===========================================================
    ``cumulative_logit``   Bradley-    Rao-Kupper with :math:`\theta = e^{c_2}`
                           Terry
    ``cumulative_probit``  Thurstone
    ``adjacent_logit``     Bradley-    Davidson with :math:`\nu = e^{c_2 / 2}`
                           Terry
    =====================  ==========  ===========================================================

    The support is counts >= 0 of the grades with the given total, from the best grade for the first
    item to the worst.

    Parameters
    ----------
    name : str
        Name of the variable.
    utility : tensor_like of float, (..., 2) or, with `Pairs`, (n_items,) or (n_pairs, 2)
        Utilities, as in `BradleyTerry`.
    cutpoints : tensor_like of float, (..., G - 1)
        Increasing in the cumulative families. With `Pairs`, a variable of the model may also have
        the dims of any of their groups, in any order, such as ``("judge", "boundary")``.
    family : {"cumulative_logit", "cumulative_probit", "adjacent_logit"}
        How the grades follow the lead.
    adherence, order_effect, slope, deviation, total, **kwargs
        As in `BradleyTerry`.
    observed : Pairs or array_like of int, (..., G), optional
        Counts. A `Pairs` with grades (``from_frame(..., grades=[...])``); without grades, the three
        grades are first wins, tie, second wins. The dims are (pair, result), or `dims`.

    Returns
    -------
    TensorVariable of int, (..., G)
        The counts; one log-probability per pair, times its evidence weight.

    Raises
    ------
    ValueError
        If the family is unknown, or the number of cutpoints is not one less than the number of
        grades. Also for the reasons of `BradleyTerry`.

    See Also
    --------
    cutpoints, Pairs, RaoKupper, Davidson

    References
    ----------
    Agresti, Analysis of ordinal paired comparison data, Applied Statistics 41, 1992.

    Examples
    --------
    >>> import bayesrank as br, pandas as pd, pymc as pm
    >>> table = pd.DataFrame({"a": ["x", "y", "z"], "b": ["y", "z", "x"]})
    >>> table["verdict"] = ["A>>B", "A=B", "B>A"]
    >>> grades = ["A>>B", "A>B", "A=B", "B>A", "B>>A"]
    >>> votes = br.Pairs.from_frame(table, first="a", second="b", outcome="verdict", grades=grades)
    >>> with pm.Model(coords=votes.coords) as model:
    ...     utility = pm.Normal("utility", 0, 1, dims="item")
    ...     cutpoint = br.cutpoints("cutpoint", votes)
    ...     y = br.OrderedPairs("y", utility, cutpoints=cutpoint, observed=votes)
    >>> [*map(str, model.coords["result"])]
    ['A>>B', 'A>B', 'A=B', 'B>A', 'B>>A']
    """

    rv_type = OrderedPairRV
    rv_op = OrderedPairRV.rv_op
    settings = ("family",)

    def __new__(
        cls,
        name: str,
        utility: TensorLike,
        *,
        cutpoints: Any,
        family: str = FAMILIES[0],
        observed: Any = None,
        **kwargs: Unpack[LeadOptions],
    ) -> TensorVariable:
        _check_family(family)
        more: Any = {**kwargs, "cutpoints": cutpoints, "family": family}
        return super().__new__(cls, name, utility, observed=observed, **more)

    @classmethod
    def check_observed(cls, observed: Any, options: Mapping[str, Any]) -> None:
        cuts = as_double(options["cutpoints"], "`cutpoints`")
        n = int(cuts.shape[-1].eval()) + 1 if cuts.ndim else 0
        refuse_other_counts(observed, [f"grade {k + 1}" for k in range(n)])

    @classmethod
    def dist(
        cls,
        utility: TensorLike | None = None,
        *,
        cutpoints: TensorLike | None = None,
        family: str = FAMILIES[0],
        **kwargs: Any,
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. `utility`
        has shape (..., 2), for the first and the second item. Draws are counts of the grades.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.OrderedPairs.dist([0.0, 0.0], cutpoints=[-2.0, 2.0], family="adjacent_logit")
        >>> pm.logp(y, [0, 1, 0]).exp().eval().round(3).item()  # e : 1 + e + 1
        0.576
        """
        _check_family(family)
        if cutpoints is None:
            raise TypeError("OrderedPairs needs cutpoints=, the boundaries between its grades.")
        cuts = as_double(cutpoints, "`cutpoints`")
        if cuts.ndim == 0:
            raise ValueError("`cutpoints` is a single number; give a list with one per boundary.")
        if cuts.type.shape[-1] is None:
            n = int(cuts.shape[-1].eval())
            cuts = pt.specify_shape(cuts, (*(None,) * (cuts.ndim - 1), n))
        if cuts.type.shape[-1] == 0:
            raise ValueError("`cutpoints` is empty; give at least one, between two grades.")
        more: Any = {**kwargs, "cutpoints": cuts, "family": family}
        return super().dist(utility, **more)


def _check_family(family: Any) -> None:
    """Raise if there is no such family."""
    if family not in FAMILIES:
        raise ValueError(f"`family` is {family!r}; it must be one of {quoted(FAMILIES)}.")


def cutpoints(
    name: str,
    pairs: Pairs,
    *,
    family: str = FAMILIES[0],
    by: str | None = None,
) -> TensorVariable:
    r"""Add symmetric cutpoints between the grades of pairs to the model in context.

    .. math:: c_g = -c_{G-g}, \qquad
              c_{h+1} = \gamma_1, \quad c_{h+2} = \gamma_1 + \gamma_2, \dots

    above the middle. The gaps :math:`\gamma` have half-normal priors with scale 1, or 0.6 for
    ``cumulative_probit``. With ``adjacent_logit``, cutpoints need not increase: those above the
    middle have normal priors with standard deviation 2. Three grades then have the default priors
    of `RaoKupper` and `Davidson`.

    Grades that are margins of scores have known edges :math:`m_g`, and only their scale is learned:

    .. math:: c_g = s \, m_g / \max_h m_h, \qquad s \sim \operatorname{LogNormal}(\log 2, 1)

    The outcome is then a margin with logistic or normal noise, cut at the edges. For
    ``cumulative_probit`` the median of s is 1.2. One unit of utility is :math:`\max_h m_h / s`
    points of the score.

    Parameters
    ----------
    name : str
        Name of the cutpoints. The free variable is ``{name}_gap`` (``{name}_upper`` for
        ``adjacent_logit``, and ``{name}_margin`` for s of margins).
    pairs : Pairs
        Their grades determine the number of cutpoints.
    family : str
        As in `OrderedPairs`.
    by : str, optional
        A group of the pairs, such as ``"judge"``, whose labels have cutpoints of their own:
        :math:`s_k c_g`, with log-normal factors :math:`s_k` (``{name}_scale``). The standard
        deviation of their logarithm, ``{name}_spread``, has a half-normal prior with scale 0.5.

    Returns
    -------
    TensorVariable of float, (n_grades - 1,) or (n_labels, n_grades - 1)
        A `pm.Deterministic` with the dims ``"boundary"``, or `by` and ``"boundary"``.

    Raises
    ------
    ValueError
        If the family or the group does not exist.

    See Also
    --------
    OrderedPairs, Pairs

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> votes = br.Pairs.from_matrix([[0, 3], [1, 0]], ties=[[0, 2], [2, 0]])
    >>> with pm.Model(coords=votes.coords) as model:
    ...     cutpoint = br.cutpoints("cutpoint", votes)
    >>> pm.draw(cutpoint).shape, [*map(str, model.coords["boundary"])]
    ((2,), ['second | tie', 'tie | first'])
    """
    _check_family(family)
    model, boundaries = pm.modelcontext(None), coord_values(pairs.boundaries)
    known = model.coords.get(BOUNDARY)
    if known is None:
        model.add_coord(BOUNDARY, boundaries)
    elif not np.array_equal(known, boundaries):
        raise ValueError(
            f"The model has the boundaries {quoted(known)}, but the grades of the pairs have "
            f"{quoted(boundaries)}. Use one model for pairs with the same grades."
        )
    n_above = len(boundaries) // 2
    if pairs.edges is not None and n_above and family == "adjacent_logit":
        raise ValueError(
            "Margins need the family 'cumulative_logit' or 'cumulative_probit', because their "
            "edges are points of a scale; `family` is 'adjacent_logit'."
        )
    if pairs.edges is not None and n_above:
        upper = edges_of(pairs) * pm.LogNormal(f"{name}_margin", np.log(2 * SCALES[family]), 1.0)
    elif n_above == 0:
        upper = pt.zeros(0)
    elif family == "adjacent_logit":
        upper = pm.Normal(f"{name}_upper", 0, SCALES[family], shape=n_above)
    else:
        upper = pt.cumsum(pm.HalfNormal(f"{name}_gap", SCALES[family], shape=n_above))
    cut = symmetric(upper, len(boundaries))
    if by is None:
        return pm.Deterministic(name, cut, dims=BOUNDARY)
    labels = coord_values(pairs.group_labels(by))
    if by not in model.coords:
        model.add_coord(by, labels)
    spread = pm.HalfNormal(f"{name}_spread", 0.5)
    scale = pm.LogNormal(f"{name}_scale", 0, spread, dims=by)
    return pm.Deterministic(name, scale[:, None] * cut, dims=(by, BOUNDARY))


def edges_of(pairs: Pairs) -> NDArray[np.float64]:
    """Return the edges of the margins above the middle, over the last of them."""
    assert pairs.edges is not None  # for the type checker
    upper = pairs.edges[(len(pairs.edges) + 1) // 2 :]
    return np.asarray(upper / upper[-1])


def symmetric(upper: TensorVariable, n_boundaries: int) -> TensorVariable:
    """Return all cutpoints (..., n_boundaries), given those above the middle, on the last axis."""
    middle = [pt.zeros_like(upper[..., :1])] if n_boundaries % 2 else []
    if n_boundaries == 1:
        return pt.zeros((*upper.shape[:-1], 1))
    return pt.concatenate([-upper[..., ::-1], *middle, upper], axis=-1)
