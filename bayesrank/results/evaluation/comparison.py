"""Comparison of models by cross-validation, if they have the same data and kind of outcome."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.results.evaluation.baseline import baseline_elpd, outcome_of
from bayesrank.results.evaluation.groups import (
    group_log_likelihood,
    grouped,
    pointwise_log_likelihood,
)
from bayesrank.results.evaluation.loo import loo_of, standard_error
from bayesrank.results.evaluation.same_data import (
    Units,
    has_items,
    matched,
    units_of,
    units_of_result,
)
from bayesrank.schema import Kept

__all__ = ["RANDOM", "compare"]

RANDOM = "random ranking"
"""Name of the row of the model without parameters."""
LEAST_EXP = -700.0  # whose exponential is not yet zero

Result = Any  # arviz.ELPDData, for which ArviZ has no types
Model = Any  # DataTree or such a result


def compare(
    models: Mapping[str, Model],
    *,
    var: str | Mapping[str, str] = "y",
    group: str | None = None,
    baseline: bool | xr.DataTree = True,
    **kwargs: Any,
) -> pd.DataFrame:
    """Compare models by the expected log predictive density of what is left out.

    That is a ranking, a pair or a ranker's counts; or, with `group`, all that belongs together.

    Parameters
    ----------
    models : dict of str to DataTree or ELPDData
        What `pm.sample` returned, by name, with the group log_likelihood
        (`pm.compute_log_likelihood`); or what `bayesrank.kfold` returned. Rankings are matched by
        their labels or, where these differ, by content, in any order. Arrays are matched row by
        row, unless the dims of both axes have labels. Rankings of two items are the same data as
        matches that are a pair each.
    var : str or dict of str to str
        The observed variable; or that of some models by name, where it is not "y":
        ``{"model": "z"}``.
    group : str, optional
        What to leave out together, as in `group_log_likelihood`.
    baseline : bool or DataTree
        Whether to add a row "random ranking": `baseline_elpd`, which has no parameters. A single
        model is then compared with it. Results of `bayesrank.kfold` do not hold what was observed:
        pass results of any model of the same data.
    **kwargs
        Passed to `arviz.compare`; numbers are not rounded unless `round_to` says so.

    Returns
    -------
    DataFrame
        From `arviz.compare`, best model first.

    Raises
    ------
    ValueError
        If the log-likelihood is missing or not finite, the models have different data or outcomes,
        one of them is a pseudo-likelihood, there is no such group, or predictions of
        leave-one-out and of K folds, or of different folds, are mixed.
    TypeError
        If `models` is no dict of results.

    Warns
    -----
    ParetoKWarning
        For each model that some rankings change too much for importance sampling.

    Notes
    -----
    Rankings that have no labels and say the same are matched in order. If a model tells them apart,
    label them, such as by ``rankers=`` of `Rankings.from_orderings`.

    Examples
    --------
    >>> table = compare({"ties by chance": one, "ties judged": other})  # doctest: +SKIP
    """
    models = _checked(models, baseline is not False)
    vars_ = _variables(var, [*models, RANDOM])
    known = models if isinstance(baseline, bool) else models | {RANDOM: baseline}
    _check_outcomes({name: _outcome(name, model, vars_[name]) for name, model in known.items()})
    _check_methods(models)
    trees = {name: model for name, model in known.items() if isinstance(model, xr.DataTree)}
    named = all(has_items(tree, vars_[name]) for name, tree in trees.items())

    def units_by(group: str | None) -> dict[str, Units]:
        return {name: _units(x, vars_[name], named, group) for name, x in models.items()}

    if group is not None and all(rows.dim != group for rows in units_by(None).values()):
        _orders(units_by(None))  # the same data before they are put together
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
    return _compared(found, **({"round_to": "none"} | kwargs))


def _units(model: Model, var: str, named: bool, group: str | None) -> Units:
    """Read what was observed, and is left out one at a time or by group."""
    if isinstance(model, xr.DataTree):
        return units_of(model, var, named=named, group=group)
    return units_of_result(model.elpd_i, named=named)


def _left_out(name: str, model: Model, var: str, group: str | None) -> Result:
    """Leave out what belongs together, or one at a time."""
    if isinstance(model, az.ELPDData):
        return model
    tree = model if group is None else group_log_likelihood(model, group, var=var)
    return loo_of(tree, var, name=name)


def _random(tree: xr.DataTree | bool, like: Result, var: str) -> Result:
    """Return what random ranking predicts, of the same rankings or groups as `like`."""
    if isinstance(tree, bool):
        raise ValueError(
            "No model says how probable the observations are at random: pass baseline=, results "
            "of any model of the same data, or baseline=False."
        )
    elpd_i, (dim,) = baseline_elpd(tree, var=var), like.elpd_i.dims
    if elpd_i.dims != (dim,):
        elpd_i = grouped(elpd_i, tree, str(dim), var=var)
    elpd_i = elpd_i.astype(np.float64).rename("elpd_i")
    # the kind of result that ArviZ compares with the others
    return replace(
        like, elpd=float(elpd_i.sum()), se=standard_error(elpd_i), p=0.0,
        n_samples=1, warning=False, elpd_i=elpd_i, pareto_k=None,
    )  # fmt: skip


def _orders(units: Mapping[str, Units]) -> dict[str, NDArray[np.intp]]:
    """Find where the units of the first model stand in the others; raise if data differ."""
    (one, first), *_ = units.items()
    return {name: matched(one, first, name, each) for name, each in units.items()}


def _aligned(found: Mapping[str, Result], units: Mapping[str, Units]) -> dict[str, Result]:
    """Put what was left out in the order of the first model, and under its labels."""
    first = next(iter(units.values()))

    def moved(x: xr.DataArray, order: NDArray[np.intp]) -> xr.DataArray:
        values, coords = x.to_numpy()[order], {first.dim: first.labels}
        return xr.DataArray(values, coords, first.dim, x.name, dict(x.attrs))

    out = {}
    for name, order in _orders(units).items():
        elpd_i, k = moved(found[name].elpd_i, order), found[name].pareto_k
        if "folds" in elpd_i.attrs:
            elpd_i.attrs["folds"] = np.asarray(elpd_i.attrs["folds"])[order]
        out[name] = replace(
            found[name], elpd_i=elpd_i, pareto_k=None if k is None else moved(k, order)
        )
    return out


def _compared(found: dict[str, Result], **kwargs: Any) -> pd.DataFrame:
    """Compare by ArviZ, whose weights are those of densities that must not vanish."""
    best = np.max([result.elpd_i.to_numpy() for result in found.values()], axis=0)
    stacking = str(kwargs.get("method", "stacking")).lower() == "stacking"
    if not stacking or best.min() >= LEAST_EXP:
        return az.compare(found, **kwargs)
    # Probabilities of long rankings are zero in double precision. Weights do not change when all
    # models are multiplied by the same, ranking by ranking.
    table = az.compare(found, **(kwargs | {"method": "pseudo-BMA"}))
    shifted = {name: replace(x, elpd_i=x.elpd_i - best) for name, x in found.items()}
    table["weight"] = az.compare(shifted, **kwargs)["weight"]
    return table


def _checked(models: Any, baseline: bool) -> dict[str, Model]:
    """Return the models, if there is something to compare."""
    if isinstance(models, xr.DataTree) or not isinstance(models, Mapping):
        raise TypeError(
            f"compare takes a dict of results by name, and got a {type(models).__name__}: "
            'write compare({"model": results}).'
        )
    for name, model in models.items():
        if not isinstance(model, xr.DataTree | az.ELPDData):
            raise TypeError(
                f"{name!r} is a {type(model).__name__}: compare takes the DataTree that pm.sample "
                "returns, or what bayesrank.kfold does."
            )
        if isinstance(model, az.ELPDData) and model.elpd_i is None:
            raise ValueError(
                f"{name!r} has no pointwise values: pass pointwise=True where it is computed."
            )
    if len(models) < 2 - baseline:
        got = "1 model" if models else "no model"
        needs = "one or more" if baseline else "two or more, or baseline=True"
        raise ValueError(f"There is nothing to compare: got {got}, needs {needs}.")
    if baseline and RANDOM in models:
        raise ValueError(
            f"A model is called {RANDOM!r}, as the row of the baseline: rename it, or compare with "
            "baseline=False."
        )
    return dict(models)


def _variables(var: str | Mapping[str, str], names: list[str]) -> dict[str, str]:
    """Name the observed variable of every model."""
    if isinstance(var, str):
        return dict.fromkeys(names, var)
    for name in var:
        if name not in names:
            raise ValueError(
                f"var= names the variable of {name!r}, but there is no such model: there is "
                f"{', '.join(map(repr, names[:-1]))}."
            )
    return dict.fromkeys(names, "y") | dict(var)


def _outcome(name: str, model: Model, var: str) -> str:
    """Read what the outcomes of a model are."""
    if isinstance(model, xr.DataTree):
        found = Kept(model, var).outcome_of_two
        if found is not None and found.startswith("nothing"):
            return found
        if name != RANDOM:
            pointwise_log_likelihood(model, var, whose=f"The results of {name!r}")
        outcome_of(model, var, whose=name)  # that there is one
        return str(found)
    if "outcome" not in model.elpd_i.attrs:
        raise ValueError(
            f"{name!r} does not say what its outcomes are: pass the DataTree instead, or what "
            "bayesrank.kfold returned."
        )
    if not np.isfinite(model.elpd_i).all():
        raise ValueError(f"{name!r} has pointwise values that are not finite.")
    return str(model.elpd_i.attrs["outcome"])


def _check_outcomes(outcomes: Mapping[str, str]) -> None:
    """Raise if there is a pseudo-likelihood, or outcomes differ."""
    for name, what in outcomes.items():
        if what.startswith("nothing"):
            raise ValueError(
                f"{name!r} describes {what}. It has no log predictive density to compare; compare "
                "predictions by a metric, or fit it without weights."
            )
    for one, other in _differing(outcomes):
        raise ValueError(
            f"{one!r} ({outcomes[one]}) and {other!r} ({outcomes[other]}) describe different data: "
            "their expected log predictive densities cannot be compared."
        )


def _differing(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the first model, and each other one with another value."""
    one = next(iter(values), "")
    return ((one, other) for other, x in values.items() if x != values[one])


