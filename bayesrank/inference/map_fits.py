r"""Many small problems, one compiled model: posterior modes of queries, days, folds or simulations.

Compiling a model takes seconds and a fit of a small one milliseconds, so what counts is that each
process compiles once. The model is pickled and sent to a worker with every handful of problems; a
worker that has met it before knows it by a digest of the pickle, and goes on with what it compiled
then. Workers are joblib's: processes of this machine, or those of a dask cluster. Each fit starts
where the model starts, and not where another fit ended, so that results do not depend on who
fitted what.
"""

import hashlib
import warnings
from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import cloudpickle
import joblib
import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pymc.backends.arviz import coords_and_dims_for_inferencedata
from pymc.blocking import DictToArrayBijection, RaveledVars
from rich.progress import track
from threadpoolctl import threadpool_limits

from bayesrank.data.read import label_repr
from bayesrank.distributions import set_observed
from bayesrank.inference.modes import climb, objective

__all__ = ["FitWarning", "map_fits"]


class FitWarning(UserWarning):
    """Some of the problems could not be fitted, or were not."""


def map_fits(
    model: pm.Model,
    problems: Mapping[Hashable, Any] | Sequence[Any],
    *,
    var: str = "y",
    done: xr.Dataset | None = None,
    n_jobs: int | None = None,
    client: Any = None,
    max_iterations: int = 15_000,
    tolerance: float = 1e-6,
    progressbar: bool = True,
) -> xr.Dataset:
    """Find the posterior mode for each of many data sets, compiling once in every process.

    Parameters
    ----------
    model : pm.Model
        That observes one of them, or any other data on the same items. It is not changed.
    problems : mapping of label to data, or sequence of data
        What `var` observes in each problem, as for `set_observed`: `Rankings`, `Pairs`,
        `PairCounts` or `Interactions` on the model's items. Or a dict of values for data variables
        of the model, as for `pm.set_data`, which may also hold new data under the name of `var`.
        A sequence has the labels 0, 1, ...
    var : str
        The observed variable.
    done : Dataset, optional
        Fits of an earlier call: problems whose labels it has, and which did not fail there, are
        not fitted again.
    n_jobs : int, optional
        How many processes: 1 for this one alone, -1 for one per core. By default what
        `joblib.parallel_config` says, and else this process alone.
    client : dask.distributed.Client, optional
        Fit on the workers of its cluster, which need bayesrank and one thread each (PyTensor does
        not compile in several threads at a time).
    max_iterations, tolerance
        As in `posterior_modes`.
    progressbar : bool
        Whether to show one, on a terminal.

    Returns
    -------
    Dataset
        The free variables and deterministics of the model at the mode, with the dim problem before
        their own; ``log_density``, of the mode in the space of the sampler; and ``problem``, the
        labels, all of them. What could not be fitted is NaN and says why in ``failed``, which is
        empty otherwise.

    Raises
    ------
    ValueError
        If there are no problems, or variables have other shapes in some of them: those would be
        models of their own.

    Warns
    -----
    FitWarning
        If fits failed, which is not fatal to the others; or if the call was interrupted, in which
        case what was fitted is returned.

    Notes
    -----
    Results are the same to the last digit, whoever fits: on as many processes as one likes, or on
    a cluster. A worker imports and compiles first, which takes it some ten seconds: below some
    thousands of small problems one process is as fast.

    See Also
    --------
    posterior_modes : For settings of one model, each search from where the last one ended.

    Examples
    --------
    >>> import bayesrank as br
    >>> one = br.Rankings.from_orderings([["a", "b"]] * 3)
    >>> other = br.Rankings.from_orderings([["b", "a"]] * 3)
    >>> with pm.Model(coords=one.coords) as model:
    ...     utility = pm.Normal("utility", 0, 1, dims="item")
    ...     _ = br.PlackettLuce("y", utility, observed=one)
    >>> fits = map_fits(model, {"spring": one, "autumn": other}, progressbar=False)
    >>> fits["utility"].sel(problem="autumn").values.round(2)
    array([-0.65,  0.65])
    """
    labelled: dict[Hashable, Any] = {}
    labelled.update(problems if isinstance(problems, Mapping) else enumerate(problems))
    if not labelled:
        raise ValueError("There are no problems to fit.")
    known = _done(done)
    wanted = [label for label in labelled if label not in known]
    sent = _Sent.of(model, var, max_iterations, tolerance)
    fits = dict(known)
    interrupted = False
    backend: Any = joblib.parallel_config("dask", client=client) if client else nullcontext()
    with backend:
        workers = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        size = _handful(len(wanted), joblib.effective_n_jobs(-1 if client else n_jobs))
        parts = [wanted[k : k + size] for k in range(0, len(wanted), size)]
        tasks = (
            joblib.delayed(_fit_some)(sent, [(label, labelled[label]) for label in part])
            for part in parts
        )
        try:
            found = workers(tasks)
            for some in track(
                found, "Fitting", len(parts), transient=True, disable=not progressbar
            ):
                fits.update(some)
        except KeyboardInterrupt:
            interrupted = True
    out = _together(model, labelled, fits)
    _warn(out, interrupted)
    return out


class _Fit(NamedTuple):
    """One mode: values by name, and its log density; or why there is none."""

    values: dict[str, NDArray[Any]]
    log_density: float
    failed: str


