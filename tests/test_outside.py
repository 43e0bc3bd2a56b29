"""The page on numbers of other packages says what they returned, and what ours are now."""

import re
from math import log

import numpy as np
import pymc as pm
import pytest

import bayesrank as br
from tests.outside.page import (
    CASES,
    PAGE,
    TIE_FITS,
    mode,
    read,
    recorded,
    score_rows,
    tables,
    translate,
)

TEXT = PAGE.read_text(encoding="utf-8")
QUICK = {"BradleyTerry, flat", "Davidson, flat", "RaoKupper, flat", "PlackettLuce, flat"}


def numbers(cell):
    """The values of a cell, by item."""
    return {name: float(value) for name, value in re.findall(r"(\S+) (-?[\d.]+(?:e-\d+)?)", cell)}


def rows_of_page():
    """The rows with scores, in the order of the cases."""
    lines = re.findall(r"(?m)^\| (?!package)[^|]+ [\d.]+ \| `.*\|$", TEXT)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def in_order_of_page():
    names = ("matches", "ties", "unbeaten", ("rankings", "opposite"), "blocks", "twos")
    return [case for name in names for case in CASES if case.data in name]


def shows(cell, values):
    return numbers(cell) == pytest.approx(values, abs=6e-4)  # rounded to three decimals


def test_the_page_has_a_row_of_every_case_with_the_recorded_scores():
    rows = rows_of_page()
    assert len(rows) == len(CASES)
    for case, (package, call, scores, utilities, fit, ours) in zip(
        in_order_of_page(), rows, strict=True
    ):
        kept = recorded()[case.package, case.call, case.data]
        assert (package, call) == (f"{case.package} {kept['version']}", f"`{case.call}`")
        assert fit == case.ours
        assert bool(ours) == bool(fit)
        if kept["error"] is None:
            assert shows(scores, score_rows(case))
            assert shows(utilities, translate(score_rows(case), case.line) if case.line else {})
        else:
            assert (scores, utilities) == (kept["error"], "")


def test_the_lines_of_the_page_are_those_that_translated_the_scores():
    assert f"<!-- table lines -->\n{tables(lambda *_: {})['lines']}\n<!-- end of lines -->" in TEXT


def check(fits):
    """Compare our numbers on the page, and the equal ones of other packages, with new fits."""
    seen = 0
    for case, row in zip(in_order_of_page(), rows_of_page(), strict=True):
        if case.ours in fits:
            found = mode(case.ours, case.data)
            assert shows(row[5], found), case
            if case.equal:
                assert translate(score_rows(case), case.line) == pytest.approx(found, abs=1e-5)
            seen += 1
    for fit in set(TIE_FITS) & set(fits):
        (cell,) = re.findall(rf"(?m)^\| {re.escape(fit)} \| (.*) \|$", TEXT)
        assert shows(cell, mode(fit, "ties"))
    return seen


def test_some_numbers_of_ours_are_those_of_a_new_fit():
    assert check(QUICK) > 10


@pytest.mark.slow
def test_all_numbers_of_ours_are_those_of_a_new_fit():
    assert check({case.ours for case in CASES if case.ours} | {*TIE_FITS}) > 30


def test_the_same_matches_give_three_leads_in_three_models_of_ties():
    """Of 40 wins, 20 losses and 40 ties: odds of 60 to 40, the root of 8/3, and 40 to 20."""
    leads = [mode(fit, "ties")["pear"] - mode(fit, "ties")["fig"] for fit in TIE_FITS]
    assert leads == pytest.approx([log(60 / 40), log(8 / 3) / 2, log(40 / 20)], abs=1e-6)


