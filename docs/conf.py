"""How the site is built: ``./dev docs``.

The sources are the repository itself, from its root: pages beside this file, notebooks with the
outputs that they are stored with, what studies wrote into ``RESULTS.md``, and the Python of the
gallery, each file a page. Nothing is copied, so that links between files are links between pages.
The reference is written from the tables of public names, and the build fails if one has no page or
no docstring. Formulas become MathML, which browsers draw without a script: the site needs no
network.
"""

import ast
import inspect
import os
import re
import sys
import urllib.request
from html import escape, unescape
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from matplotlib.image import imread
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.parsers import RSTParser
from sphinx.util.inspect import stringify_signature
from sphinx.writers.html5 import HTML5Translator

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import pymc as pm

import bayesrank as br

project = "bayesrank"
author = "The bayesrank developers"
copyright = author  # noqa: A001
version = release = br.__version__

# ---------------------------------------------------------------------------------------------
# Pages
# ---------------------------------------------------------------------------------------------

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "notebooks/*.ipynb",
    "notebooks/README.md",
    "models/README.md",
    "models/*/*.md",
    "models/*/*.py",
    "posteriordb/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [
    ".*",
    "bayesrank",
    "build",
    "tests",
    "docs/*.py",
    "docs/_*",
    "models/shared",
    "**/__pycache__",
]
# reStructuredText first: the reference is written in what comes first
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb", ".py": "python"}
templates_path = [str(HERE / "_templates")]  # autosummary starts from the root otherwise
nitpicky = False  # types of libraries without an inventory have no page to link to
default_role = "py:obj"  # single backticks in docstrings: code, and a link if the name has a page
suppress_warnings = ["myst.header", "config.cache"]  # pages that begin at the second level

nb_execution_mode = "off"  # docs/outputs.py runs the pages, and stores what they give
copybutton_selector = "div:not(.highlight-output) > div.highlight > pre"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3


class PythonParser(RSTParser):
    """A Python file as a page: the first line of its docstring, the rest of it, the code."""

    supported = ("python",)

    def parse(self, inputstring: Any, document: nodes.document) -> None:
        """Turn the file into reStructuredText, and parse that."""
        text = str(inputstring if isinstance(inputstring, str) else "\n".join(inputstring))
        name = document.settings.env.docname
        docstring = ast.get_docstring(ast.parse(text)) or name
        title, _, story = docstring.partition("\n\n")
        title = " ".join(title.split()).rstrip(".")
        code = re.sub(r'^r?""".*?"""\n+', "", text, count=1, flags=re.DOTALL)
        page = [title, "=" * 2 * len(title), ""]
        if name.startswith("models/howto/"):
            page += _guide(name, story, text)
            heading = "The whole program"
        else:
            page += _with_literal_blocks(story)
            heading = "Code"
        page += ["", heading, "-" * len(heading), "", f":download:`{name}.py </{name}.py>`", ""]
        super().parse("\n".join([*page, *_block("python", code)]) + "\n", document)


def _block(language: str, text: str) -> list[str]:
    """Show a text as it is."""
    return [f".. code-block:: {language}", "", *("   " + line for line in text.splitlines()), ""]


def _guide(name: str, story: str, text: str) -> list[str]:
    """Write a guide: its story, the model, what the program prints, and how to read that."""
    before, run, after = re.split(
        r"(?s)^(Run ``python .*?)(?=\n\n|\Z)", story, maxsplit=1, flags=re.M
    )
    lines = _with_literal_blocks(before)
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == "build":
            lines += ["The model", "---------", ""]
            lines += _block("python", ast.get_source_segment(text, node) or "")
    lines += [
        "The output",
        "----------",
        "",
        run.replace("Run", "Save the program below, and run", 1),
    ]
    output = (ROOT / name).with_suffix(".txt")
    if output.exists():
        lines += ["", *_block("output", output.read_text(encoding="utf-8"))]
    return [*lines, "", *_with_literal_blocks(after)]


