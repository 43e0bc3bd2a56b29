r"""Generalised Mallows models: rankings around one consensus, chosen stage by stage.

The value has one ranking per row, as in `Mallows`. Each stage has a separate concentration: people
may agree on the first places and disagree on the last ones.

>>> import pymc as pm
>>> ranks = GeneralizedMallows.dist([1, 2, 3], [3.0, 0.0])
>>> round(float(pm.logp(ranks, [2, 1, 3]).exp().eval()), 4)
0.1224
"""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.distribution import Discrete
from pytensor.graph.utils import MissingInputError
from pytensor.tensor import TensorVariable

from bayesrank.data import Rankings
from bayesrank.distributions.core.arguments import NamedArguments
from bayesrank.distributions.core.by_name import Named, by_stage, has_dims
from bayesrank.distributions.core.observed import (
    DistOptions,
    Options,
    as_double,
    is_labelled,
    known_value,
    observed_options,
    refuse_single_precision,
    with_given,
)
from bayesrank.distributions.mallows.mallows import consensus_parameters
from bayesrank.distributions.mallows.observed import observe_stages
from bayesrank.distributions.mallows.variables import (
    GeneralizedMallowsRV,
)
from bayesrank.distributions.rankings.orders import observed_orders
from bayesrank.likelihoods.mallows import known_items

__all__ = ["GeneralizedMallows", "with_known_stages"]


class GeneralizedMallows(Discrete, metaclass=NamedArguments):
    r"""Generalised Mallows log-likelihood of full rankings and top-k lists.

    .. math:: P(\pi \mid \rho, \alpha) = \prod_{j=1}^{n-1}
              \frac{\exp(-\frac{\alpha_j}{n} V_j(\pi, \rho))}
                   {\sum_{v=0}^{n-j} \exp(-\frac{\alpha_j}{n} v)}

    where :math:`\pi` is a ranking of n items and :math:`\rho` the consensus. The item of place j is
    chosen at stage j, with the concentration :math:`\alpha_j`. The number :math:`V_j` counts the
    items that are left at this stage and precede the chosen one in the consensus. The sum of the
    :math:`V_j` is Kendall's distance, so that equal concentrations give `Mallows`. If `consensus`
    is omitted, it is marginalised: all orders of the items are equally likely a priori.

    Values are full rankings, or top-k lists given k, on the last axis. The leading axes are
    rankings.

    Parameters
    ----------
    name : str
        Name of the variable.
    consensus : tensor_like of int, (..., n) or, with a `Rankings`, (n_items,), optional
        Ranks of the items, 1 to n, as in `Mallows`. None marginalises it, with a `Rankings` of up
        to 22 items. Each evaluation then takes time :math:`2^n n`, 0.04 s for 20 items.
    alpha : tensor_like of float, (..., n_stages)
        Concentration at each stage, not negative, on the scale of `Mallows`. There are 1 to n - 1
        stages; after the last, all orders of the remaining items are equally likely. Top-k lists
        identify the first k stages. With a `Rankings` and a consensus, it may also have the dims
        ranker, ranking and groups, such as ``dims=("ranker", "stage")``, in any order.
    consensus_dims : str or sequence of str, optional
        With a `Rankings`, dims of a consensus without named dims.
    observed : Rankings or array_like of int, optional
        A `Rankings` registers its data as `PlackettLuce` does. Every ranking has all items, and
        ties only in the last block: ``from_orderings(..., rest=)`` puts unranked items there. An
        array holds ranks aligned with `consensus`.
    sizes : array_like of int, optional
        Block sizes for an array of top-k lists: ones, then the number of unranked items.
    **kwargs
        As in `PlackettLuce`.

    Returns
    -------
    TensorVariable of int, (..., n)
        The ranks. With a consensus, `logp` returns one number per ranking, times its weight.
        Without one, it returns one number for all rankings.

    Raises
    ------
    ValueError
        If there are too many stages or items, or if a ranking omits items or has ties before its
        last block. `Mallows` accepts such rankings.

    See Also
    --------
    Mallows, LeapAndShift

    References
    ----------
    Fligner & Verducci, Distance based ranking models, JRSS B 1986; Multistage ranking models, JASA
    1988.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["a", {"b", "c"}]])
    >>> with pm.Model(coords=rankings.coords | {"stage": [1, 2]}) as model:
    ...     alpha = pm.Exponential("alpha", 0.1, dims="stage")
    ...     y = br.GeneralizedMallows("y", alpha=alpha, observed=rankings)
    >>> logp = model.compile_logp(vars=y)
    >>> [round(float(logp({"alpha_log__": [x, x]})), 4) for x in (-20.0, 0.0, 1.0)]
    [-4.6821, -4.5757, -4.2492]
    """

    rv_type = GeneralizedMallowsRV
    rv_op = GeneralizedMallowsRV.rv_op

    def __new__(
        cls,
        name: str,
        consensus: Any = None,
        alpha: Any = None,
        *,
        observed: Any = None,
        consensus_dims: str | Sequence[str] | None = None,
        sizes: Any = None,
        **kwargs: Unpack[Options],
    ) -> TensorVariable:
        refuse_single_precision()
        options: dict[str, Any] = dict(kwargs)
        options |= {} if sizes is None else {"sizes": sizes}
        if isinstance(observed, Rankings):
            _, options = observed_options(
                "GeneralizedMallows",
                observed,
                options | {"consensus_dims": consensus_dims},
                takes=("consensus_dims",),
                brings=("sizes",),
            )
            by_name = _alpha_by_name(name, alpha, observed, options.get("dims"))
            return observe_stages(name, (consensus, consensus_dims), by_name, observed, options)
        if consensus_dims is not None:
            raise TypeError(
                "GeneralizedMallows got consensus_dims= without Rankings: leave it out."
            )
        if observed is not None:
            rows = {"consensus": (consensus, 1), "alpha": (alpha, 1)}
            observed, options = observed_orders(
                cls.__name__, observed, options, rows, partial=False
            )
        return super().__new__(cls, name, consensus, alpha, observed=observed, **options)

    @classmethod
    def dist(
        cls,
        consensus: Any = None,
        alpha: Any = None,
        *,
        sizes: Any = None,
        **kwargs: Unpack[DistOptions],
    ) -> TensorVariable:
        """Create an unnamed distribution, to draw from or to use in other distributions.

        The parameters are those of the class, with `shape`, `size` and `rng` as in PyMC. The
        consensus is required.

        Examples
        --------
        >>> import bayesrank as br, pymc as pm
        >>> y = br.GeneralizedMallows.dist([1, 2, 3], [1.0], sizes=[1, 2])
        >>> round(float(pm.logp(y, [1, 2, 2]).exp().eval()), 3)
        0.448
        """
        refuse_single_precision()
        if consensus is None:
            raise TypeError(
                "GeneralizedMallows without a consensus needs observed Rankings. Pass "
                "observed=Rankings..., or a consensus."
            )
        given = {"consensus": consensus, "alpha": alpha}
        _check_sizes(sizes)
        consensus, *more = consensus_parameters(consensus, "kendall", None, sizes)
        n_items = known_items(consensus)
        if (
            consensus.ndim > 1
            and pm.Model.get_context(error_if_none=False)
            and has_dims(given["consensus"])
        ):  # in a mixture, the dims tell which axis has the items
            n_items = max(consensus.shape.eval(mode="FAST_COMPILE"))
        alpha = _read_stages("GeneralizedMallows", alpha, n_items)
        return with_given(super().dist([consensus, alpha, *more], **kwargs), **given)


