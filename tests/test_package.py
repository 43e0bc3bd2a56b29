"""What a user gets by installing the package, and what the lock files pin."""

import ast
import doctest
import inspect
import os
import re
import runpy
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pymc as pm
import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import bayesrank as br
from bayesrank import distributions
from tests.builders import PACKAGE, imports_of, modules
from tests.cases import CASES, PAIRS
from tests.distributions.pair_examples import FAMILIES

ROOT = PACKAGE.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel, as an installer would."""
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with ZipFile(path) as archive:
        yield archive


def shipped(archive):
    """Files of the wheel outside its metadata folder."""
    return {name for name in archive.namelist() if ".dist-info/" not in name}


def metadata(archive, name):
    (path,) = [path for path in archive.namelist() if path.endswith(f".dist-info/{name}")]
    return archive.read(path).decode()


def test_without_jax_its_room_says_how_to_install_it():
    code = "import sys; sys.modules['jax'] = None; import bayesrank.jax"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: bayesrank.jax needs the package jax, which is not installed. Run "
        'pip install "bayesrank[jax]".'
    )


def test_public_names_are_listed_once():
    assert len(set(br.__all__)) == len(br.__all__)


@pytest.mark.parametrize("name", br.__all__)
def test_a_public_name_exists_and_has_a_docstring(name):
    assert getattr(br, name).__doc__


def public_objects():
    """Yield the public functions and classes, and the methods that readers call, by name."""
    config = ast.parse((ROOT / "docs/conf.py").read_text(encoding="utf-8"))
    (hidden,) = [  # members that the reference leaves out
        ast.literal_eval(node.value)
        for node in config.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "INTERNAL"
    ]
    objects = {name: getattr(br, name) for name in br.__all__}
    rooms = [name for name, x in objects.items() if inspect.ismodule(x)]
    for room in rooms:
        module = objects.pop(room)
        objects |= {f"{room}.{name}": getattr(module, name) for name in module.__all__}
    for name, x in objects.items():
        yield name, x
        if inspect.isclass(x) and not issubclass(x, pm.Distribution):
            for member in vars(x).keys() - hidden:
                if callable(getattr(x, member)) and not member.startswith("_"):
                    yield f"{name}.{member}", getattr(x, member)


OBJECTS = dict(public_objects())


def examples(name):
    return doctest.DocTestParser().get_examples(inspect.getdoc(OBJECTS[name]))


def test_every_public_name_is_shown_by_an_example_of_its_own_or_of_its_class_or_maker():
    def is_shown(name):
        owner, _, method = name.rpartition(".")
        maker = re.search(r"which `(\w+)` returns", inspect.getdoc(OBJECTS[name]))
        room = f"{owner}." if owner in br.__all__ else ""
        return (
            examples(name)
            or (maker and examples(room + maker[1]))
            or (owner in OBJECTS and any(f".{method}" in x.source for x in examples(owner)))
        )

    assert [name for name in OBJECTS if not is_shown(name)] == []


def test_the_names_under_see_also_exist_and_every_function_names_its_neighbours():
    named = {}
    for name, x in OBJECTS.items():
        section = re.search(r"(?m)^See Also\n-+\n((?:\S.*\n?)+)", inspect.getdoc(x))
        named[name] = re.findall(r"[\w.]+", section[1]) if section else []
    members = {f"{name}.{k}" for name, x in OBJECTS.items() if inspect.isclass(x) for k in dir(x)}
    unknown = {x for names in named.values() for x in names} - OBJECTS.keys() - members
    assert unknown == set()
    owners = {name for name in named if name.rpartition(".")[0] not in OBJECTS}
    assert {name for name in owners if not named[name]} == set()
    assert [name for name, names in named.items() if name in names] == []


def test_the_source_archive_has_what_its_tests_read():
    shipped = {file.distribution_path for file in SdistBuilder(str(ROOT)).recurse_included_files()}
    assert {  # the license, the README and pyproject.toml are always there
        ".ci/run", "CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md",
        "SECURITY.md", "conda/recipe.yaml", "conftest.py", "dev", "hatch_build.py",
        "requirements-dev.lock", "requirements-docs.lock", "requirements.lock",
    } <= shipped  # fmt: skip
    folders = ("bayesrank", "models", "notebooks", "posteriordb", "tests")
    files = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not re.search(r"/(__pycache__|\.\w+)/", path.as_posix())
    }
    assert files - shipped == set()


def test_the_version_is_that_of_the_metadata(wheel):
    assert re.findall(r"(?m)^Version: (.*)$", metadata(wheel, "METADATA")) == [br.__version__]


def test_the_wheel_ships_the_package_alone(wheel):
    assert {name.split("/")[0] for name in shipped(wheel)} == {"bayesrank"}


def test_the_wheel_ships_every_module_and_every_data_file(wheel):
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "bayesrank/py.typed" in wanted
    assert shipped(wheel) == wanted


def test_the_wheel_installs_the_command_and_the_license(wheel):
    assert "bayesrank = bayesrank.cli:main" in metadata(wheel, "entry_points.txt")
    assert "Apache License" in metadata(wheel, "licenses/LICENSE")


@pytest.mark.slow
def test_uninstalling_leaves_nothing_behind(wheel, tmp_path):
    """Kernels are compiled between the two, by Python with the packages of this one."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv/bin/python"
    (site,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (site / "packages.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    before = {*site.rglob("*")}
    environment = {name: x for name, x in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTENSOR_FLAGS": f"base_compiledir={tmp_path / 'compiled'}"}

    def run(*command):
        return subprocess.run(
            list(map(str, command)), cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=True,
        ).stdout  # fmt: skip

    pip = [sys.executable, "-m", "pip", "--python", python]
    run(*pip, "install", "--no-deps", "--no-index", wheel.filename)
    code = (
        "import bayesrank.likelihoods; print(bayesrank.__file__);"
        "from bayesrank.likelihoods.plackett_luce.block_kernel import workspace; workspace(5)"
    )
    assert str(site) in run(python, "-c", code)
    assert [*(tmp_path / "compiled/numba").rglob("*workspace*.nbi")]
    run(*pip, "uninstall", "--yes", "bayesrank")
    assert {*site.rglob("*")} == before


def pinned(lock):
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"(?m)^([\w.-]+)==([^ ;]+)", text)), text


def test_requirements_of_the_site_change_no_version_that_tests_use():
    ours, _ = pinned("requirements-dev.lock")
    more, text = pinned("requirements-docs.lock")
    assert {name: more[name] for name in more.keys() & ours} == {
        name: ours[name] for name in more.keys() & ours
    }
    assert {"sphinx", "myst-nb", "numpydoc"} <= more.keys()
    assert "://" not in text


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [
        ("requirements.lock", PROJECT["dependencies"]),
        ("requirements-dev.lock", PROJECT["dependencies"] + EXTRAS["jax"] + EXTRAS["dev"]),
    ],
)
def test_a_lock_file_pins_what_the_project_requires_and_names_no_address(lock, requirements):
    pins, text = pinned(lock)
    wanted = [Requirement(line) for line in requirements]
    unmet = [r for r in wanted if r.name != "bayesrank" and not r.specifier.contains(pins[r.name])]
    assert unmet == []
    assert "://" not in text


