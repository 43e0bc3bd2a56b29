r"""Precision matrices with many small blocks, and a few variables that are linked to all of them.

No term of the log posterior links the parameters of two judges, or the deviations at two prompts.
Its Hessian is an arrow. The blocks D of the judges or prompts are on its diagonal, and C and R of
the other variables at its edge,

.. math:: Q = \begin{pmatrix} D & C \\ C^\top & R \end{pmatrix}
            = L L^\top, \qquad
          L = \begin{pmatrix} D^{1/2} & 0 \\ H^\top & S^{1/2} \end{pmatrix}, \quad
          H = D^{-1/2} C, \quad S = R - H^\top H .

Time and memory are linear in the number of blocks. If parameters sum to zero over the judges, Q is
the precision of unconstrained parameters, conditioned on the sums. The rows of A are these sums,
scaled to length one. The determinant becomes
:math:`\lvert Q \rvert \, \lvert A Q^{-1} A^\top \rvert`. A draw or a solution x is reduced by
:math:`Q^{-1} A^\top (A Q^{-1} A^\top)^{-1} A x` (Rue & Held, Gaussian Markov Random Fields, 2005,
section 2.3.3).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

__all__ = ["Arrow", "Dense", "factor_of"]

Floats = NDArray[np.float64]

FLAT = 1e-13  # share of a variable's precision that is left, given others, if there is none


def factor_of(precision: Floats) -> Floats:
    """Return the Cholesky factor, (n, n), or raise a ValueError."""
    precision = (precision + precision.T) / 2
    try:
        factor: Floats = cholesky(precision, lower=True)
        if (np.diag(factor) ** 2 <= FLAT * np.diag(precision)).any():
            raise LinAlgError  # positive by rounding errors only
        return factor
    except (LinAlgError, ValueError) as error:
        lowest = np.linalg.eigvalsh(precision)[0] if np.isfinite(precision).all() else np.nan
        raise ValueError(
            f"The given point is not an isolated mode: the log posterior does not curve "
            f"downwards in every direction (least curvature {lowest:.2g}). Give every "
            "variable a proper prior, or sample with pm.sample."
        ) from error


class Dense:
    """A dense precision matrix.

    Parameters
    ----------
    precision : array, (n, n)
    """

    def __init__(self, precision: Floats) -> None:
        self.factor = factor_of(precision)

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant."""
        return 2 * float(np.log(np.diag(self.factor)).sum())

    def solve(self, right: Floats) -> Floats:
        """Solve for one or more right-hand sides, (n,) or (n, ...)."""
        return cho_solve((self.factor, True), right)

    def noise(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw from the normal with this precision, (n, draws)."""
        z = rng.normal(size=(len(self.factor), draws))
        return solve_triangular(self.factor, z, lower=True, trans="T")

    def squares(self, noise: Floats) -> Floats:
        """Return the squared length of each draw, (n_draws, n), in standard deviations."""
        return ((noise @ self.factor) ** 2).sum(axis=1)


class Arrow:
    """A precision matrix in the shape of an arrow.

    Parameters
    ----------
    blocks : sequence of array, (n_blocks, size, size)
        D of the formulas; blocks of one size are together.
    across : sequence of array, (n_blocks, size, n_rest)
        C.
    rest : array, (n_rest, n_rest)
        R.
    places : sequence of array of int, (n_blocks, size)
        Positions of the blocks' variables among all variables.
    places_of_rest : array of int, (n_rest,)
    sums : sequence of array of int, (n_summed,)
        Positions of variables that sum to zero.

    Raises
    ------
    ValueError
        If the matrix is not positive definite.
    """

    def __init__(
        self,
        blocks: Sequence[Floats], across: Sequence[Floats], rest: Floats,
        places: Sequence[NDArray[Any]], places_of_rest: NDArray[Any], sums: Sequence[NDArray[Any]],
    ) -> None:  # fmt: skip
        self.places, self.places_of_rest = places, places_of_rest
        self.n = sum(where.size for where in places) + places_of_rest.size
        blocks = [(block + np.swapaxes(block, 1, 2)) / 2 for block in blocks]
        try:
            roots = [np.linalg.cholesky(block) for block in blocks]
        except np.linalg.LinAlgError as error:
            least = min(np.linalg.eigvalsh(block).min() for block in blocks)
            raise ValueError(
                f"The given point is not an isolated mode: the log posterior does not curve "
                f"downwards in every direction (least curvature {least:.2g} within a block). "
                "Give every variable a proper prior, or sample with pm.sample."
            ) from error
        # there are many small blocks, and it is faster to apply their inverses than to solve
        self.inverse = [np.linalg.inv(root) for root in roots]
        self.edge = [  # H, with a row for each variable of a block
            (inverse @ np.ascontiguousarray(c)).reshape(where.size, -1)
            for inverse, c, where in zip(self.inverse, across, places, strict=True)
        ]
        self.corner = factor_of(rest - sum(edge.T @ edge for edge in self.edge))
        self.sums = np.zeros((len(sums), self.n))  # A
        for row, where in zip(self.sums, sums, strict=True):
            row[where] = len(where) ** -0.5
        self.moved = self._solve(self.sums.T)  # corrections for the sums
        self.by_sums = factor_of(self.sums @ self.moved) if len(sums) else np.zeros((0, 0))
        diagonals = [np.diagonal(root, axis1=1, axis2=2) for root in roots]
        parts = [*diagonals, np.diag(self.corner), np.diag(self.by_sums)]
        # logarithm of the determinant on the subspace where the sums are zero
        self.log_det = 2 * float(sum(np.log(part).sum() for part in parts))

    def solve(self, right: Floats) -> Floats:
        """Solve for one or more right-hand sides, (n,) or (n, columns), with the sums at zero."""
        found = self._solve(right.reshape(self.n, -1))
        return self._given_sums(found).reshape(right.shape)

    def noise(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw from the normal with this precision, (n, draws), given the sums."""
        z = rng.normal(size=(self.n, draws))
        corner = solve_triangular(self.corner, z[self.places_of_rest], lower=True, trans="T")
        return self._given_sums(self._back([z[where] for where in self.places], corner))

    def _solve(self, right: Floats) -> Floats:
        halves = [
            inverse @ right[where] for inverse, where in zip(self.inverse, self.places, strict=True)
        ]
        known = sum(
            edge.T @ half.reshape(len(edge), -1)
            for edge, half in zip(self.edge, halves, strict=True)
        )
        corner = cho_solve((self.corner, True), right[self.places_of_rest] - known)
        return self._back(halves, corner)

    def _back(self, halves: Sequence[Floats], corner: Floats) -> Floats:
        """Solve the upper triangular systems, each (n_blocks, size, columns), given the rest."""
        out = np.empty((self.n, corner.shape[1]))
        parts = zip(self.inverse, self.edge, self.places, halves, strict=True)
        for inverse, edge, where, half in parts:
            left = half - (edge @ corner).reshape(half.shape)
            out[where] = np.swapaxes(inverse, 1, 2) @ left
        out[self.places_of_rest] = corner
        return out

    def _given_sums(self, free: Floats) -> Floats:
        if not len(self.sums):
            return free
        return free - self.moved @ cho_solve((self.by_sums, True), self.sums @ free)
