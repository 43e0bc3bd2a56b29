r"""K-fold cross-validation: predict left-out data by refitting a model that compiles once.

.. math:: \widehat{\mathrm{elpd}} = \sum_u \log \frac1S \sum_s
          p\bigl(y_u \mid \theta^{(s)}_{-f(u)}\bigr).

Here a unit :math:`u` is a ranking, or all rankings of a ranker. The draws :math:`\theta_{-f}` come
from the posterior given all units outside fold :math:`f`.

The log posterior masks the left-out units, so every fold has the same parameters, shapes and
compiled code. A ranking with a count is many units, and keeps the share that is not left out. The
parameters of a ranker without other rankings come from their prior.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import arviz as az
import joblib
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from arviz import ELPDDataLOOKFold
from numpy.typing import ArrayLike, NDArray
from pymc.model.fgraph import clone_model
from scipy.special import logsumexp

from bayesrank.data.read import per_row
from bayesrank.distributions.core.observed import check_coords
from bayesrank.inference.approximation.modes import fixed_seed, kept_of
from bayesrank.inference.mixtures.evaluate_posterior import at_draws
from bayesrank.inference.validation.workers import on_workers
from bayesrank.schema import (
    COMPONENTS,
    CONTENT,
    COUNT,
    DATA,
    FIRST,
    OUTCOMES,
    are_numbers,
    joined,
    name_of,
    spell_label,
)

__all__ = ["FoldWarning", "kfold"]

MASK = "in_training"
WORST_RHAT = 1.01  # Vehtari et al. 2021, Bayesian Analysis 16(2)


class FoldWarning(UserWarning):
    """The chains of a fold disagree, so its part of the result is unreliable."""


def kfold(
    *,
    var_name: str = "y",
    by: str | None = None,
    k: int = 10,
    folds: ArrayLike | None = None,
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    random_seed: int | None = None,
    initvals: Mapping[str, Any] | None = None,
    nuts: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progressbar: bool = False,
    model: pm.Model | None = None,
) -> ELPDDataLOOKFold:
    """Estimate the expected log predictive density by K-fold cross-validation.

    Parameters
    ----------
    var_name : str
        The observed variable.
    by : str, optional
        Label of the units: "ranker", "judge", or a group of the `Pairs`. All rows of a unit are
        left out together. By default, each row with a log-likelihood is a unit: a ranking, a pair
        or the counts of a ranker.
    k : int
        Number of folds, 2 or more. With as many folds as units, this is exact leave-one-out.
    folds : array of int, (n_units,), optional
        The fold of every unit, 0, 1, ...; by default, `k` random folds whose sizes differ by at
        most one. A ranking with a count is many observations, which random folds divide. With `by`,
        units are in the order of the group's labels, without labels that have no data.
    draws, tune, chains : int
        Sampler settings for every fold, as in `pm.sample`.
    random_seed : int, optional
        Seed of the folds and of the sampler. By default the folds are always the same, because
        `bayesrank.compare` requires the same folds for all models.
    initvals : dict, optional
        Starting values, as in `pm.sample`. For a mixture, pass ``fit_mixture().initvals``, so that
        all chains find the same mode.
    nuts : dict, optional
        Passed to nutpie, such as ``{"adaptation": "low_rank", "target_accept": 0.95}``.
    n_jobs : int, optional
        Number of processes, as in `find_MAP_many`; it does not change results. By default, folds
        run in one process, with the chains of a fold in parallel.
    progressbar : bool
        Whether to show the progress of the sampler or, with several processes, of the folds.
    model : pm.Model, optional
        A model in which `var_name` observes rankings, pairs or counts, by a distribution of
        bayesrank or one labelled by `declare_outcomes`. All other variables are continuous. The
        model is not changed. By default, the model of the context.

    Returns
    -------
    ELPDDataLOOKFold
        ArviZ's result for `bayesrank.compare`: elpd, its standard error and ``elpd_i`` by unit. The
        coord ``content`` describes each observation, and other coords hold its groups. The
        effective number of parameters `p` is NaN, because it would need a fit to all data.

    Raises
    ------
    ValueError
        If there is no such observed variable or group, or if a parameter is discrete. If `k` or
        `folds` do not match the units.

    Warns
    -----
    FoldWarning
        If the chains of a fold disagree. Chains of a mixture are compared by their log-likelihoods,
        because components may be numbered differently in each chain.

    See Also
    --------
    loo, compare, forward_validation

    Notes
    -----
    This takes `k` fits and one compilation. Compare K-fold results only with each other, because
    each fit uses less data than in leave-one-out.

    A `Mallows` model that marginalises its consensus makes rankings dependent. Use
    `bayesrank.consensus_log_likelihood` for LOO. LOO also works if the consensus is a parameter.

    References
    ----------
    Vehtari, Gelman & Gabry, Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC, Statistics and Computing 2017.

    Examples
    --------
    >>> import bayesrank as br
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     utility = pm.Normal("utility", 0, 1, dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    >>> left_out = br.kfold(k=3, draws=100, chains=1, random_seed=1, model=model)
    >>> left_out.n_folds, left_out.elpd_i.sizes
    (3, Frozen({'ranking': 3}))
    """
    model = check_coords(pm.modelcontext(model))
    discrete = [rv.name for rv in model.free_RVs if rv.dtype.startswith(("int", "uint", "bool"))]
    if discrete:
        raise ValueError(
            f"{discrete[0]!r} is discrete, but kfold samples by NUTS. Marginalise it, or compare "
            "models by LOO, with br.compare."
        )
    units = _units(model, var_name, by)
    # models with the same data get the same folds
    parts, times = _folds(units, k, folds, random_seed or 0, by or units.rows), units.times
    random_seed = fixed_seed(random_seed)
    n_folds = parts.shape[1]
    alone = joblib.effective_n_jobs(n_jobs) == 1
    settings = {
        "draws": draws, "tune": tune, "chains": chains, "save_warmup": False,
        "progress_bar": progressbar and alone, **(nuts or {}),
    }  # fmt: skip
    if not alone:  # processes in parallel, chains one after the other
        settings["cores"] = 1
    prepare = partial(_Folds, model, var_name, units.unit_of_row, times, initvals, settings)
    problems = {f: (f, parts[:, f] / times, random_seed + f) for f in range(n_folds)}

    elpd_i = np.zeros(len(units.labels))
    by_fold: dict[Any, NDArray[np.int64]] = dict(enumerate(parts.T))
    bad: dict[Any, float] = {}
    for some in on_workers(
        prepare,
        problems,
        n_jobs=n_jobs,
        description="Folds",
        progressbar=progressbar and not alone,
    ):
        for f, found in some.items():
            in_fold = by_fold[f]
            elpd_i[in_fold > 0] += in_fold[in_fold > 0] * found.elpd_i
            if chains > 1 and not found.worst_rhat <= WORST_RHAT:
                bad[f] = found.worst_rhat
    if bad:
        warnings.warn(_disagree(bad, n_folds), FoldWarning, stacklevel=2)

    dim = by or units.rows
    coords = {name: (dim, labels) for name, labels in units.coords.items()}
    pointwise = xr.DataArray(elpd_i, dims=dim, coords={dim: units.labels, **coords}, name="elpd_i")
    pointwise.attrs = {"outcome": units.outcome, "folds": parts.argmax(axis=1).tolist()}
    if (times > 1).any():
        pointwise.attrs |= {"folds": parts.tolist(), COUNT: times.tolist()}
    each = np.repeat(elpd_i / times, times)
    return ELPDDataLOOKFold(
        elpd=float(elpd_i.sum()),
        se=float(np.sqrt(len(each) * each.var(ddof=1))),  # as arviz.loo does
        p=np.nan,
        n_samples=draws * chains,
        n_data_points=len(each),
        scale="log",
        warning=bool(bad),
        good_k=None,
        elpd_i=pointwise,
        n_folds=n_folds,
    )


class _Units(NamedTuple):
    labels: NDArray[Any]  # (n_units,)
    unit_of_row: NDArray[np.int64]  # (n_rows,)
    rows: str  # dim of one log-likelihood
    outcome: str
    coords: dict[str, NDArray[Any]]  # the units' contents and groups, if known
    times: NDArray[np.int64]  # (n_units,) number of independent observations


def _units(model: pm.Model, var_name: str, by: str | None) -> _Units:
    """Find the units that are left out and predicted together."""
    name = model.name_for(var_name)
    observed = [rv.name for rv in model.observed_RVs]
    if name not in observed:
        raise ValueError(f"The model observes no {name!r}; it observes {sorted(observed)}.")
    if {name_of(name, DATA), name_of(name, OUTCOMES)}.isdisjoint(model.named_vars):
        raise ValueError(
            f"{name!r} does not observe rankings, pairs or counts by a distribution of bayesrank, "
            "so kfold does not know what to leave out. If it is a pm.Mixture of our distributions, "
            f"call br.declare_outcomes({var_name!r}) first."
        )
    kept = kept_of(model, name)
    labels, rows, outcome = kept.rows().to_numpy(), str(kept.rows().name), str(kept.outcome_of_two)
    contents = None if kept.items is None else kept.contents(kept.items)

    def times_of(labels: Any, dim: str) -> NDArray[np.int64]:
        found = kept.times(dim)
        times = np.ones(len(labels)) if found is None else found.sel({dim: labels}).to_numpy()
        return times.astype(np.int64)

    def group_units(labels: Any, codes: Any, unit_of_row: Any, dim: str) -> _Units:
        content = {} if contents is None else {CONTENT: joined(contents, codes, len(labels))}
        return _Units(labels, unit_of_row, dim, outcome, content, times_of(labels, by or dim))

    by = None if by == rows else by
    axes = kept.groups
    dim = str(model.named_vars_to_dims.get(name, (rows,))[0])
    if dim != rows and dim in axes.values() and by in (None, dim):
        # in a mixture, all rankings of a ranker have one log-likelihood
        group = next(group for group, axis in axes.items() if axis == dim)
        labels = kept.labels(group)
        return group_units(labels, kept.codes(group), np.arange(len(labels)), dim)
    if by is None:
        coords = {group: kept.labels(group)[kept.codes(group)] for group in axes}
        if contents is not None:
            coords[CONTENT] = contents
        if kept.items is not None and FIRST in kept:
            coords[FIRST] = kept.items.to_numpy()[kept[FIRST].to_numpy()]
        unit_of_row = np.arange(len(labels))
        return _Units(labels, unit_of_row, rows, outcome, coords, times_of(labels, rows))
    if by not in axes:
        known = f"it is grouped by {', '.join(map(repr, axes))}" if axes else "it has no groups"
        raise ValueError(f"{name!r} is not grouped by {by!r}; {known}.")
    present, unit_of_row = np.unique(kept.codes(by), return_inverse=True)
    return group_units(kept.labels(by)[present], unit_of_row, unit_of_row, rows)


def _folds(
    units: _Units, k: int, folds: ArrayLike | None, random_seed: int | None, what: str
) -> NDArray[np.int64]:
    """Count the observations of every unit in every fold, (n_units, n_folds)."""
    n = len(units.labels)
    if folds is None:
        unit = _sorted(units)
        unit = np.repeat(unit, units.times[unit])
        n = len(unit)
        if isinstance(k, bool) or k % 1 or not 2 <= k <= n:
            raise ValueError(
                f"`k` is {k!r}; it must be a whole number from 2 to the {n} units ({what})."
            )
        parts = np.zeros((len(units.labels), int(k)), dtype=np.int64)
        dealt = np.random.default_rng(random_seed).permutation(np.arange(n) % int(k))
        np.add.at(parts, (unit, dealt), 1)
        return parts
    given = np.asarray(per_row(folds, {what: pd.Index(units.labels)}, "folds"))
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise ValueError(
            f"`folds` has shape {given.shape} and dtype {given.dtype}; it must be one whole number "
            f"for each of the {n} units ({what})."
        )
    n_folds = given.max() + 1
    if n_folds < 2 or not np.array_equal(np.unique(given), np.arange(n_folds)):
        raise ValueError(
            f"`folds` has the numbers {np.unique(given).tolist()}; they must be 0, 1, ... without "
            "a gap, and at least two."
        )
    parts = np.zeros((n, int(n_folds)), dtype=np.int64)
    parts[np.arange(n), given] = units.times
    return parts


def _sorted(units: _Units) -> NDArray[np.intp]:
    """Order units by their contents and labels, whatever the order of the data."""
    groups = [units.coords[name] for name in sorted(units.coords.keys() - {CONTENT})]
    contents = units.coords.get(CONTENT, np.zeros(len(units.labels)))
    keys = [contents, *(x for x in (*groups, units.labels) if not are_numbers(x))]
    codes = [np.unique([spell_label(label) for label in x], return_inverse=True)[1] for x in keys]
    return np.lexsort(codes[::-1])


class _Fold(NamedTuple):
    """The result of one fold."""

    elpd_i: NDArray[np.float64]  # elpd of its units
    worst_rhat: float  # NaN with one chain


class _Folds:
    """A model in a worker, compiled once for all folds, that is fitted without a fold."""

    def __init__(
        self,
        model: pm.Model,
        var_name: str,
        unit_of_row: NDArray[np.int64],
        times: NDArray[np.int64],
        initvals: Mapping[str, Any] | None,
        settings: Mapping[str, Any],
    ) -> None:
        self.var_name, self.settings = var_name, settings
        self.unit_of_row, self.times = unit_of_row, times
        training = _training_model(model, var_name, len(unit_of_row))
        self.mask = training.name_for(MASK)
        self.compiled = nutpie.compile_pymc_model(
            training,
            var_names=[rv.name for rv in training.free_RVs],
            freeze_model=False,
            initial_points=initvals,
        )
        self.are_components = COMPONENTS in kept_of(model, model.name_for(var_name))
        self.log_likelihood = at_draws(model, var_name)

    def __call__(self, fold: tuple[int, NDArray[np.float64], int]) -> _Fold:
        f, share, random_seed = fold  # the share of each unit that the fold leaves out
        inside, left_out = share > 0, share[self.unit_of_row] > 0
        model = self.compiled.with_data(**{self.mask: 1.0 - share[self.unit_of_row]})
        fit = nutpie.sample(model, seed=random_seed, **self.settings)["posterior"].dataset
        logp = np.array(list(self.log_likelihood(fit)))  # (n_draws, n_rows)
        if np.isnan(logp[:, left_out]).any():
            raise ValueError(
                f"The log-likelihood of {self.var_name!r} is NaN in fold {f}. Check the model."
            )
        per_unit = np.zeros((len(logp), len(inside)))
        np.add.at(per_unit.T, self.unit_of_row, logp.T)
        per_unit /= self.times
        elpd_i = logsumexp(per_unit[:, inside], axis=0) - np.log(len(logp))
        if self.settings["chains"] == 1:
            return _Fold(elpd_i, np.nan)
        rhat = az.rhat(_without_names(logp, left_out, fit) if self.are_components else fit)
        return _Fold(elpd_i, max(float(rhat[name].max()) for name in rhat.data_vars))


def _training_model(model: pm.Model, var_name: str, n_rows: int) -> pm.Model:
    """Return the model with a potential instead of `var_name`: each term times its share."""
    copy = clone_model(model)
    name = copy.name_for(var_name)
    rv = copy.named_vars.pop(name)
    value = copy.rvs_to_values.pop(rv)
    del copy.values_to_rvs[value]
    copy.observed_RVs.remove(rv)
    copy.named_vars_to_dims.pop(name, None)
    with copy:
        mask = pm.Data(MASK, np.ones(n_rows))
        terms = pt.switch(mask > 0, mask * pm.logp(rv, value), 0.0)
        pm.Potential(f"{var_name}_{MASK}", pt.sum(terms))
    return copy


def _without_names(
    logp: NDArray[np.float64], left_out: NDArray[np.bool_], fit: xr.Dataset
) -> xr.Dataset:
    """Return statistics of draws that do not depend on the order of the components."""
    shape = fit.sizes["chain"], fit.sizes["draw"]
    parts = {"left out": left_out, "rest": ~left_out}
    sums = {name: logp[:, rows].sum(axis=1).reshape(shape) for name, rows in parts.items()}
    return xr.Dataset({name: (("chain", "draw"), x) for name, x in sums.items()})


def _disagree(bad: dict[int, float], n_folds: int) -> str:
    worst = max(bad, key=bad.__getitem__)
    return (
        f"The chains disagree in {len(bad)} of {n_folds} folds (largest R-hat {bad[worst]:.3f} in "
        f"fold {worst}, should be at most {WORST_RHAT}). Do not trust the result; increase `tune` "
        "and `draws`."
    )
