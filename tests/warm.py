"""Compile every kernel once, before the tests of a whole run.

Numba keeps on disk what it compiled, but workers that meet a kernel at the same time compile it
each: minutes of the suite's first run. So `TASKS`, small data by public names, are shared between a
process for each worker, ``python -m tests.warm FOLDER``, and all wait for each other; `conftest.py`
starts them. By itself, ``python -m tests.warm`` does all tasks, a process for each core, and prints
what each takes.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
from scipy.sparse import csr_array

import bayesrank as br
from bayesrank import inference
from bayesrank.likelihoods.mallows import marginal_logp, marginal_stages_logp
from models.bpr.eigenrank import eigenrank
from models.bpr.learn_bpr import learn_bpr, learn_bpr_neighbours

__all__ = ["PATIENCE", "TASKS", "take", "wait"]

PATIENCE = 300.0  # seconds


def per_slot() -> None:
    """Weak orders with one utility for each slot."""
    utility = pt.dvector("utility")
    logp = pm.logp(br.PlackettLuce.dist(utility), [1, 2, 2])
    _second(logp, utility)


def _second(logp: Any, utility: Any) -> None:
    """Evaluate a log-probability and its second derivative."""
    slope = pt.grad(logp, utility)
    outputs = [logp, pt.grad((slope**2).sum(), utility)]
    pytensor.function([utility], outputs)([0.0, 0.5, 1.0])


def per_item() -> None:
    """Weak orders with one utility for each item: values, and all derivatives of the sum."""
    rankings = br.Rankings.from_orderings([["a", {"b", "c"}, "d"]])
    with pm.Model(coords=rankings.coords) as model:
        br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=rankings)
    at = {"utility": np.zeros(4)}
    model.compile_logp(sum=False)(at)
    model.compile_dlogp()(at)
    inference.objective(model)[0](np.zeros(4))
    inference.fit_inla(draws=4, random_seed=1, model=model)


def matches() -> None:
    """Pairs of each family, with ties, and their second derivatives."""
    pairs = br.Pairs.from_matrix([[0, 2], [1, 0]], items=["a", "b"])
    for family in (br.BradleyTerry, br.Davidson, br.RaoKupper, br.Thurstone):
        ties = {"nu": 1.0} if family is br.Davidson else {}
        ties = {"theta": 2.0} if family is br.RaoKupper else ties
        with pm.Model(coords=pairs.coords) as model:
            family("y", pm.Normal("utility", dims="item"), **ties, observed=pairs)
        model.compile_logp(sum=False)({"utility": np.zeros(2)})
        inference.objective(model)[0](np.zeros(2))
        inference.fit_inla(draws=4, random_seed=1, model=model)


def over_time() -> None:
    """Strengths over time."""
    table = pd.DataFrame({"x": ["a", "b"], "y": ["b", "a"], "won": ["first"] * 2})
    table["day"] = ["2024-01-01", "2024-06-01"]
    pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="day")
    br.fit_dynamic(pairs, time="day", random_seed=1)


def partitions() -> None:
    """Partitions in an order, their sizes given and not."""
    utility = [0.0, 0.5, 1.0]
    for dist in (br.PMOP.dist(utility), br.PMOP.dist(utility, given_sizes=True, sizes=[1, 2])):
        pm.logp(dist, [1, 2, 2]).eval()


def partition_draws() -> None:
    """Draws of partitions."""
    pm.draw(br.PMOP.dist([[0.0, 0.5, 1.0]]))


def count_tables() -> None:
    """Tables of counts under the multinomial preference model, and their gradients."""
    counts = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]]).counts()
    for variance in (None, [0.5, 1.0, 2.0]):
        with pm.Model(coords=counts.coords) as model:
            score = pm.Flat("score", dims="item")
            adherence = pm.Flat("adherence", dims="ranker")
            br.MPM("y", score, adherence=adherence, variance=variance, observed=counts)
        at = {"score": np.zeros(3), "adherence": np.ones(2)}
        model.compile_logp(sum=False)(at)
        model.compile_dlogp()(at)
        inference.objective(model)[0](np.ones(5))


def full_rankings() -> None:
    """Rankings around a consensus, which is given or summed out, and their draws."""
    rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
    for distance in ("footrule", "kendall"):
        with pm.Model(coords=rankings.coords) as model:
            br.Mallows("y", alpha=pm.Flat("alpha"), distance=distance, observed=rankings)
        model.compile_dlogp()({"alpha": np.array(1.0)})
        pm.draw(br.Mallows.dist([1, 2, 3], 1.0, distance=distance))
    first = br.Mallows.dist([1, 2, 3], 1.0, sizes=[1, 2])
    pm.logp(first, [1, 2, 2]).eval(mode="FAST_COMPILE")
    stages = br.GeneralizedMallows.dist([1, 2, 3], [1.0])
    pm.logp(stages, pm.draw(stages)).eval(mode="FAST_COMPILE")
    marginal_logp([[1, 2], [2, 1]], 1.0).eval(mode="FAST_COMPILE")
    marginal_stages_logp([[1, 2], [2, 1]], [1.0]).eval(mode="FAST_COMPILE")


def learners() -> None:
    """Learning by BPR, and EigenRank."""
    have = br.Interactions.from_rankings(
        br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    )
    learn_bpr(have, n_epochs=1)
    learn_bpr_neighbours(have, n_epochs=1)
    ratings = csr_array([[5.0, 1, 0, 0, 0], [4, 2, 5, 3, 0], [4, 3, 4, 0, 0]])
    eigenrank(ratings, 0)


# Longest first
TASKS: dict[str, Callable[[], None]] = {
    task.__name__: task
    for task in (
        partitions, count_tables, per_slot, full_rankings, partition_draws, learners, per_item,
        matches, over_time,
    )
}  # fmt: skip


def take(claims: Path) -> None:
    """Do the tasks that no other process has taken, one after the other.

    Parameters
    ----------
    claims : path
        A folder that the processes share, empty at first.
    """
    for name, task in TASKS.items():
        try:
            (claims / name).touch(exist_ok=False)
        except FileExistsError:
            continue
        try:
            task()
        finally:
            (claims / f"{name}.done").touch()


def wait(claims: Path) -> None:
    """Wait until all tasks are done, or given up."""
    start = time.monotonic()
    while not all((claims / f"{name}.done").exists() for name in TASKS):
        if time.monotonic() - start > PATIENCE:
            break  # a worker has died: whoever needs its kernels compiles them
        time.sleep(0.2)


def _seconds(name: str) -> float:
    """Do a task, and give the CPU seconds that it took."""
    start = time.process_time()
    TASKS[name]()
    return time.process_time() - start


if __name__ == "__main__" and len(sys.argv) > 1:
    take(Path(sys.argv[1]))
elif __name__ == "__main__":
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        for name, seconds in zip(TASKS, processes.map(_seconds, TASKS), strict=True):
            print(f"{name}: {seconds:.1f} CPU s", flush=True)
