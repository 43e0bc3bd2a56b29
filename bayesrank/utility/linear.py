r"""Part-worths: coefficients of the features of slots, for all rankers or for each.

.. math:: u_{rs} = x_{rs} \cdot \beta_{\mathrm{ranker}(r)}, \qquad
          \beta_k \sim N(\mathrm{mean}, \Sigma)

With `PlackettLuce` this is the (rank-ordered) mixed logit.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytensor.xtensor as px
from pytensor.xtensor.type import XTensorVariable

from bayesrank.data import Rankings
from bayesrank.data.read import quoted

__all__ = ["part_worths"]


def part_worths(
    rankings: Rankings,
    var_name: str = "part_worth",
    *,
    by_ranker: bool = False,
    correlated: bool = False,
    scale: float = 2.0,
    spread: float = 1.0,
    model: pm.Model | None = None,
) -> XTensorVariable:
    """Declare part-worths with priors, and return the utility of each slot.

    The model gets ``{var_name}``, with the dims ``("feature",)`` or ``("ranker", "feature")``. By
    ranker, it also gets their ``{var_name}_mean`` and ``{var_name}_spread``. The features and
    rankers become the data ``{var_name}_features`` and ``{var_name}_ranker``. Replace them when you
    replace the rankings.

    Parameters
    ----------
    rankings : Rankings
        With features, for example from ``attributes=`` of `Rankings.from_choices`.
    var_name : str
        Name of the part-worths.
    by_ranker : bool
        Whether each ranker has separate part-worths, which are pooled towards their mean.
    correlated : bool
        Whether the part-worths of a ranker are correlated, with an LKJ prior (eta = 2). The model
        then gets ``{var_name}_correlation``. Needs `by_ranker`.
    scale, spread : float, positive
        Prior standard deviations of the mean part-worths (normal) and of their spread (half-normal)
        for a level or a standard deviation of a number.
    model : pm.Model, optional
        By default the model in context.

    Returns
    -------
    XTensorVariable, (ranking, slot)
        With named dims, so that distributions need no ``utility_dims``.

    Raises
    ------
    ValueError
        If the rankings have no features, or `correlated` is given without `by_ranker` or with one
        feature. Also if the coords of the model have other labels than the rankings.

    See Also
    --------
    MaxDiff, attribute_importance, willingness_to_pay, utility.random_walk

    Examples
    --------
    >>> import bayesrank as br, pandas as pd, pymc as pm
    >>> table = pd.DataFrame({"set": [1, 1, 2, 2], "plan": list("abab"), "price": [1, 2, 3, 1]})
    >>> tasks = br.Rankings.from_choices(
    ...     table.assign(chosen=[1, 0, 0, 1]),
    ...     task="set",
    ...     alternative="plan",
    ...     chosen="chosen",
    ...     attributes=["plan", "price"],
    ... )
    >>> with pm.Model(coords=tasks.coords) as model:
    ...     utility = br.part_worths(tasks, by_ranker=True)
    ...     y = br.PlackettLuce("choice", utility, observed=tasks)
    >>> model.named_vars_to_dims["part_worth"], tasks.feature_names.tolist()
    (('ranker', 'feature'), ['plan[b]', 'price'])
    """
    if not isinstance(rankings, Rankings):
        raise TypeError(
            f"`rankings` is {type(rankings).__name__}; it must be Rankings with features, which "
            "come before the name: br.part_worths(rankings, 'part_worth')."
        )
    model = pm.modelcontext(model)
    if rankings.features is None:
        raise ValueError("The rankings have no features. Read them with attributes= or features=.")
    if correlated and not (by_ranker and rankings.features.shape[2] > 1):
        raise ValueError(
            "`correlated` applies to part-worths by ranker: give by_ranker=True and at least two "
            "features."
        )
    for dim in ("ranking", "slot", "feature", "ranker"):
        labels = rankings.coords[dim]
        if dim not in model.coords:
            model.add_coord(dim, labels)
        elif not np.array_equal(model.coords[dim], labels):
            raise ValueError(
                f"The model's coord {dim!r} has the labels {quoted(model.coords[dim])}, but the "
                f"rankings have {quoted(labels)}. Use pm.Model(coords=rankings.coords)."
            )
    # the unit of a feature is 1 for indicators, and else the standard deviation
    values = rankings.features[rankings.mask]
    indicator, sd = np.isin(values, (-1.0, 0.0, 1.0)).all(axis=0), values.std(axis=0)
    unit = np.where(indicator | (sd == 0), 1.0, sd)
    with model:
        x = pm.Data(f"{var_name}_features", rankings.features, dims=("ranking", "slot", "feature"))
        if not by_ranker:
            worth = pm.Normal(var_name, 0, scale / unit, dims="feature")
            return px.as_xtensor(x @ worth, dims=("ranking", "slot"))
        mean = pm.Normal(f"{var_name}_mean", 0, scale / unit, dims="feature")
        offset = pm.Normal(f"{var_name}_offset", 0, 1, dims=("ranker", "feature"))
        if correlated:
            prior = pm.HalfNormal.dist(spread / unit, shape=len(unit))
            root, correlation, spreads = pm.LKJCholeskyCov(
                f"{var_name}_covariance", n=len(unit), eta=2, sd_dist=prior, store_in_trace=False
            )
            pm.Deterministic(f"{var_name}_spread", spreads, dims="feature")
            model.add_coord("other_feature", rankings.coords["feature"])
            both = ("feature", "other_feature")
            pm.Deterministic(f"{var_name}_correlation", correlation, dims=both)
            offset = offset @ root.T
        else:
            offset *= pm.HalfNormal(f"{var_name}_spread", spread / unit, dims="feature")
        worth = pm.Deterministic(var_name, mean + offset, dims=("ranker", "feature"))
        ranker = pm.Data(f"{var_name}_ranker", rankings.ranker_idx, dims="ranking")
        utility = pt.sum(x * worth[ranker][:, None, :], axis=-1)
        return px.as_xtensor(utility, dims=("ranking", "slot"))
