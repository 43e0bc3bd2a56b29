r"""Training: the posterior mode by Adam on minibatches, for models with many weights.

The log posterior of a model with all data is maximised on a few rankings at a time. The objective

.. math:: \frac1N \log p(\theta) + \frac1{|B|} \sum_{n \in B} \log p(y_n \mid \theta)

is an unbiased estimate of the log posterior divided by N. Every `pm.Data` whose first dim is the
dim of the rankings is divided into batches, and becomes an input of one compiled function.
Predictions of held-out rankings decide when to stop, and which epoch is the best.
"""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from pymc.blocking import DictToArrayBijection, RaveledVars
from pymc.initial_point import make_initial_point_fn
from rich.progress import Progress

from bayesrank.distributions.core.observed import check_coords
from bayesrank.inference.approximation.modes import Point, adam, constrained, fixed_seed
from bayesrank.inference.sampling.minibatch_logp import Batch, divided

__all__ = ["fit_minibatch"]

Augment = Callable[[np.random.Generator, Batch], Mapping[str, Any]]


def fit_minibatch(
    *,
    dim: str = "ranking",
    batch_size: int = 256,
    epochs: int = 100,
    learning_rate: float = 2e-3,
    validation: float | ArrayLike = 0.1,
    patience: int = 20,
    augment: Augment | None = None,
    start: Point | None = None,
    random_seed: int | None = None,
    mode: str | None = None,
    progressbar: bool = True,
    model: pm.Model | None = None,
) -> xr.DataTree:
    """Find the posterior mode by minibatch Adam with early stopping.

    Parameters
    ----------
    dim : str
        The dim that is divided into batches.
    batch_size : int
        Number of rankings per batch, at most all of them.
    epochs : int
        Largest number of passes through the data. The learning rate falls to zero along a half
        cosine.
    learning_rate : float
        Learning rate of the first step, positive.
    validation : float or array of int
        Share of held-out rankings, in [0, 1), or their positions. With 0, the result is the last
        epoch.
    patience : int
        Stop after this many epochs without better predictions of the held-out rankings.
    augment : callable, optional
        Takes a random generator and a batch, a dict of arrays by the names of the data. Returns
        arrays that replace some of these in this step. Use it for symmetries of the problem that
        the model does not have.
    start : dict, optional
        Unconstrained starting values of free variables. Other variables start from a draw of their
        prior, because a network has a saddle at its mean.
    random_seed : int, optional
        Seed of the start, the split, the batches and the augmentation.
    mode : str, optional
        PyTensor mode. By default, "JAX" if it is installed, else PyTensor's default.
    progressbar : bool
        Whether to show epochs and the held-out log-likelihood.
    model : pm.Model, optional
        A model whose free variables are continuous and do not have `dim`. The data of rankings must
        be `pm.Data` with `dim` as their first dim. The model is not changed. By default, the model
        of the context.

    Returns
    -------
    DataTree
        The group ``posterior`` has a single draw: the mode of the unconstrained variables without
        the Jacobian of the transformations, as in `pymc.find_MAP`. The group ``training`` has the
        mean log posterior of the batches and the mean held-out log-likelihood by epoch. Its
        attribute ``best_epoch`` is the epoch of the result.

    Raises
    ------
    ValueError
        If there is nothing to divide into batches, or a free variable has `dim`. If the likelihood
        along `dim` does not depend on data along it, or an argument is out of range.
    FloatingPointError
        If the log posterior is no longer finite.

    See Also
    --------
    find_MAP_many, jax.find_map

    References
    ----------
    Kingma & Ba, Adam: a method for stochastic optimization, ICLR 2015.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc as pm
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 2))
    >>> with pm.Model(coords={"ranking": range(500)}) as model:
    ...     features = pm.Data("x", x, dims=("ranking", "feature"))
    ...     slope = pm.Normal("slope", 0, 1, shape=2)
    ...     y = pm.Data("y_data", x @ [1.0, -2.0], dims="ranking")
    ...     _ = pm.Normal("y", features @ slope, 0.1, observed=y, dims="ranking")
    >>> with model:
    ...     fit = br.fit_minibatch(epochs=60, batch_size=50, learning_rate=0.1, progressbar=False)
    >>> fit["posterior"]["slope"].values.round(2)
    array([[[ 1., -2.]]])
    """
    model = check_coords(pm.modelcontext(model))
    problem = divided(model, dim)
    random_seed = fixed_seed(random_seed)
    rng = np.random.default_rng(random_seed)
    training, held_out = _split(problem.n_rows, validation, rng)
    size = min(_whole("batch_size", batch_size), len(training))
    n_batches = len(training) // size
    n_epochs, patience = _whole("epochs", epochs), _whole("patience", patience)
    mode = mode or ("JAX" if importlib.util.find_spec("jax") else None)

    at = _start(model, start, random_seed)
    climb = problem.compile_slope(size, len(training), at, mode)
    score = problem.compile_score(len(held_out), at, mode) if len(held_out) else None
    left_out = problem.rows(held_out)
    batches = _batches(training, size, rng)
    log = _Log(patience)

    def slope(x: NDArray[np.float64]) -> NDArray[np.float64]:
        batch = problem.rows(next(batches))
        if augment is not None:
            batch |= augment(rng, batch)
        value, gradient = climb(x, batch)
        log.value(value)
        return gradient

    with Progress(disable=not progressbar) as bar:
        task = bar.add_task("Training", total=n_epochs)

        def after(step: int, x: NDArray[np.float64]) -> bool:
            if (step + 1) % n_batches:
                return False
            stop = log.epoch(x, None if score is None else score(x, left_out))
            bar.update(task, advance=1, description=log.description)
            return stop

        adam(slope, at.data, n_steps=n_epochs * n_batches, learning_rate=learning_rate, after=after)
    out = constrained(model, at, log.best[None])
    out["training"] = xr.DataTree(log.dataset(random_seed=random_seed, batch_size=size))
    return out