# Requirements that another package or a person runs; the package itself does not import them.
RUN_BY = {
    "netcdf4": "xarray, which writes posteriors with it",
    "dask": "joblib, as a backend",
    "distributed": "joblib, as a backend",
    "jupyterlab": "whoever opens the notebooks",
    "nbclient": "whoever executes the notebooks",
}


def unimported(requirements, imported):
    """Names of requirements that the package does not import."""
    names = {Requirement(line).name for line in requirements}
    return {name for name in names if name.replace("-", "_") not in imported}


def test_every_declared_dependency_is_imported_by_the_package():
    sources = {m: path.read_text(encoding="utf-8") for m, path in modules().items()}
    imported = {
        name.split(".")[0] for m, source in sources.items() for name in imports_of(source, m)
    }
    extras = [line for name, lines in EXTRAS.items() if name != "dev" for line in lines]
    assert unimported(PROJECT["dependencies"] + extras, imported) == {*RUN_BY}
    assert unimported(["lazy-loader>=0.4", "scikit-learn"], {"lazy_loader"}) == {"scikit-learn"}
    assert any("to_netcdf(" in text and 'engine="netcdf4"' in text for text in sources.values())


def test_the_version_is_written_down_alike_and_so_is_what_is_required():
    texts = {
        name: (ROOT / name).read_text("utf-8") for name in ("CITATION.cff", "conda/recipe.yaml")
    }
    for name, text in texts.items():
        assert re.findall(r'(?m)^ *version: "?([\d.]+)"?$', text) == [br.__version__], name
    run = texts["conda/recipe.yaml"].partition("  run:")[2].partition("tests:")[0]
    other = {"matplotlib-base": "matplotlib", "lazy_loader": "lazy-loader"}
    needs = dict(re.findall(r"(?m)^ +- ([\w-]+) (\S+)$", run))
    needs.pop("python", None)
    required = {r.name: r.specifier for r in map(Requirement, PROJECT["dependencies"])}
    assert {other.get(k, k): SpecifierSet(v) for k, v in needs.items()} == required


