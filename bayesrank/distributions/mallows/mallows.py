r"""Mallows models as PyMC distributions: rankings around one consensus.

The value has one ranking per row: `ranks` from 1, aligned with the ranks of the consensus. It may
have ties and empty slots. With ``observed=`` a `Rankings`, ranks are aligned with slots, and the
consensus by item is gathered into them.

The consensus is given or marginalised. If it is marginalised, all orders of the items are equally
likely a priori, and the rankings have one joint log-probability.

>>> import pymc as pm
>>> ranks = Mallows.dist([1, 2, 3], 3.0, distance="kendall")
>>> round(float(pm.logp(ranks, [2, 1, 3]).exp().eval()), 4)
0.1789
"""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.distribution import Discrete
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.distributions.core.arguments import NamedArguments
from bayesrank.distributions.core.observed import (
    DistOptions,
    Options,
    as_double,
    observed_options,
    refuse_single_precision,
    with_given,
)
from bayesrank.distributions.mallows.observed import alpha_by_name, observe_mallows
from bayesrank.distributions.mallows.variables import MallowsRV, distance_number, whole_ranks
from bayesrank.distributions.rankings.orders import observed_orders
from bayesrank.likelihoods.mallows import known_items

__all__ = ["Mallows", "consensus_parameters"]


