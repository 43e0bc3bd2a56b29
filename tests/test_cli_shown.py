"""What commands print and what their pages say: whole runs, but for the sampler.

The golden file has the sentences, the tables and the order of the sections, without the decimals,
which depend on fake draws.
"""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import bayesrank as br
from bayesrank import inference
from bayesrank.analysis import mixtures
from bayesrank.analysis.listener import Listener
from bayesrank.analysis.saved import read_record
from bayesrank.cli.console import Talk
from bayesrank.reporting.options import LAYOUT
from tests.commands import BEERS, few, no_sampling, ran, shown

JUDGED = "judge,beer,stars,kind\n" + "".join(
    f"j{j},{beer},{k * j % 5},{'xy'[j % 2]}\n"
    for j in range(8)
    for k, beer in enumerate(("ale", "bock", "cider", "mead"), start=1)
)
MATCHES = """left,right,result,who,kind,prompt,len_l,len_r
ale,bock,first,ann,taste,1,5,2
bock,ale,tie,ben,look,1,2.5,4
bock,cider,first,ann,look,2,1,3
cider,ale,second,cat,taste,2,6,2
cider,bock,first,ben,taste,3,4,1
"""
BY_BEER = ("--ranker", "judge", "--item", "beer")
# who is best and worst of three; j5 wants the reverse
TASKS = "id,set,beer,best,worst,all,kind\n" + "".join(
    f"j{j},{t},{beer},{int(place == 0)},{int(place == 2)},{('some', 'all')[t]},{'xy'[j % 2]}\n"
    for j in range(6)
    for t, shown in enumerate((("ale", "bock", "cider"), ("ale", "bock", "mead")))
    for place, beer in enumerate(shown if j < 5 else shown[::-1])
)
BEST_WORST = ("choices", TASKS, "--respondent", "id", "--task", "set", "--item", "beer",
              "--best", "best", "--worst", "worst")  # fmt: skip
PLACE = ("rank", BEERS, *BY_BEER, "--rank", "place")
PAIRS = ("matches", MATCHES, "--first", "left", "--second", "right", "--outcome", "result")
RUNS = {
    "ratings, few draws, with a title": ("rank", BEERS, *BY_BEER, "--rating", "stars",
                                         "--draws", 50, "--chains", 2, "--title", "Beers"),
    "the order of the lower ends": (*PLACE, "--sort", "lower", "--scale", "elo", "--top", 2),
    "a quick answer": (*PLACE, "--quick"),
    "categories of rankings": ("rank", JUDGED, *BY_BEER, "--rating", "stars", "--by", "kind"),
    "components": ("rank", JUDGED, *BY_BEER, "--rating", "stars", "--components", 2),
    "ballots, quietly": ("rank", "b,n\na > b,6\nb > a > c,3\n", "--ballot", "b",
                         "--count", "n", "--missing", "last", "--quiet"),
    "best-worst tasks": (*BEST_WORST, "--by", "kind", "--threshold", "all"),
    "latent classes": (*BEST_WORST, "--components", 2),
    "matches": PAIRS,
    "judges and categories": (*PAIRS, "--judge", "who", "--category", "kind"),
    "features and groups": (*PAIRS, "--judge", "who", "--feature", "len_l,len_r",
                            "--group", "prompt"),
    "features without an order": (*PAIRS, "--feature", "len_l,len_r", "--no-order"),
    "ties": (*PAIRS, "--ties-by", "item", "--ties-by", "strength"),
    "ties by item": (*PAIRS, "--ties-by", "item", "--no-order"),
    "two items": ("matches", "w,l\nale,bock\nbock,ale\n", "--first", "w", "--second", "l",
                  "--outcome", "w"),
    "winners": ("matches", "w,l\nale,bock\nbock,cider\n", "--winner", "w", "--loser", "l"),
}  # fmt: skip

ALIKE = (
    "the order of the lower ends", "matches", "features without an order", "ties by item",
    "two items", "features and groups", "latent classes",
)  # fmt: skip


def fit_inla(model, enough=None, **settings):
    with model:
        posterior = few(**settings)
    posterior["posterior"].attrs["approximation"] = "Laplace"
    return posterior


@pytest.mark.parametrize(
    "case",
    [pytest.param(name, marks=[pytest.mark.slow] if name in ALIKE else []) for name in RUNS],
)
def test_the_output_of_a_run_is_as_recorded(tmp_path, monkeypatch, golden, case):
    command, table, *options = RUNS[case]
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(table, encoding="utf-8")
    no_sampling(monkeypatch, few)
    monkeypatch.setattr(inference, "fit_inla", fit_inla)
    monkeypatch.setattr(mixtures, "first_components", lambda *_: {"share": np.array([0.5, 0.5])})
    result = ran(command, "t.csv", *options, "--seed", 1)
    golden(case, shown(result, Path("t-ranks")))
    report, folder = made_again("t-ranks/posterior.nc", monkeypatch), Path("t-ranks")
    assert report.page == (folder / "report.html").read_text(encoding="utf-8")
    names = {name for name, _ in report.files()} | {"posterior.nc"}
    assert names == {path.name for path in folder.iterdir()}


def made_again(file, monkeypatch):
    """Make the report of a command again from Python, with arguments written as options."""
    with xr.open_datatree(file, engine="netcdf4") as tree:
        posterior = tree.load()
    more = read_record(posterior, LAYOUT).more
    names = ("title", "top", "ci_prob", "scale", "anchor", "sort", "tables")
    monkeypatch.setattr(Listener, "spell", Talk.spell)
    return br.report(posterior, **{name: more[name] for name in names})
