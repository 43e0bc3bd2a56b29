"""The location of utilities, which no comparison knows: drawn anew from the prior."""

from typing import Any

import numpy as np
import xarray as xr

from bayesrank.results.draws import posterior_utilities

__all__ = ["resample_location"]


def resample_location(
    data: xr.DataTree,
    var: str = "utility",
    *,
    sigma: Any = 1.0,
    mu: Any = 0.0,
    dim: str = "item",
    random_seed: int | None = None,
) -> xr.DataTree:
    r"""Replace the location of utilities in every draw by a draw of its prior.

    .. math:: m = \frac{\sum_i w_i / \sigma_i^2}{\sum_i 1 / \sigma_i^2}
              \sim \operatorname{Normal}\Big(
              \frac{\sum_i \mu_i / \sigma_i^2}{\sum_i 1 / \sigma_i^2},
              \Big(\sum_i 1 / \sigma_i^2\Big)^{-1/2}\Big)

    for independent :math:`w_i \sim \operatorname{Normal}(\mu_i, \sigma_i)`. Under this prior
    :math:`m` is independent of the differences :math:`w_i - m`. A likelihood that is the same for
    :math:`w + c` knows nothing else, so :math:`m` is independent of them under the posterior and
    has its prior there. Drawing it anew is a Gibbs step, which leaves the posterior as it is; the
    autocorrelation that is left is that of the differences.

    It is exact where *the likelihood and everything else in the model* depend only on differences
    of the utilities. It is not where `mu` or `sigma` are learned and their draws are not given,
    where other variables are made of the utilities, or with a prior that fixes the sum.

    Parameters
    ----------
    data : DataTree
        What `pm.sample` returned.
    var, dim : str
        The utilities, and the dim of the items.
    sigma, mu : float, or DataArray
        Standard deviation and mean of the prior: numbers, by item, or draws of the posterior.
    random_seed : int, optional
        Seed of the draws.

    Returns
    -------
    DataTree
        A copy, with other draws of `var`.

    Raises
    ------
    ValueError
        As `rank_draws`; if `sigma` is not positive.

    Examples
    --------
    >>> draws = xr.Dataset({"utility": (("chain", "draw", "item"), [[[3.0, 2.0], [1.0, 2.0]]])})
    >>> data = xr.DataTree.from_dict({"posterior": draws})
    >>> found = resample_location(data, random_seed=1)["posterior"]["utility"]
    >>> found.diff("item").values.ravel().round(6).tolist()
    [-1.0, 1.0]
    """
    utility = posterior_utilities(data, var, dim)
    precision = xr.ones_like(utility) / xr.DataArray(sigma) ** 2
    if not bool((xr.DataArray(sigma) > 0).all()):
        raise ValueError(f"`sigma` is {sigma}; standard deviations are positive.")
    total = precision.sum(dim)
    now, mean = (precision * utility).sum(dim) / total, (precision * mu).sum(dim) / total
    noise = np.random.default_rng(random_seed).normal(size=now.shape)
    moved = (utility + (mean + noise / np.sqrt(total) - now)).transpose(*utility.dims)
    out = data.copy()
    out["posterior"] = xr.DataTree(data["posterior"].to_dataset().assign({var: moved}))
    return out
