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

__all__ = ["compare"]


def compare(models: Mapping[str, xr.DataTree], *, var: str = "y", **kwargs: Any) -> pd.DataFrame:
    """Compare models by the expected log predictive density of a ranking left out.

    Parameters
    ----------
    models : dict of str to DataTree
        What `pm.sample` returned, by name, with the group log_likelihood
        (`pm.compute_log_likelihood`).
    var : str
        The observed variable.
    **kwargs
        Passed to `arviz.compare`.

    Returns
    -------
    DataFrame
        From `arviz.compare`, best model first.

    Raises
    ------
    ValueError
        If the log-likelihood is missing, the models have different data or outcomes, or one of
        them is a pseudo-likelihood.

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
        for part in ("ranks", "item", "weight"):
            x, y = (models[name]["constant_data"].dataset[f"{var}_{part}"] for name in (one, other))
            if not np.array_equal(x, y):
                raise ValueError(
                    f"{one!r} and {other!r} were fitted to different rankings: {var}_{part} "
                    "differs. Fit both to the same Rankings."
                )
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
            f"{name!r} does not say what the outcomes of {var!r} are: observe a Rankings with a "
            "distribution of bayesrank, or use arviz.compare and see to it yourself."
        )
    return str(tree["constant_data"].coords[label].values[0])
