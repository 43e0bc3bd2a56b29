"""Advice that can be followed: arguments that sentences recommend are those of functions."""

import ast
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import arviz as az
import pandas as pd
import pymc as pm
import pytest
from arviz_plots import PlotCollection

import bayesrank
from tests.prose import trees

HOME = Path(bayesrank.__file__).parent
# options of the command line are no arguments, policies have directives, and JAX is an extra
OTHERS = {Path("bayesrank", x) for x in ("cli", "jax", "texts", "reporting/page/report.py")}
FOREIGN = [
    pm.Model, pm.Data, pm.Minibatch, pm.Normal.dist, pm.sample, pm.sample_posterior_predictive,
    pm.sample_prior_predictive, pm.compute_log_likelihood, az.loo, az.compare,
    pd.Categorical, pd.DataFrame.groupby, PlotCollection.wrap,
]  # fmt: skip
ARGUMENT = re.compile(r"(?<![\w'\"{*])([a-z]\w*)=(?![\w=]*[%\"])")
CALL = re.compile(r"\b(\w+)\(([^()]*)\)")


def parameters() -> dict[str, set[str]]:
    """Arguments of every public function and method, by its name."""
    found: dict[str, set[str]] = {}

    def add(name: str, function: object) -> None:
        if callable(function) and inspect.isfunction(inspect.unwrap(function)):
            given = inspect.signature(function).parameters.values()
            names = {x.name for x in given}
            if any(x.kind is x.VAR_KEYWORD for x in given):  # of PyMC's variables
                names |= {"dims", "observed", "shape", "size", "total_size", "initval", "rng"}
            for options in get_args(inspect.unwrap(function).__annotations__.get("kwargs")):
                names |= set(options.__annotations__)
            found.setdefault(name, set()).update(names)

    for room in pkgutil.walk_packages([str(HOME)], "bayesrank."):
        if re.search(r"\.(cli|jax|__main__)\b", room.name):
            continue
        module = import_module(room.name)
        for name in getattr(module, "__all__", []):
            public = getattr(module, name)
            if not inspect.isclass(public):
                add(name, public)
                continue
            for cls in [x for x in public.__mro__ if x.__module__.startswith("bayesrank")]:
                for method, function in vars(cls).items():
                    function = getattr(function, "__func__", function)
                    add(name if method in ("__init__", "__new__") else method, function)
    return found


@pytest.fixture(scope="module")
def sentences() -> list[tuple[str, str, bool]]:
    """Texts of the package, where they stand, and whether they are docstrings."""
    return [*_sentences()]


def _sentences() -> Iterator[tuple[str, str, bool]]:
    for path, tree in trees():
        if OTHERS.intersection([path, *path.parents]):
            continue
        docs = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = [x.value if isinstance(x, ast.Constant) else "{}" for x in node.values]
                yield "".join(map(str, parts)), f"{path}:{node.lineno}", False
            elif isinstance(getattr(node, "value", None), str):
                yield node.value, f"{path}:{node.lineno}", id(node) in docs


@pytest.fixture(scope="module")
def known() -> dict[str, set[str]]:
    return parameters()


def test_messages_recommend_arguments_that_exist(known, sentences):
    names = set().union(*known.values(), *(inspect.signature(f).parameters for f in FOREIGN))
    unknown = {
        f"{where}: {name}="
        for text, where, in_docstring in sentences
        for name in ARGUMENT.findall(text)
        if not in_docstring and name not in names
    }
    assert not unknown


def test_functions_are_called_with_arguments_that_they_have(known, sentences):
    wrong = {
        f"{where}: {function}({name}=)"
        for text, where, _ in sentences
        for function, given in CALL.findall(text)
        for name in ARGUMENT.findall(given)
        if function in known and name not in known[function]
    }
    assert not wrong


@pytest.mark.parametrize("sentence", ["Read them with seasons=.", "from_orderings(presented=)"])
def test_advice_that_cannot_be_followed_is_found(known, sentence):
    (name,) = ARGUMENT.findall(sentence)
    called = CALL.findall(sentence)
    names = known[called[0][0]] if called else set().union(*known.values())
    assert name not in names
