"""Every compiled Op on a small example: what modes that compile must agree on.

`EXAMPLES` has one row for each Op: a graph of inputs, values for them, and what it is
differentiated by. That the values are right the Ops' own tests say, in a mode that only calls
`perform`, and of JAX, which runs other graphs.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt

from bayesrank.data.derive import Stages, stage_table
from bayesrank.likelihoods.mallows.op import (
    LogSumOfCompletions,
    LogSumOverOrders,
    PassedOver,
    RankingsDraw,
)
from bayesrank.likelihoods.mallows.stages import StagePairs
from bayesrank.likelihoods.mpm.op import Agreement, CountsDraw, LogNormalisers, NetCountsDraw
from bayesrank.likelihoods.ops import stop_gradient, with_sum
from bayesrank.likelihoods.pairs import (
    DavidsonTotal,
    GradedTotal,
    GroundedTotal,
    RaoKupperTotal,
    ThurstoneTotal,
)
from bayesrank.likelihoods.plackett_luce.per_item import TABLE, RankingLogp, StageTotal
from bayesrank.likelihoods.plackett_luce.per_slot import WeakOrderLogp
from bayesrank.likelihoods.plackett_luce.remainders import LogRemainder
from bayesrank.likelihoods.pmop.op import OrderedPartitionDraw, OrderedPartitionLogp
from tests.cases import RANKINGS


class Example(NamedTuple):
    apply: Callable[..., Any]
    given: Sequence[Any] | Callable[[], Sequence[Any]]
    wrt: tuple[int, ...] = ()

    @property
    def values(self) -> Sequence[Any]:
        return self.given() if callable(self.given) else self.given


def in_total(stages: Stages) -> list[Any]:
    """What StageTotal takes after the utilities."""
    names = ("item_weight", "node_weight", "block_weight", *TABLE)
    return [np.array(getattr(stages, name)) for name in names]


RNG = np.random.default_rng(7)
RANKS = np.array([[2, 1, 1, 3, 0, 1], [1, 2, 3, 4, 4, 2]])
UTILITY = RNG.normal(size=RANKS.shape)
STAGES = stage_table(RANKINGS.item, RANKINGS.ranks, RANKINGS.weight, RANKINGS.n_items)
FIELDS = [np.array(field) for field in STAGES]
PER_ITEM = RNG.normal(size=RANKINGS.n_items)

SCORE, VARIANCE = RNG.normal(size=(2, 4)), RNG.gamma(5.0, 0.1, size=(2, 4))
ADHERENCE = np.array([0.3, 2.0, 1.0])
MANY = np.random.default_rng(8).normal(size=(2, 40))
WHERE = np.array([[1, 1, 1, 1], [0, 1, 1, 0]], dtype=bool)
EVERYONE = np.ones((1, 0), dtype=bool)
# whole numbers of 32 bits, as in models: numba compiles a kernel for each type
ENTRIES = [*np.array([[0, 0, 2], [0, 3, 1], [1, 0, 2]], np.int32), np.array([2.0, 1.0, 4.0])]
SEEDS = np.arange(3) * 7**20

# cells of two groups, which differ in adherence and in ties but not in the effect of the order
CELLS = [*np.array([[0, 1, 3, 0], [1, 2, 0, 3], [0, 0, 1, 1]], np.int32)]
OUTCOMES = np.array([[1.0, 0.0, 4.0, 2.5], [0.0, 0.0, 2.0, 1.0], [3.0, 0.0, 0.0, 1.0]])
EFFECTS = [
    np.array([[0, 1, 2, 0], [2, 2, 0, 1]], np.int32),
    np.array([[1.0, 0.5, -1, 2], [-1, 0.0, 1, 1]]),
]
LEADS = [PER_ITEM, np.array([0.5, 1.5]), np.array([0.2]), np.array([1.6, 1.2])]
LEADS += [np.array([0.3, -0.2, 0.1]), *CELLS, *EFFECTS, OUTCOMES]
GRADES = [*LEADS[:3], np.array([[0.9, 0.2, -1.0], [1.3, -0.1, -0.4]]), LEADS[4], *CELLS, *EFFECTS]
GRADES += [np.array([[1.0, 0.0, 4.0, 2.5], [0.0, 1.0, 2.0, 0.0], *OUTCOMES[1:]])]
GROUNDED = [*LEADS[:4], np.array([0.2]), LEADS[4], *CELLS, *EFFECTS]
GROUNDED += [np.array([*OUTCOMES, [0.0, 1.0, 2.0, 0.0]])]

EXAMPLES = {
    "LogSumOfCompletions": Example(
        LogSumOfCompletions(4, 0),
        [np.array([0.2, 1.5]), [[1, 2, 2, 2], [2, 0, 1, 0]], [[1, 3, 2, 4], [4, 1, 2, 3]]],
        (0,),
    ),
    "LogSumOverOrders": Example(LogSumOverOrders(1), [RNG.random((2, 5, 5))], (0,)),
    "PassedOver": Example(
        PassedOver(),
        [np.zeros(2), [[1, 3, 2, 4], [2, 1, 3, 3]], [[4, 1, 2, 3], [1, 2, 3, 4]]],
    ),
    "RankingsDraw": Example(
        RankingsDraw(4, 0), [RNG.random((3, 1)), [[1, 3, 2], [2, 1, 4], [4, 3, 2]], [7]]
    ),
    "StagePairs": Example(
        StagePairs(), [np.zeros(2), [[1, 3, 2, 4], [2, 1, 3, 3]], np.array([2.0, 1.0])]
    ),
    "RankingLogp": Example(RankingLogp(), [np.stack([PER_ITEM, -PER_ITEM]), *FIELDS], (0,)),
    "StageTotal": Example(StageTotal(), [PER_ITEM, *in_total(STAGES)], (0,)),
    "WeakOrderLogp": Example(WeakOrderLogp(), [UTILITY, RANKS], (0,)),
    "LogRemainder": Example(LogRemainder(), [UTILITY[None]], (0,)),
    "OrderedPartitionLogp": Example(
        OrderedPartitionLogp("harmonic", given_sizes=False),
        [UTILITY, RANKS, RNG.normal(size=(2, 3)), np.ones(RANKS.shape)],
        (0, 2),
    ),
    "OrderedPartitionDraw": Example(
        OrderedPartitionDraw("harmonic"),
        [
            RNG.normal(size=(3, 4)),
            np.ones((3, 4), dtype=bool),
            np.zeros((3, 0), dtype=int),
            np.zeros((3, 0)),
            SEEDS,
        ],
    ),
    "LogNormalisers": Example(
        LogNormalisers(), [SCORE, VARIANCE, ADHERENCE, WHERE, EVERYONE], (0, 1, 2)
    ),
    "LogNormalisers, pairs": Example(
        LogNormalisers(),
        [MANY[:1], np.exp(MANY[1:]), ADHERENCE, np.arange(40)[None] % 7 > 0, EVERYONE],
        (0, 1, 2),
    ),
    "Agreement": Example(Agreement(), [SCORE[0], VARIANCE[0], *ENTRIES, np.zeros(4)], (0, 1)),
    "CountsDraw": Example(
        CountsDraw(), [RNG.normal(size=(3, 4)), np.zeros((3, 0)), ADHERENCE, np.arange(3), SEEDS]
    ),
    "NetCountsDraw": Example(
        NetCountsDraw(),
        [
            PER_ITEM,
            np.zeros(0),
            ADHERENCE,
            np.array([[3, 0, 0], [1, 4, 2]]),
            np.array([[True, True, False], [True, True, True]]),
            np.array([[0, 0, 1, 2], [0, 1, 1, 0], [0, 0, 1, 2], [7, 12, 1, 3]]),
            SEEDS,
            np.zeros((3, 5)),
        ],
    ),
    "GradedTotal": Example(GradedTotal("cumulative_logit", 4, 1), GRADES, (0, 1, 2, 3, 4)),
    "GradedTotal, probit": Example(GradedTotal("cumulative_probit", 4), GRADES, (0, 1, 2, 3, 4)),
    "GradedTotal, adjacent": Example(GradedTotal("adjacent_logit", 4), GRADES, (0, 1, 2, 3, 4)),
    "GroundedTotal": Example(GroundedTotal(1, 1), GROUNDED, (0, 1, 2, 3, 4, 5)),
    "DavidsonTotal": Example(DavidsonTotal(1), LEADS, (0, 1, 2, 3, 4)),
    "RaoKupperTotal": Example(RaoKupperTotal(), LEADS, (0, 1, 2, 3, 4)),
    "ThurstoneTotal": Example(ThurstoneTotal(2), LEADS, (0, 1, 2, 4)),
    "StopGradient": Example(lambda x: stop_gradient(x**2) * x, [UTILITY], (0,)),
    "WithSum": Example(lambda x: with_sum(x**2, x.sum()), [UTILITY], (0,)),
}


def outputs(example: Example) -> tuple[list[Any], list[Any]]:
    """Inputs, and the value with its gradients along a direction that is not that of all ones."""
    inputs = [pt.as_tensor(np.asarray(x)).type() for x in example.values]
    # shapes that are known would make other code of every example
    inputs = [pt.tensor(dtype=x.dtype, shape=(None,) * x.ndim) for x in inputs]
    value = example.apply(*inputs)
    if not example.wrt:
        return inputs, [value]
    slopes = pt.grad((value**2).sum() / 2, [inputs[i] for i in example.wrt])
    return inputs, [value, *slopes]