def _alpha_by_name(name: str, alpha: Any, rankings: Rankings, dims: Any) -> Named:
    """Read concentrations by stage, and by ranking, ranker or groups."""
    if alpha is None or (np.ndim(alpha) == 0 and not is_labelled(alpha)):
        _read_stages(name, alpha, rankings.n_items)
    found = by_stage(name, "alpha", alpha, rankings, dims)
    return found._replace(value=with_known_stages(found.value))


def with_known_stages(x: TensorVariable) -> TensorVariable:
    """Fix the static number of stages, the last axis."""
    if x.type.shape[-1] is not None:
        return x
    try:
        n_stages = int(x.shape[-1].eval(mode="FAST_COMPILE"))
    except MissingInputError as error:
        raise ValueError(
            "The number of stages of `alpha` is unknown, because its length depends on an input. "
            "State it, such as by pt.specify_shape(alpha, (2,)) for two stages."
        ) from error
    return pt.specify_shape(x, (*x.type.shape[:-1], n_stages))


def _read_stages(name: str, alpha: Any, n_items: int) -> TensorVariable:
    """Read concentrations by stage, and check their number."""
    if alpha is None:
        raise TypeError("GeneralizedMallows needs alpha=, a concentration for every stage.")
    x = as_double(alpha, "`alpha`")
    x = with_known_stages(x) if x.ndim else x
    n_stages = x.type.shape[-1] if x.ndim else 0
    most = max(n_items - 1, 1)
    if not 1 <= n_stages <= most:
        got = f"{n_stages} numbers" if x.ndim else "one number"
        raise ValueError(
            f"`alpha` of {name!r} is {got}. Its last axis must have one concentration per stage; "
            f"{n_items} items have 1 to {most} stages. For one concentration for all stages, use "
            "br.Mallows(..., distance='kendall')."
        )
    return x


def _check_sizes(sizes: Any) -> None:
    """Raise unless known block sizes are ones, then one block of the other items."""
    known: NDArray[Any] | None
    known = None if sizes is None else known_value(pt.as_tensor_variable(sizes))
    if known is None or known.size == 0:
        return
    rows = np.atleast_2d(known)
    later = np.cumsum(rows[:, ::-1] > 0, axis=1)[:, ::-1] > 1  # another block follows
    if (rows[later] != 1).any():
        raise ValueError(
            f"`sizes` is {np.array2string(known, threshold=6)}; in a generalised Mallows model, "
            "all blocks but the last must have one item."
        )
