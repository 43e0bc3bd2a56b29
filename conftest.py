"""What all tests share: how graphs are compiled, cores, data sets, seeds, no display.

It stands at the top because the doctests in the package need it as well.
"""

import ctypes
import functools
import gc
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

try:
    import resource
except ImportError:  # Windows: what a run took is not told
    resource = None

# Before anything imports pyplot: figures are drawn into memory, with or without a display.
os.environ["MPLBACKEND"] = "Agg"

# Before anything imports PyTensor: graphs run in Python, calling the same `perform` as other modes,
# because compiling them by numba (27 CPU seconds for one log-probability) is what a suite of small
# examples would spend its time on; and no C compiler, which in any mode folds constants, op by op
# (8 seconds for a graph of a few). Tests that are about a backend name it. Where each variable was
# made, a stack of frames, is not remembered. Workers and the processes that tests start inherit
# this; a mode in the flags that are given wins.
FLAGS = os.environ.get("PYTENSOR_FLAGS", "")
if not re.search(r"(^|,)\s*mode\s*=", FLAGS):
    QUICK = "mode=FAST_COMPILE,cxx=,traceback__limit=0"
    os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [FLAGS, QUICK]))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Run the whole suite on all cores, and tests that are named in this process alone."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return 0
    # The workers inherit this: a core each, not all cores each.
    libraries = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in libraries})
    return None  # as many as there are cores


# What XLA makes of a graph runs once or twice in the short tests, and half of its compilation, a
# tenth of the suite, is optimising. The slow ones sample with it.
UNOPTIMISED = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def pytest_configure(config: pytest.Config) -> None:
    """Have JAX compile quickly, if it is for short tests."""
    if config.option.markexpr == "not slow":
        os.environ.setdefault("XLA_FLAGS", UNOPTIMISED)


ROOT = Path(__file__).parent
TESTS = ROOT / "tests"

# Examples that compile for a sampler, half a minute each; tests beside them run the same.
SLOW_EXAMPLES = {
    "bayesrank.inference.approximation.nested.fit_inla",
    "bayesrank.inference.mixtures.em.fit_mixture",
    "bayesrank.reporting.report.report",
    "bayesrank.inference.dynamic.forward.forward_validation",
    "bayesrank.distributions.mallows.generalized.GeneralizedMallows",
    "bayesrank.inference.dynamic.fit",
    "bayesrank.inference.dynamic.fit.DynamicFit.draws",
    "bayesrank.inference.dynamic.fit.DynamicFit.with_data",
    "bayesrank.inference.dynamic.fit.fit_dynamic",
    "bayesrank.inference.mixtures.leap_and_shift.LeapAndShift",
    "bayesrank.inference.sampling.nuts",
    "bayesrank.inference.sampling.nutpie_model.compile_density",
    "bayesrank.inference.sampling.nuts.nuts_seconds",
    "bayesrank.inference.sampling.nuts.sample",
    "bayesrank.jax.log_density.LogDensity",
    "bayesrank.jax.log_density.compile",
    "bayesrank.jax.modes.find_map",
    "bayesrank.inference.validation.kfold.kfold",
    "bayesrank.inference.mixtures.sampled_consensus.consensus_log_likelihood",
    "bayesrank.inference.mixtures.sampled_consensus.sample_consensus",
    "bayesrank.results.evaluation.component_labels.compare_components",
}


def _draw(text: str) -> float:
    """Draw a number from 0 to 1 that depends on a text alone, so that all workers have the same."""
    return random.Random(text).random()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Look for no doctests in what tests use, and select a tenth of the files.

    Importing a script would run it, in every worker. ``BAYESRANK_TENTH=3`` keeps one of ten parts
    of the files with tests or examples, numbered 0 to 9.
    """
    if collection_path.suffix != ".py":
        return None
    if collection_path.is_relative_to(TESTS) and not collection_path.name.startswith("test_"):
        return True
    part = os.environ.get("BAYESRANK_TENTH")
    other = part and int(10 * _draw(collection_path.relative_to(ROOT).as_posix())) != int(part)
    return True if other else None


def _is_public(item: pytest.DoctestItem) -> bool:
    """Tell whether an example belongs to a public name, a method of one, or a public room."""
    public = {*sys.modules["bayesrank"].__all__}
    module = item.dtest.globs["__name__"]
    package, _, room = ".".join(module.split(".")[:2]).partition(".")
    if item.name in (package, f"{package}.{room}"):
        return item.name == package or room in public
    if room in public:
        public |= {*sys.modules[f"{package}.{room}"].__all__}
    return item.name.removeprefix(f"{module}.").partition(".")[0] in public


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run public examples in an empty namespace, mark the slow ones, and shuffle all if asked.

    ``BAYESRANK_TEST_ORDER=TEXT`` shuffles the files, and the tests in each.
    """
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            if _is_public(item):  # as readers paste it, without the names of the module
                item.dtest.globs = {"__name__": "__main__"}
            if item.name in SLOW_EXAMPLES:
                item.add_marker(pytest.mark.slow)

    if seed := os.environ.get("BAYESRANK_TEST_ORDER"):
        items.sort(key=lambda x: (_draw(seed + x.nodeid.split("::")[0]), _draw(seed + x.nodeid)))


