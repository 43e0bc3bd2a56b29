"""Steps of likelihoods of two blocks: value and gradient, for races and measurements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable
from scipy.special import gammaln

from bayesrank.likelihoods.plackett_luce.per_slot import weak_order_logp

BATCH = 20

POSITIVES = 20


def batch(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Utilities (20, n), ranks (20, n), and the positive items (20, POSITIVES)."""
    rng = np.random.default_rng([n, seed])
    utility = rng.normal(size=(BATCH, n))
    positive = np.array([rng.choice(n, POSITIVES, replace=False) for _ in range(BATCH)])
    ranks = np.full((BATCH, n), 2)
    np.put_along_axis(ranks, positive, 1, axis=1)
    return utility, ranks, positive


def exact(utility: TensorVariable, ranks: TensorVariable, positive: TensorVariable):
    return weak_order_logp(utility, ranks)


def bound(utility: TensorVariable, ranks: TensorVariable, positive: TensorVariable):
    of_positive = utility[pt.arange(BATCH)[:, None], positive]
    top = pt.max(utility, axis=1)
    log_total = top + pt.log(pt.sum(pt.exp(utility - top[:, None]), axis=1))
    log_orders = gammaln(POSITIVES + 1)
    return log_orders + pt.sum(of_positive, axis=1) - POSITIVES * log_total


def pairs(utility: TensorVariable, ranks: TensorVariable, positive: TensorVariable):
    of_positive = utility[pt.arange(BATCH)[:, None], positive]
    lead = of_positive[:, :, None] - utility[:, None, :]
    among = -pt.softplus(of_positive[:, None, :] - of_positive[:, :, None])
    return -pt.sum(pt.softplus(-lead), axis=(1, 2)) - pt.sum(among, axis=(1, 2))


OBJECTIVES = {"exact": exact, "bound": bound, "pairs": pairs}


def step(name: str) -> Callable[..., Any]:
    """Compile a step: from utilities, ranks and positive items to value and gradient."""
    if name == "bound_in_jax":
        return jax_step()
    utility, ranks, positive = pt.dmatrix("utility"), pt.lmatrix("ranks"), pt.lmatrix("positive")
    value = pt.sum(OBJECTIVES[name](utility, ranks, positive))
    outputs = [value, pytensor.grad(value, utility)]
    return pytensor.function(
        [utility, ranks, positive],
        outputs,
        mode="NUMBA",
        trust_input=True,
        on_unused_input="ignore",
    )


def jax_step() -> Callable[..., Any]:
    """Compile the lower bound as one writes it in JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)

    def bound_of(utility: Any, positive: Any) -> Any:
        of_positive = jax.numpy.take_along_axis(utility, positive, axis=1)
        log_total = jax.nn.logsumexp(utility, axis=1)
        each = of_positive.sum(axis=1) - POSITIVES * log_total
        return each.sum() + BATCH * float(gammaln(POSITIVES + 1))

    compiled = jax.jit(jax.value_and_grad(bound_of))
    return lambda utility, ranks, positive: jax.block_until_ready(compiled(utility, positive))
