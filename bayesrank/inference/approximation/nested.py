r"""Nested Laplace approximation (INLA): a fast posterior for models that learn scales.

A normal around the joint mode is wrong if a model learns a scale, such as the standard deviation of
a utility over judges. At the joint mode, the scale is zero, or as small as its prior allows. INLA
therefore separates the hyperparameters (logarithms of scales) from the latent variables:

* `inner_gaussian` approximates the latent variables given the hyperparameters by a normal around
  their mode. Laplace's approximation then gives the marginal of the hyperparameters.
* `hyper_marginal` finds the mode of this marginal, and places weighted nodes around it.
* `nested_draws` draws from the mixture over the nodes. Importance sampling corrects the draws of
  small models.

With more than eight hyperparameters, nodes lie along the eight most uncertain directions. If the
data determine the hyperparameters, their mode is the only node. If each judge or prompt has
parameters, time and memory are linear in their number (`block_precision`).

>>> import pymc as pm
>>> with pm.Model() as model:
...     x = pm.Normal("x", 0, 1)
...     y = pm.Normal("y", x, 1, observed=3.0)
>>> posterior = fit_inla(random_seed=1, model=model)["posterior"]["x"]
>>> round(float(posterior.mean()), 1), round(float(posterior.std()), 1)
(1.5, 0.7)
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pymc.distributions.multivariate import ZeroSumNormalRV
from pymc.model.transform.conditioning import remove_value_transforms
from pymc.pytensorf import rewrite_pregrad
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import Mul, TrueDiv
from pytensor.tensor.blas import BatchedDot, Dot22
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import Dot
from scipy.sparse.csgraph import connected_components

from bayesrank.data.read import check_whole
from bayesrank.distributions.core.observed import check_coords
from bayesrank.inference.approximation.hessian_products import (
    Links,
    likelihoods_of,
    many_products,
    products_by_differences,
)
from bayesrank.inference.approximation.hyper_marginal import hyper_nodes
from bayesrank.inference.approximation.inner_gaussian import Blocks, BlocksMeetError, Joint
from bayesrank.inference.approximation.modes import (
    converter,
    objective,
    one_blas_thread,
    tree_of,
)
from bayesrank.inference.approximation.nested_draws import (
    mixture_draws,
    n_proposals,
    resampled_draws,
)
from bayesrank.likelihoods.ops.arrays import MOST_DENSE

__all__ = ["fit_inla", "learned_scales"]

Floats = NDArray[np.float64]

MOST_HYPER = 12  # hyperparameters: the cost of differences at their mode is quadratic in the number
# Variables, and numbers in the data, up to which second derivatives are differences of the gradient
FEW, LITTLE = 30, 10_000
SMALL = 300  # variables below which a dense precision is as fast
EXPECTED, EXPECTED_WITH_BLOCKS = 60, 400  # precisions of the search and the nodes
FIRST_LOOK = 250  # draws per chain before the first call of `enough`


def fit_inla(
    *,
    scales: Sequence[str] | None = None,
    draws: int = 1000,
    chains: int = 4,
    random_seed: int | None = None,
    weighted: bool = True,
    enough: Callable[[xr.Dataset], bool] | None = None,
    watch: Callable[[int, int], None] | None = None,
    model: pm.Model | None = None,
) -> xr.DataTree:
    """Approximate the posterior by nested Laplace, in seconds where NUTS takes minutes.

    Parameters
    ----------
    scales : sequence of str, optional
        Free variables, such as scales, on which the spread of others depends. They may hold up to
        twelve numbers, and the posterior is averaged over nodes, which are values of them. By
        default, all positive and other bounded variables that are a parameter of another free
        variable, or multiply one. An empty sequence gives a plain Laplace approximation around the
        joint mode.
    draws : int
        Largest number of draws per chain.
    chains : int
        Number of chains. Draws are independent, so chains differ only by chance; diagnostics need
        several.
    random_seed : int, optional
        Seed of the draws.
    weighted : bool
        Whether to correct the draws by importance weights, if the model is small enough.
    enough : callable, optional
        Takes the posterior so far, a Dataset, and returns whether it suffices. It is called when
        every chain has 250 draws, 500, 1,000 and so on.
    watch : callable, optional
        A function that reports progress. It is called with two numbers of precisions: those
        computed so far, and those expected.
    model : pm.Model, optional
        A model whose free variables are all continuous. By default, the model of the context.

    Returns
    -------
    DataTree
        Groups ``posterior``, ``observed_data`` and ``constant_data`` as from `pymc.sample`. The
        group ``sample_stats`` holds the node of every draw and its log weight. The attribute
        ``approximation`` names the method; exact draws have ``proposal`` instead. With importance
        weights, ``effective_draws`` says how many independent draws are worth as much.

    Raises
    ------
    ValueError
        If a variable is discrete, there are too many scales, or the log posterior does not curve
        downwards around a mode. The last happens with improper priors, and with scales that the
        data do not determine.

    See Also
    --------
    fit_pairs, fit_rankings, fit_dynamic, fit

    Notes
    -----
    Importance sampling makes the draws exact, up to Monte Carlo error, in models of up to 400
    free parameters, none of them in blocks. The weight of a draw is the exact density divided by
    the density of proposals. Draws count as exact if the weights pass three checks. At least 1,000
    draws (or half) are effective, the Pareto k is below 0.7, and no weight exceeds 2 % of the sum.
    With less even weights, ``approximation`` ends with "with importance sampling". Useless weights
    are not applied.

    Otherwise, the approximation is normal given the scales. Means of utilities are off by up to 0.2
    posterior standard deviations. Their standard deviations are 0.85 to 1.05 times the exact ones.
    Judges' parameters and learned scales are less accurate: with five or more learned scales, means
    are off by up to one standard deviation. Use `pm.sample` if utilities are skewed, because data
    are few or an item nearly always wins, or if judges are nearly deterministic.

    References
    ----------
    Rue, Martino & Chopin, Approximate Bayesian inference for latent Gaussian models by using
    integrated nested Laplace approximations, Journal of the Royal Statistical Society B 2009.
    Vehtari, Simpson, Gelman, Yao & Gabry, Pareto smoothed importance sampling, JMLR 25, 2024.

    Examples
    --------
    >>> import pymc as pm
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     scale = pm.HalfNormal("scale", 1)
    ...     utility = pm.Normal("utility", 0, scale, dims="item")
    ...     y = br.PlackettLuce("y", utility, observed=rankings)
    >>> fit = br.fit_inla(draws=100, random_seed=1, model=model)
    >>> fit["posterior"]["utility"].sizes["item"]
    3
    """
    model = check_coords(pm.modelcontext(model))
    check_whole(draws=draws, chains=chains)
    if scales is None:
        names = learned_scales(model)
    else:
        names = list(dict.fromkeys([scales] if isinstance(scales, str) else scales))
    settings: dict[str, Any] = {
        "draws": draws, "chains": chains, "random_seed": random_seed,
        "weighted": weighted, "enough": enough, "watch": watch,
    }  # fmt: skip
    with one_blas_thread():
        try:
            return _approximate(*_by_blocks(model, names), names, **settings)
        except BlocksMeetError:  # the graph did not reveal the link
            return _approximate(model, [], names, find=False, **settings)


def _counting(
    watch: Callable[[int, int], None], joint: Joint, *, weighted: bool
) -> Callable[[], None]:
    """Count the precisions, which take the time, and expect as many as most models need."""
    done = itertools.count()
    most = EXPECTED if joint.blocks is None else EXPECTED_WITH_BLOCKS
    most += n_proposals(joint) if weighted else 0

    def count() -> None:
        n = next(done)
        watch(n, max(most, n + 1))

    return count


def _joint(
    model: pm.Model, logp: Any, start: Any, names: Sequence[str], blocks: Sequence[str],
    *, find: bool = True,
) -> Joint:  # fmt: skip
    """Make the joint log density, with hyperparameters and blocks given by variable names."""
    hyper = _places(model, start, names)
    if hyper.size > MOST_HYPER:
        raise ValueError(
            f"Expected at most {MOST_HYPER} learned scales; the model learns {hyper.size} "
            f"({', '.join(names)}). Name the most important ones in `scales`, or sample with "
            "pm.sample."
        )
    amount = sum(x.get_value(borrow=True).size for x in logp.get_shared())
    if start.data.size <= FEW and amount <= LITTLE and not blocks:
        # the exact ones would compile for longer than all differences take
        return Joint(logp, products_by_differences(logp), start.data, hyper)
    products, links = many_products(model, logp)
    sums = [_places(model, start, [name]) for name in blocks if _sums_to_zero(model[name])]
    places = [] if links is None or not find else _apart(model, links, start, names, blocks)
    return Joint(logp, products, start.data, hyper, Blocks(places, sums) if places else None)


def _apart(
    model: pm.Model, links: Links, start: Any, names: Sequence[str], blocks: Sequence[str]
) -> list[NDArray[np.int64]]:
    """Find blocks of variables such that no term of a likelihood links two blocks.

    The labels of the variables `blocks` are in different blocks. Other variables join them, those
    with most blocks first, unless they link most blocks. Returns the positions of the variables,
    (n_blocks, size), for each size of a block. There are no blocks in small models, or if they
    would hold less than half of all variables.
    """
    # at the start, second derivatives may be zero by symmetry
    x = start.data + 0.1 * np.random.default_rng(0).normal(size=start.data.size)
    found = _places(model, start, blocks)

    def block_of(places: NDArray[np.int64]) -> tuple[int, NDArray[Any]]:
        linked = links(x, places)
        if linked is None:
            return 0, places[:0]
        n, labels = connected_components(linked, directed=False)
        return int(n), labels

    if not blocks and x.size < SMALL:
        return []
    free = [rv for rv in model.free_RVs if rv.name not in (*names, *blocks) and _plain(model, rv)]
    more = {rv.name: _places(model, start, [rv.name]) for rv in free}
    number = {name: block_of(places)[0] for name, places in more.items()}
    n, labels = block_of(found) if blocks else (2, found)
    for name in sorted(more, key=lambda name: -number[name]):
        joined = np.concatenate([found, more[name]])
        n_joined, labels_joined = block_of(joined)
        if 2 * n_joined >= n:
            found, n, labels = joined, n_joined, labels_joined
    if 2 * found.size < x.size:
        return []
    if n == 1 and not blocks:  # one block of everything has no structure to use
        return []
    size = np.bincount(labels, minlength=n)
    if size.max() > MOST_DENSE:  # such as all items, except those without a match
        return []
    order = np.argsort(labels, kind="stable")
    found, size_of = found[order], size[labels[order]]
    return [found[size_of == s].reshape(-1, s) for s in np.unique(size)]


def _approximate(
    model: pm.Model,
    blocks: Sequence[str],
    names: Sequence[str],
    *,
    draws: int,
    chains: int,
    random_seed: int | None,
    weighted: bool,
    enough: Callable[[xr.Dataset], bool] | None,
    watch: Callable[[int, int], None] | None,
    find: bool = True,
) -> xr.DataTree:
    """Approximate the posterior; no term links two labels of `blocks`, variables with one dim."""
    logp, start = objective(model)
    joint = _joint(model, logp, start, names, blocks, find=find)
    if watch is not None:
        joint.watch = _counting(watch, joint, weighted=weighted)
    nodes = hyper_nodes(joint, names)
    rng, convert = np.random.default_rng(random_seed), converter(model, start, chains, draws)
    how = f"Laplace, nested over {', '.join(names)}" if names else "Laplace"
    attrs: dict[str, Any] = {"inference_library": "bayesrank"}
    resampled = None
    if weighted:
        resampled = resampled_draws(nodes, joint, chains * draws, rng.spawn(1)[0])
    n, node = 0, np.empty((chains, draws), dtype=np.int64)
    if resampled is not None:
        n, values, node = draws, convert(resampled.found), resampled.node.reshape(chains, draws)
        how += ", with importance sampling"
        attrs["effective_draws"] = int(resampled.ess)
    while n < draws:
        more = draws if enough is None else min(max(n, FIRST_LOOK), draws - n)
        found, found_node = mixture_draws(nodes, joint, chains * more, rng)
        values, node[:, n : n + more] = convert(found), found_node.reshape(chains, more)
        n += more
        if enough is None:
            break
        if enough(tree_of(model, values, with_data=False)["posterior"].to_dataset()):
            break
    is_certified = resampled is not None and resampled.is_certified
    attrs["proposal" if is_certified else "approximation"] = how
    out, node = tree_of(model, values), node[:, :n]
    stats = {"node": node, "node_log_weight": nodes.log_weight[node]}
    out["sample_stats"] = az.from_dict({"sample_stats": stats})["sample_stats"]
    for group in ("posterior", "sample_stats"):
        out[group].attrs.update(attrs)
    return out


def learned_scales(model: pm.Model) -> list[str]:
    """List the free variables on which the spread of others depends.

    Parameters
    ----------
    model : pm.Model

    Returns
    -------
    list of str
        Bounded variables (positive, or in an interval) that are a parameter of another free
        variable. Those that multiply a free variable are included.

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
    """Return whether the transformation of a variable acts elementwise."""
    transform = model.rvs_to_transforms.get(rv)
    return transform is not None and getattr(transform, "ndim_supp", 1) == 0


