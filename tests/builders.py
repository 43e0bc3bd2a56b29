"""Small models and results that several test modules need, and where the sources are.

Flat priors make the log-density of a model its likelihood.

>>> import numpy as np
>>> tree = results({"item": ["a", "b"]}, posterior={"utility": ("item", np.zeros((1, 50, 2)))})
>>> tree["posterior"]["utility"].dims
('chain', 'draw', 'item')
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

import bayesrank as br

__all__ = [
    "GALLERY",
    "PACKAGE",
    "ROOT",
    "draws",
    "imports_of",
    "mallows_model",
    "mixture_model",
    "modules",
    "results",
    "utility_model",
]

ROOT = Path(__file__).parents[1]
PACKAGE, GALLERY = ROOT / "bayesrank", ROOT / "models"


# Sources


def modules() -> dict[str, Path]:
    """List all modules of the package; `bayesrank.data.__init__` is the room's own file."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def imports_of(source: str, module: str) -> Iterator[str]:
    """Dotted names that the source of `module` imports, relative ones made absolute."""
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


# Models


def utility_model(
    observed: Any,
    family: Callable[..., Any] = br.PlackettLuce,
    *,
    prior: Callable[..., Any] = pm.Flat,
    **options: Any,
) -> pm.Model:
    """Build a model with a `utility` per item and the observed `y`.

    Parameters
    ----------
    observed : Rankings, Pairs or PairCounts
        The data, whose coords the model has.
    family : callable
        A public distribution: ``family("y", utility, observed=observed, **options)``.
    prior : callable
        Called with a name and dims, such as ``partial(pm.Normal, sigma=2)``.
    **options
        For the family.
    """
    with pm.Model(coords=observed.coords) as model:
        family("y", prior("utility", dims="item"), observed=observed, **options)
    return model


def mixture_model(
    rankings: br.Rankings,
    *,
    kinds: Any = 2,
    weights: Any = None,
    prior: Callable[..., Any] = pm.Flat,
    family: Callable[..., Any] = br.PlackettLuce.dist,
    **options: Any,
) -> pm.Model:
    """Build a mixture of components with a utility per component (`kind`) and item.

    Parameters
    ----------
    rankings : Rankings
        The data.
    kinds : int or sequence of labels
        The components.
    weights : array, optional
        Data `weights`; by default they have a flat Dirichlet prior.
    prior, family, **options
        As in `utility_model`; the family is a component, and the options are those of `Mixture`.
    """
    labels = range(kinds) if isinstance(kinds, int) else kinds
    with pm.Model(coords={**rankings.coords, "kind": labels}) as model:
        if weights is None:
            share = pm.Dirichlet("weights", np.ones(len(labels)), dims="kind")
        else:
            share = pm.Data("weights", weights, dims="kind")
        utility = prior("utility", dims=("kind", "item"))
        br.Mixture("y", share, family(utility), observed=rankings, **options)
    return model


def mallows_model(
    rankings: br.Rankings,
    consensus: Any = None,
    *,
    prior: Callable[..., Any] = pm.Flat,
    dims: Any = None,
    family: Callable[..., Any] = br.Mallows,
    coords: Mapping[str, Any] | None = None,
    **options: Any,
) -> pm.Model:
    """Build a Mallows model with the concentration `alpha`, whose consensus is summed out if None.

    Parameters
    ----------
    rankings : Rankings
        The data.
    consensus : array or variable, optional
        Ranks by item.
    prior : callable
        Called with the name and `dims` of the concentration.
    dims : str, optional
        Dims of the concentration.
    family : callable
        `Mallows` or `GeneralizedMallows`.
    coords : mapping, optional
        Coordinates beside those of the rankings.
    **options
        For the family, such as `distance`.
    """
    with pm.Model(coords={**rankings.coords, **(coords or {})}) as model:
        alpha = prior("alpha", dims=dims)
        family("y", consensus, alpha=alpha, observed=rankings, **options)
    return model


# Results of sampling

OF_DRAWS = ("posterior", "posterior_predictive", "predictions", "log_likelihood", "sample_stats")


def draws(values: Any, *dims: str, **coords: Any) -> xr.DataArray:
    """Label draws by chain, draw and `dims`; one chain may come without its axis.

    >>> draws([[0.0, 1.0], [2.0, 3.0]], "item", item=["a", "b"]).sizes["draw"]
    2
    """
    return xr.DataArray(_by_chain(values, dims), dims=("chain", "draw", *dims), coords=coords)


def results(coords: Mapping[str, Any] | None = None, **groups: Mapping[str, Any]) -> xr.DataTree:
    """Build what a sampled model leaves.

    Parameters
    ----------
    coords : mapping of str to labels, optional
        Labels of dims, in every group that has the dim.
    **groups
        By group, variables as ``name=(dims, values)``. In a group of draws, such as `posterior`,
        chain and draw stand before the dims, and one chain may come without its axis.
    """
    tree = {}
    for group, variables in groups.items():
        data = {name: _variable(group, *pair) for name, pair in variables.items()}
        used = {dim for dims, _ in data.values() for dim in dims}
        labels = {dim: list(x) for dim, x in (coords or {}).items() if dim in used}
        tree[group] = xr.Dataset(data, coords=labels)
    return xr.DataTree.from_dict(tree)


def _variable(group: str, dims: Any, values: Any) -> tuple[tuple[str, ...], Any]:
    dims = (dims,) if isinstance(dims, str) else tuple(dims)
    if group not in OF_DRAWS:
        return dims, np.asarray(values)
    return ("chain", "draw", *dims), _by_chain(values, dims)


def _by_chain(values: Any, dims: tuple[str, ...]) -> np.ndarray:
    values = np.asarray(values)
    return values if values.ndim == len(dims) + 2 else values[None]