class _Log:
    """The scores of every epoch, and the best epoch."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.best: NDArray[np.float64] = np.zeros(0)
        self.best_epoch = 0
        self.values: list[float] = []
        self.means: list[float] = []
        self.scores: list[float] = []

    def value(self, value: float) -> None:
        if not np.isfinite(value):
            raise FloatingPointError(
                f"The log posterior is {value} in epoch {len(self.means)}: lower `learning_rate`."
            )
        self.values.append(value)

    def epoch(self, x: NDArray[np.float64], score: float | None) -> bool:
        """Close an epoch, and return whether to stop."""
        self.means.append(float(np.mean(self.values)))
        self.values.clear()
        self.scores.append(np.nan if score is None else score)
        now = len(self.means) - 1
        if score is None or now == 0 or score > self.scores[self.best_epoch]:
            self.best, self.best_epoch = x.copy(), now
        return now - self.best_epoch >= self.patience

    @property
    def description(self) -> str:
        if np.isnan(self.scores[-1]):
            return f"Training, log posterior {self.means[-1]:.4f}"
        return f"Training, held out {self.scores[-1]:.4f}, best {self.scores[self.best_epoch]:.4f}"

    def dataset(self, **attributes: Any) -> xr.Dataset:
        return xr.Dataset(
            {"log_posterior": ("epoch", self.means), "held_out": ("epoch", self.scores)},
            coords={"epoch": np.arange(len(self.means))},
            attrs={"best_epoch": self.best_epoch, **attributes},
        )


def _start(model: pm.Model, start: Point | None, random_seed: int | None) -> RaveledVars:
    """Draw the free variables from their prior, except for given values."""
    draw = make_initial_point_fn(model=model, default_strategy="prior", return_transformed=True)
    point = {value.name: draw(random_seed)[value.name] for value in model.value_vars}
    unknown = set(start or ()) - set(point)
    if unknown:
        raise ValueError(f"`start` has {sorted(unknown)}; the free variables are {sorted(point)}.")
    given = {name: np.asarray(value, dtype=float) for name, value in (start or {}).items()}
    return DictToArrayBijection.map(point | given)


def _split(
    n_rows: int, validation: float | ArrayLike, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions of the rows to train on, and of the held-out rows."""
    if np.ndim(validation):
        held_out = np.unique(np.asarray(validation))
        known = np.isin(held_out, np.arange(n_rows)).all()
        if held_out.dtype.kind not in "iu" or not known or not 0 < len(held_out) < n_rows:
            raise ValueError(
                f"`validation` is {held_out.tolist()}; it must be a share, or the positions, 0 to "
                f"{n_rows - 1}, of some but not all of the {n_rows} rankings."
            )
    else:
        share = np.asarray(validation, dtype=np.float64).item()
        if not 0 <= share < 1:
            raise ValueError(
                f"`validation` is {share}; it must be a share in [0, 1), or positions."
            )
        n_held = round(share * n_rows)
        held_out = np.sort(rng.permutation(n_rows)[:n_held])
    return np.setdiff1d(np.arange(n_rows), held_out), held_out


def _batches(
    training: NDArray[np.int64], size: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Yield batches of rows in a new order every epoch; the remainder is skipped."""
    while True:
        order = rng.permutation(training)
        yield from order[: len(order) // size * size].reshape(-1, size)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or value % 1 or value < 1:
        raise ValueError(f"`{name}` is {value!r}; it must be a whole number, 1 or more.")
    return int(value)