def _with_literal_blocks(story: str) -> list[str]:
    """Mark indented blocks, formulas and programs, as what is shown as it is."""
    lines: list[str] = []
    before = ""
    for block in re.split(r"\n{2,}", story):
        indented = block.startswith("    ")
        if indented and not re.match(r"(\.\. |[-*] |\d+\. | )", before) and before[-2:] != "::":
            lines += [".. code-block:: none", ""]
        lines += [*block.splitlines(), ""]
        before = block
    return lines


# ---------------------------------------------------------------------------------------------
# Reference
# ---------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False
CLASSES = {name for name in br.__all__ if name[0].isupper()}
numpydoc_xref_aliases = {
    **{name: f"bayesrank.{name}" for name in sorted(CLASSES)},
    "DataArray": "xarray.DataArray",
    "DataTree": "xarray.DataTree",
    "Dataset": "xarray.Dataset",
    "DataFrame": "pandas.DataFrame",
    "Series": "pandas.Series",
    "PlotCollection": "arviz_plots.PlotCollection",
}
numpydoc_xref_ignore = "all"

ROOMS = {  # the rooms of which names are public, with what they are called in the reference
    "data": "Data",
    "tables": "Tables",
    "distributions": "Distributions",
    "inference": "Inference",
    "results": "Results",
    "plots": "Plots",
    "analysis": "Models and fits",
    "analysis.leaderboard": "Leaderboards",
    "analysis.auditing": "Audit",
    "reporting": "Reports",
    "jax": "JAX",
    "utility": "Utilities",
}


def public_names() -> dict[str, list[str]]:
    """Read the names by room: those of the stub, and all of rooms that are imported by name."""
    stub = ast.parse((ROOT / "bayesrank/__init__.pyi").read_text(encoding="utf-8"))
    table: dict[str, list[str]] = {room: [] for room in ROOMS}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            room = node.module if node.module in ROOMS else node.module.split(".")[0]
            table[room] += [f"bayesrank.{name.asname}" for name in node.names]
    listed = {name.rpartition(".")[2] for names in table.values() for name in names}
    rooms = {"jax", "utility"}  # imported by name
    assert listed | rooms == set(br.__all__), listed ^ set(br.__all__)
    for room, names in table.items():
        if not names or room == "utility":
            module = import_module(f"bayesrank.{room}")
            public = [k for k in module.__all__ if callable(getattr(module, k))]
            public = [name for name in public if f"bayesrank.{name}" not in names]
            names += [f"bayesrank.{room}.{name}" for name in public]
        names.sort(key=lambda name: name.rpartition(".")[2].lower())
    return table


def undocumented(name: str) -> list[str]:
    """Name what of a public name has no docstring: itself, and methods of its own."""
    where, _, last = name.rpartition(".")
    thing = getattr(import_module(where), last)
    parts = {name: thing}
    if inspect.isclass(thing):
        methods = {k: v for k, v in vars(thing).items() if not k.startswith("_") and callable(v)}
        if not issubclass(thing, pm.Distribution):  # PyMC calls the methods of distributions
            parts |= {f"{name}.{k}": v for k, v in methods.items()}
    return [k for k, v in parts.items() if callable(v) and not inspect.getdoc(v)]


INTERNAL = {  # members that only the package or PyMC uses
    "AXES", "ROW", "astep", "check_triples", "competence", "few_nodes", "from_pairs",
    "from_rating_arrays", "from_sorted_pairs", "in_order", "layout", "net_entries", "observations",
    "stages", "stats_dtypes_shapes",
}  # fmt: skip


