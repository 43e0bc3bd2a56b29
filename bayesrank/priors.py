"""Priors of utilities by name: independent, or without the sum, of which the data say nothing."""

from typing import Any

__all__ = ["PRIORS", "utility_prior"]

PRIORS = {"normal": "Normal", "zero-sum": "ZeroSumNormal"}  # as PyMC calls them


def utility_prior(kind: str, name: str, *, sigma: Any, dims: Any) -> Any:
    """Add utilities with a prior to the model in context.

    Parameters
    ----------
    kind : {"normal", "zero-sum"}
        Independent, or with the sum zero.
    name : str
        Of the variable.
    sigma : float or tensor
        Standard deviation, positive.
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
    return getattr(pm, PRIORS[kind])(name, sigma=sigma, dims=dims)
