"""Resample the location of utilities, which comparisons do not identify, from its prior."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.results.draws import posterior_utilities

__all__ = ["resample_location"]


def resample_location(
    data: xr.DataTree,
    var_name: str = "utility",
    *,
    sigma: Any = 1.0,
    mu: Any = 0.0,
    dim: str = "item",
    random_seed: int | None = None,
) -> xr.DataTree:
    r"""Replace the location of utilities in every draw by a draw from its prior.

    .. math:: m = \frac{\sum_i w_i / \sigma_i^2}{\sum_i 1 / \sigma_i^2}
              \sim \operatorname{Normal}\Big(
              \frac{\sum_i \mu_i / \sigma_i^2}{\sum_i 1 / \sigma_i^2},
              \Big(\sum_i 1 / \sigma_i^2\Big)^{-1/2}\Big)

    for independent :math:`w_i \sim \operatorname{Normal}(\mu_i, \sigma_i)`. Under this prior
    :math:`m` is independent of the differences :math:`w_i - m`. A likelihood that is the same for
    :math:`w + c` depends only on these differences, so the posterior of :math:`m` is its prior.
    Resampling it is a Gibbs step: it leaves the posterior unchanged and removes the autocorrelation
    of :math:`m`.

    This is exact if *the likelihood and everything else in the model* depend only on differences of
    the utilities. It is not exact if other variables are computed from the utilities, or the prior
    fixes their sum. If `mu` or `sigma` are learned, pass their draws.

    Parameters
    ----------
    data : DataTree
        Results of `pm.sample`.
    var_name, dim : str
        The utilities, and the dim of the items.
    sigma, mu : float, or DataArray
        Standard deviation and mean of the prior: a number, a value per item, or posterior draws.
    random_seed : int, optional
        Random seed.

    Returns
    -------
    DataTree
        A copy, with new draws of `var_name`.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if `sigma` is not positive.

    See Also
    --------
    elo_scale, fit_inla

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> draws = xr.Dataset({"utility": (("chain", "draw", "item"), [[[3.0, 2.0], [1.0, 2.0]]])})
    >>> data = xr.DataTree.from_dict({"posterior": draws})
    >>> found = br.resample_location(data, random_seed=1)["posterior"]["utility"]
    >>> found.diff("item").values.ravel().round(6).tolist()
    [-1.0, 1.0]
    """
    utility = posterior_utilities(data, var_name, dim)
    sigma, mu = (_aligned(x, name, utility, dim) for x, name in ((sigma, "sigma"), (mu, "mu")))
    if not bool((sigma > 0).all()):
        raise ValueError(f"`sigma` is {sigma.to_numpy()}; it must be positive.")
    precision = xr.ones_like(utility) / sigma**2
    total = precision.sum(dim)
    location, mean = (precision * utility).sum(dim) / total, (precision * mu).sum(dim) / total
    noise = np.random.default_rng(random_seed).normal(size=location.shape)
    moved = (utility + (mean + noise / np.sqrt(total) - location)).transpose(*utility.dims)
    out = data.copy()
    out["posterior"] = xr.DataTree(data["posterior"].to_dataset().assign({var_name: moved}))
    return out


def _aligned(x: Any, name: str, utility: xr.DataArray, dim: str) -> xr.DataArray:
    """Return a number, a value per item or draws as an array, in the order of the utilities."""
    if not isinstance(x, xr.DataArray):
        by_item = {dim: x.index} if isinstance(x, pd.Series) else None
        x = xr.DataArray(np.asarray(x), by_item, [dim] if np.ndim(x) == 1 else None)
    for d, n in x.sizes.items():
        here, labels = x.indexes.get(d), utility.indexes.get(d)
        if d not in utility.dims or n != utility.sizes[d]:
            same = False
        else:
            same = here is None or labels is None or {*here} == {*labels}
        if not same:
            raise ValueError(
                f"`{name}` has other labels of {str(d)!r} than the utilities. Give a number, one "
                f"value for each {dim}, or the draws of the same posterior."
            )
        if here is not None and labels is not None:
            x = x.sel({d: labels})
    return x
