"""Posterior modes of many small problems (queries, days, folds, simulations), compiling once.

Each fit starts at the model's initial point, not where another fit ended, so results do not depend
on the process that fitted a problem.
"""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pymc.backends.arviz import coords_and_dims_for_inferencedata
from pymc.blocking import DictToArrayBijection, RaveledVars

from bayesrank.data.read import label_repr
from bayesrank.distributions import set_observed
from bayesrank.distributions.core.observed import check_coords
from bayesrank.inference.approximation.modes import climb, compile_values, objective
from bayesrank.inference.validation.workers import WorkersDiedError, on_workers

__all__ = ["FitWarning", "find_MAP_many"]


class FitWarning(UserWarning):
    """Some problems have no fit."""


def find_MAP_many(  # noqa: N802  # as pymc.find_MAP
    problems: Mapping[Hashable, Any] | Sequence[Any],
    *,
    var_name: str = "y",
    done: xr.Dataset | None = None,
    n_jobs: int | None = None,
    max_iterations: int = 15_000,
    tolerance: float = 1e-6,
    progressbar: bool = True,
    model: pm.Model | None = None,
) -> xr.Dataset:
    """Find the posterior mode for each of many data sets, compiling once per process.

    Parameters
    ----------
    problems : mapping of label to data, or sequence of data
        The data that `var_name` observes in each problem, as for `set_observed`: `Rankings`,
        `Pairs`, `PairCounts` or `Interactions` on the model's items. Alternatively, a dict of
        values for the model's data variables, as for `pm.set_data`. It contains new data under the
        name of `var_name` in all problems or in none. A sequence has the labels 0, 1, ...
    var_name : str
        The observed variable.
    done : Dataset, optional
        Result of an earlier call. Problems that it fitted are not fitted again.
    n_jobs : int, optional
        Number of processes: 1 for only this process, -1 for one per core. The default is the
        setting of `joblib.parallel_config`, or else 1.
    max_iterations : int
        Largest number of iterations of each of two methods, L-BFGS and then Newton's method.
    tolerance : float
        Largest accepted gap in log density between the end of the search and the mode, positive.
        The default is a thousandth of a standard deviation.
    progressbar : bool
        Whether to show a progress bar, on a terminal only.
    model : pm.Model, optional
        A model that observes one of the data sets, or other data on the same items. It is not
        changed. By default, the model of the context.

    Returns
    -------
    Dataset
        The free variables and deterministics of the model at the mode, with ``problem`` as their
        first dim. ``log_density`` is the log density at the mode, in the space of the sampler.
        ``failed`` is empty, or says why a problem has no fit; its values are then NaN.

    Raises
    ------
    ValueError
        If there are no problems, or only some of them have data for `var_name`. If no problem has a
        fit.
    Exception
        Any error before the first fit, such as a model that does not compile, or an interrupt.

    Warns
    -----
    FitWarning
        If some problems have no fit. Possible reasons: data do not match the model, the search does
        not converge, or a variable has another shape than in the first problem. A worker process
        may also die, or the call may be interrupted. All other fits are returned.

    See Also
    --------
    fit_minibatch, set_observed, jax.find_map

    Notes
    -----
    Results do not depend on the number of processes. A worker first imports and compiles, which
    takes about ten seconds. One process is therefore as fast for up to a few thousand small
    problems.

    If a worker process dies, for example for lack of memory, its problems are tried once more, one
    at a time, after all others.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayesrank as br
    >>> one = br.Rankings.from_orderings([["a", "b"]] * 3)
    >>> other = br.Rankings.from_orderings([["b", "a"]] * 3)
    >>> with pm.Model(coords=one.coords) as model:
    ...     utility = pm.Normal("utility", 0, 1, dims="item")
    ...     _ = br.PlackettLuce("y", utility, observed=one)
    >>> fits = br.find_MAP_many({"spring": one, "autumn": other}, progressbar=False, model=model)
    >>> fits["utility"].sel(problem="autumn").values.round(2)
    array([-0.65,  0.65])
    """
    model = check_coords(pm.modelcontext(model))
    labelled: dict[Hashable, Any] = {}
    labelled.update(problems if isinstance(problems, Mapping) else enumerate(problems))
    _check_problems(labelled, var_name)
    fits = _done(done)
    wanted = {label: problem for label, problem in labelled.items() if label not in fits}
    fitter = partial(_Fitter, model, var_name, max_iterations, tolerance)
    n_before, rest = len(fits), ""
    try:
        for some in on_workers(
            fitter,
            wanted,
            n_jobs=n_jobs,
            description="Fitting",
            progressbar=progressbar,
        ):
            fits |= some
    except WorkersDiedError as error:
        fits |= {label: _failure(why) for label, why in error.lost.items()}
    except (KeyboardInterrupt, Exception) as error:
        if len(fits) == n_before:
            raise
        interrupted = isinstance(error, KeyboardInterrupt)
        rest = "interrupted" if interrupted else f"{type(error).__name__}: {error}"
    out = _dataset(model, labelled, fits, rest)
    _warn_of_failures(out, interrupted=rest == "interrupted")
    return out


Fit = dict[str, Any]  # values at the mode by name, with "log_density" and "failed"


def _failure(why: Exception | str) -> Fit:
    failed = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
    return {"log_density": np.nan, "failed": failed}