def test_cox_regression_differs_with_ties_as_the_page_on_ties_says():
    """Rows of the page are recorded leads of apple over plum, next to the mode and its Hessian."""
    data = read("twos")
    with pm.Model(coords=data.coords) as model:
        br.PlackettLuce("y", pm.Flat("utility", dims="item"), observed=data)
    found = mode("PlackettLuce, flat", "twos")
    point = {"utility": np.array([found[item] for item in data.items])}
    hessian = model.compile_d2logp(negate_output=False, mode="FAST_COMPILE")(point)
    lead = found["apple"] - found["plum"]
    between = np.array([1.0, 0, 0, 0, 0, -1.0])
    error = np.sqrt(between @ np.linalg.pinv(-hessian, rcond=1e-6) @ between)
    rows = [("`PlackettLuce`, flat", lead, error, None)]
    for last in ("", " with censored last block"):
        for ties in ("exact", "efron", "breslow"):
            call = f"coxph(ties = '{ties}'){last}"
            theirs = -case_of("survival", call, "twos")["plum"]
            se = case_of("survival", f"{call} standard errors", "twos")["plum"]
            rows.append((f"`{call}`", theirs, se, (theirs - lead) / error))
    text = (PAGE.parent / "explanation/ties.md").read_text(encoding="utf-8")
    shown = re.findall(r"(?m)^\| (`.*) \| ([\d.]+) \| ([\d.]+) \| ([-\d.]*) +\|$", text)
    shown = {name: cells for name, *cells in shown}
    assert len(shown) == len(rows) - 1  # "exact" takes the last block as given: it is there once
    for name, value, se, off in rows:
        if name == "`coxph(ties = 'exact') with censored last block`":
            assert value == pytest.approx(rows[1][1], abs=1e-9)
            continue
        cells = [float(x) if x else None for x in shown[name]]
        assert cells[:2] == pytest.approx([value, se], abs=6e-4)
        assert cells[2] == (off if off is None else pytest.approx(off, abs=0.06))
    # the simulated lead is 2: ours is within its error, and every option of ties is not
    assert abs(lead - 2) < 5.3 * error
    assert all(abs(off) > 4 for *_, off in rows[1:])


def case_of(package, call, data):
    return recorded()[package, call, data]["scores"]


def test_the_numbers_of_guesses_that_go_wrong_were_measured():
    shown = {
        "30 against 25": case_of("openskill", "BradleyTerryFull", "30 against 25"),
        "in turn": case_of("glicko2", "Player", "one match, in turn"),
        "reversed": case_of("choix", "ilsr_rankings of reversed", "rankings"),
        "order": case_of("choix", "ilsr_rankings(alpha=0)", "rankings"),
    }
    both = shown["30 against 25"]
    assert f"they assume {both['rate']:.3f} and {both['predict_win']:.3f}" in _one_line(TEXT)
    assert f"is {sum(shown['in turn'].values()):.0f} instead of 3000" in _one_line(TEXT)
    pear = f"pear has {shown['reversed']['pear']:.3f} instead of {shown['order']['pear']:.3f}"
    assert pear in _one_line(TEXT)
    assert set(case_of("evalica", "newman", "6 of 9").values()) == {1.0}
    assert set(case_of("evalica", "bradley_terry", "unbeaten").values()) == {1e-6}
    assert set(case_of("arena-rank", "BradleyTerry", "6 of 9, by name").values()) == {1000.0}
    eigen = case_of("evalica", "eigen", "matches")
    fitted = case_of("evalica", "bradley_terry", "matches")
    assert sorted(eigen, key=eigen.get) == sorted(fitted, key=fitted.get, reverse=True)
    labelled = case_of("whole-history-rating", "create_game('W', 'B', 'B')", "one match")
    assert labelled["W"] > 0 > labelled["B"]
    tau = case_of("openskill", "BradleyTerryFull", "one match, tau")
    assert tau["rate(tau=0)"] == tau["rate()"] > tau["model"]
    opposite = case_of("choix", "ilsr_rankings", "opposite")
    assert opposite["b"] > 0.2 > opposite["a"] == pytest.approx(opposite["c"], abs=1e-6)


def _one_line(text):
    return re.sub(r"\s+", " ", text)
