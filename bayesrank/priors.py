"""Priors of utilities by name: independent, or without the sum, of which the data say nothing."""

from typing import Any

__all__ = ["LEARNED", "PRIORS", "deviations", "utility_prior"]

PRIORS = {"normal": "Normal", "zero-sum": "ZeroSumNormal"}  # as PyMC calls them

LEARNED = 3.0
"""Scale of the half-normal prior of a standard deviation that is learned.

Utilities are log worths. With a standard deviation of 1 the better of two items is first in 73 of
100 rankings, on average over such items; with 3 in 88, and with 6, twice the scale, in 94.
"""


def utility_prior(kind: str, name: str, *, sigma: Any, dims: Any) -> Any:
    """Add utilities with a prior to the model in context.

    With `sigma` None the standard deviation is learned: ``utility_scale``, half-normal with scale
    `LEARNED`, times standard utilities ``utility_z``, if `name` is utility.

    Parameters
    ----------
    kind : {"normal", "zero-sum"}
        Independent, or with the sum zero.
    name : str
        Of the variable.
    sigma : float or tensor, optional
        Standard deviation, positive; None has it learned.
    dims : str or sequence of str
        Of the variable.

    Returns
    -------
    TensorVariable

    Raises
    ------
    ValueError
        If there is no such prior.

    Examples
    --------
    >>> import pymc as pm
    >>> with pm.Model(coords={"item": ["a", "b"]}) as model:
    ...     utility = utility_prior("zero-sum", "utility", sigma=1.0, dims="item")
    >>> model.free_RVs
    [utility]
    """
    # Here, and not above: the command line reads the names and should answer --help at once.
    import pymc as pm

    if kind not in PRIORS:
        raise ValueError(f"`prior` is {kind!r}; it is one of {', '.join(map(repr, PRIORS))}.")
    prior = getattr(pm, PRIORS[kind])
    if sigma is not None:
        return prior(name, sigma=sigma, dims=dims)
    # Not centred. With three rankings of three items the centred one has 10 effective draws of the
    # scale in 4,000 and 299 of them diverge; this one has 784, and none does. With nine rankings of
    # 23 items, which say much, both have thousands.
    scale = pm.HalfNormal(f"{name}_scale", LEARNED)
    return pm.Deterministic(name, scale * prior(f"{name}_z", sigma=1.0, dims=dims), dims=dims)


def deviations(
    mean: Any, name: str, scale: Any, dims: tuple[str, ...], *, over: int | None = None
) -> Any:
    """Add numbers around their mean to the model in context, apart by a spread to be learned.

    Parameters
    ----------
    mean : float or tensor
        Exactly theirs, over every dim, or over the last ones.
    name : str
        Of the variables: ``{name}_spread``, half-normal, and ``{name}_z``, standard deviations
        from the mean.
    scale : float or tensor
        Of the spread.
    dims : sequence of str
        Of the numbers.
    over : int, optional
        Over how many of the dims, the last ones, they deviate from a mean; default all.

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
    # Not centred: centred, a spread near zero is never left, as few judges or categories have it.
    z = pm.ZeroSumNormal(f"{name}_z", 1, dims=dims, n_zerosum_axes=over or len(dims))
    return mean + spread * z