class _Sent(NamedTuple):
    """What workers are sent: the model, pickled, and how to fit it."""

    digest: str
    pickled: bytes
    var: str
    max_iterations: int
    tolerance: float

    @classmethod
    def of(cls, model: pm.Model, var: str, max_iterations: int, tolerance: float) -> "_Sent":
        pickled = cloudpickle.dumps(model)
        digest = hashlib.sha256(pickled).hexdigest()
        return cls(digest, pickled, var, max_iterations, tolerance)


class _Compiled:
    """A model in a worker: its log density, and what turns a point into values."""

    def __init__(self, pickled: bytes) -> None:
        self.model: pm.Model = cloudpickle.loads(pickled)
        self.logp, self.start = objective(self.model)
        self.names = _names(self.model)
        shown = [x for x in self.model.unobserved_value_vars if x.name in self.names]
        self.convert = self.model.compile_fn(shown, inputs=self.model.value_vars, point_fn=True)
        self.shown = [x.name for x in shown]

    def fit(self, data: Any, sent: _Sent) -> _Fit:
        values = dict(data) if isinstance(data, Mapping) else {sent.var: data}
        if sent.var in values:
            set_observed(sent.var, values.pop(sent.var), model=self.model)
        before = {name: self.model[name].get_value() for name in values if name in self.model}
        try:
            pm.set_data(values, model=self.model)
            return self._climb(sent)
        finally:  # the next problem may leave these as the model has them
            pm.set_data(before, model=self.model)

    def _climb(self, sent: _Sent) -> _Fit:
        start: RaveledVars = DictToArrayBijection.map(self.model.initial_point())
        if start.data.shape != self.start.data.shape:
            raise ValueError(
                f"the model has {start.data.size} free numbers with these data, and "
                f"{self.start.data.size} with those that it observes"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # of a search that did not arrive
            mode = climb(
                self.logp, start.data, max_iterations=sent.max_iterations, tolerance=sent.tolerance
            )
        point = self.convert(DictToArrayBijection.rmap(start._replace(data=mode)))
        shown = dict(zip(self.shown, map(np.asarray, point), strict=True))
        return _Fit(shown, float(self.logp(mode)[0]), "")


_compiled: dict[str, _Compiled] = {}  # in a worker, by digest: one, the last


def _fit_some(sent: _Sent, problems: list[tuple[Hashable, Any]]) -> dict[Hashable, _Fit]:
    """Fit a handful of problems, in whatever process this is."""
    if sent.digest not in _compiled:
        _compiled.clear()
        _compiled[sent.digest] = _Compiled(sent.pickled)
    compiled = _compiled[sent.digest]
    found: dict[Hashable, _Fit] = {}
    with threadpool_limits(limits=1, user_api="blas"):  # once: entering it costs as much as a fit
        for label, data in problems:
            try:
                found[label] = compiled.fit(data, sent)
            except Exception as error:
                found[label] = _Fit({}, np.nan, f"{type(error).__name__}: {error}")
    return found


def _handful(n_problems: int, n_workers: int) -> int:
    """So many that messages cost little, and that workers end at about the same time."""
    return max(1, min(200, n_problems // (8 * max(n_workers, 1))))


def _names(model: pm.Model) -> set[str]:
    return {rv.name for rv in model.unobserved_RVs}


def _done(done: xr.Dataset | None) -> dict[Hashable, _Fit]:
    """Read the fits of an earlier call, those that did not fail."""
    if done is None:
        return {}
    names = [str(name) for name in done.data_vars if name not in ("failed", "log_density")]
    labels = done["problem"].to_index()
    return {
        label: _Fit(
            {name: done[name].isel(problem=k).values for name in names},
            float(done["log_density"].isel(problem=k)),
            "",
        )
        for k, label in enumerate(labels)
        if not str(done["failed"].isel(problem=k).item())
    }


def _together(
    model: pm.Model, problems: Mapping[Hashable, Any], fits: Mapping[Hashable, _Fit]
) -> xr.Dataset:
    """Put all fits into one Dataset, NaN where there is none."""
    missing = _Fit({}, np.nan, "not fitted: interrupted")
    rows = [fits.get(label, missing) for label in problems]
    shapes = {name: x.shape for row in rows for name, x in row.values.items()}
    coords, dims = coords_and_dims_for_inferencedata(model)
    out = xr.Dataset(coords={"problem": _labels(problems)})
    for name, shape in shapes.items():
        if any(row.values[name].shape != shape for row in rows if row.values):
            raise ValueError(
                f"{name!r} has different shapes in different problems: fit those with a model of "
                "their own."
            )
        stacked = np.stack([row.values.get(name, np.full(shape, np.nan)) for row in rows])
        own = dims.get(name) or [f"{name}_dim_{k}" for k in range(len(shape))]
        of_dims = {d: coords[d] for d in own if d in coords}
        out[name] = xr.DataArray(stacked, dims=("problem", *own), coords=of_dims)
    out["log_density"] = ("problem", np.array([row.log_density for row in rows]))
    out["failed"] = ("problem", np.array([row.failed for row in rows], dtype=object))
    return out


def _labels(problems: Mapping[Hashable, Any]) -> NDArray[Any]:
    """Labels as an axis; tuples are labels, too."""
    labels = np.empty(len(problems), dtype=object)
    labels[:] = list(problems)
    kinds = {type(label) for label in problems}
    return np.array(list(problems)) if kinds in ({int}, {str}) else labels


def _warn(out: xr.Dataset, interrupted: bool) -> None:
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