def _is_internal(
    app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out internal members, and fields of named tuples, which the docstring describes."""
    return True if name in INTERNAL or type(thing).__name__ == "_tuplegetter" else None


def _signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, arguments: str | None, _: Any
) -> tuple[str, None] | None:
    """Show the arguments of ``__init__`` of a step method, and none that are private."""
    if what == "class" and arguments == "(*args, **kwargs)":
        shown = stringify_signature(inspect.signature(thing), show_annotation=False)
        return re.sub(r" -> .*", "", shown), None
    if what == "class" and arguments and re.search(r"[( ]_\w", arguments):
        return "", None
    if arguments and "=<factory>" in arguments:
        return arguments.replace("=<factory>", "={}"), None
    return None


def write_reference() -> None:
    """Write a page for each room, from which autosummary makes one for each name."""
    table = public_names()
    lacking = [part for names in table.values() for name in names for part in undocumented(name)]
    assert not lacking, f"without docstring: {lacking}"
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    rows = []
    for room, names in table.items():
        module = import_module(f"bayesrank.{room}")
        about, _, chapter = (inspect.getdoc(module) or "").partition("\n\n")
        title = ROOMS[room]
        if about.startswith(f"{title}: "):  # the title of the page says it
            about = about.removeprefix(f"{title}: ")
            about = about[0].upper() + about[1:]
        page = [title, "=" * len(title), "", about, ""]
        if room == "analysis.leaderboard":
            page += [f".. py:module:: bayesrank.{room}", ""]
        if not hasattr(module, "__path__"):  # docstrings of packages go on with notes on the code
            page += [chapter, ""]
        page += [".. autosummary::", "   :toctree: names", "   :signatures: short", ""]
        page += [f"   ~{name}" for name in names]
        file = room.rpartition(".")[2]
        _write(folder / f"{file}.rst", "\n".join(page) + "\n")
        rows.append(f"   {file}")
    title = "API reference"
    page = [title, "=" * len(title), ""]
    n_names = sum(map(len, table.values()))
    page += [f"The public API has {n_names} names in {len(table)} groups.", ""]
    page += [".. toctree::", "   :maxdepth: 2", "", *rows, ""]
    _write(folder / "index.rst", "\n".join(page))


def _write(path: Path, text: str) -> None:
    """Leave a file alone that says the same: what is built from it stays."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


write_reference()

# ---------------------------------------------------------------------------------------------
# Links to other projects, where there is a network to read their inventories by
# ---------------------------------------------------------------------------------------------

INVENTORIES = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "xarray": "https://docs.xarray.dev/en/stable/",
    "pymc": "https://www.pymc.io/projects/docs/en/stable/",
    "arviz": "https://python.arviz.org/en/stable/",
}


def _answers(address: str) -> bool:
    request = urllib.request.Request(address + "objects.inv", method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=3):
            return True
    except OSError:
        return False


intersphinx_mapping = {
    name: (address, None) for name, address in INVENTORIES.items() if _answers(address)
}

# numpydoc links words of its own, such as "sequence", to these two, and warns where it cannot
numpydoc_xref_param_type = {"python", "numpy"} <= intersphinx_mapping.keys()

# ---------------------------------------------------------------------------------------------
# How it looks
# ---------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "bayesrank"
html_static_path = ["_static"]
html_sidebars = {  # these pages have none below them to list
    f"docs/{page}": []
    for page in ("benchmarks", "coming_from", "evidence", "gallery", "which_package")
}
html_css_files = ["site.css"]
html_extra_path = ["_root"]  # the address of the site leads to the first page
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}
html_show_sourcelink = False

# Where the site is published: continuous integration and Read the Docs know its addresses.
_repository = os.environ.get("GITHUB_REPOSITORY", "")
if not _repository:
    _clone = re.search(
        r"github\.com[:/](.+?/.+?)(?:\.git)?$", os.environ.get("READTHEDOCS_GIT_CLONE_URL", "")
    )
    _repository = _clone[1] if _clone else ""
if _repository:  # "edit this page"
    _owner, _, _name = _repository.partition("/")
    html_context = {
        "github_user": _owner,
        "github_repo": _name,
        "github_version": "main",
        "doc_path": "",
    }
    html_theme_options["use_edit_page_button"] = True
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
html_math_renderer = "mathml"


def _mathml(formula: str, display: str = "inline") -> str:
    """Convert a formula; fonts lack the glyph that the converter takes for a set difference."""
    return str(convert(formula.replace(r"\setminus", r"\smallsetminus"), display=display))


