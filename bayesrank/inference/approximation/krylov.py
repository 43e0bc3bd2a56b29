r"""Precision matrices of many variables, known by their products with vectors.

Second derivatives of matches and rankings have few terms for each item. A product with them takes
time linear in the data, but their Cholesky factor would fill with numbers. Everything that a normal
approximation needs comes from products instead. Let :math:`A = S Q S` be the precision Q, scaled to
a unit diagonal. Conjugate gradients on :math:`A y = z` solve, and their residuals and coefficients
are an orthonormal basis V and a tridiagonal matrix T with :math:`A V \approx V T` (Lanczos):

.. math:: f(A)\, z \approx \lVert z \rVert\, V f(T)\, e_1 .

With :math:`f(A) = A^{-1/2}` and a standard normal z, :math:`S f(A) z` is a draw. With the
logarithm, the mean of :math:`z^\top f(A) z` over random signs z is
:math:`\log \lvert A \rvert`, up to Monte Carlo error.

The number of steps grows with the square root of the condition number of A, and not with the number
of variables. Long chains of items with many matches each have the most steps.

References
----------
Saad, Iterative methods for sparse linear systems, 2003, section 6.7.3.

Chow & Saad, Preconditioned Krylov subspace methods for sampling multivariate Gaussian
distributions, SIAM Journal on Scientific Computing 36, 2014.

Ubaru, Chen & Saad, Fast estimation of tr(f(A)) via stochastic Lanczos quadrature, SIAM Journal on
Matrix Analysis and Applications 38, 2017.
"""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

__all__ = ["Krylov"]

Floats = NDArray[np.float64]

EXACT = 1e-10  # relative residual of solutions
CLOSE = 1e-5  # relative residual of draws, far below their Monte Carlo error
MOST_STEPS = 20_000
AT_ONCE = 300_000  # numbers of the right-hand sides that are solved together: they fit a cache
ROOM = 8_000_000  # numbers in the basis of draws that are made together
N_PROBES = 32  # random signs for the determinant


class Searched(NamedTuple):
    """The end of conjugate gradients for several right-hand sides."""

    solution: Floats | None  # (n, m)
    basis: list[Floats]  # (n, m) for each step, if they are kept instead of the solution
    length: Floats  # (m, n_steps) of the vectors of the basis
    tridiagonal: Floats  # (m, n_steps, n_steps), with ones after the end of a column


