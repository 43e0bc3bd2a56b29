r"""The quick posterior: Laplace's approximation, with the scales that a model learns integrated.

A normal around the joint mode is wrong where a model learns a scale: of a utility that varies by
judge, say. With its effects centred the mode has a scale of zero, where the density is infinite;
with effects in units of the scale it makes the scale as large as its prior allows, and neither is
where the posterior is. So the scales :math:`\psi` (their logarithms) are kept apart from the other
variables x, of which there may be thousands. Given the scales, x is about normal, around the mode
:math:`\hat x(\psi)` with the precision :math:`-H(\psi)`, and with it Laplace's approximation of
what the data say about the scales is

.. math:: \log \tilde p(\psi \mid y) = \log p(y, \hat x(\psi), \psi)
          - \tfrac12 \log \lvert -H(\psi) \rvert + \text{const},

the nested approximation of INLA. It is the same whether effects are centred or not. Its mode is
found, and some nodes are laid around it, further out on the side of the longer tail.

Where effects meet as factors, an adherence and what a prompt makes of an item, the mode is not the
mean, and the curvature there is not that of elsewhere: at each node the normal is moved towards the
one of least Kullback-Leibler divergence from the posterior. Averaged over that normal the gradient
is zero, and minus the Hessian is its precision (Opper and Archambeau). Its bound of the evidence
takes the place of Laplace's, and weighs the nodes. A draw takes a node by its weight, moves the
scales a little, x along with them, and adds the normal noise of that node. Where judges are so many
that their own parameters are most of x, those of a judge meet what all share, which is known well,
and modes stand for averages.

Few data leave x skewed even where the scales are known. So a model of at most 30 variables gets
importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry, JMLR 25, 2024). Proposals come from
the nodes, with the tails of a t distribution. They are resampled by the exact density over that of
the mixture, unless the Pareto k of the weights is 0.7 or more.

Of more than eight scales nodes lie along the eight directions that are known least.
Many data know the scales so well that the noise hardly changes with them: then their mode is the
only node. Where judges have parameters of their own, time is linear in the judges
(`bayesrank.inference.approximation.block_precision`).

>>> import pymc as pm
>>> with pm.Model() as model:
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
>>> posterior = quick_posterior(model)["posterior"]["x"]
>>> round(float(posterior.mean()), 1), round(float(posterior.std()), 1)
(1.5, 0.7)
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection
from pymc.distributions.multivariate import ZeroSumNormalRV
from pymc.model.transform.conditioning import remove_value_transforms
from pymc.pytensorf import rewrite_pregrad
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Mul, TrueDiv
from pytensor.tensor.blas import BatchedDot, Dot22
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import Dot
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from bayesrank.inference.approximation.block_precision import Arrow, Dense
from bayesrank.inference.approximation.hessian_products import likelihoods_of, many_products
from bayesrank.inference.approximation.laplace_draws import factor_of
from bayesrank.inference.approximation.modes import (
    climb,
    converter,
    objective,
    one_blas_thread,
    tree_of,
)
from bayesrank.inference.approximation.nodes import (
    KNOWN,
    MOST_TIMES,
    curvature_of,
    node_of_draws,
    weighted_nodes,
)

__all__ = ["Near", "learned_scales", "normal_near", "quick_posterior"]

Floats = NDArray[np.float64]

MOST_SCALES = 12  # numbers whose mode is sought
JITTER = 0.15  # share of the variance of the scales that is between the nodes
MOST_STEPS = 40  # to a mode
ENOUGH = 1e-5  # nats below the mode at which a search ends
PATIENCE = 12  # steps with the curvature of elsewhere, that are as long as to find the one here
CLOSE = 3e-2  # nats below the highest that the scales' search ends, before a last step
AHEAD = 1e-3  # step of differences of log determinants, in logarithms
LONGEST = 2.0  # of a step of the search, in logarithms
SLOWEST = 0.2  # to which a step may say that a curvature falls
FLAT = 1e-2  # curvature below which a direction is taken to be flat
FAR = 30.0  # logarithm of a scale that has run away
AT_ONCE = 64  # draws, of which memory stays near
PAIRS = 32  # of draws x + z and x - z, over which the normal of a node averages
POINTS = 300  # over so many numbers of draws it averages a curvature, with one pair or more
STEPS = 2  # towards its mean, with the same precision
MOST_ROUNDS = 8  # of precision and mean
SETTLED = 0.05  # nats of the bound that a round gains, at which they end
# Importance sampling. The variance of log weights grows with the variables: of many, few weigh all.
MOST_WEIGHED = 30  # variables
PILOT = 200  # draws at the heaviest node, which show how skewed the posterior is there
NORMAL = 0.1  # deviation of log weights: no mean moves by more than that share of its deviation
PROPOSALS = 4  # of each draw
WIDE = 1.2  # times the deviations of x
TAIL = 5  # degrees of freedom of x, whose density may fall more slowly than the normal's
TAIL_OF_SCALES = 3  # the density of a logarithm falls like an exponential towards a scale of zero
BETWEEN = 6.0  # times the variance between nodes
LOWEST = -600.0  # log weight, relative to the largest
GOOD_K = 0.7  # Pareto k from which weights are not to be trusted
FIRST_LOOK = 250  # draws of a chain, after which it is asked whether they are enough


def quick_posterior(
    model: pm.Model,
    *,
    scales: Sequence[str] | None = None,
    draws: int = 1000,
    chains: int = 4,
    seed: int = 1,
    enough: Callable[[xr.Dataset], bool] | None = None,
) -> xr.DataTree:
    """Approximate the posterior by its mode and curvature, in seconds where NUTS takes minutes.

    Parameters
    ----------
    model : pm.Model
        With continuous free variables only.
    scales : sequence of str, optional
        Free variables, scales or other numbers on which the spread of others depends, that are
        integrated over nodes: up to twelve numbers. By default those that `learned_scales` finds;
        none for a plain Laplace approximation around the joint mode.
    draws : int
        Of each chain, at most.
    chains : int
        Draws are independent, so that chains differ by chance alone; several make summaries and
        diagnostics that want chains work.
    seed : int
        Of the draws.
    enough : callable, optional
        Given the posterior so far, says whether it suffices, as of `bayesrank.inference.sample`:
        it is asked when every chain has 250 draws, 500, 1,000 and so on.

    Returns
    -------
    DataTree
        Like that of `pymc.sample`: ``posterior`` with the variables and deterministics,
        ``observed_data``, ``constant_data``, and in the place of the sampler's ``sample_stats`` the
        node of every draw and the logarithm of the density of that node; its attributes, and those
        of the posterior, say that it is an approximation.

    Raises
    ------
    ValueError
        If a variable is discrete, there are too many scales, or the log posterior does not curve
        downwards around a mode: an improper prior, a scale that the data leave open.

    Notes
    -----
    Against 6,000 draws of NUTS: the largest shift of a posterior mean in posterior standard
    deviations, the range of ratios of standard deviations, and the largest difference of the
    probability to be the best of all items.

    ==========================================  ==========  ============  =======  =======
    model                                       utilities   ratios        scales   P(best)
    ==========================================  ==========  ============  =======  =======
    Davidson, chocolate puddings, 6 brands      0.01        0.97 to 1.01           0.01
    Davidson, English football, 41 clubs        0.13        0.95 to 1.03           0.00
    Plackett-Luce, NASCAR, 87 drivers, a scale  0.07        0.94 to 1.04  0.09     0.01
    MPM, potatoes by 12 rankers' adherences     0.04        0.97 to 1.03  0.19     0.00
    leaderboard, potatoes by 12 judges          0.20        0.85 to 1.00  0.05     0.00
    leaderboard, 8 scales, 700 to 5,000 votes   0.13        0.93 to 1.01  0.59     0.01
    leaderboard, 5 scales, a judge goes astray  0.21        0.90 to 0.94  1.17     0.01
    Plackett-Luce, 8 rankings of 6, a scale     0.04        0.94 to 1.03  0.04     0.02
    ==========================================  ==========  ============  =======  =======

    The last row is of six simulated tables, compared with 16,000 draws of NUTS. So few data leave
    the utilities skewed. Importance sampling corrects this in models of at most 30 free numbers, if
    no dim has parameters in blocks of their own. The attribute ``approximation`` then ends with
    "with importance sampling". Without that correction, this row had a shift of 0.26 and ratios
    from 0.75. The draws stay as they are if the Pareto k of the weights is 0.7 or more. They also
    stay if the posterior is about normal given the scales.

    The row of 8 scales is of four made-up boards. With the modes in place of the averages utilities
    of the potatoes and of such a board were 0.65 and 0.68 away. Adherences are up to 0.45 away
    there and up to 0.8 where a judge goes astray, with 0.7 to 1.1 and 0.2 to 0.65 times the
    standard deviations of NUTS: judges may differ more in care than it says. The learned scales
    have 0.94 to 0.99 times, and 0.4 to 1.2 times where there are five or more, of which the least
    known have a tail towards zero that so few nodes do not reach.

    Larger models keep the skewness of the utilities given the scales: few data, or an item that
    nearly always wins or loses. Sample where judges have opinions and are consistent to the last
    pair, so that nothing but priors keeps utilities finite: of the potatoes, every ranking taken
    for 190 matches, they are then two deviations away.

    See Also
    --------
    bayesrank.inference.approximation.laplace_draws : A normal around the joint mode.

    References
    ----------
    Rue, Martino & Chopin, Approximate Bayesian inference for latent Gaussian models by using
    integrated nested Laplace approximations, JRSS B 71, 2009.

    Opper & Archambeau, The variational Gaussian approximation revisited, Neural Computation 21,
    2009.
    """
    _refuse_discrete(model)
    names = learned_scales(model) if scales is None else list(scales)
    settings: dict[str, Any] = {
        "draws": draws, "chains": chains, "seed": seed, "enough": enough,
    }  # fmt: skip
    with one_blas_thread():
        try:
            return _approximate(*_by_blocks(model, names), names, **settings)
        except _MeetError:  # blocks that the graph lets hope for
            return _approximate(model, [], names, **settings)


class Near(NamedTuple):
    """A normal distribution near a posterior, of the variables in the space of the sampler."""

    centre: Floats  # (n,)
    spread: Floats  # (n, n): x = centre + spread @ z, with z of independent standard normals


def normal_near(model: pm.Model, *, density: Any = None) -> Near:
    """Find a normal distribution near the posterior: coordinates for `bayesrank.inference.sample`.

    That of the quick posterior with the scales around their mode: linear in them, so that x goes
    along with its scale as far as a straight line does.

    Parameters
    ----------
    model : pm.Model
        With continuous free variables only.
    density : callable, optional
        Its log density with the gradient, from `compile_density`, if it is there already.

    Returns
    -------
    Near

    Raises
    ------
    ValueError
        As `quick_posterior`.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 0, 1)
    ...     y = pm.Normal("y", x, 1, observed=3.0)
    >>> near = normal_near(model)
    >>> near.centre.round(3), near.spread.round(3)
    (array([1.5]), array([[0.707]]))
    """
    _refuse_discrete(model)
    names = learned_scales(model)
    start = DictToArrayBijection.map(model.initial_point())
    logp = objective(model)[0] if density is None else density
    outer = _places(start, names)
    _refuse_many(outer, names)
    none = np.zeros(0, dtype=bool)
    nested = _Nested(logp, many_products(model), start.data, outer, None, none)
    peak, root, _ = _peak(nested, names) if outer.size else (np.zeros(0), np.zeros((0, 0)), None)
    given = nested.at(peak)
    spread = np.zeros((start.data.size, start.data.size))
    spread[np.ix_(outer, outer)] = root
    spread[np.ix_(nested.inner, outer)] = given.shift @ root
    precision = cast(Dense, given.precision)  # there are no blocks
    spread[np.ix_(nested.inner, nested.inner)] = precision.covariance_root()
    return Near(given.x, spread)


def _refuse_many(outer: NDArray[np.int64], names: Sequence[str]) -> None:
    if outer.size > MOST_SCALES:
        raise ValueError(
            f"The model learns {outer.size} scales, {', '.join(names)}; up to {MOST_SCALES} "
            "numbers can be integrated over. Name the most important ones with `scales`, or sample "
            "with pm.sample."
        )


def _approximate(
    model: pm.Model,
    blocks: Sequence[str],
    names: Sequence[str],
    *,
    draws: int,
    chains: int,
    seed: int,
    enough: Callable[[xr.Dataset], bool] | None,
) -> xr.DataTree:
    """Find the quick posterior; variables of the `blocks` of a dim meet their own only."""
    logp, start = objective(model)
    outer = _places(start, names)
    _refuse_many(outer, names)
    places = np.stack([_places(start, [name]) for name in blocks], axis=1) if blocks else None
    sums = np.array([_sums_to_zero(model[name]) for name in blocks], dtype=bool)
    nested = _Nested(logp, many_products(model), start.data, outer, places, sums)
    if outer.size:
        nodes = _nodes(nested, names)
    else:
        none, fit = np.zeros((0, 0)), nested.at(np.zeros(0))
        nodes = _Nodes(fit.x[None, outer], np.zeros(1), [fit], 1.0, none)
    rng, convert = np.random.default_rng(seed), converter(model, start, chains, draws)
    exact = _weighed(nodes, nested, chains * draws, rng.spawn(1)[0])
    n, node = 0, np.empty((chains, draws), dtype=np.int64)
    while True:
        more = draws if enough is None else min(max(n, FIRST_LOOK), draws - n)
        if exact is None:
            found, of = _draws(nodes, nested, chains * more, rng)
        else:
            found, of = (part[chains * n : chains * (n + more)] for part in exact)
        values, node[:, n : n + more] = convert(found), of.reshape(chains, more)
        n += more
        if n == draws or enough is None:
            break
        if enough(tree_of(model, values, with_data=False)["posterior"].to_dataset()):
            break
    out, node = tree_of(model, values), node[:, :n]
    stats = {"node": node, "node_log_weight": nodes.log_weight[node]}
    out["sample_stats"] = xr.DataTree(
        xr.Dataset(
            {name: (("chain", "draw"), x) for name, x in stats.items()},
            coords={"chain": np.arange(chains), "draw": np.arange(n)},
        )
    )
    said = {
        "inference_library": "bayesrank",
        "approximation": "Laplace"
        + f", nested over {', '.join(names)}" * bool(names)
        + ", with importance sampling" * (exact is not None),
    }
    for group in ("posterior", "sample_stats"):
        out[group].attrs.update(said)
    return out


def learned_scales(model: pm.Model) -> list[str]:
    """Name the free variables on which the spread of others depends.

    Parameters
    ----------
    model : pm.Model
        Whose graph is looked at.

    Returns
    -------
    list of str
        Variables with bounds (positive, or in an interval) that are a parameter of another free
        variable, or multiply one, alone or together with others of them.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     centred, plain = pm.HalfNormal("centred", 1), pm.HalfNormal("plain", 1)
    ...     a = pm.Normal("a", 0, centred, shape=3)
    ...     b = plain * pm.Normal("b", 0, 1, shape=3)
    ...     _ = pm.Normal("y", a + b, pm.HalfNormal("noise", 1), observed=np.zeros(3))
    >>> learned_scales(model)
    ['centred', 'plain']
    """
    free = model.free_RVs
    bounded = [rv for rv in free if _bounded(model, rv)]
    others = [rv for rv in free if rv not in bounded]
    found = {
        scale
        for rv in free
        for scale in _reached(rv.owner.inputs, free) & set(bounded)
        if rv is not scale
    }
    roots = [*model.observed_RVs, *model.deterministics, *model.potentials, *free]
    inside = [x for root in roots for x in (root.owner.inputs if root.owner else ())]
    for x in ancestors([*inside, *model.deterministics, *model.potentials]):
        if x.owner is not None and _multiplies(x.owner.op):
            parts = [_reached([part], free) for part in x.owner.inputs]
            for part in parts:
                if part and part <= set(bounded) and any(p & set(others) for p in parts):
                    found |= part
    return [rv.name for rv in free if rv in found]


def _bounded(model: pm.Model, rv: Variable) -> bool:
    """Whether a variable has a transformation that acts on each of its numbers."""
    transform = model.rvs_to_transforms.get(rv)
    return transform is not None and getattr(transform, "ndim_supp", 1) == 0


def _multiplies(op: Any) -> bool:
    if isinstance(op, Elemwise):
        return isinstance(op.scalar_op, Mul | TrueDiv)
    return isinstance(op, Dot | Dot22 | BatchedDot)


def _reached(inputs: Sequence[Variable], free: Sequence[Variable]) -> set[Variable]:
    """Free variables that are first on the way back from `inputs`."""
    return set(ancestors(inputs, blockers=free)) & set(free)


def _refuse_discrete(model: pm.Model) -> None:
    names = [rv.name for rv in model.free_RVs if not str(rv.dtype).startswith("float")]
    if names:
        raise ValueError(
            f"The free variable {names[0]!r} is discrete, and has no mode to be normal around. Sum "
            "it out, or sample with pm.sample."
        )


def _places(start: Any, names: Sequence[str]) -> NDArray[np.int64]:
    """Positions of variables, by their names without that of the transformation, in `start`."""
    first, places, known = 0, {}, []
    for name, _, size, _ in start.point_map_info:
        plain = name.rsplit("_", 3)[0] if name.endswith("__") else name
        places[plain] = np.arange(first, first + size)
        known.append(plain)
        first += size
    for name in names:
        if name not in places:
            raise ValueError(f"`scales` has {name!r}; the free variables are {known}.")
    return np.concatenate([places[name] for name in names] or [np.zeros(0, dtype=np.int64)])


# ---------------------------------------------------------------------------------------------
# Given the scales
# ---------------------------------------------------------------------------------------------


class _MeetError(Exception):
    """Variables meet that were taken for separate."""


def _sums_to_zero(rv: Variable) -> bool:
    return isinstance(rv.owner.op, ZeroSumNormalRV)


def _by_blocks(model: pm.Model, scales: Sequence[str]) -> tuple[pm.Model, list[str]]:
    """Find the dim whose labels have variables that do not meet those of other labels.

    A likelihood says which of its inputs are such (`separate`). Returned are the variables, of most
    numbers, and the model with sums of zero taken for what the numbers are, and not for how many
    of them are free; without such a dim, or if most variables are others, no names.
    """
    logp = rewrite_pregrad(model.logp())
    together: set[Any] = set()
    apart: set[Any] = set()
    for node in likelihoods_of(logp):
        separate = getattr(node.op, "separate", ())
        for i in node.op.wrt:
            (apart if i in separate else together).update(ancestors([node.inputs[i]]))
    found: dict[str, list[str]] = {}
    point, size = model.initial_point(), dict[str, int]()
    for rv in model.free_RVs:
        dims, value = model.named_vars_to_dims.get(rv.name, ()), model.rvs_to_values[rv]
        plain = model.rvs_to_transforms.get(rv) is None or _bounded(model, rv)
        fits = len(dims) == 1 and rv.name not in scales and (plain or _sums_to_zero(rv))
        if fits and value in apart and value not in together:
            found.setdefault(str(dims[0]), []).append(rv.name)
            size[str(dims[0])] = size.get(str(dims[0]), 0) + point[value.name].size
    total = sum(np.size(x) for x in point.values())
    dim = max(size, key=lambda dim: size[dim], default=None)
    if dim is None or 2 * size[dim] < total:
        return model, []
    zero = [model[name] for name in found[dim] if _sums_to_zero(model[name])]
    return (remove_value_transforms(model, zero) if zero else model), found[dim]


class _Given(NamedTuple):
    """The normal of the other variables where the scales have some values."""

    x: Floats  # (n,) all variables: the scales, and the mode of the others
    precision: Dense | Arrow
    log_density: float  # of the scales
    shift: Floats  # (n_others, n_scales): how the mode moves with the scales
    slope: Floats  # (n_scales,) of the log density at the modes of the others
    bend: Floats  # (n_scales, n_scales) minus its second derivatives

    def moved(self, scales: Floats, nested: "_Nested") -> "_Given":
        """Take the mode along to scales nearby, and the noise as it is."""
        x = self.x.copy()
        x[nested.outer] = scales
        x[nested.inner] += self.shift @ (scales - self.x[nested.outer])
        return self._replace(x=x)

    def draw(self, draws: int, nested: "_Nested", rng: np.random.Generator) -> Any:
        """Draw all variables, (draws, n), with the scales as they are."""
        out = np.tile(self.x, (draws, 1))
        out[:, nested.inner] += self.precision.noise(draws, rng).T
        return out


class _Nested:
    """A log density whose variables are in part scales, in part blocks, perhaps.

    Places of the variables of blocks are (n_blocks, size), and `sums` says which sum to zero.
    """

    def __init__(
        self, logp: Any, products: Any, start: Floats, outer: Any, places: Any, sums: Any
    ) -> None:
        self.logp, self.products, self.outer = logp, products, outer
        self.inner = np.setdiff1d(np.arange(start.size), outer)
        self.places, self.sums = places, sums
        self.start = start
        self.near: _Given | None = None  # where the next search starts
        if places is None:
            self.directions = np.eye(start.size)
            return
        # one direction for each of the few, and one for a variable of all blocks: in units of one,
        # and in others, which give the same unless blocks meet
        self.rest = np.setdiff1d(self.inner, places)
        few = np.concatenate([self.rest, outer])
        n_few, n_own = len(few), places.shape[1]
        self.unit = np.cos(np.arange(len(places)) ** 2) + 2.0
        self.directions = np.zeros((n_few + 2 * n_own, start.size))
        self.directions[np.arange(n_few), few] = 1.0
        of_all, again = self.directions[n_few:].reshape(2, n_own, start.size)
        for i, where in enumerate(places.T):
            of_all[i, where], again[i, where] = 1.0, self.unit

    def at(self, scales: Floats) -> _Given:
        """Find the mode and the curvature of the others, from where the last search ended."""
        x, value, slope = self._mode(scales)
        precision, across, corner = self._curvature(x)
        shift = -precision.solve(across)
        self.near = _Given(
            x=x,
            precision=precision,
            log_density=value - precision.log_det / 2,
            shift=shift,
            slope=slope[self.outer],
            bend=corner + across.T @ shift,
        )
        return self.near

    def averaged(self, given: _Given) -> _Given:
        """Move a normal to the one that is nearest to the posterior with the scales as they are.

        The draws are the same at all nodes, and so are their lengths in units of the normal: a part
        of the bound that is left out.
        """
        n_pairs = min(max(1, POINTS // self.inner.size), PAIRS)
        noise = np.zeros((PAIRS, given.x.size))

        def around(x: Floats) -> tuple[float, Floats]:
            found = [self._slope(there) for z in noise for there in (x + z, x - z)]
            values, slopes = zip(*found, strict=True)
            # far out a log density may be too low for a sum: a step there is not taken
            with np.errstate(over="ignore"):
                return float(np.mean(values)), np.mean(slopes, axis=0)

        x, precision, shift, bend = given.x, given.precision, given.shift, given.bend
        for _ in range(MOST_ROUNDS):
            noise[:, self.inner] = precision.noise(PAIRS, np.random.default_rng(0)).T
            points = [x + sign * z for z in noise[:n_pairs] for sign in (1, -1)]
            with contextlib.suppress(ValueError):  # so far from normal that it curves upwards
                precision, across, corner = self._curvature(*points)
                shift = -precision.solve(across)
                bend = corner + across.T @ shift
            noise[:, self.inner] = precision.noise(PAIRS, np.random.default_rng(0)).T
            before, slope = around(x)
            value = before
            for _ in range(STEPS):
                step = precision.solve(slope[self.inner])
                if slope[self.inner] @ step < SETTLED:
                    break
                for shorter in (1.0, 0.5, 0.25):
                    there = x.copy()
                    there[self.inner] += shorter * step
                    reached, slope_there = around(there)
                    if reached > value:
                        x, value, slope = there, reached, slope_there
                        break
            if value - before < SETTLED:
                break
        log_density = value - precision.log_det / 2
        return _Given(x, precision, log_density, shift, given.slope, bend)

    def pull(self, given: _Given) -> Floats:
        """Slope of the determinant's part of the log density of the scales, (n_scales,).

        It is a difference along the line on which the mode of the others moves.
        """
        out = np.empty(self.outer.size)
        for k, place in enumerate(self.outer):
            x = given.x.copy()
            x[place] += AHEAD
            x[self.inner] += AHEAD * given.shift[:, k]
            out[k] = (given.precision.log_det - self._curvature(x)[0].log_det) / (2 * AHEAD)
        return out

    def _slope(self, x: Floats) -> tuple[float, Floats]:
        """Log density, and its gradient, (n,), in the directions that sums leave."""
        value, slope = self.logp(x)
        slope = np.nan_to_num(slope)  # where it overflows, the value says that it is too far
        if self.places is not None:
            for where in self.places.T[self.sums]:
                slope[where] -= slope[where].mean()
        return float(value), slope

    def _mode(self, scales: Floats) -> tuple[Floats, float, Floats]:
        """Climb by Newton steps, with the curvature nearby as long as that is quicker."""
        x = self.start.copy()
        x[self.outer] = scales
        precision, fresh = None, False
        if self.near is not None:
            precision = self.near.precision
            x[self.inner] = self.near.x[self.inner]
            x[self.inner] += self.near.shift @ (scales - self.near.x[self.outer])
        value, slope = self._slope(x)
        before, climbed = np.inf, False
        seen: list[tuple[Floats, Floats]] = []  # steps, and how the slope fell along them
        for _ in range(MOST_STEPS):
            if precision is None:
                try:
                    precision, fresh, seen = self._curvature(x)[0], True, []
                except ValueError:  # far from the mode it may curve upwards
                    if climbed:
                        break
                    x, climbed = self._climb(x, tolerance=np.inf), True
                    value, slope = self._slope(x)
                    continue
            step = _newton_step(precision, seen, slope[self.inner])
            gain = float(slope[self.inner] @ step) / 2
            if gain < ENOUGH:
                return x, value, slope
            for shorter in 0.5 ** np.arange(8 if fresh else 3):
                there = x.copy()
                there[self.inner] += shorter * step
                reached, slope_there = self._slope(there)
                if reached >= value + 0.1 * shorter * gain:
                    fell = (slope - slope_there)[self.inner]
                    if fell @ step > 0:
                        seen.append((shorter * step, fell))
                    x, value, slope = there, reached, slope_there
                    break
            else:
                if fresh:
                    break
                precision = None
                continue
            # each step leaves the same part of what is missing, unless curvatures are very unlike
            slow = gain > before * (ENOUGH / gain) ** (1 / PATIENCE)
            precision, fresh = (None if slow else precision), False
            before = np.inf if slow else gain
        x = self._climb(x)
        return x, *self._slope(x)

    def _climb(self, x: Floats, **options: Any) -> Floats:
        """Climb by gradients alone, with the scales as they are."""

        def inner(part: Floats) -> tuple[float, Floats]:
            there = x.copy()
            there[self.inner] = part
            value, slope = self._slope(there)
            return value, slope[self.inner]

        out = x.copy()
        out[self.inner] = climb(inner, x[self.inner], **options)
        return out

    def _curvature(self, *points: Floats) -> tuple[Dense | Arrow, Floats, Floats]:
        """Minus the second derivatives: of the others, a precision; of both; of the scales.

        Of several points their mean.
        """
        found = self.products(points[0])(self.directions)
        for x in points[1:]:
            found += self.products(x)(self.directions)
        found *= -1 / len(points)

        if self.places is None:
            across = found[np.ix_(self.inner, self.outer)]
            precision = Dense(found[np.ix_(self.inner, self.inner)])
            return precision, across, found[np.ix_(self.outer, self.outer)]

        blocks, rest = self.places, self.rest
        by_rest, by_outer, by_all, by_unit = np.split(
            found, np.cumsum([len(rest), len(self.outer), blocks.shape[1]])
        )
        own, in_units = by_all[:, blocks], by_unit[:, blocks]
        error = abs(in_units - own * self.unit[:, None])
        if not error.max() <= 1e-8 * (1 + abs(own).max()):
            raise _MeetError
        arrow = Arrow(
            own.transpose(1, 2, 0),
            [by_rest[:, where] for where in blocks.T],
            by_rest[:, rest],
            np.searchsorted(self.inner, blocks),
            np.searchsorted(self.inner, rest),
            self.sums,
        )
        return arrow, by_outer[:, self.inner].T, by_outer[:, self.outer]


def _newton_step(
    precision: Dense | Arrow, seen: Sequence[tuple[Floats, Floats]], slope: Floats
) -> Floats:
    """Step with the curvature of elsewhere, and with what the steps since then have seen of it.

    As L-BFGS does (Nocedal & Wright, Numerical Optimization, 2nd ed., algorithm 7.4).
    """
    left, parts = slope.copy(), []
    for step, fell in reversed(seen):
        parts.append(float(step @ left) / float(step @ fell))
        left -= parts[-1] * fell
    out = precision.solve(left)
    for (step, fell), part in zip(seen, reversed(parts), strict=True):
        out += (part - float(fell @ out) / float(step @ fell)) * step
    return out


# ---------------------------------------------------------------------------------------------
# Over the scales
# ---------------------------------------------------------------------------------------------


class _Nodes(NamedTuple):
    """Values of the scales with weights, and the normal of the others at each."""

    scales: Floats  # (n_nodes, n_scales)
    log_weight: Floats  # (n_nodes,)
    given: list[_Given]
    shrink: float  # towards their mean, to make room for what is between
    between: Floats  # (n_scales, n_scales) covariance of the scales around a node


def _peak(nested: _Nested, names: Sequence[str]) -> tuple[Floats, Floats, _Given]:
    """Find the mode of the scales, a root of their covariance around it, and what is near it."""

    def at(scales: Floats) -> _Given:
        if np.abs(scales).max() > FAR:
            raise ValueError(
                f"The data leave the scales {', '.join(names)} open: the approximate density has "
                "no mode. Give them proper priors, or sample with pm.sample."
            )
        return nested.at(scales)

    peak, curvature, given = _highest(at, nested.pull, nested.start[nested.outer])
    # a difference of two scales together may reach over a cliff, where the modes of the others go
    # elsewhere, and look like a direction that rises: then those of single scales are all there is
    for known in (curvature, np.diag(np.diag(curvature))):
        with contextlib.suppress(ValueError):
            return peak, np.linalg.inv(factor_of(known)).T, given  # the root of the covariance
    raise ValueError(
        f"The approximate density of the scales {', '.join(names)} has no mode around which it "
        "falls in every direction: the data say too little about them. Sample with pm.sample."
    )


def _nodes(nested: _Nested, names: Sequence[str]) -> _Nodes:
    """Lay nodes around the mode of the scales, and weigh them."""
    peak, root, given = _peak(nested, names)
    covariance = root @ root.T
    if np.diag(covariance).max() < KNOWN**2:  # the noise is the same a part of a deviation away
        return _Nodes(peak[None], np.zeros(1), [given.moved(peak, nested)], 0.0, covariance)
    top = nested.at(peak)

    def height(scales: Floats) -> float:
        nested.near = top
        return nested.at(scales).log_density

    def found_at(scales: Floats, near: _Given | None) -> _Given:
        near = near or top
        if nested.places is None:
            return nested.averaged(near.moved(scales, nested))
        # in blocks each is known well by its own data, and averages over all would take long
        nested.near = near
        return nested.at(scales)

    scales, log_weight, found, rest = weighted_nodes(
        peak, covariance, top.log_density, height, found_at,
        rounds=MOST_TIMES if nested.places is None else 1,
    )  # fmt: skip
    apart = scales - np.exp(log_weight) @ scales
    between = JITTER * (apart.T * np.exp(log_weight)) @ apart + rest
    return _Nodes(scales, log_weight, found, math.sqrt(1 - JITTER), between)


def _highest(at: Any, pull: Any, scales: Floats) -> tuple[Floats, Floats, _Given]:
    """Climb the log density of the scales; its mode, minus the Hessian there, and what is near it.

    By BFGS. The Hessian is found by differences where the search seems to end.
    """
    given = at(scales)

    def height(x: Floats) -> float:
        return float(at(x).log_density)

    pulled = pull(given)
    slope = given.slope + pulled
    size, trend = _expected(given, pulled), np.ones(scales.size)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(size * np.outer(trend, trend), slope)
        if slope @ step < 2 * CLOSE:
            curvature = curvature_of(height, scales, given.log_density, slope, size)
            size, trend = _upright(curvature), np.ones(scales.size)
            step = np.linalg.solve(size, slope)
            if slope @ step < 2 * CLOSE:
                return scales + step, curvature, given
        step *= min(1.0, LONGEST / abs(step).max())
        for shorter in 0.5 ** np.arange(6):
            there = at(scales + shorter * step)
            if there.log_density > given.log_density:
                break
        else:
            break
        moved, slope_there = shorter * step, there.slope + pull(there)
        # where the curvature falls, as it does towards a scale of zero, it will go on to
        trend = np.sqrt(np.clip(_seen(size, moved, slope - slope_there), SLOWEST, 1.0))
        size = _learned(size, moved, slope - slope_there)
        scales, given, slope = scales + moved, there, slope_there
    return scales, curvature_of(height, scales, given.log_density, slope, size), given


def _expected(given: _Given, pulled: Floats) -> Floats:
    r"""Guess minus the Hessian of the log density of the scales.

    Of a scale that multiplies effects, the slope at the modes of the others is :math:`\sum_j z_j^2`
    of effects in its units, and the determinant's is minus the number of effects that the data
    know. The guess is what leads to where they are equal if the effects stay where they are,
    :math:`s^2 = \sum_j (s z_j)^2 / \gamma` (MacKay, Bayesian interpolation, Neural Computation 4,
    1992). Of other scales it is the curvature of all but the determinant's part.
    """
    out = _upright(given.bend)
    multiplies = (given.slope > 0) & (pulled < 0)
    slope, known = given.slope[multiplies], -pulled[multiplies]
    ratio = np.log(slope / known)
    out[multiplies], out[:, multiplies] = 0.0, 0.0
    near = abs(ratio) < 1e-6
    own = np.where(near, 2 * slope, 2 * (slope - known) / np.where(near, 1.0, ratio))
    out[multiplies, multiplies] = np.maximum(own, FLAT)
    return out


def _upright(curvature: Floats) -> Floats:
    """Take directions that curve the other way, or not at all, for ones that do as wanted."""
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    return (vectors * np.maximum(abs(values), FLAT)) @ vectors.T


def _seen(size: Floats, moved: Floats, change: Floats) -> Floats:
    """Divide the curvature that a step shows, of each scale by itself, by what was expected."""
    own = change / np.where(moved == 0, np.inf, moved) / np.diag(size)
    return np.clip(np.where(own > 0, own, 1.0), SLOWEST**2, SLOWEST**-2)


def _learned(size: Floats, moved: Floats, change: Floats) -> Floats:
    """Update minus a Hessian by how the gradient fell along a step, and keep it positive.

    Scales hardly meet: each learns from its own part of the step first, and BFGS sets right what is
    left along the step.
    """
    unit = np.sqrt(_seen(size, moved, change))
    size = size * np.outer(unit, unit)
    along = size @ moved
    known = float(moved @ along)
    if moved @ change < 0.2 * known:  # Powell's damping
        part = 0.8 * known / (known - float(moved @ change))
        change = part * change + (1 - part) * along
    return size - np.outer(along, along) / known + np.outer(change, change) / (moved @ change)


def _draws(nodes: _Nodes, nested: _Nested, total: int, rng: np.random.Generator) -> Any:
    """Draw from the mixture over the nodes, in random order; the draws and their nodes."""
    node = node_of_draws(nodes.log_weight, total, rng)
    # between the nodes: shrunk to their mean, so that the variance stays what it is
    mean = np.exp(nodes.log_weight) @ nodes.scales
    values, vectors = np.linalg.eigh(nodes.between)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    found = np.empty((total, nested.inner.size + nested.outer.size))
    for k, given in enumerate(nodes.given):
        mine = np.flatnonzero(node == k)
        towards = (nodes.shrink - 1) * (nodes.scales[k] - mean)
        for some in np.split(mine, np.arange(AT_ONCE, mine.size, AT_ONCE)):
            moved = towards + rng.normal(size=(some.size, mean.size)) @ root.T
            drawn = given.draw(some.size, nested, rng)
            drawn[:, nested.outer] += moved
            drawn[:, nested.inner] += moved @ given.shift.T
            found[some] = drawn
    return found, node


def _weighed(nodes: _Nodes, nested: _Nested, total: int, rng: np.random.Generator) -> Any:
    """Draw from the posterior by importance sampling; the draws and their nodes.

    None where it is normal given the scales, has too many variables, or the weights are too uneven.
    """
    inner, outer = nested.inner, nested.outer
    n_all = inner.size + outer.size
    if nested.places is not None or n_all > MOST_WEIGHED or inner.size == 0:
        return None
    heaviest = nodes.given[int(nodes.log_weight.argmax())]
    noise = cast(Dense, heaviest.precision).noise(PILOT, rng).T
    pilot = np.tile(heaviest.x, (PILOT, 1))
    pilot[:, inner] += noise
    off = ((noise @ cast(Dense, heaviest.precision).factor) ** 2).sum(axis=1)
    if np.std(_log_density(nested, pilot) + off / 2) < NORMAL:
        return None

    between = nodes.between * (BETWEEN if nodes.shrink else 1.0)
    try:
        root = np.linalg.cholesky(between)
    except np.linalg.LinAlgError:  # one node has all the weight
        return None
    node = node_of_draws(nodes.log_weight, PROPOSALS * total, rng)
    found = np.empty((node.size, n_all))
    moved = (rng.normal(size=(node.size, outer.size)) @ root.T) / _lengths(
        TAIL_OF_SCALES, node.size, rng
    )
    for k, given in enumerate(nodes.given):
        mine = np.flatnonzero(node == k)
        drawn = np.tile(given.x, (mine.size, 1))
        drawn[:, outer] += moved[mine]
        noise = WIDE * given.precision.noise(mine.size, rng).T
        drawn[:, inner] += noise / _lengths(TAIL, mine.size, rng)
        drawn[:, inner] += moved[mine] @ given.shift.T
        found[mine] = drawn

    of_node = np.empty((len(nodes.given), node.size))
    for k, given in enumerate(nodes.given):
        aside = found[:, outer] - nodes.scales[k]
        rest = found[:, inner] - given.x[inner] - aside @ given.shift.T
        rest = rest @ cast(Dense, given.precision).factor / WIDE
        aside = solve_triangular(root, aside.T, lower=True).T if outer.size else aside
        of_node[k] = nodes.log_weight[k] + given.precision.log_det / 2
        for z, tail in ((rest, TAIL), (aside, TAIL_OF_SCALES)):
            of_node[k] -= (tail + z.shape[1]) / 2 * np.log1p((z**2).sum(axis=1) / tail)
    log_weight = _log_density(nested, found) - logsumexp(of_node, axis=0)
    log_weight = np.maximum(log_weight - log_weight.max(), LOWEST)
    smooth, k = xr.DataArray(-log_weight, dims="draw").azstats.psislw(dim="draw")
    if not float(k) < GOOD_K:
        return None
    weight = np.exp(smooth.to_numpy() - logsumexp(smooth.to_numpy()))
    # systematic resampling
    chosen = np.searchsorted(np.cumsum(weight), (np.arange(total) + rng.uniform()) / total)
    chosen = rng.permutation(np.minimum(chosen, node.size - 1))
    return found[chosen], node[chosen]


def _log_density(nested: _Nested, points: Floats) -> Floats:
    """Log density at each point, (n_points,); minus infinity where it cannot be computed."""
    with np.errstate(all="ignore"):
        found = np.array([float(nested.logp(x)[0]) for x in points])
    return np.where(np.isnan(found), -np.inf, found)


def _lengths(tail: int, n: int, rng: np.random.Generator) -> Floats:
    """Draw what a normal is divided by to be one of a t distribution, (n, 1)."""
    return np.sqrt(rng.chisquare(tail, size=(n, 1)) / tail)
