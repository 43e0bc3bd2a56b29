r"""The inner Gaussian of nested Laplace: the latent variables given the hyperparameters.

Given hyperparameters :math:`\theta`, the latent variables x are approximately normal around their
inner mode :math:`\hat x(\theta)`, with the precision :math:`-H(\theta)`. Laplace's approximation of
the marginal of the hyperparameters is

.. math:: \log \tilde p(\theta \mid y) = \log p(y, \hat x(\theta), \theta)
          - \tfrac12 \log \lvert -H(\theta) \rvert + \text{const}.

If latent variables multiply each other, the mode differs from the mean. `Joint.averaged` therefore
moves the normal towards the one with the smallest Kullback-Leibler divergence from the posterior.
Over this normal, the gradient averages to zero, and minus the Hessian averages to the precision.
Draws z of this normal around its mean x estimate the marginal, with the precision P:

.. math:: \log \tilde p(\theta \mid y) = \log E\, p(y, x + z, \theta)\, e^{z^\top P z / 2}
          - \tfrac12 \log \lvert P \rvert + \text{const}.

The mean of the logarithms is a bound on the evidence. It would favour small scales, because the
posterior is nearly normal there.

In blocks with few data each, such as the deviations at a prompt, the mode is far from the mean.
Laplace's approximation then misjudges the scales, so the nearest normal replaces it. Many blocks
have too many variables for the estimate from draws, so the bound replaces the marginal.

References
----------
Rue, Martino & Chopin, Approximate Bayesian inference for latent Gaussian models by using
integrated nested Laplace approximations, JRSS B 71, 2009.

Opper & Archambeau, The variational Gaussian approximation revisited, Neural Computation 21, 2009.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesrank.inference.approximation.block_precision import Arrow, Dense
from bayesrank.inference.approximation.hessian_products import Products
from bayesrank.inference.approximation.krylov import Krylov
from bayesrank.inference.approximation.modes import climb
from bayesrank.inference.approximation.newton import Step, climb_by_newton
from bayesrank.likelihoods.ops.arrays import MOST_DENSE

__all__ = ["Blocks", "BlocksMeetError", "InnerGaussian", "Joint"]

Floats = NDArray[np.float64]

MOST_STEPS = 40  # steps of the search for the inner mode
ENOUGH = 1e-5  # nats gained by the last step to the inner mode, far below Monte Carlo error
N_PAIRS = 32  # antithetic pairs of draws in averages, enough for a tenth of a nat
N_SIGNS = 8  # random signs that estimate the size of each row of a precision
N_ENTRIES = 300  # entries in averaged Hessian diagonals; with many variables, one pair is enough
MOST_ROUNDS = 16  # rounds of `averaged`, each with a new precision and a step of the mean
FEW_PAIRS = 8  # antithetic pairs with blocks: a sum over many of them is an average already
SETTLED = 0.05  # `averaged` ends when a step of the mean gains fewer nats


class BlocksMeetError(Exception):
    """A term of the log density links variables of different blocks."""


class Blocks(NamedTuple):
    """Latent variables in blocks, such as one per judge, with no term that links two blocks."""

    places: Sequence[NDArray[np.int64]]  # (n_blocks, size), for each size of a block
    sums: Sequence[NDArray[np.int64]]  # positions of variables that sum to zero over the blocks


class InnerGaussian(NamedTuple):
    """The normal approximation of the latent variables given the hyperparameters."""

    x: Floats  # (n,) all variables: the hyperparameters, and the mean of the latent ones
    precision: Dense | Arrow | Krylov
    log_marginal: float  # log density of the hyperparameters, up to a constant
    shift: Floats  # (n_latent, n_hyper): how the inner mode moves with the hyperparameters


class Joint:
    """The joint log density of hyperparameters and latent variables.

    Parameters
    ----------
    logp : callable
        From all variables, (n,), to the log density and its gradient, as `objective` returns it.
    products : callable
        Products with the Hessian, from `many_products`.
    start : array, (n,)
        Where searches start.
    hyper : array of int
        Positions of the hyperparameters among the variables. All others are latent.
    blocks : Blocks, optional
    """

    def __init__(
        self,
        logp: Callable[[Floats], tuple[Any, Floats]],
        products: Products,
        start: Floats,
        hyper: NDArray[np.int64],
        blocks: Blocks | None = None,
    ) -> None:
        self.logp, self.products, self.start = logp, products, start
        self.hyper, self.blocks = hyper, blocks
        self.watch: Callable[[], None] | None = None  # called before each precision
        self.latent = np.setdiff1d(np.arange(start.size), hyper)
        # the data determine parameters of judges well, but not the deviations at a prompt
        self.is_averaged = blocks is not None and not blocks.sums
        if blocks is None:
            if self.latent.size <= MOST_DENSE:
                self.directions = np.eye(start.size)
            return
        # One direction for each variable outside blocks, and two for each variable of the blocks:
        # one with equal weights, and one with other weights, which reveals links between blocks.
        self.outside = np.setdiff1d(self.latent, np.concatenate([x.ravel() for x in blocks.places]))
        single = np.concatenate([self.outside, hyper])
        n_single = len(single)
        self.largest = size = max(places.shape[1] for places in blocks.places)
        self.weights = np.ones(start.size)
        self.directions = np.zeros((n_single + 2 * size, start.size))
        self.directions[np.arange(n_single), single] = 1.0
        equal, weighted = self.directions[n_single:].reshape(2, size, start.size)
        for places in blocks.places:
            self.weights[places] = np.cos(places[:, :1] ** 2) + 2.0
            equal[np.arange(places.shape[1]), places] = 1.0
        weighted[:] = equal * self.weights
        self.is_checked = False

    def moved(self, near: InnerGaussian, hyper: Floats) -> InnerGaussian:
        """Extrapolate the mean to nearby hyperparameters, with the same precision."""
        x = near.x.copy()
        x[self.hyper] = hyper
        x[self.latent] += near.shift @ (hyper - near.x[self.hyper])
        return near._replace(x=x)

    def gaussian(
        self, hyper: Floats, near: InnerGaussian | None = None, *, roughly: bool = False
    ) -> InnerGaussian:
        """Find the inner mode and the precision there; the search starts from `near`.

        With `roughly`, the likelihood has the second derivatives of `near`, which saves most of the
        time with much data. Blocks with few data each have the nearest normal, from `averaged`.
        Roughly, it has the precision of `near`: the slope of the bound is nearly the same.
        """
        if near is not None and self.is_averaged:
            moved = self.moved(near, hyper)
            if not roughly:
                return self.averaged(moved)
            values, _ = self._at_draws(moved.x, self._noise(near.precision))
            return moved._replace(log_marginal=values.mean() - near.precision.log_det / 2)
        x, value = self._inner_mode(hyper, near)
        curved_at = near.x if near is not None and roughly else None
        precision, cross = self._precision(x, curved_at=curved_at)
        log_marginal = value - precision.log_det / 2
        found = InnerGaussian(x, precision, log_marginal, -precision.solve(cross))
        return self.averaged(found) if self.is_averaged else found

    def averaged(self, given: InnerGaussian) -> InnerGaussian:
        """Move a normal towards the one nearest to the posterior, given the hyperparameters.

        The draws are the same for all hyperparameters, so log marginals are comparable.
        """
        n_hessians = min(max(1, N_ENTRIES // self.latent.size), N_PAIRS)
        x, precision, shift = given.x, given.precision, given.shift
        for _ in range(MOST_ROUNDS):
            noise = self._noise(precision)
            with contextlib.suppress(ValueError):  # too far from normal
                precision, cross = self._precision(*_pairs(x, noise[:n_hessians]))
                shift = -precision.solve(cross)
            noise = self._noise(precision)
            values, slope = self._at_draws(x, noise)
            step = precision.solve(slope[self.latent])
            if slope[self.latent] @ step < SETTLED:
                break
            for length in (1.0, 0.5, 0.25):
                candidate = self._stepped(x, length * step)
                reached, _ = self._at_draws(candidate, noise)
                if reached.mean() > values.mean():
                    x, values = candidate, reached
                    break
            else:
                break
        log_marginal = values.mean() - precision.log_det / 2
        if not isinstance(precision, Arrow):
            squared = precision.squares(noise[:, self.latent])
            ratios = values + np.repeat(squared, 2) / 2
            log_marginal = np.logaddexp.reduce(ratios) - np.log(ratios.size) - precision.log_det / 2
        return InnerGaussian(x, precision, float(log_marginal), shift)

    def draw(self, given: InnerGaussian, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw all variables, (n_draws, n), with fixed hyperparameters."""
        out = np.tile(given.x, (n_draws, 1))
        out[:, self.latent] += given.precision.noise(n_draws, rng).T
        return out

    def _noise(self, precision: Dense | Arrow | Krylov) -> Floats:
        n = N_PAIRS if self.blocks is None else FEW_PAIRS
        noise = np.zeros((n, self.start.size))
        noise[:, self.latent] = precision.noise(n, np.random.default_rng(0)).T
        return noise

    def _at_draws(self, x: Floats, noise: Floats) -> tuple[Floats, Floats]:
        """Return the log densities at antithetic draws, and the mean of their gradients, (n,)."""
        values, slopes = zip(*map(self._density, _pairs(x, noise)), strict=True)
        with np.errstate(over="ignore"):  # a slope in the far tail may overflow
            return np.array(values), np.mean(slopes, axis=0)

    def _stepped(self, x: Floats, step: Floats) -> Floats:
        out = x.copy()
        out[self.latent] += step
        return out

    def _density(self, x: Floats) -> tuple[float, Floats]:
        """Return the log density and its gradient, (n,), projected so that block sums stay zero."""
        value, slope = self.logp(x)
        slope = np.nan_to_num(slope)  # if it overflows, the value rejects the point
        if self.blocks is not None:
            for places in self.blocks.sums:
                slope[places] -= slope[places].mean()
        return float(value), slope

    def _inner_mode(self, hyper: Floats, near: InnerGaussian | None) -> tuple[Floats, float]:
        """Find the inner mode by Newton's method, with the nearby precision while it works.

        A precision serves until a step gains more than half as much as the step before.
        """
        x = self.start.copy()
        x[self.hyper] = hyper
        x = self._climb(x) if near is None else self.moved(near, hyper).x
        precision, last_gain = None if near is None else near.precision, np.inf

        def step_at(x: Floats, found: tuple[float, Floats]) -> Step:
            nonlocal precision, last_gain
            slope = found[1][self.latent]
            along = None if precision is None else precision.solve(slope)
            if along is None or slope @ along / 2 > last_gain / 2:
                try:
                    precision = self._precision(x)[0]
                except ValueError:  # not positive definite far from the mode
                    return Step(x, np.nan)
                along = precision.solve(slope)
            last_gain = float(slope @ along) / 2
            return Step(self._stepped(np.zeros_like(x), along), last_gain)

        end = climb_by_newton(self._density, step_at, x, enough=ENOUGH, most_steps=MOST_STEPS)
        if end.missing <= ENOUGH:
            return end.x, end.found[0]
        x = self._climb(end.x, least_gain=1e-15)
        return x, self._density(x)[0]

    def _climb(self, x: Floats, **options: Any) -> Floats:
        """Climb by L-BFGS, with fixed hyperparameters."""

        def density(latent: Floats) -> tuple[float, Floats]:
            point = x.copy()
            point[self.latent] = latent
            value, slope = self._density(point)
            return value, slope[self.latent]

        found = climb(density, x[self.latent], tolerance=np.inf, **options)
        return self._stepped(x, found - x[self.latent])

    def _precision(
        self, *points: Floats, curved_at: Floats | None = None
    ) -> tuple[Dense | Arrow | Krylov, Floats]:
        """Compute minus the Hessian: latent by latent, and latent by hyperparameters.

        With several points, return the mean. With `curved_at`, (n,), the likelihood has the second
        derivatives of another point.
        """
        if self.watch is not None:
            self.watch()
        if self.blocks is None and self.latent.size > MOST_DENSE:
            return self._by_products([self.products(x, curved_at) for x in points])
        directions = self.directions
        if self.blocks is not None and self.is_checked:
            directions = directions[: -self.largest]
        found = self.products(points[0], curved_at)(directions)
        for x in points[1:]:
            found += self.products(x, curved_at)(directions)
        found *= -1 / len(points)
        if self.blocks is None:
            precision = Dense(found[np.ix_(self.latent, self.latent)])
            return precision, found[np.ix_(self.latent, self.hyper)]
        return self._arrow(found, self.blocks)

    def _by_products(self, products: Sequence[Callable[[Floats], Floats]]) -> tuple[Krylov, Floats]:
        """Return the precision of many latent variables, from products with directions."""

        def along(places: NDArray[np.int64], v: Floats) -> Floats:
            directions = np.zeros((v.shape[1], self.start.size))
            directions[:, places] = v.T
            found = np.mean([product(directions) for product in products], axis=0)
            return -np.ascontiguousarray(found[:, self.latent].T)

        def product(v: Floats) -> Floats:
            return along(self.latent, v)

        signs: Floats = np.random.default_rng(0).choice(
            np.array([-1.0, 1.0]), size=(self.latent.size, N_SIGNS)
        )
        # lengths of the rows, which are about as long as their entries on the diagonal
        rows = np.sqrt((product(signs) ** 2).mean(axis=1))
        return Krylov(product, rows), along(self.hyper, np.eye(self.hyper.size))

    def _arrow(self, found: Floats, blocks: Blocks) -> tuple[Arrow, Floats]:
        outside = self.outside
        ends = np.cumsum([len(outside), len(self.hyper), self.largest])
        by_outside, by_hyper, equal, weighted = np.split(found, ends)
        if not self.is_checked:
            inside = np.concatenate([places.ravel() for places in blocks.places])
            error = abs(weighted[:, inside] - equal[:, inside] * self.weights[inside])
            if not error.max() <= 1e-8 * (1 + abs(equal[:, inside]).max()):
                raise BlocksMeetError
            self.is_checked = True
        arrow = Arrow(
            [equal[: x.shape[1], x].transpose(1, 2, 0) for x in blocks.places],
            [by_outside[:, x].transpose(1, 2, 0) for x in blocks.places],
            by_outside[:, outside],
            [np.searchsorted(self.latent, x) for x in blocks.places],
            np.searchsorted(self.latent, outside),
            [np.searchsorted(self.latent, x) for x in blocks.sums],
        )
        return arrow, by_hyper[:, self.latent].T


def _pairs(x: Floats, noise: Floats) -> list[Floats]:
    return [point for z in noise for point in (x + z, x - z)]
