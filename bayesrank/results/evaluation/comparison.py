"""Comparison of models by cross-validation, if they describe the same outcomes of the same data."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.evaluation.baseline import baseline_elpd, read_outcome
from bayesrank.results.evaluation.groups import (
    group_log_likelihood,
    pointwise_log_likelihood,
    sum_by_group,
)
from bayesrank.results.evaluation.loo import loo_of, one_by_one, standard_error
from bayesrank.results.evaluation.same_data import (
    Units,
    has_items,
    matched,
    units_of,
    units_of_result,
)
from bayesrank.schema import COUNT, Kept

__all__ = ["RANDOM", "FewUnitsWarning", "compare"]

RANDOM = "random ranking"
"""Name of the row of the model without parameters."""
LEAST_EXP = -700.0  # the exponential is zero for much lower numbers

_PACKAGE = str(Path(__file__).parents[2])
UNCERTAIN = ("se", "dse", "p_worse", "weight")  # columns that one observation cannot tell

Result = Any  # arviz.ELPDData, for which ArviZ has no types
Model = Any  # DataTree or such a result


class FewUnitsWarning(UserWarning):
    """There are fewer than two observations, so the uncertainty of a comparison is unknown."""


def compare(
    models: Mapping[str, Model],
    *,
    var_name: str | Mapping[str, str] = "y",
    group: str | None = None,
    baseline: bool | xr.DataTree = True,
    **kwargs: Any,
) -> pd.DataFrame:
    """Compare models by the expected log predictive density of left-out observations.

    An observation is a ranking, a pair or a ranker's counts; with `group`, it is a whole group.

    Parameters
    ----------
    models : dict of str to DataTree or ELPDData
        Results of `pm.sample` by model name, with the group log_likelihood
        (`pm.compute_log_likelihood`), or results of `bayesrank.kfold`. Rankings are matched by
        label or, if labels differ, by content, in any order. Arrays are matched row by row, unless
        the dims of both axes have labels. Rankings of two items are the same data as single
        matches.
    var_name : str or dict of str to str
        The observed variable. If it is not "y" in some models, give a dict such as
        ``{"model": "z"}``.
    group : str, optional
        What to leave out together, as in `loo_by_ranker`.
    baseline : bool or DataTree
        Whether to add a row "random ranking", computed by `baseline_elpd`. A single model is then
        compared with it. Results of `bayesrank.kfold` do not contain the observations; with these,
        pass results of any model of the same data.
    **kwargs
        Passed to `arviz.compare`. Numbers are rounded only if you give `round_to`.

    Returns
    -------
    DataFrame
        From `arviz.compare`, best model first. With fewer than two observations, the columns se,
        dse, p_worse and weight are NaN: one observation does not tell how much others would differ.

    Raises
    ------
    ValueError
        If the log-likelihood is missing or not finite, or `group` does not exist. If models have
        different data or outcomes, or one has a pseudo-likelihood. If leave-one-out and K-fold
        predictions, or different folds, are mixed.
    TypeError
        If `models` is not a dict of results.

    Warns
    -----
    ParetoKWarning
        For each model in which some rankings are too influential for importance sampling.
    FewUnitsWarning
        If there are fewer than two observations.

    See Also
    --------
    loo, kfold, compare_components, plot_compare, baseline_elpd

    Notes
    -----
    A pair is one observation with all its matches (of one judge and group). One match cannot be
    left out, because the log-likelihood contains only the total of the pair. Take 30 wins and 10
    losses. Their log-likelihood is -2.86 if a match is won with probability 0.65, and also with
    0.83. The log-likelihood of one win would be -0.43 or -0.18. To leave out fewer matches
    together, divide them by a column, such as a round, named in ``by`` of `Pairs.from_frame`.

    Identical rankings without labels are matched in order. If a model distinguishes them, label
    them, for example with ``rankers=`` of `Rankings.from_orderings`.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "a", "b"]] * 3)
    >>> with pm.Model(coords=rankings.coords):
    ...     utility = pm.ZeroSumNormal("utility", dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    ...     idata = pm.sample(draws=100, tune=100, chains=2, cores=1, random_seed=1,
    ...                       progressbar=False)
    ...     _ = pm.compute_log_likelihood(idata, progressbar=False)
    >>> br.compare({"Plackett-Luce": idata}).index.tolist()
    ['Plackett-Luce', 'random ranking']
    """
    models = _check_models(models, baseline is not False)
    vars_ = _variables(var_name, [*models, RANDOM])
    known = models if isinstance(baseline, bool) else models | {RANDOM: baseline}
    _check_outcomes({name: _outcome(name, model, vars_[name]) for name, model in known.items()})
    _check_methods(models)
    trees = {name: model for name, model in known.items() if isinstance(model, xr.DataTree)}
    named = all(has_items(tree, vars_[name]) for name, tree in trees.items())

    def units_by(group: str | None) -> dict[str, Units]:
        return {name: _units(x, vars_[name], named, group) for name, x in models.items()}

    if group is not None and all(rows.dim != group for rows in units_by(None).values()):
        _orders(units_by(None))  # check that data agree before they are grouped
    units = units_by(group)
    _orders(units)
    found = {name: _left_out(name, x, vars_[name], group) for name, x in models.items()}
    if baseline is not False:
        like = next(iter(found.values()))
        if baseline is True and trees:
            name, baseline = next(iter(trees.items()))
            vars_[RANDOM] = vars_[name]
        found[RANDOM] = _random(baseline, like, vars_[RANDOM])
        units[RANDOM] = _units(baseline, vars_[RANDOM], named, str(like.elpd_i.dims[0]))
    found = _aligned(found, units)
    _check_folds(found)
    table = _compared(found, **({"round_to": "none"} | kwargs))
    first = next(iter(units.values()))
    return table if len(first.labels) > 1 else _uncertain(table, first.dim)


def _uncertain(table: pd.DataFrame, dim: str) -> pd.DataFrame:
    """Remove what one observation cannot tell, with a warning."""
    remedy = "Use more data."
    if dim == "pair":
        remedy = (
            "All matches of a pair are one observation; divide them by a column, such as a round, "
            "named in by= of Pairs.from_frame."
        )
    warnings.warn(
        f"The models are compared by one {dim}. How much the difference would vary between {dim}s "
        f"is unknown, so {', '.join(UNCERTAIN[:-1])} and {UNCERTAIN[-1]} are NaN. {remedy}",
        FewUnitsWarning,
        skip_file_prefixes=(_PACKAGE,),
    )
    known = table["elpd_diff"] == 0  # the best model, compared with itself
    dse = table["dse"].where(known)
    return table.assign(**{name: np.nan for name in UNCERTAIN if name in table}).assign(dse=dse)


def _units(model: Model, var_name: str, named: bool, group: str | None) -> Units:
    """Read the units that are left out, one at a time or by group."""
    if isinstance(model, xr.DataTree):
        return units_of(model, var_name, named=named, group=group)
    return units_of_result(model.elpd_i, named=named)


def _left_out(name: str, model: Model, var_name: str, group: str | None) -> Result:
    """Leave out one unit or one group at a time."""
    if isinstance(model, az.ELPDData):
        return model
    tree = model if group is None else group_log_likelihood(model, var_name, group=group)
    return loo_of(tree, var_name, name=name)


def _random(tree: xr.DataTree | bool, like: Result, var_name: str) -> Result:
    """Return the result of random ranking for the rankings or groups of `like`."""
    if isinstance(tree, bool):
        raise ValueError(
            "None of these results contains the observations, which the baseline needs. Pass "
            "results of any model of the same data as baseline=, or baseline=False."
        )
    elpd_i, (dim,) = baseline_elpd(tree, var_name), like.elpd_i.dims
    if elpd_i.dims != (dim,):
        elpd_i = sum_by_group(elpd_i, tree, str(dim), var_name=var_name)
    elpd_i = elpd_i.astype(np.float64).rename("elpd_i")
    if (times := Kept(tree, var_name).times(str(dim))) is not None:
        elpd_i.attrs[COUNT] = times.sel({dim: elpd_i[dim]}).to_numpy()
    # a result that ArviZ can compare with the others
    return replace(
        like, elpd=float(elpd_i.sum()), se=standard_error(elpd_i), p=0.0,
        n_samples=1, warning=False, elpd_i=elpd_i, pareto_k=None,
    )  # fmt: skip


def _orders(units: Mapping[str, Units]) -> dict[str, NDArray[np.intp]]:
    """Find the positions of the first model's units in the others; raise if data differ."""
    (one, first), *_ = units.items()
    return {name: matched(one, first, name, other) for name, other in units.items()}


def _aligned(found: Mapping[str, Result], units: Mapping[str, Units]) -> dict[str, Result]:
    """Put results in the order of the first model, with its labels."""
    first = next(iter(units.values()))

    def moved(x: xr.DataArray, order: NDArray[np.intp]) -> xr.DataArray:
        values, coords = x.to_numpy()[order], {first.dim: first.labels}
        return xr.DataArray(values, coords, first.dim, x.name, dict(x.attrs))

    out = {}
    for name, order in _orders(units).items():
        elpd_i, k = moved(found[name].elpd_i, order), found[name].pareto_k
        for name_of_rows in {"folds", COUNT} & elpd_i.attrs.keys():
            elpd_i.attrs[name_of_rows] = np.asarray(elpd_i.attrs[name_of_rows])[order]
        out[name] = replace(
            found[name], elpd_i=elpd_i, pareto_k=None if k is None else moved(k, order)
        )
    return out


def _compared(found: dict[str, Result], **kwargs: Any) -> pd.DataFrame:
    """Compare with ArviZ, and avoid underflow in the stacking weights."""
    found = {name: _one_by_one(result) for name, result in found.items()}
    best = np.max([result.elpd_i.to_numpy() for result in found.values()], axis=0)
    stacking = str(kwargs.get("method", "stacking")).lower() == "stacking"
    if not stacking or best.min() >= LEAST_EXP:
        return az.compare(found, **kwargs)
    # Probabilities of long rankings underflow to zero. Weights do not change if the probabilities
    # of a ranking are multiplied by the same constant in all models.
    table = az.compare(found, **(kwargs | {"method": "pseudo-BMA"}))
    shifted = {name: replace(x, elpd_i=x.elpd_i - best) for name, x in found.items()}
    table["weight"] = az.compare(shifted, **kwargs)["weight"]
    return table


def _one_by_one(result: Result) -> Result:
    """Return a result with one pointwise value per observation, where a row may stand for many."""
    if COUNT not in result.elpd_i.attrs:
        return result
    values, dims, k = one_by_one(result.elpd_i), result.elpd_i.dims, result.pareto_k
    if k is not None:
        k = xr.DataArray(np.repeat(k.to_numpy(), result.elpd_i.attrs[COUNT]), dims=dims)
    elpd_i = xr.DataArray(values, dims=dims)
    return replace(result, elpd_i=elpd_i, pareto_k=k, n_data_points=len(values))


def _check_models(models: Any, baseline: bool) -> dict[str, Model]:
    """Return the models; raise unless they are results and there are enough."""
    if isinstance(models, xr.DataTree) or not isinstance(models, Mapping):
        raise TypeError(
            f"compare needs a dict of results by name; got {type(models).__name__}. Use "
            'compare({"model": results}).'
        )
    for name, model in models.items():
        if not isinstance(model, xr.DataTree | az.ELPDData):
            raise TypeError(
                f"{name!r} is of type {type(model).__name__}; it must be a DataTree from pm.sample "
                "or a result of bayesrank.kfold."
            )
        if isinstance(model, az.ELPDData) and model.elpd_i is None:
            raise ValueError(f"{name!r} has no pointwise values. Compute it with pointwise=True.")
    if len(models) < 2 - baseline:
        found = "1 model" if models else "no models"
        needed = "one model or more" if baseline else "two models or more, or baseline=True"
        raise ValueError(f"A comparison needs {needed}; got {found}.")
    if baseline and RANDOM in models:
        raise ValueError(
            f"A model is called {RANDOM!r}, which is the name of the baseline. Rename it, or "
            "compare with baseline=False."
        )
    return dict(models)


def _variables(var_name: str | Mapping[str, str], names: list[str]) -> dict[str, str]:
    """Return the name of the observed variable of each model."""
    if isinstance(var_name, str):
        return dict.fromkeys(names, var_name)
    for name in var_name:
        if name not in names:
            raise ValueError(
                f"`var_name` names the model {name!r}, which does not exist. The models are "
                f"{', '.join(map(repr, names[:-1]))}."
            )
    return dict.fromkeys(names, "y") | dict(var_name)


def _outcome(name: str, model: Model, var_name: str) -> str:
    """Read which outcomes a model describes."""
    if isinstance(model, xr.DataTree):
        found = Kept(model, var_name).outcome_of_two
        if found is not None and found.startswith("nothing"):
            return found
        if name != RANDOM:
            pointwise_log_likelihood(model, var_name, whose=f"The results of {name!r}")
        read_outcome(model, var_name, whose=name)  # raises if it is not declared
        return str(found)
    if "outcome" not in model.elpd_i.attrs:
        raise ValueError(
            f"{name!r} does not declare its outcomes. Pass the DataTree instead, or a result of "
            "bayesrank.kfold."
        )
    if not np.isfinite(model.elpd_i).all():
        raise ValueError(
            f"{name!r} has pointwise values that are not finite. Check its log-likelihood."
        )
    return str(model.elpd_i.attrs["outcome"])


def _check_outcomes(outcomes: Mapping[str, str]) -> None:
    """Raise if a model has a pseudo-likelihood, or outcomes differ."""
    for name, outcome in outcomes.items():
        if outcome.startswith("nothing"):
            raise ValueError(
                f"{name!r} describes {outcome}. It has no log predictive density to compare. "
                "Compare predictions by a metric, or fit it without weights."
            )
    for one, other in _differing(outcomes):
        raise ValueError(
            f"{one!r} ({outcomes[one]}) and {other!r} ({outcomes[other]}) describe different data: "
            "their expected log predictive densities cannot be compared."
        )


def _differing(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the first model paired with each model that has a different value."""
    one = next(iter(values), "")
    return ((one, other) for other, x in values.items() if x != values[one])


def _check_methods(models: Mapping[str, Model]) -> None:
    """Raise if predictions come from training sets of different sizes."""
    methods = {name: _method(model) for name, model in models.items()}
    for one, other in _differing(methods):
        raise ValueError(
            f"{one!r} was predicted by {methods[one]} and {other!r} by {methods[other]}. Their "
            "expected log predictive densities cannot be compared, because the training sets have "
            "different sizes. Use the same method for all models."
        )


def _method(model: Model) -> str:
    if isinstance(model, xr.DataTree) or model.kind == "loo":
        return "leave-one-out"
    n_folds = getattr(model, "n_folds", model.elpd_i.attrs.get("n_folds"))
    return f"{n_folds}-fold cross-validation" if n_folds else "cross-validation"


def _unnumbered(folds: NDArray[Any]) -> list[Any]:
    """Return the fold of each unit, or the number of a unit's observations in each fold."""
    return pd.factorize(folds)[0].tolist() if folds.ndim == 1 else sorted(folds.T.tolist())


def _check_folds(found: Mapping[str, Result]) -> None:
    """Raise if models were predicted in different folds."""
    attrs = {name: result.elpd_i.attrs for name, result in found.items()}
    # the same folds may be numbered differently
    folds = {k: _unnumbered(np.asarray(x["folds"])) for k, x in attrs.items() if "folds" in x}
    for one, other in _differing(folds):
        raise ValueError(
            f"{one!r} and {other!r} were predicted in different folds, so part of their difference "
            "is due to chance. Use the same folds= or random_seed= for both."
        )
