"""Comparison of models by leave-one-out cross-validation, of models that can be compared.

An expected log predictive density speaks of an outcome: two of them can be compared if the models
give probabilities to the same data and to the same kind of outcome. Distributions of this package
write into the results what their outcomes are.
"""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.results.groups import group_log_likelihood

__all__ = ["compare"]


def compare(
    models: Mapping[str, xr.DataTree], *, var: str = "y", group: str | None = None, **kwargs: Any
) -> pd.DataFrame:
    """Compare models by the expected log predictive density of what is left out.

    That is a ranking, a pair or a ranker's counts, what one log-likelihood is of; or, with `group`,
    all pairs of a judge, a prompt or a day.

    Parameters
    ----------
    models : dict of str to DataTree
        What `pm.sample` returned, by name, with the group log_likelihood
        (`pm.compute_log_likelihood`).
    var : str
        The observed variable.
    group : str, optional
        What to leave out together, as in `group_log_likelihood`. Where matches of one judge or of
        one day are alike, leaving out single ones flatters models that learn what they share.
    **kwargs
        Passed to `arviz.compare`.

    Returns
    -------
    DataFrame
        From `arviz.compare`, best model first.

    Raises
    ------
    ValueError
        If the log-likelihood is missing, the models have different data or outcomes, one of them
        is a pseudo-likelihood, or there is no such group.

    Examples
    --------
    >>> table = compare({"ties by chance": one, "ties judged": other})  # doctest: +SKIP
    """
    if len(models) < 2:
        got = "1 model" if models else "no model"
        raise ValueError(f"There is nothing to compare: got {got}, needs two or more.")
    outcome = {name: _outcome(name, tree, var) for name, tree in models.items()}
    for name, what in outcome.items():
        if what.startswith("nothing"):
            raise ValueError(
                f"{name!r} describes {what}. It has no log predictive density to compare; compare "
                "predictions by a metric, or fit it without weights."
            )
    for one, other in combinations(models, 2):
        if outcome[one] != outcome[other]:
            raise ValueError(
                f"{one!r} ({outcome[one]}) and {other!r} ({outcome[other]}) describe different "
                "data: their expected log predictive densities cannot be compared."
            )
        data = [models[name]["constant_data"].dataset for name in (one, other)]
        for name in (str(x) for x in data[0].data_vars if str(x).startswith(f"{var}_")):
            if name in data[1] and not np.array_equal(data[0][name], data[1][name]):
                raise ValueError(
                    f"{one!r} and {other!r} were fitted to different data: {name} differs. "
                    "Fit both to the same."
                )
    if group is not None:
        models = {name: group_log_likelihood(x, group, var=var) for name, x in models.items()}
    return az.compare(dict(models), var_name=var, **kwargs)


def _outcome(name: str, tree: xr.DataTree, var: str) -> str:
    """Read what the outcome of a model is."""
    if "log_likelihood" not in tree.children or var not in tree["log_likelihood"]:
        raise ValueError(
            f"{name!r} has no log-likelihood of {var!r}: call pm.compute_log_likelihood() in its "
            "model first, or name the observed variable with var=."
        )
    label = f"{var}_outcome"
    if "constant_data" not in tree.children or label not in tree["constant_data"].coords:
        raise ValueError(
            f"{name!r} does not say what the outcomes of {var!r} are: observe a Rankings or "
            "Pairs with a distribution of bayesrank, or use arviz.compare and see to it yourself."
        )
    return str(tree["constant_data"].coords[label].values[0])
