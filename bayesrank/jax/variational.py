r"""A normal approximation by stochastic gradients, from some rows of every device at a time.

Stochastic variational inference: the posterior, in the space of the sampler, is approximated by
independent normals

.. math:: q(x) = \prod_i \mathrm{N}(x_i; m_i, s_i^2)

with the highest evidence lower bound :math:`\mathrm{E}_q[\log p(x, y) - \log q(x)]`, whose gradient
is estimated at a draw :math:`x = m + s z`. Of the rows each device draws some. Alone they would
leave noise that only many times as many steps as there are rows in all could average away; beside
a point a at which all rows were seen they do not:

.. math:: \ell(x) = \ell(a) + \nabla\ell(a)^\top (x - a)
          + \frac{n}{b} \sum_{k} \bigl[\ell_k(x) - \ell_k(a) - \nabla\ell_k(a)^\top (x - a)\bigr]

is what is expected of any rows, and where x is near a, as draws of a posterior of many data are
near its mean, they differ by little. So steps come in rounds, before each of which all rows are
seen once, at the mean of that time.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from jax.flatten_util import ravel_pytree
from pymc.blocking import DictToArrayBijection

from bayesrank.inference.approximation.modes import constrained
from bayesrank.jax.checkpoints import Checkpoint
from bayesrank.jax.log_density import IS_ROW, LogDensity

__all__ = ["Climb", "svi"]

FIRST_SD = 0.1  # where standard deviations begin
OFF = 0.1  # of a standard deviation, or of its logarithm, that is no reason for a warning
FALSE_ALARM = 5.0  # standard errors


class _State(NamedTuple):
    mean: Any
    log_sd: Any
    optimiser: Any
    n: Any  # rounds
    bound: Any  # (n_rounds,), the evidence lower bound by round
    way: Any  # (2, n), mean step of Newton's in the last round: of m, in s, and of log s
    noise: Any  # its standard error


def svi(
    density: LogDensity,
    data: Mapping[str, Any],
    *,
    batch_size: int = 1000,
    n_steps: int = 4000,
    n_rounds: int = 20,
    learning_rate: float = 0.02,
    start: Mapping[str, Any] | None = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
) -> xr.DataTree:
    """Approximate the posterior by independent normals, from some rows at a time.

    Parameters
    ----------
    density : LogDensity
        From `compile`.
    data : dict
        From its `LogDensity.put`.
    batch_size : int
        Rows of a step, from all devices together; all of them if there are fewer.
    n_steps : int
        How many steps of Adam. The learning rate falls to zero over them along a half cosine.
    n_rounds : int
        How often all rows are seen: before every so many of the steps.
    learning_rate : float
        Of the first step, positive.
    start : mapping of str to array, optional
        Where the means begin, such as the values of `find_map`; default PyMC's initial point.
    draws, chains : int
        Draws of the approximation. They are independent, so that chains differ by chance alone;
        several make summaries and diagnostics that want chains work.
    seed : int
        Of everything that is drawn.
    checkpoint : path, optional
        A file to write after every round, and to go on from where there is one; as in `find_map`.

    Returns
    -------
    DataTree
        Like that of `pymc.sample`: ``posterior`` with the free variables and deterministics;
        ``observed_data`` and ``constant_data`` where `data` are those that the model holds; and
        ``training`` with the evidence lower bound, up to noise, by round. Attributes say that it is
        an approximation.

    Raises
    ------
    ValueError
        If a number is out of range, or the checkpoint is of another search.
    FloatingPointError
        If the log density is not finite somewhere.

    Warns
    -----
    UserWarning
        Where means or standard deviations still have a way to go: more than a tenth of the latter.

    Notes
    -----
    Independent normals have the right means where the posterior is normal, and standard deviations
    of each variable given all others: too small where variables are correlated, as utilities are
    whose sum the data leave open. `quick_posterior` and NUTS have no such fault where they can be
    afforded. Variables that make up for each other, as a scale and what it multiplies, lie along a
    ridge that such normals creep on, which no warning sees: of many data, declare them as
    ``Normal(0, scale)``.

    A mean can move by half the learning rate times the number of steps in all, 40 by default:
    variables on large scales want more steps, or a start near the mode.

    References
    ----------
    Kucukelbir et al., Automatic differentiation variational inference, JMLR 18, 2017.
    Roeder, Wu & Duvenaud, Sticking the landing, NeurIPS 2017: the gradient of a draw.
    Johnson & Zhang, Accelerating stochastic gradient descent using predictive variance reduction,
    NeurIPS 2013: the point beside which rows are drawn.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b"]] * 400 + [["b", "a"]] * 100)
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     _ = br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=rankings)
    >>> density = br.jax.compile(model)
    >>> fit = br.jax.svi(density, density.put(), batch_size=50, n_steps=1000)
    >>> fit["posterior"]["utility"].mean(["chain", "draw"]).values.round(1)
    array([ 0.7, -0.7])
    """
    for name, value in {
        "batch_size": batch_size, "n_steps": n_steps, "n_rounds": n_rounds,
        "draws": draws, "chains": chains,
    }.items():  # fmt: skip
        if isinstance(value, bool) or value % 1 or value < 1:
            raise ValueError(f"`{name}` is {value!r}; it is a whole number, 1 or more.")
    if not 0 < learning_rate < np.inf:
        raise ValueError(f"`learning_rate` is {learning_rate!r}; it is positive.")
    n_rounds = min(n_rounds, n_steps)
    settings = {
        "search": "svi", "batch_size": batch_size, "n_steps": n_steps, "n_rounds": n_rounds,
        "learning_rate": learning_rate, "seed": seed,
    }  # fmt: skip
    at = {name: np.asarray(x) for name, x in (start or density.start()).items()}
    first, unravel = ravel_pytree(density.in_order(at))
    n_devices = 1 if density.mesh is None else density.mesh.size
    size = min(-(-batch_size // n_devices), int(np.prod(data[IS_ROW].shape)) // n_devices)
    n_each = -(-n_steps // n_rounds)
    climb = Climb(density, unravel, size, n_each, n_rounds, learning_rate, seed)

    data = dict(data)
    n_rows = density.rows_by_device(data)
    look = jax.jit(lambda x, data: density.of_all_rows(x, unravel, data))
    go = jax.jit(climb.round)
    kept = Checkpoint.of(checkpoint, density, data, settings)
    state = kept.read(jax.tree.map(np.asarray, climb.begin(first)))
    while state.n < n_rounds:
        seen = np.asarray(look(state.mean, data))
        # as arrays of this process, which are the same before and after a file
        state = jax.tree.map(np.asarray, go(state, seen, n_rows, data))
        if not np.isfinite(state.bound[state.n - 1]):
            raise FloatingPointError(
                f"The log density is not finite in round {state.n} of {n_rounds}: lower the "
                "learning rate, or start elsewhere, as where br.jax.find_map ends."
            )
        kept.write(state)
    _warn(state, density, unravel)
    return _result(density, data, state, draws, chains, settings)


class Climb:
    """Steps of Adam towards the highest bound: one function of a round, for JAX to compile."""

    def __init__(
        self,
        density: LogDensity,
        unravel: Callable[[Any], Any],
        size: int,
        n_each: int,
        n_rounds: int,
        learning_rate: float,
        seed: int,
    ) -> None:
        self.density, self.unravel = density, unravel
        self.size, self.n_each, self.n_rounds, self.seed = size, n_each, n_rounds, seed
        rate = optax.cosine_decay_schedule(learning_rate, n_each * n_rounds)
        # squared slopes from far away are to be forgotten soon: they would hold s where it is
        self.optimiser = optax.adam(rate, b2=0.99)

    def begin(self, first: Any) -> _State:
        """Give the state before the first round, with the means given."""
        log_sd = jnp.full_like(first, np.log(FIRST_SD))
        optimiser = self.optimiser.init((first, log_sd))
        zero = jnp.zeros((2, first.size))
        return _State(first, log_sd, optimiser, 0, jnp.full(self.n_rounds, jnp.nan), zero, zero)

    def round(self, state: _State, seen: Any, n_rows: Any, data: Any) -> _State:
        """Go some steps beside the mean, where all rows gave what is `seen`."""
        anchor = state.mean
        key = jax.random.fold_in(jax.random.key(self.seed), state.n)

        def step(at: Any, key: Any) -> Any:
            mean, log_sd, optimiser = at
            for_z, for_rows = jax.random.split(key)
            z, sd = jax.random.normal(for_z, mean.shape), jnp.exp(log_sd)
            x = mean + sd * z
            value, slope = self._log_density(x, anchor, seen, for_rows, n_rows, data)
            log_q = -(z**2 / 2 + log_sd + np.log(2 * np.pi) / 2).sum()
            # the slope along the path of the draw: nothing where q is the posterior
            pull = slope + z / sd
            up = (pull, pull * sd * z)
            move, optimiser = self.optimiser.update(jax.tree.map(jnp.negative, up), optimiser)
            mean, log_sd = optax.apply_updates((mean, log_sd), move)
            way = jnp.stack([sd * pull, sd * pull * z / 2])
            return (mean, log_sd, optimiser), (value - log_q, way, way**2)

        def sums(at: Any, keys: Any) -> Any:
            def add(kept: Any, key: Any) -> Any:
                at, total = kept
                at, more = step(at, key)
                return (at, jax.tree.map(jnp.add, total, more)), None

            zero = jnp.zeros((2, anchor.size))
            return jax.lax.scan(add, (at, (jnp.zeros(()), zero, zero)), keys)[0]

        begin = (state.mean, state.log_sd, state.optimiser)
        at, (bound, way, square) = sums(begin, jax.random.split(key, self.n_each))
        way, square = way / self.n_each, square / self.n_each
        # rounded, what differs by nothing may be below zero
        noise = jnp.sqrt(jnp.maximum(square - way**2, 0) / self.n_each)
        bounds = state.bound.at[state.n].set(bound / self.n_each)
        mean, log_sd, optimiser = at
        return _State(mean, log_sd, optimiser, state.n + 1, bounds, way, noise)

    def _log_density(
        self, x: Any, anchor: Any, seen: Any, key: Any, n_rows: Any, data: Any
    ) -> tuple[Any, Any]:
        """Estimate the log density at x, and its slope."""
        density, unravel = self.density, self.unravel

        def differences(both: Any, block: Any) -> Any:
            here, there = (density.of_rows(each, unravel, block) for each in both)
            return (here - there).at[0].add(-there[1:] @ (both[0] - both[1]))

        both = jnp.stack([x, anchor])
        drawn = density.of_drawn_rows(differences, self.size, n_rows, both, key, data)
        beside = seen.at[0].add(seen[1:] @ (x - anchor))
        found = density.of_rest(x, unravel) + beside + drawn
        return found[0], found[1:]


def _warn(state: _State, density: LogDensity, unravel: Callable[[Any], Any]) -> None:
    off = abs(state.way)
    far = (off > OFF + FALSE_ALARM * state.noise).any(0)
    if not far.any():
        return
    worst = int(np.argmax(np.where(far, off.max(0), -1)))
    number = unravel(jnp.arange(far.size, dtype=float))
    name = next(
        name
        for name, x in zip(density.names, number, strict=True)
        if (np.asarray(x) == worst).any()
    )
    warnings.warn(
        f"{far.sum()} of {far.size} normals still have a way to go: one of {name!r} by "
        f"{off[0, worst]:.2g} of its standard deviations, and by {off[1, worst]:.2g} in the "
        "logarithm of that. Take more steps (`n_steps`), begin at the mode (`start`), or bring the "
        "variables to similar scales.",
        UserWarning,
        stacklevel=3,
    )


def _result(
    density: LogDensity,
    data: Mapping[str, Any],
    state: _State,
    draws: int,
    chains: int,
    settings: Mapping[str, Any],
) -> xr.DataTree:
    z = np.random.default_rng(settings["seed"]).normal(size=(draws * chains, state.mean.size))
    point = density.model.initial_point()
    at = DictToArrayBijection.map({name: point[name] for name in density.names})
    found = state.mean + np.exp(state.log_sd) * z
    out = constrained(density.model, at, found, chains=chains, with_data=density.holds(data))
    log = xr.Dataset({"bound": ("round", state.bound)}, attrs=dict(settings))
    out["training"] = xr.DataTree(log)
    out["posterior"].attrs.update(
        {"inference_library": "bayesrank", "approximation": "independent normals"}
    )
    return out