def _plain(model: pm.Model, rv: Variable) -> bool:
    """Return whether each free number is one number of the variable."""
    return model.rvs_to_transforms.get(rv) is None or _bounded(model, rv)


def _multiplies(op: Any) -> bool:
    if isinstance(op, Elemwise):
        return isinstance(op.scalar_op, Mul | TrueDiv)
    return isinstance(op, Dot | Dot22 | BatchedDot)


def _reached(inputs: Sequence[Variable], free: Sequence[Variable]) -> set[Variable]:
    """Return the free variables that `inputs` depend on directly."""
    return set(ancestors(inputs, blockers=free)) & set(free)


def _places(model: pm.Model, start: Any, names: Sequence[str]) -> NDArray[np.int64]:
    """Find positions of variables in `start`, by the names that they have in the model."""
    first, places = 0, {}
    plain = {value.name: rv.name for value, rv in model.values_to_rvs.items()}
    for name, _, size, _ in start.point_map_info:
        places[plain[name]] = np.arange(first, first + size)
        first += size
    for name in names:
        if name not in places:
            raise ValueError(f"`scales` has {name!r}; the free variables are {[*places]}.")
    return np.concatenate([places[name] for name in names] or [np.zeros(0, dtype=np.int64)])


def _sums_to_zero(rv: Variable) -> bool:
    return isinstance(rv.owner.op, ZeroSumNormalRV)


def _by_blocks(model: pm.Model, scales: Sequence[str]) -> tuple[pm.Model, list[str]]:
    """Find a dim for which no term links the variables of different labels.

    A likelihood names such inputs (`separate`). If there are several dims, take the one with most
    parameters. Returns the model without zero-sum transforms, and the names of the dim's variables.
    If these are less than half of all parameters, returns the model as it is and no names.
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
        plain = _plain(model, rv)
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
