r"""Precision matrices with many small blocks, and a few variables that are linked to all of them.

No term of the log posterior links the parameters of two judges. Its Hessian is an arrow: the blocks
D of the judges on the diagonal, and C and R of the other variables at the edge,

.. math:: Q = \begin{pmatrix} D & C \\ C^\top & R \end{pmatrix}
            = L L^\top, \qquad
          L = \begin{pmatrix} D^{1/2} & 0 \\ H^\top & S^{1/2} \end{pmatrix}, \quad
          H = D^{-1/2} C, \quad S = R - H^\top H .

Time and memory are linear in the number of judges. If the parameters sum to zero over the judges, Q
is the precision of unconstrained parameters, conditioned on the sums. The rows of A are these sums,
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


def factor_of(precision: Floats) -> Floats:
    """Return the Cholesky factor, (n, n), or raise a ValueError."""
    precision = (precision + precision.T) / 2
    try:
        return cholesky(precision, lower=True)
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


class Arrow:
    """A precision matrix in the shape of an arrow.

    Parameters
    ----------
    blocks : array, (n_blocks, size, size)
        D of the formulas.
    across : sequence of array, (n_rest, n_blocks)
        C, for each position in a block. The arrays are overwritten.
    rest : array, (n_rest, n_rest)
        R.
    places : array of int, (n_blocks, size)
        Positions of the blocks' variables among all variables.
    places_of_rest : array of int, (n_rest,)
    sums : array of bool, (size,)
        Which variables of a block sum to zero over the blocks.

    Raises
    ------
    ValueError
        If the matrix is not positive definite.
    """

    def __init__(
        self,
        blocks: Floats, across: Sequence[Floats], rest: Floats,
        places: NDArray[Any], places_of_rest: NDArray[Any], sums: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        self.places, self.places_of_rest = places, places_of_rest
        blocks = (blocks + np.swapaxes(blocks, 1, 2)) / 2
        try:
            self.root = np.linalg.cholesky(blocks)
        except np.linalg.LinAlgError as error:
            least = np.linalg.eigvalsh(blocks).min()
            raise ValueError(
                f"The given point is not an isolated mode: the log posterior does not curve "
                f"downwards in every direction (least curvature {least:.2g} within a block). "
                "Give every variable a proper prior, or sample with pm.sample."
            ) from error
        # there are many small blocks, and it is faster to apply their inverses than to solve
        self.inverse = np.linalg.inv(self.root)
        self.edge = list(across)  # becomes H, from the last position to the first
        for p, edge in reversed([*enumerate(self.edge)]):
            edge *= self.inverse[:, p, p]
            for q in range(p):
                edge += self.inverse[:, p, q] * self.edge[q]
        self.corner = factor_of(rest - sum(edge @ edge.T for edge in self.edge))
        kept = np.flatnonzero(sums)
        self.sums = np.zeros((kept.size, self.n))  # A
        for row, which in zip(self.sums, kept, strict=True):
            row[places[:, which]] = len(places) ** -0.5
        self.moved = self._solve(self.sums.T)  # corrections for the sums
        self.by_sums = factor_of(self.sums @ self.moved) if kept.size else np.zeros((0, 0))

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.places.size + self.places_of_rest.size

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant on the subspace where the sums are zero."""
        roots = np.diagonal(self.root, axis1=1, axis2=2)
        parts = (roots, np.diag(self.corner), np.diag(self.by_sums))
        return 2 * float(sum(np.log(part).sum() for part in parts))

    def solve(self, right: Floats) -> Floats:
        """Solve for one or more right-hand sides, (n,) or (n, columns), with the sums at zero."""
        found = self._solve(right.reshape(self.n, -1))
        return self._given_sums(found).reshape(right.shape)

    def noise(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw from the normal with this precision, (n, draws), given the sums."""
        z = rng.normal(size=(self.n, draws))
        corner = solve_triangular(self.corner, z[self.places_of_rest], lower=True, trans="T")
        return self._given_sums(self._back(z[self.places], corner))

    def _solve(self, right: Floats) -> Floats:
        size = self.places.shape[1]
        columns = right.shape[1]
        half = self.inverse @ right[self.places].reshape(len(self.places), size, columns)
        known = sum(edge @ half[:, p] for p, edge in enumerate(self.edge))
        corner = cho_solve((self.corner, True), right[self.places_of_rest] - known)
        return self._back(half, corner)

    def _back(self, half: Floats, corner: Floats) -> Floats:
        """Solve the upper triangular system, (n_blocks, size, columns), given the rest."""
        left = np.stack([half[:, p] - edge.T @ corner for p, edge in enumerate(self.edge)], axis=1)
        out = np.empty((self.n, half.shape[2]))
        out[self.places] = np.swapaxes(self.inverse, 1, 2) @ left
        out[self.places_of_rest] = corner
        return out

    def _given_sums(self, free: Floats) -> Floats:
        if not len(self.sums):
            return free
        return free - self.moved @ cho_solve((self.by_sums, True), self.sums @ free)