class Krylov:
    """A precision matrix that is known by its products.

    Parameters
    ----------
    product : callable
        Multiplies the matrix and vectors, (n, m).
    diagonal : array, (n,)
        Its diagonal, or positive numbers of that size.

    Raises
    ------
    ValueError
        If the matrix is not positive definite, here or when it is used.

    Examples
    --------
    >>> matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> precision = Krylov(lambda v: matrix @ v, np.diag(matrix))
    >>> precision.solve(np.array([3.0, 4.0])).round(6)
    array([1., 1.])
    >>> np.cov(precision.noise(4000, np.random.default_rng(1))).round(1)  # the inverse
    array([[ 0.6, -0.2],
           [-0.2,  0.4]])
    """

    def __init__(self, product: Callable[[Floats], Floats], diagonal: Floats) -> None:
        scale = _scale_of(diagonal)[:, None]
        self._set(lambda v: scale * product(scale * v), scale)

    @classmethod
    def of_sparse(cls, matrix: csr_array) -> Self:
        """Make the precision of a sparse matrix, (n, n)."""
        out = cls.__new__(cls)
        scale = _scale_of(matrix.diagonal())
        scaled = csr_array(diags_array(scale) @ matrix @ diags_array(scale))
        out._set(scaled.dot, scale[:, None])
        return out

    def _set(self, scaled: Callable[[Floats], Floats], scale: Floats) -> None:
        self.scaled, self.scale, self.n = scaled, scale, scale.size
        self.at_once = self.most_drawn = min(max(AT_ONCE // self.n, 4), 32)

    @cached_property
    def log_det(self) -> float:
        """Logarithm of the determinant, estimated with the same random signs each time."""
        found = []
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(N_PROBES, self.n))
        for some in np.split(signs, range(self.at_once, N_PROBES, self.at_once)):
            searched = self._search(np.ascontiguousarray(some.T), CLOSE, keep=False)
            values, vectors = _spectrum(searched.tridiagonal)
            found.append((vectors[:, 0] ** 2 * np.log(values)).sum(axis=1))
        return self.n * float(np.concatenate(found).mean()) - 2 * float(np.log(self.scale).sum())

    def solve(self, right: Floats) -> Floats:
        """Solve for one or more right-hand sides, (n,) or (n, m)."""
        z = self.scale * right.reshape(self.n, -1)
        out = np.empty(z.shape)
        for first in range(0, z.shape[1], self.at_once):
            some = slice(first, first + self.at_once)
            out[:, some] = self._search(np.ascontiguousarray(z[:, some]), EXACT).solution
        out *= self.scale
        return out.reshape(right.shape)

    def noise(self, draws: int, rng: np.random.Generator) -> Floats:
        """Draw from the normal with this precision, (n, draws), in column order."""
        done = 0
        out = np.empty((self.n, draws), order="F")
        while done < draws:
            z = rng.normal(size=(self.n, min(self.most_drawn, draws - done)))
            searched = self._search(z, CLOSE, keep=True)
            values, vectors = _spectrum(searched.tridiagonal)
            # |z| f(T) e_1, divided by the lengths of the basis
            weights = np.einsum("mij,mj->mi", vectors, vectors[:, 0] / np.sqrt(values))
            weights *= np.linalg.norm(z, axis=0)[:, None] / searched.length
            total, part = np.zeros_like(z), np.empty_like(z)
            for vector, weight in zip(searched.basis, weights.T, strict=True):
                np.multiply(vector, weight, out=part)
                total += part
            np.multiply(total, self.scale, out=out[:, done : done + z.shape[1]])
            done += z.shape[1]
            most = ROOM // (self.n * max(len(searched.basis), 1))
            self.most_drawn = min(max(most, 1), self.at_once)
        return out

    def squares(self, noise: Floats) -> Floats:
        """Return the squared length of each draw, (n_draws, n), in standard deviations."""
        z = np.ascontiguousarray(noise.T) / self.scale
        return np.einsum("ij,ij->j", z, self.scaled(z))

    def _search(self, right: Floats, tolerance: float, *, keep: bool | None = None) -> Searched:
        """Solve scaled equations by conjugate gradients, each column by itself.

        With `keep`, return the basis and T; with False, only T; by default, the solution and T.
        """
        m = right.shape[1]
        solution = np.zeros(right.shape) if keep is None else None
        left, along, basis = right.copy(), right.copy(), list[Floats]()
        size = np.einsum("ij,ij->j", left, left)
        enough = tolerance**2 * size
        diagonal, beside, lengths = list[Floats](), list[Floats](), list[Floats]()
        before = np.zeros(m)  # share / length of the last step
        for _ in range(MOST_STEPS):
            active = size > enough
            if not active.any():
                break
            lengths.append(np.sqrt(np.where(active, size, 1.0)))
            if keep:
                basis.append(left.copy())
            bent = self.scaled(along)
            curvature = np.einsum("ij,ij->j", along, bent)
            if not (curvature[active] > 0).all():
                raise _not_a_mode(float(curvature[active].min()))
            length = np.divide(size, curvature, out=np.zeros(m), where=active)
            if solution is not None:
                solution += length * along
            bent *= length
            left -= bent
            reached = np.einsum("ij,ij->j", left, left)
            share = np.divide(reached, size, out=np.zeros(m), where=active)
            along *= share
            along += left
            inverse = np.divide(1.0, length, out=np.ones(m), where=active)
            diagonal.append(np.where(active, inverse + before, 1.0))
            before = share * np.where(active, inverse, 0.0)
            ends = ~active | (reached <= enough)
            beside.append(np.where(ends, 0.0, -np.sqrt(share) * inverse))
            size = np.where(active, reached, size)
        else:
            raise ValueError(
                f"The equations of {self.n:,} variables were not solved in {MOST_STEPS:,} "
                "steps, because the data determine some of their differences far better than "
                "others. Give the utilities a smaller standard deviation, or fewer items."
            )
        k = len(diagonal)
        matrix, at = np.zeros((m, k, k)), np.arange(k)
        matrix[:, at, at] = np.reshape(diagonal, (k, m)).T
        off = np.reshape(beside[:-1], (max(k - 1, 0), m)).T
        matrix[:, at[1:], at[:-1]] = matrix[:, at[:-1], at[1:]] = off
        return Searched(solution, basis, np.reshape(lengths, (k, m)).T, matrix)


def _scale_of(diagonal: Floats) -> Floats:
    if not (diagonal > 0).all():
        raise _not_a_mode(float(diagonal.min()))
    return diagonal**-0.5


def _spectrum(tridiagonal: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues, (m, k), and eigenvectors, (m, k, k), of symmetric matrices, (m, k, k)."""
    values, vectors = np.linalg.eigh(tridiagonal)
    if not (values > 0).all():
        raise _not_a_mode(float(values.min()))
    return values, vectors


def _not_a_mode(curvature: float) -> ValueError:
    return ValueError(
        "The given point is not an isolated mode: the log posterior does not curve downwards in "
        f"every direction (least curvature {curvature:.2g}). Give every variable a proper prior, "
        "or sample with pm.sample."
    )