def _check_methods(models: Mapping[str, Model]) -> None:
    """Raise if predictions are from training sets of different sizes."""
    methods = {name: _method(model) for name, model in models.items()}
    for one, other in _differing(methods):
        raise ValueError(
            f"{one!r} was predicted by {methods[one]} and {other!r} by {methods[other]}: these "
            "predictions are made from training sets of different sizes, and their expected log "
            "predictive densities cannot be compared. Use the same for all."
        )


def _method(model: Model) -> str:
    if isinstance(model, xr.DataTree) or model.kind == "loo":
        return "leave-one-out"
    n_folds = getattr(model, "n_folds", model.elpd_i.attrs.get("n_folds"))
    return f"{n_folds}-fold cross-validation" if n_folds else "cross-validation"


def _check_folds(found: Mapping[str, Result]) -> None:
    """Raise if what was predicted together in one model was not in another."""
    attrs = {name: result.elpd_i.attrs for name, result in found.items()}
    # the same folds may have other numbers
    folds = {k: pd.factorize(x["folds"])[0].tolist() for k, x in attrs.items() if "folds" in x}
    for one, other in _differing(folds):
        raise ValueError(
            f"{one!r} and {other!r} were predicted in different folds, so that a part of their "
            "difference is chance. Use the same folds= or seed= for both."
        )
