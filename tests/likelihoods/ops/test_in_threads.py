"""Large sums in threads: what one thread gives, the same at every call, and where there are any."""

import importlib
import threading

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode

import bayesrank as br
from bayesrank.inference import compile_density, objective, posterior_modes
from bayesrank.likelihoods.mpm.op import LogNormalisers
from bayesrank.likelihoods.ops.compiled import KernelOp, Pullback
from bayesrank.likelihoods.ops.in_threads import (
    FEWEST,
    SUMMED,
    InThreads,
    evaluate_parts,
    n_threads,
    parts_of,
    threaded_mode,
)
from bayesrank.likelihoods.pairs import PairTotal
from tests.likelihoods.compiled_ops import EXAMPLES, outputs

MODULE = importlib.import_module("bayesrank.likelihoods.ops.in_threads")
DIVIDED = {
    "StageTotal", "WeakOrderLogp", "WeakOrderBound", "OrderedPartitionLogp", "LogNormalisers",
    "DavidsonTotal", "RaoKupperTotal", "ThurstoneTotal",
}  # fmt: skip


@pytest.fixture
def three(monkeypatch):
    """Three threads, whatever the machine has, for two rows and more."""
    monkeypatch.setattr(MODULE, "n_threads", lambda: 3)
    monkeypatch.setattr(MODULE, "FEWEST", 0)
    for name in DIVIDED:
        op = EXAMPLES[name].apply
        monkeypatch.setattr(type(op), "division", op.division._replace(part=1))


def applied(name):
    """Every node of an example and its gradient whose Op is divided, with values of its inputs."""
    example = EXAMPLES[name]
    inputs, graphs = outputs(example)
    nodes = [
        node
        for node in pytensor.graph.fg.FunctionGraph(inputs, graphs, clone=False).toposort()
        if isinstance(node.op, KernelOp) and node.op.division is not None
    ]
    wanted = [x for node in nodes for x in node.inputs]
    found = pytensor.function(inputs, wanted, on_unused_input="ignore", mode="FAST_COMPILE")
    values = iter(found(*map(np.array, example.values)))
    return [(node.op, [np.array(next(values)) for _ in node.inputs]) for node in nodes]


def performed(op, values):
    node = op.make_node(*values)
    storage = [[None] for _ in node.outputs]
    op.perform(node, values, storage)
    return [x for (x,) in storage]


def test_these_are_all_that_are_divided():
    def those_of(op):
        return {op} | {x for below in op.__subclasses__() for x in those_of(below)}

    divided = {op.__name__ for op in those_of(KernelOp) if op.division is not None}
    assert divided - {"PairTotal"} == DIVIDED


