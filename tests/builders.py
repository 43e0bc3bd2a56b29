"""Data and results of sampling that several test modules build, and where the sources are.

>>> import numpy as np
>>> tree = results({"item": ["a", "b"]}, posterior={"utility": ("item", np.zeros((1, 50, 2)))})
>>> tree["posterior"]["utility"].dims
('chain', 'draw', 'item')
"""

import ast
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from pymc.pytensorf import gradient, rewrite_pregrad

import bayesrank as br
from bayesrank.inference.approximation.modes import kept_of

__all__ = [
    "GALLERY",
    "PACKAGE",
    "ROOT",
    "evaluator",
    "imports_of",
    "matches",
    "mode_of",
    "model_of",
    "modules",
    "outcomes",
    "results",
    "stored",
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


@functools.cache
def imports_of(source: str, module: str) -> list[str]:
    """Dotted names that the source of `module` imports, relative ones made absolute."""
    package, found = module.split(".")[:-1], []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*above, *filter(None, [node.module])])
            found += [f"{start}.{alias.name}" for alias in node.names]
    return found


# Data


def matches(
    first: Any, second: Any, won: Any, *, judge: Any = None, options: Any = None, **groups: Any
) -> br.Pairs:
    """Build pairs of outcomes "first", "second" or "tie", grouped by columns such as ``when=``.

    `options` are those of `Pairs.from_frame`, such as ``{"items": range(3)}``.
    """
    table = pd.DataFrame({"x": first, "y": second, "won": won, **groups})
    names: dict[str, Any] = {"first": "x", "second": "y", "outcome": "won"}
    if groups:
        names["by"] = list(groups)
    if judge is not None:
        table["judge"] = judge
        names["judge"] = "judge"
    return br.Pairs.from_frame(table, **names | (options or {}))


ORDERS = ["abc", "bca", "cab", "acb"]


def ballots(n_rankers: int, n_ballots: int) -> br.Rankings:
    """Build `each` rankings of a, b and c by every ranker, in orders that alternate."""
    orders = [list(ORDERS[k % 4]) for k in range(n_rankers * n_ballots)]
    rankers = [f"r{k}" for k in range(n_rankers) for _ in range(n_ballots)]
    return br.Rankings.from_orderings(orders, rankers=rankers)


def outcomes(rng: np.random.Generator, p_first: np.ndarray) -> np.ndarray:
    """Draw "first" with the given probabilities, and "second" otherwise."""
    return np.where(rng.random(p_first.shape) < p_first, "first", "second")


# Results of sampling

OF_DRAWS = ("posterior", "posterior_predictive", "predictions", "log_likelihood", "sample_stats")


def results(coords: Mapping[str, Any] | None = None, **groups: Mapping[str, Any]) -> xr.DataTree:
    """Build what a sampled model leaves.

    Parameters
    ----------
    coords : mapping of str to labels, optional
        Labels of dims, in every group that has the dim; in `constant_data` all of them.
    **groups
        By group, variables as ``name=(dims, values)``. In a group of draws, such as `posterior`,
        chain and draw stand before the dims, and one chain may come without its axis.
    """
    tree = {}
    for group, variables in groups.items():
        data = {name: _variable(group, *pair) for name, pair in variables.items()}
        used = {dim for dims, _ in data.values() for dim in dims}
        labels = {
            dim: list(x)
            for dim, x in (coords or {}).items()
            if dim in used or group == "constant_data"
        }
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


def model_of(observed, family=br.PlackettLuce, name="y", *, prior=pm.Normal, **options) -> pm.Model:
    """Build a model with one utility per item, of observed data by the names of their dims."""
    with pm.Model(coords=observed.coords) as model:
        family(name, prior("utility", dims="item"), observed=observed, **options)
    return model


def evaluator(model: pm.Model, mode: str = "FAST_COMPILE") -> Any:
    """Compile the log-probabilities of the rows of 'y', their sum, and its gradient, in one go.

    The parameters are flat or data, so that the sum is the log density of the model.
    """
    (rows,) = model.logp(vars=model["y"], sum=False)
    total = rewrite_pregrad(rows.sum())
    slope = gradient(total, model.continuous_value_vars)
    return model.compile_fn([rows, total, slope], mode=mode)


def mode_of(model: pm.Model, ftol: float | None = 0.0, gtol: float | None = 1e-10) -> xr.Dataset:
    """Variables at the mode, found tightly, or as tightly as the optimiser does by itself."""
    options = {name: x for name, x in {"ftol": ftol, "gtol": gtol}.items() if x is not None}
    found = pm.find_MAP(
        progressbar=False, jitter=False, return_inferencedata=True, model=model, **options
    )
    return found["posterior"].to_dataset().isel(chain=0, draw=0)


def stored(model: pm.Model, part: str, var: str = "y") -> Any:
    """Values of a part of the observed data of a model."""
    return kept_of(model, model.name_for(var))[part].to_numpy()