def test_every_distribution_goes_through_the_battery():
    families = {case.family for case in CASES}
    composite = {"BPR"}  # has no outcome space to go through
    others = composite | {"Mallows", "GeneralizedMallows"}  # no utilities
    verbs = {"cutpoints", "declare_outcomes", "set_observed"}
    assert families == {*distributions.__all__} - verbs - others
    assert {case.family for case in PAIRS} == {*FAMILIES}


@pytest.fixture(scope="module")
def hook():
    return runpy.run_path(str(ROOT / "hatch_build.py"))


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_of_a_release_has_absolute_links_to_files_that_are_there(hook):
    environment = {"GITHUB_REPOSITORY": "Owner/name", "GITHUB_REF_TYPE": "tag"}
    page = hook["page_of"](environment | {"GITHUB_REF_NAME": "v9.9.9"})
    text = page["readme"]["text"]
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert [target for target in targets if not target.startswith("https://")] == []
    ours = re.findall(r"\((https://[\w./]*?Owner/name/(?:blob/)?v9\.9\.9/)([^)#]+)", text)
    assert len(ours) > 10
    assert [path for _, path in ours if not (ROOT / path).exists()] == []
    pictures = re.findall(r"!\[[^\]]*\]\((\S+?)\)", text)
    assert pictures == ["https://raw.githubusercontent.com/Owner/name/v9.9.9/docs/ranks.png"]
    assert page["urls"]["Source"] == "https://github.com/Owner/name"
    assert page["urls"]["Documentation"] == "https://owner.github.io/name/"


def test_the_page_of_a_build_elsewhere_has_no_link_that_leads_nowhere(hook):
    text = hook["page_of"]({})["readme"]["text"]
    assert re.findall(r"\]\((?!https://)", text) == []
    assert "urls" not in hook["page_of"]({})
    assert "![" not in text
    assert "sorted by mean rank" not in text  # the caption of the picture
    assert "The tutorial explains both commands" in " ".join(text.split())


def test_the_page_says_only_what_a_reader_outside_a_checkout_can_do(hook, wheel):
    text = hook["page_of"]({})["readme"]["text"]
    assert "```bash\npip install bayesrank\nbayesrank quickstart\n```" in text
    assert "./dev" not in text
    assert "<!--" not in text
    assert "./dev quickstart" in README
    assert metadata(wheel, "METADATA").replace("\r\n", "\n").endswith(text)


def test_the_table_of_dependencies_says_what_each_is_for():
    text = (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
    _, _, table = text.partition("| package | what it is for |\n|---|---|\n")
    rows = re.findall(r"(?m)^\| `([\w-]+)` \| (.{10,}) \|$", table.partition("\n\n")[0])
    assert [name for name, _ in rows] == sorted(name for name, _ in rows)
    assert {name for name, _ in rows} == {Requirement(x).name for x in PROJECT["dependencies"]}