class Mallows(Discrete, metaclass=NamedArguments):
    r"""Mallows log-likelihood of full and partial rankings.

    .. math:: P(\pi \mid \rho, \alpha) =
              \frac{\exp(-\frac{\alpha}{n} d(\pi, \rho))}{Z_n(\alpha)}

    where :math:`\pi` is a ranking of n items, :math:`\rho` the consensus, :math:`\alpha` the
    concentration and d a distance. The normaliser :math:`Z_n(\alpha)` is exact. If `consensus` is
    omitted, it is marginalised, with all orders of the items equally likely a priori:

    .. math:: P(\pi_1, \dots, \pi_N \mid \alpha) =
              \frac{1}{n!} \sum_\rho \prod_m P(\pi_m \mid \rho, \alpha_m)

    A partial ranking y is a top-k list, a weak order, or a ranking of some of the items. Its
    probability is the exact sum over all full rankings that complete it:

    .. math:: P(y \mid \rho, \alpha) = \sum_{\pi \text{ completes } y} P(\pi \mid \rho, \alpha)

    Values are weak orders of the slots in use, on the last axis. The leading axes are rankings.

    =============  =====================================  =================================
    distance       :math:`d(\pi, \rho)`                   items
    =============  =====================================  =================================
    ``footrule``   :math:`\sum_i |\pi_i - \rho_i|`        any; up to 22 without a consensus
    ``spearman``   :math:`\sum_i (\pi_i - \rho_i)^2`      up to 22
    ``kendall``    pairs in opposite orders               any; up to 22 without a consensus
    =============  =====================================  =================================

    ============  ============================  ===============================================
    distance      ties, top-k, of all items     some items left out
    ============  ============================  ===============================================
    ``footrule``  any                           without ties any; otherwise by sets
    ``kendall``   any                           by sets
    ``spearman``  blocks of up to 22            by sets
    ============  ============================  ===============================================

    where *by sets* means a sum of :math:`2^m \sum_j 2^{b_j}` terms, at most :math:`2^{22}`, for m
    items left out and blocks of :math:`b_j` items.

    Parameters
    ----------
    name : str
        Name of the variable.
    consensus : tensor_like of int, (..., n) or, with a `Rankings`, (n_items,), optional
        Ranks of the items, 1 to n. With a `Rankings`, it has the dim item, and may have ranker or
        ranking. For a random consensus, use a variable of rankings, such as a `PlackettLuce` with
        equal utilities, and sample it with `bayesrank.LeapAndShift`. With a `Rankings`, None
        marginalises it, in time :math:`2^n n`, 0.04 s for 20 items. This is done at every
        evaluation, or only once if `alpha` is one number.
    alpha : tensor_like of float, (...), or variable with dims
        Concentration, not negative; at zero all rankings are equally likely. Give one for all
        rankings or one for each. With a `Rankings`, it may have the dims ranker and groups.
    distance : {"footrule", "spearman", "kendall"}, default "footrule"
        The distance of the table. The scale of `alpha` depends on it.
    consensus_dims, alpha_dims : str or sequence of str, optional
        With a `Rankings`, dims of a parameter without named dims.
    observed : Rankings or array_like of int, optional
        A `Rankings` registers its data as `PlackettLuce` does. If a ranking omits an item, this
        item may have any place. An array holds ranks aligned with `consensus`.
    where, sizes : array_like, optional
        For an array: the slots in use, and block sizes, best first, as in `PlackettLuce`. The
        consensus also has the ranks of slots not in use.
    **kwargs
        As in `PlackettLuce`.

    Returns
    -------
    TensorVariable of int, (..., n)
        The ranks. With a consensus, `logp` returns one number per ranking, times its weight.
        Without one, it returns one number for all rankings. `bayesrank.consensus_log_likelihood`
        then adds one number per ranking, and `bayesrank.sample_consensus` draws the consensus.

    Raises
    ------
    ValueError
        If there are too many items for the distance, or a consensus does not hold the ranks 1 to n.
        Also if the tables allow no sum for the ties or missing items of a ranking.

    See Also
    --------
    GeneralizedMallows, PlackettLuce, LeapAndShift, sample_consensus

    References
    ----------
    Mallows, Non-null ranking models, Biometrika 1957.

    Vitelli et al., Probabilistic preference learning with the Mallows rank model, JMLR 2018 (the
    scale of alpha).

    Fligner & Verducci, Distance based ranking models, JRSS B 1986 (top-k lists under Kendall's
    distance).

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     alpha = pm.Exponential("alpha", 0.1)
    ...     y = br.Mallows("y", alpha=alpha, distance="kendall", observed=rankings)
    >>> logp = model.compile_logp(vars=y)
    >>> [round(float(logp({"alpha_log__": x})), 4) for x in (-20.0, 0.0, 1.0)]
    [-3.5835, -3.5416, -3.4084]
    """

    rv_type = MallowsRV
    rv_op = MallowsRV.rv_op

    def __new__(
        cls,
        name: str,
        consensus: Any = None,
        alpha: Any = None,
        *,
        distance: str = "footrule",
        observed: Any = None,
        consensus_dims: str | Sequence[str] | None = None,
        alpha_dims: str | Sequence[str] | None = None,
        where: Any = None,
        sizes: Any = None,
        **kwargs: Unpack[Options],
    ) -> TensorVariable:
        refuse_single_precision()
        _needs(alpha)
        given = {"where": where, "sizes": sizes}
        options: dict[str, Any] = {"distance": distance, **kwargs}
        options |= {option: x for option, x in given.items() if x is not None}
        dims = {"consensus_dims": consensus_dims, "alpha_dims": alpha_dims}
        if isinstance(observed, Rankings):
            _, options = observed_options(
                "Mallows",
                observed,
                options | dims,
                takes=("distance", "alpha_dims", "consensus_dims"),
                brings=("where", "sizes"),
            )
            by_name = alpha_by_name(name, alpha, observed, alpha_dims, options.get("dims"))
            read = consensus, consensus_dims
            return observe_mallows(name, read, by_name, observed, distance, options)
        for option, value in dims.items():
            if value is not None:
                raise TypeError(f"Mallows got {option}= without Rankings: leave it out.")
        if observed is not None:
            rows = {"consensus": (consensus, 1), "alpha": (alpha, 0)}
            observed, options = observed_orders("Mallows", observed, options, rows, partial=True)
        return super().__new__(cls, name, consensus, alpha, observed=observed, **options)

    @classmethod
    def dist(
        cls,
        consensus: Any = None,
        alpha: Any = None,
        *,
        distance: str = "footrule",
        where: Any = None,
        sizes: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. The
        consensus is required.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.Mallows.dist([1, 2], alpha=1.0, distance="kendall")
        >>> round(float(pm.logp(y, [1, 2]).exp().eval()), 3)
        0.622
        """
        refuse_single_precision()
        _needs(alpha)
        if consensus is None:
            raise TypeError(
                "Mallows without a consensus needs observed Rankings. Pass "
                "observed=Rankings..., or a consensus."
            )
        given = {"consensus": consensus, "alpha": alpha}
        consensus, *more = consensus_parameters(consensus, distance, where, sizes)
        parameters = [consensus, as_double(alpha, "`alpha`"), *more]
        return with_given(super().dist(parameters, **kwargs), **given)


def consensus_parameters(
    consensus: Any, distance: str, where: Any, sizes: Any
) -> list[TensorVariable]:
    """Return the parameters of rankings around a consensus, without alpha."""
    consensus = pt.atleast_1d(whole_ranks(consensus))
    n = known_items(consensus)
    where = np.ones(n, bool) if where is None else where
    sizes = np.zeros(0, np.int64) if sizes is None else sizes
    return [
        consensus,
        distance_number(distance, n),
        pt.cast(pt.as_tensor_variable(where), "bool"),
        pt.cast(pt.as_tensor_variable(sizes), "int64"),
        pt.constant(n),
    ]


def _needs(alpha: Any) -> None:
    if alpha is None:
        raise TypeError("Mallows needs alpha=, the concentration of the rankings.")