@pytest.mark.parametrize("name", [*sorted(DIVIDED), "StageTotal, chains", "LogNormalisers, pairs"])
def test_values_and_gradients_are_those_of_one_thread(name, three):
    nodes = applied(name)
    assert nodes
    for op, values in nodes:
        expected, *found = (performed(x, values) for x in (op, *[InThreads(op)] * 3))
        for one, *others in zip(expected, *found, strict=True):
            assert [type(x) for x in others] == [np.ndarray] * 3
            np.testing.assert_allclose(others[0], one, rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(others[0], others[1])
            np.testing.assert_array_equal(others[0], others[2])


def of_one_problem(monkeypatch, score, variance, adherence, used):
    """Normalisers of one problem and their gradients, by one thread and by three."""
    monkeypatch.setattr(MODULE, "n_threads", lambda: 3)
    monkeypatch.setattr(MODULE, "FEWEST", 0)
    monkeypatch.setattr(LogNormalisers, "division", LogNormalisers.division._replace(part=10))
    op, everyone = LogNormalisers(), np.ones((1, 0), dtype=bool)
    given = [np.atleast_2d(score), np.atleast_2d(variance), np.array(adherence), used, everyone]
    along = np.linspace(-1.0, 2.0, len(adherence))[None]
    with np.errstate(all="ignore"):
        for x, values in [(op, given), (Pullback(op), [*given, along])]:
            yield from zip(performed(x, values), performed(InThreads(x), values), strict=True)


@pytest.mark.parametrize(
    ("scale", "adherence"),
    [
        (1.0, [0.3, -2.0, 0.0]),  # exponentials
        (1.0, np.linspace(0.0, 3.0, 60)),  # a series
        (1e3, [1.0, -5.0]),
        (0.0, [1.0, 2.0]),  # all items equal
    ],
)
@pytest.mark.parametrize("n_used", [40, 2, 1, 0])
def test_pairs_of_one_problem_in_parts(monkeypatch, scale, adherence, n_used):
    score, log_variance = np.random.default_rng(3).normal(size=(2, 40)) * [[scale], [1.0]]
    used = np.arange(40)[None] < n_used
    pairs = of_one_problem(monkeypatch, score, np.exp(log_variance), adherence, used)
    for one, other in pairs:
        np.testing.assert_allclose(other, one, rtol=1e-11, atol=1e-13 * max(np.abs(one).max(), 1))


def test_a_problem_in_parts_needs_many_pairs_and_many_problems_do_not_have_them():
    op = LogNormalisers()
    sizes = [2_000, 2_000, 25, 2_000, 0]
    assert op.n_entries(sizes) == 2_000**2 // 8
    assert op.n_entries(sizes, 100) == 100 * 20**2 // 8
    assert op.n_entries([2_000, 0, 25, 2_000, 0], 100) == 2_000


@pytest.mark.parametrize("k", [0, 17, 39])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_no_number_among_the_pairs_is_not_passed_over(monkeypatch, k, value):
    score = np.linspace(-1.0, 1.0, 40)
    score[k] = value
    used = np.ones((1, 40), dtype=bool)
    value, *_ = of_one_problem(monkeypatch, score, np.ones(40), [1.0, 2.0], used)
    for found in value:
        assert not np.isfinite(found).any()


def test_the_parts_are_taken_by_several_threads(three):
    met, both = set(), threading.Barrier(2, timeout=30)

    def task(first, last):
        if not met & {threading.get_ident()}:  # wait for the other, once
            met.add(threading.get_ident())
            both.wait()
        return first, last

    bounds = [(k, k + 1) for k in range(20)]
    assert evaluate_parts(task, bounds, n_threads=2) == bounds
    assert len(met) == 2


def test_no_thread_is_started_for_one_and_none_stays():
    met = []
    before = threading.active_count()
    evaluate_parts(lambda first, last: met.append(threading.get_ident()), [(0, 1)] * 5, 1)
    assert met == [threading.get_ident()] * 5
    evaluate_parts(lambda first, last: None, [(0, 1)] * 5, 3)
    assert threading.active_count() == before


@pytest.mark.parametrize("n", [1, 2])
def test_an_error_in_a_part_is_raised_and_ends_the_others(n):
    def task(first, last):
        if first == 3:
            raise FloatingPointError("part 3")
        taken.append(first)

    taken: list[int] = []
    with pytest.raises(FloatingPointError, match="part 3"):
        evaluate_parts(task, [(k, k) for k in range(10_000)], n)
    assert len(taken) < 9_000


@pytest.mark.parametrize(
    ("given", "n_parts"),
    [
        ({"entries": FEWEST * 100 - 1}, 1),
        ({"entries": FEWEST * 100}, FEWEST),
        ({"entries": 499, "n_threads": 3}, 6),  # two for each
        ({"entries": 499, "n_threads": 64}, 4),
        ({"entries": 4_000, "rows": 3}, 3),
        ({"entries": 4_000, "rows": 1}, 1),
        ({"entries": 4_000, "n_threads": 1}, 1),
        ({"entries": 4_000, "summed": 10 * SUMMED}, 4),
        ({"entries": 4_000, "summed": 100 * SUMMED}, 1),
        ({"entries": 0, "rows": 0}, 1),
    ],
)
def test_parts_are_as_many_for_every_thread_and_cover_the_rows(given, n_parts):
    given = {"rows": 1_000, "part": 100, "summed": 0, "n_threads": 2} | given
    bounds = parts_of(**given)
    assert len(bounds) == n_parts
    assert [k for part in bounds for k in range(*part)] == list(range(given["rows"]))
    sizes = [last - first for first, last in bounds]
    assert max(sizes) - min(sizes) <= 1


def test_numba_says_how_many_threads_there_may_be(monkeypatch):
    monkeypatch.setattr(MODULE.numba.config, "NUMBA_NUM_THREADS", 5)
    monkeypatch.setattr(MODULE.numba, "threading_layer", no_layer)
    assert n_threads() == 5
    monkeypatch.setattr(MODULE.numba, "threading_layer", lambda: "omp")
    monkeypatch.setattr(MODULE.numba, "get_num_threads", lambda: 2)
    assert n_threads() == 2


def no_layer():
    raise ValueError("Threading layer is not initialized.")


# ---------------------------------------------------------------------------------------------
# Which densities
# ---------------------------------------------------------------------------------------------

MATCHES = br.Pairs.from_matrix([[0, 3, 1], [2, 0, 4], [1, 1, 0]], items=list("abc"))


def davidson(pairs=MATCHES):
    with pm.Model(coords=pairs.coords) as model:
        br.BradleyTerry("y", pm.Normal("utility", 0, 1, dims="item"), observed=pairs)
    return model


def ops(function):
    return {type(node.op) for node in function.maker.fgraph.toposort()}


def large(monkeypatch, threads):
    """Let every sum of pairs be large."""
    monkeypatch.setattr(MODULE, "n_threads", lambda: threads)
    monkeypatch.setattr(PairTotal, "division", PairTotal.division._replace(part=0))


def test_a_mode_is_searched_in_threads_if_there_are_any_and_data_for_them(monkeypatch):
    model = davidson()
    monkeypatch.setattr(MODULE, "n_threads", lambda: 3)
    assert InThreads not in ops(objective(model)[0])
    large(monkeypatch, threads=1)
    assert InThreads not in ops(objective(model)[0])
    large(monkeypatch, threads=3)
    assert InThreads in ops(objective(model)[0])


@pytest.mark.parametrize(
    "compile_for_sampler",
    [
        lambda model: model.logp_dlogp_function(ravel_inputs=True),
        pytest.param(compile_density, marks=pytest.mark.slow),
    ],
    ids=["PyMC", "nutpie"],
)
def test_samplers_have_no_threads_in_their_densities(compile_for_sampler, monkeypatch):
    large(monkeypatch, threads=3)
    made = []
    monkeypatch.setattr(MODULE, "InThreads", lambda op: made.append(op) or InThreads(op))
    compile_for_sampler(davidson())
    assert not made
    objective(davidson())
    assert made


def test_the_mode_is_that_of_one_thread(three):
    model = davidson()
    (found,) = posterior_modes(model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "n_threads", lambda: 1)
        (expected,) = posterior_modes(model)
    np.testing.assert_allclose(found["utility"], expected["utility"], rtol=1e-9)


def test_jax_has_threads_of_its_own(monkeypatch):
    large(monkeypatch, threads=3)
    with pytensor.config.change_flags(mode="JAX"):
        assert threaded_mode() == get_mode("JAX")


def test_of_many_problems_each_has_one_thread(monkeypatch):
    large(monkeypatch, threads=3)
    assert InThreads not in ops(objective(davidson(), threads=False)[0])


CELLS = range(5, 11)
TABLE = range(1, 14)


@pytest.mark.parametrize(
    ("name", "data"), [("DavidsonTotal", CELLS), ("StageTotal", TABLE)], ids=["rows", "steps"]
)
def test_compiled_code_calls_the_threads(three, name, data):
    example = EXAMPLES[name]
    inputs, graphs = outputs(example)
    shared = {k: pytensor.shared(np.array(example.values[k])) for k in data}
    free = [x for k, x in enumerate(inputs) if k not in shared]
    given = {inputs[k]: pt.as_tensor(x).astype(inputs[k].dtype) for k, x in shared.items()}
    point = [np.array(x) for k, x in enumerate(example.values) if k not in shared]
    with pytensor.config.change_flags(mode="NUMBA"):
        function = pytensor.function(free, graphs, givens=given, mode=threaded_mode())
    assert InThreads in ops(function)
    expected = pytensor.function(free, graphs, givens=given, mode="FAST_COMPILE")(*point)
    found, again = function(*point), function(*point)
    for one, other, third in zip(expected, found, again, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(third, other)