# ---------------------------------------------------------------------------------------------
# Workers: kernels compiled once, memory given back, what a run took
# ---------------------------------------------------------------------------------------------

GROWTH = 150_000_000  # bytes more in memory, after which compiled code is cleared away
SPENT = pytest.StashKey[dict[str, tuple[float, float]]]()
SIZE = pytest.StashKey[float]()
COMPILING = pytest.StashKey[subprocess.Popen[bytes]]()


def _claims(config: pytest.Config) -> Path | None:
    """Give the folder in which workers of a whole run share the kernels to compile.

    ``BAYESRANK_KERNELS=compiled`` says that they are compiled already.
    """
    name = getattr(config, "workerinput", {}).get("claims")
    return None if name is None else Path(name)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Tell a worker, if all tests run, where the claims are."""
    config = node.config
    compiled = os.environ.get("BAYESRANK_KERNELS") == "compiled"
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not compiled:
        if not hasattr(config, "claims"):
            config.claims = tempfile.mkdtemp()
            config.add_cleanup(lambda: shutil.rmtree(config.claims))
        node.workerinput["claims"] = config.claims


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile a share of the kernels, in a process of its own, which gives all memory back."""
    claims = _claims(session.config)
    if claims:
        command = [sys.executable, "-m", "tests.warm", str(claims)]
        session.config.stash[COMPILING] = subprocess.Popen(command, cwd=session.config.rootpath)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Wait for the kernels that other workers compile, and have Python look for garbage seldom."""
    # What is imported stays, and JAX does work of its own whenever Python begins to look: a quarter
    # of the suite's time at the thresholds that Python has by itself.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    claims = _claims(session.config)
    if claims:
        from tests import warm

        assert session.config.stash[COMPILING].wait(warm.PATIENCE) == 0, "see the errors above"
        warm.wait(claims)


@pytest.fixture(scope="module", autouse=True)
def nothing_is_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let go of what the tests of a file compiled and sampled, when the last has run."""
    yield
    module = request.module
    for x in vars(module).values():
        if isinstance(x, functools._lru_cache_wrapper) and x.__module__ == module.__name__:
            x.cache_clear()
    stash = request.config.stash
    if _resident() > stash.setdefault(SIZE, 500_000_000) + GROWTH:  # collecting takes a second
        if "jax" in sys.modules:
            sys.modules["jax"].clear_caches()
        gc.collect()
        if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
            trim(0)  # glibc keeps what is freed in pieces: a quarter of a gigabyte
        stash[SIZE] = _resident()


def _resident() -> float:
    """Bytes of this process in memory; where that is not told, more than any."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, AttributeError):
        return np.inf


def _spent() -> tuple[float, float]:
    """CPU seconds of this process and its children, and its largest resident bytes."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    unit = 1 if sys.platform == "darwin" else 1024
    return cpu, own.ru_maxrss * unit


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the first process what this worker took."""
    if resource and hasattr(session.config, "workeroutput"):
        session.config.workeroutput["spent"] = _spent()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """Keep what a worker took."""
    spent = getattr(node, "workeroutput", {}).get("spent")
    if spent:
        node.config.stash.setdefault(SPENT, {})[node.gateway.id] = spent


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """Print what each worker took."""
    for name, (cpu, memory) in config.stash.get(SPENT, {}).items():
        terminalreporter.write_line(f"{name}: {cpu:.0f} CPU s, at most {memory / 1e9:.2f} GB")


# ---------------------------------------------------------------------------------------------
# Fixtures
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Give the folder of data sets that may not be redistributed."""
    name = os.environ.get("BAYESRANK_DATA")
    if not name:
        pytest.skip("needs the data sets that are not bundled: set BAYESRANK_DATA to their folder")
    folder = Path(name)
    # A wrong name must not pass for a missing one.
    assert folder.is_dir(), f"BAYESRANK_DATA is {name!r}, which is not a folder"
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """Give a fresh generator with a fixed seed to each test."""
    return np.random.default_rng(20020217)