class _Fitter:
    """A model in a worker, with its log density and a function from points to values."""

    def __init__(
        self, model: pm.Model, var_name: str, max_iterations: int, tolerance: float
    ) -> None:
        self.model, self.var_name = model, var_name
        self.max_iterations, self.tolerance = max_iterations, tolerance
        self.logp, self.start = objective(model)
        self.values_of = compile_values(model)

    def __call__(self, data: Any) -> Fit:
        try:
            return self._fit(data)
        except Exception as error:
            return _failure(error)

    def _fit(self, data: Any) -> Fit:
        values = dict(data) if isinstance(data, Mapping) else {self.var_name: data}
        if self.var_name in values:
            set_observed(self.var_name, values.pop(self.var_name), model=self.model)
        before = {name: self.model[name].get_value() for name in values if name in self.model}
        try:
            pm.set_data(values, model=self.model)
            return self._climb()
        finally:  # the next problem may not set these
            pm.set_data(before, model=self.model)

    def _climb(self) -> Fit:
        start: RaveledVars = DictToArrayBijection.map(self.model.initial_point())
        if start.data.shape != self.start.data.shape:
            raise ValueError(
                f"the model has {start.data.size} free parameters with these data, but "
                f"{self.start.data.size} with the data that it observes"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # from a search that did not converge
            mode = climb(
                self.logp, start.data, max_iterations=self.max_iterations, tolerance=self.tolerance
            )
        values = self.values_of(DictToArrayBijection.rmap(start._replace(data=mode)))
        return values | {"log_density": float(self.logp(mode)[0]), "failed": ""}


def _check_problems(problems: Mapping[Hashable, Any], var_name: str) -> None:
    """Raise if there are no problems, or if a problem would keep the data of another one."""
    if not problems:
        raise ValueError("Expected at least one problem to fit; `problems` is empty.")
    without = [
        label
        for label, data in problems.items()
        if isinstance(data, Mapping) and var_name not in data
    ]
    if without and len(without) < len(problems):
        raise ValueError(
            f"Problem {label_repr(without[0])} has no data for {var_name!r}, which other problems "
            f"have. Give {var_name!r} in all problems or in none."
        )


def _done(done: xr.Dataset | None) -> dict[Hashable, Fit]:
    """Read the successful fits of an earlier call."""
    if done is None:
        return {}
    rows = enumerate(done["problem"].to_index())
    fits = {label: done.isel(problem=k) for k, label in rows}
    return {
        label: {str(name): x.values for name, x in fit.data_vars.items()} | {"failed": ""}
        for label, fit in fits.items()
        if not fit["failed"].item()
    }


def _dataset(
    model: pm.Model, problems: Mapping[Hashable, Any], fits: Mapping[Hashable, Fit], rest: str
) -> xr.Dataset:
    """Stack all fits; problems without a fit are NaN, for the reason `rest`."""
    rows = [fits.get(label, _failure(f"not fitted: {rest}")) for label in problems]
    first = next((row for row in rows if not row["failed"]), None)
    if first is None:
        label, row = next(iter(problems)), rows[0]
        raise ValueError(
            f"No problem has a fit. The first is {label_repr(label)}: {row['failed'].rstrip('.')}."
        )
    shapes = {name: np.shape(x) for name, x in first.items() if name != "failed"}
    for k, row in enumerate(rows):
        other = [name for name in shapes if name in row and np.shape(row[name]) != shapes[name]]
        if other:
            name, shape = other[0], np.shape(row[other[0]])
            rows[k] = _failure(
                f"{name!r} has shape {shape} in this problem but {shapes[name]} in the first one; "
                "fit this problem with a separate model"
            )
    coords, dims = coords_and_dims_for_inferencedata(model)
    out = xr.Dataset(coords={"problem": _labels(problems)})
    for name, shape in shapes.items():
        stacked = np.stack([row.get(name, np.full(shape, np.nan)) for row in rows])
        value_dims = dims.get(name) or [f"{name}_dim_{k}" for k in range(len(shape))]
        value_coords = {d: coords[d] for d in value_dims if d in coords}
        out[name] = xr.DataArray(stacked, dims=("problem", *value_dims), coords=value_coords)
    out["failed"] = ("problem", np.array([row["failed"] for row in rows], dtype=object))
    return out


def _labels(problems: Mapping[Hashable, Any]) -> NDArray[Any]:
    """Return labels as an axis, also if they are tuples."""
    labels = np.empty(len(problems), dtype=object)
    labels[:] = list(problems)
    is_plain = {type(label) for label in problems} in ({int}, {str})
    return np.array(list(problems)) if is_plain else labels


def _warn_of_failures(out: xr.Dataset, interrupted: bool) -> None:
    """Warn of the fits that failed, naming the first one."""
    failed = out["failed"].values != ""
    if not failed.any():
        return
    k = int(failed.argmax())
    how = "were interrupted or failed" if interrupted else "failed"
    why = str(out["failed"].values[k]).rstrip(".")
    warnings.warn(
        f"{failed.sum()} of {len(failed)} fits {how}, the first of them "
        f"{label_repr(out['problem'].values[k])}: {why}. Their values are NaN; see "
        "`failed`, and pass this result as `done` to fit them again.",
        FitWarning,
        stacklevel=3,
    )
