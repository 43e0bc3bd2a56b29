"""Components of mixtures: consistent labels over all draws, and their number.

All permutations of the components are equally probable. So two chains, or two parts of one chain,
may label them differently. Means over draws describe a component only after *relabelling*, which
permutes the components of each draw to be nearest to a reference.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bayesrank.data.read import quoted
from bayesrank.results.draws import SAMPLE, as_chains, find_variable, posterior_utilities
from bayesrank.results.evaluation.comparison import compare

__all__ = ["LabelWarning", "compare_components", "relabel_components"]

OFTEN = 0.05  # warn if a component is nearer to another in this share of the draws
ROUNDS = 20  # most updates of the reference, each the mean of the relabelled draws
_PACKAGE = str(Path(__file__).parents[2])

Floats = NDArray[np.float64]


class LabelWarning(UserWarning):
    """Two components are so similar that draws do not identify their labels."""


def relabel_components(
    data: xr.DataTree,
    reference: xr.DataTree | None = None,
    *,
    var_name: str = "utility",
    dim: str = "component",
) -> xr.DataTree:
    r"""Give the components the same labels in all draws.

    In each draw, all variables with the dim of the components are permuted. Linear assignment finds
    the permutation :math:`\sigma` that is nearest to the reference:

    .. math:: \min_\sigma \sum_g \lVert x_{\sigma(g)} - x^*_g \rVert^2

    where :math:`x_g` are the values of `var_name` in component g, and :math:`x^*_g` those of the
    reference.

    Parameters
    ----------
    data : DataTree
        Posterior of a mixture from `pm.sample`. It is not changed.
    reference : DataTree, optional
        The means of this posterior are the reference, such as ``fit_mixture().mode``. By
        default the reference is the first draw, and then repeatedly the mean of the relabelled
        draws.
    var_name : str
        The variable that distinguishes the components.
    dim : str
        Dim of the components.

    Returns
    -------
    DataTree
        A copy with permuted components in the group posterior.

    Raises
    ------
    ValueError
        If the posterior or the reference lacks the variable or the dim, or their sizes differ.

    Warns
    -----
    LabelWarning
        If a component is nearest to a different component of the reference in at least 5% of the
        draws. Their labels are then not identified.

    See Also
    --------
    component_probabilities, fit_mixture, compare_components

    Notes
    -----
    Softmax coefficients relative to a fixed component cannot be permuted. Give every component its
    own coefficients.

    References
    ----------
    Stephens, Dealing with label switching in mixture models, Journal of the Royal Statistical
    Society B 2000.

    Examples
    --------
    The labels are exchanged in the second draw:

    >>> import xarray as xr
    >>> import bayesrank as br
    >>> utility = [[[[1.0, -1.0], [-1.0, 1.0]], [[-0.9, 0.9], [1.1, -1.1]]]]
    >>> posterior = xr.DataTree.from_dict({"posterior": xr.Dataset(
    ...     {"utility": (("chain", "draw", "component", "item"), utility)},
    ...     coords={"component": ["x", "y"], "item": ["a", "b"]})})
    >>> found = br.relabel_components(posterior)
    >>> found.posterior["utility"].sel(item="a").values
    array([[[ 1. , -1. ],
            [ 1.1, -0.9]]])
    """
    draws = _component_draws(data, var_name, dim)
    posterior = as_chains(data["posterior"].to_dataset())
    shape = posterior.sizes
    if reference is None:
        order = _nearest(draws, draws[0])
        for _ in range(ROUNDS):
            target = np.take_along_axis(draws, order[:, :, None], axis=1).mean(axis=0)
            before, order = order, _nearest(draws, target)
            if (before == order).all():
                break
    else:
        aligned = _like(posterior[var_name], find_variable(reference, var_name))
        target = _component_draws(aligned, var_name, dim).mean(axis=0)
        if target.shape != draws.shape[1:]:
            raise ValueError(
                f"The reference has {len(target)} components with {target.shape[1]} values of "
                f"{var_name!r}; the posterior has {draws.shape[1]} with {draws.shape[2]}. Use a "
                "reference from the same model."
            )
        order = _nearest(draws, target)
    ordered = np.take_along_axis(draws, order[:, :, None], axis=1)
    _warn_if_alike(ordered, target, posterior[dim].to_numpy().tolist(), dim, var_name)

    index = xr.DataArray(
        order.reshape(shape["chain"], shape["draw"], shape[dim]), dims=(*SAMPLE, dim)
    )
    # the labels of the components are not permuted
    permuted = {
        name: x.drop_vars(dim, errors="ignore").isel({dim: index}).transpose(*x.dims)
        for name, x in posterior.items()
        if {*SAMPLE, dim} <= {*x.dims}
    }
    out = data.copy()
    out["posterior"] = xr.DataTree(posterior.assign(permuted))
    return out


def _like(x: xr.DataArray, reference: xr.DataArray) -> xr.DataArray:
    """Put a reference in the order of the labels of `x`, which it has in some order."""
    for dim, labels in x.indexes.items():
        present = reference.indexes.get(dim)
        if dim in SAMPLE or present is None or len(present) != len(labels):
            continue
        if {*present} != {*labels}:
            raise ValueError(
                f"The reference has the labels {quoted(present)} of {dim!r}; the posterior has "
                f"{quoted(labels)}. Use a reference from the same model."
            )
        reference = reference.sel({dim: labels})
    return reference.transpose(*x.dims) if {*reference.dims} == {*x.dims} else reference


def _component_draws(data: Any, var_name: str, dim: str) -> Floats:
    """Return the draws of a variable, (n_draws, n_components, n_numbers)."""
    # numbers of any meaning, such as ranks
    x = posterior_utilities(find_variable(data, var_name).astype(np.float64), var_name, dim)
    others = [d for d in x.dims if d not in (*SAMPLE, dim)]
    values = x.transpose(*SAMPLE, dim, *others).to_numpy()
    return values.reshape(-1, x.sizes[dim], values[0, 0, 0].size)


def _distances(draws: Floats, target: Floats) -> Floats:
    """Compute squared distances, (n_draws, components of the target, components of the draw)."""
    return np.stack([((draws - one) ** 2).sum(axis=2) for one in target], axis=1)


def _nearest(draws: Floats, target: Floats) -> NDArray[np.intp]:
    """Find the best permutation of the components of every draw, (n_draws, n_components)."""
    return np.array([linear_sum_assignment(cost)[1] for cost in _distances(draws, target)])


def _warn_if_alike(
    ordered: Floats, target: Floats, labels: list[Any], dim: str, var_name: str
) -> None:
    """Warn if a relabelled component is often nearer to a different component of the reference."""
    nearest = _distances(ordered, target).argmin(axis=1)
    share = np.stack([(nearest == g).mean(axis=0) for g in range(len(target))], axis=1)
    np.fill_diagonal(share, 0)
    g = int(share.sum(axis=1).argmax())
    if share[g].sum() < OFTEN:
        return
    warnings.warn(
        f"Labels are not identified: in {share[g].sum():.0%} of the draws, {dim} {labels[g]!r} is "
        f"nearer to another component of the reference, most often "
        f"{labels[int(share[g].argmax())]!r}. Summaries of either component mix both. Use fewer "
        "components or more data. Predictions of all components together are not affected.",
        LabelWarning,
        skip_file_prefixes=(_PACKAGE,),
    )


def compare_components(
    loo: Mapping[str, Any] | None = None,
    *,
    kfold: Mapping[str, Any] | None = None,
    modes: Mapping[str, Any] | None = None,
    var_name: str = "y",
    **kwargs: Any,
) -> pd.DataFrame:
    """Compare mixtures with different numbers of components: LOO, K-fold and BIC in one table.

    Parameters
    ----------
    loo : dict of str to DataTree, optional
        Results of `pm.sample` for each model, with the group log_likelihood.
    kfold : dict of str to ELPDDataLOOKFold, optional
        Results of `bayesrank.kfold`.
    modes : dict of str to MixtureFit, optional
        Results of `bayesrank.fit_mixture`.
    var_name : str
        The observed variable.
    **kwargs
        Passed to `bayesrank.compare`, such as ``group="ranker"``.

    Returns
    -------
    DataFrame
        One row per model, in the order of the longest argument; NaN where a model was not given.
        The columns of LOO are elpd, elpd_se, elpd_diff (from the best model) and elpd_diff_se. The
        columns of K-fold have the suffix ``_kfold``. The columns of the modes are log_likelihood,
        n_parameters, bic and reached, the share of starts that reached the mode.

    Raises
    ------
    ValueError
        If nothing is given, or as `bayesrank.compare`.

    See Also
    --------
    compare, fit_mixture, kfold, loo

    Examples
    --------
    BIC prefers two components. LOO would need the results of `pm.sample`:

    >>> import pymc as pm
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 14 + [["c", "b", "a"]] * 6)
    >>> modes = {}
    >>> for n in (1, 2):
    ...     with pm.Model(coords=rankings.coords | {"component": range(n)}) as model:
    ...         share = pm.Dirichlet("share", [1.0] * n, dims="component")
    ...         utility = pm.ZeroSumNormal("utility", 2, dims=("component", "item"))
    ...         y = br.Mixture("y", share, br.PlackettLuce.dist(utility), observed=rankings)
    ...     modes[str(n)] = br.fit_mixture(n_starts=2, random_seed=1, model=model)
    >>> table = br.compare_components(modes=modes)
    >>> table["n_parameters"].tolist(), table["bic"].idxmin()
    ([2, 5], '2')
    """
    columns: dict[str, pd.DataFrame] = {}
    for suffix, results in (("", loo), ("_kfold", kfold)):
        if results:
            columns[suffix] = _elpd(results, var_name, kwargs).add_suffix(suffix)
    if modes:
        rows = {
            name: {
                "log_likelihood": found.log_likelihood,
                "n_parameters": found.n_parameters,
                "bic": found.bic,
                "reached": found.n_reached / len(found.log_posterior),
            }
            for name, found in modes.items()
        }
        columns["modes"] = pd.DataFrame.from_dict(rows, orient="index")
    if not columns:
        raise ValueError("There is nothing to compare: give loo=, kfold= or modes=.")
    given = sorted((x for x in (loo, kfold, modes) if x), key=len, reverse=True)
    names = dict.fromkeys(name for x in given for name in x)
    return pd.concat(columns.values(), axis=1).reindex(list(names))


def _elpd(results: Mapping[str, Any], var_name: str, kwargs: Mapping[str, Any]) -> pd.DataFrame:
    """Tabulate expected log predictive densities, and differences from the best."""
    if len(results) == 1:  # compare a single model with random ranking
        table = compare(results, var_name=var_name, **kwargs).loc[list(results)]
        table[["elpd_diff", "dse"]] = 0.0
    else:
        table = compare(results, var_name=var_name, **({"baseline": False} | dict(kwargs)))
    names = {"elpd": "elpd", "se": "elpd_se", "elpd_diff": "elpd_diff", "dse": "elpd_diff_se"}
    return table[list(names)].rename(columns=names).astype(np.float64)