def _inline(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append(_mathml(node.astext()))
    raise nodes.SkipNode


def _displayed(self: HTML5Translator, node: nodes.Element) -> None:
    formula = node.astext()
    if r"\\" in formula and r"\begin" not in formula:
        formula = rf"\begin{{split}}{formula}\end{{split}}"  # the converter has no "aligned"
    self.body.append(f'<div class="math">{_mathml(formula, "block")}</div>')
    raise nodes.SkipNode


def _alternative_text(app: Sphinx, doctree: nodes.document) -> None:
    """Say of pictures that notebooks drew which line drew them; refuse others without words."""
    for image in doctree.findall(nodes.image):
        if not image.get("alt"):
            container: Any = image
            while container is not None and "cell" not in container.get("classes", []):
                container = container.parent
            code = next(container.findall(nodes.literal_block), None) if container else None
            assert code is not None, f"{app.env.docname}: no words for {image['uri']}"
            image["alt"] = f"What {code.astext().strip().splitlines()[-1].strip()} draws"


def _wide_figures(app: Sphinx, doctree: nodes.document) -> None:
    """Mark wide figures, which scroll on a phone instead of shrinking."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir) / image["uri"]
        if path.suffix == ".png":
            _, width, *_ = imread(path).shape
            if width > 900:
                image["classes"].append("wide")


def _short_names(app: Sphinx, env: Any, node: nodes.Element, text: nodes.Node) -> Any:
    """Link names as programs write them, such as ``br.compare`` or ``Rankings.reindex``."""
    target = node.get("reftarget", "")
    first = target.partition(".")[0]
    if node.get("refdomain") != "py" or not (first == "br" or first in CLASSES):
        return None
    name = "bayesrank." + target.removeprefix("br.")
    where = node.get("refdoc", "")
    return env.domains["py"].resolve_xref(env, where, app.builder, "obj", name, node, text)


BREAKS = r"(?<=[._])(?=\w)|(?<=[a-z])(?=[A-Z])"  # where a long name in a title may break


def _breaks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let long names in titles break at dots, underscores and capitals, as phones are narrow."""
    for title in doctree.findall(nodes.title):
        for text in [*title.findall(nodes.Text)]:
            marked = re.sub(r"\S{16,}", lambda long: re.sub(BREAKS, "\0", long[0]), text)
            if "\0" in marked:
                parts: list[nodes.Node] = []
                for part in marked.split("\0"):
                    parts += [nodes.Text(part), nodes.raw("", "<wbr>", format="html")]
                text.parent.replace(text, parts[:-1])
    for code in doctree.findall(nodes.literal):
        if re.search(r"(^|\s)--\w", code.astext()):
            code["classes"].append("option")


def _code_breaks(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Let long names in code break at dots and underscores, where the page is narrow."""

    def marked(found: re.Match[str]) -> str:
        return re.sub(r"(?<=[._])(?=\w)", '<wbr class="narrow">', found[0])

    if "body" in context:
        code = r'(?<=<span class="pre">)[^<]{12,}(?=</span>)'
        context["body"] = re.sub(code, marked, context["body"])


def _wide_tables(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put values in parentheses on a second line, where a table has many columns."""
    for row in doctree.findall(nodes.row):
        for text in [*row.findall(nodes.Text)] if len(row) > 8 else []:
            if found := re.fullmatch(r"([-+\d.][^()]*) (\([^()]*\))", text):
                lines = nodes.Text(found[1]), nodes.raw("", "<br>", format="html")
                text.parent.replace(text, [*lines, nodes.Text(found[2])])


def _preview(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Describe a page to those who show a link to it, by its title and its first paragraph."""
    if tree is None:
        return
    first = next(tree.findall(nodes.paragraph), None)
    about = " ".join(first.astext().split())[:200] if first else project
    title = re.sub(r"<[^>]+>", "", context.get("title", project))
    image = f"{html_baseurl}_images/ranks.png" if html_baseurl else ""
    found = {"og:title": title, "og:description": about, "og:type": "article", "og:image": image}
    tags = [
        f'<meta property="{name}" content="{escape(unescape(text), quote=True)}">'
        for name, text in found.items()
        if text
    ]
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def _folders(app: Sphinx, docname: str, source: list[str]) -> None:
    """Have the list of the gallery lead to a page of each folder."""
    if docname == "models/README":
        pages = {"howto": "howto/README.md"}
        source[0] = re.sub(
            r"\]\((\w+)\)", lambda m: f"]({pages.get(m[1], m[1] + '/model.py')})", source[0]
        )


def _search_words(app: Sphinx, docname: str, source: list[str]) -> None:
    """Index a page under the words by which people search it: ``<!-- search: one, other -->``."""

    def entries(found: re.Match[str]) -> str:
        words = ", ".join(f"! {word}" for word in found[1].split(", "))  # "!": shown first
        return f"```{{index}} {words}\n```"

    source[0] = re.sub(r"(?m)^<!-- search: (.+) -->$", entries, source[0], count=1)


UNSEARCHED = re.compile(r"models/(?!howto/|README).*|CHANGELOG|posteriordb/.*")


def _leave_out_of_search(app: Sphinx, doctree: nodes.document) -> None:
    """Let the search lead to pages for users, not to studies and lists of changes."""
    if UNSEARCHED.fullmatch(app.env.docname):
        app.env.metadata[app.env.docname]["nosearch"] = "true"


ABOUT = """# bayesrank

> Ranking models as PyMC distributions: which item is best, and how sure we are, from ratings,
> rankings, matches or clicks. A command line for tables and a Python API for models.
"""


def _first_sentence(doctree: nodes.document) -> str:
    """Return the first sentence of a page."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = re.split(r"(?<=[.?:])\s", " ".join(paragraph.astext().split()))[0]
        if len(text.split()) > 2:  # not "Story:" or the name of a file
            return text
    return ""


def _lines_for_models(app: Sphinx, exception: Exception | None) -> None:
    """Write llms.txt, which tells language models of every page: its title and first sentence."""
    if exception is not None or app.builder.format != "html":
        return
    env, names = app.env, public_names()
    lines, seen = [ABOUT], {root_doc}

    def add(docname: str, depth: int) -> None:
        if docname in seen or "/api/names/" in docname:
            return
        seen.add(docname)
        title = env.titles[docname].astext()
        doctree = env.get_doctree(docname)
        if depth == 0:
            lines.append(f"\n## {title}\n")
        about = _first_sentence(doctree)
        room = docname.partition("docs/api/")[2]
        public = [x for key, x in names.items() if key.rpartition(".")[2] == room]
        if public:
            about = "; ".join(x.removeprefix("bayesrank.") for x in public[0])
        lines.append(f"- [{title}]({docname}.html): {about}")
        for child in env.toctree_includes.get(docname, []):
            add(child, depth + 1)

    for docname in env.toctree_includes[root_doc]:
        add(docname, 0)
    _write(Path(app.outdir) / "llms.txt", "\n".join(lines) + "\n")


def _has_docstrings(app: Sphinx, exception: Exception | None) -> None:
    """Fail where a page of the reference shows how it is made instead of what it is of."""
    pages = [*(Path(app.outdir) / "docs" / "api" / "names").glob("*.html")]
    bare = [page.name for page in pages if 'class="sig' not in page.read_text(encoding="utf-8")]
    if exception is None and (bare or not pages):
        raise ExtensionError(f"Pages of the reference without a docstring: {bare or 'all'}.")


def setup(app: Sphinx) -> None:
    """Take formulas, Python files and pictures as they are wanted here."""
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))
    app.add_source_parser(PythonParser)
    app.connect("autodoc-skip-member", _is_internal)
    app.connect("autodoc-process-signature", _signature)
    app.connect("source-read", _folders)
    app.connect("source-read", _search_words)
    app.connect("doctree-read", _alternative_text)
    app.connect("doctree-read", _wide_figures)
    app.connect("doctree-read", _leave_out_of_search)
    app.connect("missing-reference", _short_names)
    app.connect("doctree-resolved", _breaks)
    app.connect("doctree-resolved", _wide_tables)
    app.connect("html-page-context", _preview)
    app.connect("html-page-context", _code_breaks)
    app.connect("build-finished", _has_docstrings)
    app.connect("build-finished", _lines_for_models)
