"""Priors of utilities by name: independent, or with the sum zero."""

from typing import Any

__all__ = ["LEARNED", "PRIORS", "deviations", "sampled_deviations", "utility_prior"]

PRIORS = {"normal": "Normal", "zero-sum": "ZeroSumNormal"}  # as PyMC calls them

LEARNED = 3.0
"""Scale of the half-normal prior of a learned standard deviation of utilities (log worths)."""


def utility_prior(prior: str, name: str, *, sigma: Any, dims: Any, centred: bool = False) -> Any:
    """Add utilities with a prior to the model in context.

    Parameters
    ----------
    prior : {"normal", "zero-sum"}
        Independent, or with the sum zero.
    name : str
        Name of the variable.
    sigma : float or tensor, optional
        Standard deviation, positive. None learns it: ``{name}_scale``, half-normal with scale
        `LEARNED`, times standard utilities ``{name}_z``.
    dims : str or sequence of str
        Dims of the variable.
    centred : bool
        Whether utilities with a learned scale are free variables, without ``{name}_z``. NUTS then
        takes fewer steps if the data determine utilities well.

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> import pymc as pm
    >>> with pm.Model(coords={"item": ["a", "b"]}) as model:
    ...     utility = utility_prior("zero-sum", "utility", sigma=1.0, dims="item")
    >>> model.free_RVs
    [utility]
    """
    # imported here, so that --help of the command line does not wait for PyMC
    import pymc as pm

    if prior not in PRIORS:
        raise ValueError(f"`prior` is {prior!r}; it must be one of {', '.join(map(repr, PRIORS))}.")
    distribution = getattr(pm, PRIORS[prior])
    if sigma is not None:
        return distribution(name, sigma=sigma, dims=dims)
    scale = pm.HalfNormal(f"{name}_scale", LEARNED)
    if centred:
        return distribution(name, sigma=scale, dims=dims)
    # with few data NUTS would diverge at small scales if this were centred
    return pm.Deterministic(
        name, scale * distribution(f"{name}_z", sigma=1.0, dims=dims), dims=dims
    )


def deviations(
    mean: Any, name: str, scale: Any, dims: tuple[str, ...], *, over: int | None = None
) -> Any:
    """Add numbers with a given mean and a learned spread to the model in context.

    Parameters
    ----------
    mean : float or tensor
        Exact mean of the numbers, over all dims or the last ones.
    name : str
        ``{name}_spread`` is half-normal, and ``{name}_z`` are standard deviations from the mean.
    scale : float or tensor
        Scale of the spread.
    dims : sequence of str
        Dims of the numbers.
    over : int, optional
        Number of last dims over which they deviate from a mean; default all.

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> import pymc as pm
    >>> with pm.Model(coords={"judge": ["ann", "ben"]}) as model:
    ...     log_adherence = deviations(0.0, "adherence", 0.5, ("judge",))
    >>> model.free_RVs
    [adherence_spread, adherence_z]
    """
    import pymc as pm

    spread = pm.HalfNormal(f"{name}_spread", scale)
    # not centred: NUTS would not leave a spread near zero, as with few judges
    z = pm.ZeroSumNormal(f"{name}_z", 1, dims=dims, n_zerosum_axes=over or len(dims))
    return mean + spread * z


def sampled_deviations(group: str, scale: Any, dims: str | tuple[str, ...], z: str = "") -> Any:
    """Add deviations of items at each label of a group, such as a ranker, to the model in context.

    Labels are a sample of all labels, so deviations are independent and do not sum to zero.

    Parameters
    ----------
    group : str
        ``{group}_spread`` is half-normal, and ``{group}_deviation`` are the deviations.
    scale : float or tensor
        Scale of the spread.
    dims : str or sequence of str
        Dims of the deviations.
    z : str, optional
        Name of the standard deviations from zero; default ``{group}_z``.

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> import pymc as pm
    >>> with pm.Model(coords={"ranker": ["ann", "ben"], "item": ["a", "b"]}) as model:
    ...     apart = sampled_deviations("ranker", 1.0, ("ranker", "item"))
    >>> model.free_RVs
    [ranker_spread, ranker_z]
    """
    import pymc as pm

    spread = pm.HalfNormal(f"{group}_spread", scale)
    return pm.Deterministic(
        f"{group}_deviation", spread * pm.Normal(z or f"{group}_z", 0, 1, dims=dims), dims=dims
    )
