"""What type checkers know of the distributions: what is returned, and the names of keywords."""

import pytest
from mypy import api

SNIPPET = """
import bayesrank as br
reveal_type(br.{name}("y", [0.0, 1.0]))
reveal_type(br.{name}.dist([0.0, 1.0]{more}))
br.{name}("y", [0.0, 1.0], observd=None)
br.{name}.dist([0.0, 1.0], shap=3)
"""
MIXTURE = """
import bayesrank as br
br.Mixture("y", [0.5, 0.5], [], unit="ranker", observed=None)
br.Mixture("y", [0.5, 0.5], [], unt="ranker", observed=None)
"""
FAMILIES = ["PlackettLuce", "PMOP", "MPM", "BPR", "BradleyTerry", "Davidson"]


@pytest.mark.slow
def test_type_checkers_know_what_is_returned_and_reject_misspelt_keywords(tmp_path):
    for name in FAMILIES:
        (tmp_path / f"{name.lower()}_model.py").write_text(
            SNIPPET.format(name=name, more=", nu=1.0" if name == "Davidson" else "")
        )
    (tmp_path / "mixture_model.py").write_text(MIXTURE)
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    report, _, _ = api.run([*options, f"--cache-dir={tmp_path / 'cache'}", str(tmp_path)])
    for name in FAMILIES:
        lines = [line for line in report.splitlines() if f"{name.lower()}_model.py:" in line]
        assert sum("TensorVariable" in line for line in lines) == 2, report
        assert any('keyword argument "observd"' in line for line in lines), report
        assert any('"shap"' in line for line in lines), report
    lines = [line for line in report.splitlines() if "mixture_model.py:" in line]
    assert sum('keyword argument "unt"' in line for line in lines) == 1, report
