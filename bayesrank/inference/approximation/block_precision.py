r"""Precisions of many small blocks that meet only their own variables, and of a few that meet all.

Parameters of two judges never meet in the log posterior. Its Hessian is an arrow: the blocks D of
the judges along the diagonal, and C and R of the other variables along the edge,

.. math:: Q = \begin{pmatrix} D & C \\ C^\top & R \end{pmatrix}
            = L L^\top, \qquad
          L = \begin{pmatrix} D^{1/2} & 0 \\ H^\top & S^{1/2} \end{pmatrix}, \quad
          H = D^{-1/2} C, \quad S = R - H^\top H .

Time and memory are linear in the judges. If the parameters sum to zero over the judges, Q is that
of free numbers, conditioned on the sums. With A the rows of these sums, of length one,
:math:`\lvert Q \rvert` becomes :math:`\lvert Q \rvert \, \lvert A Q^{-1} A^\top \rvert`, and
draws and solutions are moved by :math:`Q^{-1} A^\top (A Q^{-1} A^\top)^{-1} A` times themselves
(Rue & Held, Gaussian Markov Random Fields, 2005, section 2.3.3).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from bayesrank.inference.approximation.laplace_draws import factor_of

__all__ = ["Arrow", "Dense"]

Floats = NDArray[np.float64]


class Dense:
    """A precision without zeros.

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
        """Draw from the normal of this precision, (n, draws)."""
        z = rng.normal(size=(len(self.factor), draws))
        return solve_triangular(self.factor, z, lower=True, trans="T")


class Arrow:
    """A precision in the shape of an arrow.

    Parameters
    ----------
    blocks : array, (n_blocks, size, size)
        D of the formulas.
    across : sequence of array, (n_rest, n_blocks)
        C, of each place in a block. They are overwritten.
    rest : array, (n_rest, n_rest)
        R.
    places : array of int, (n_blocks, size)
        Of the variables of the blocks, among all.
    places_of_rest : array of int, (n_rest,)
    sums : array of bool, (size,)
        Which of the variables of blocks sum to zero over the blocks.

    Raises
    ------
    ValueError
        If it is not positive definite.
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
                f"The log posterior does not curve downwards in every direction at the given point "
                f"(least curvature {least:.2g} within a block): it is no isolated mode. Give every "
                "variable a proper prior, or sample with pm.sample."
            ) from error
        # blocks are small and many: their inverses are applied faster than they are solved with
        self.inverse = np.linalg.inv(self.root)
        self.edge = list(across)  # becomes H, from the last place on
        for p, edge in reversed([*enumerate(self.edge)]):
            edge *= self.inverse[:, p, p]
            for q in range(p):
                edge += self.inverse[:, p, q] * self.edge[q]
        self.corner = factor_of(rest - sum(edge @ edge.T for edge in self.edge))
        kept = np.flatnonzero(sums)
        self.sums = np.zeros((kept.size, self.n))  # A
        for row, which in zip(self.sums, kept, strict=True):
            row[places[:, which]] = len(places) ** -0.5
        self.moved = self._solve(self.sums.T)  # what a sum is corrected by
        self.by_sums = factor_of(self.sums @ self.moved) if kept.size else np.zeros((0, 0))

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.places.size + self.places_of_rest.size

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant, where sums are fixed in the space that is left."""
        roots = np.diagonal(self.root, axis1=1, axis2=2)
        parts = (roots, np.diag(self.corner), np.diag(self.by_sums))
        return 2 * float(sum(np.log(part).sum() for part in parts))

    def solve(self, right: Floats) -> Floats:
        """Solve for one or more right-hand sides, (n,) or (n, columns), with the sums at zero."""
        found = self._solve(right.reshape(self.n, -1))
        return self._given_sums(found).reshape(right.shape)

    def noise(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw from the normal of this precision, (n, draws), given the sums."""
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
        """Solve the upper triangle for (n_blocks, size, columns), the rest being known."""
        left = np.stack([half[:, p] - edge.T @ corner for p, edge in enumerate(self.edge)], axis=1)
        out = np.empty((self.n, half.shape[2]))
        out[self.places] = np.swapaxes(self.inverse, 1, 2) @ left
        out[self.places_of_rest] = corner
        return out

    def _given_sums(self, free: Floats) -> Floats:
        if not len(self.sums):
            return free
        return free - self.moved @ cho_solve((self.by_sums, True), self.sums @ free)
