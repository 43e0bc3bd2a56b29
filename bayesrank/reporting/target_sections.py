"""Section of ``bayesrank matches`` with a target: ranks by people, by machines and by both."""

import numpy as np
import pandas as pd

from bayesrank.analysis.fitting import predict
from bayesrank.analysis.matches import MatchAnalysis
from bayesrank.reporting.draft import Draft
from bayesrank.reporting.parts import SAMPLE, Part, formatted, mark_counted
from bayesrank.results import rank_summary, target_check, votes_worth
from bayesrank.texts import paragraphs

RANKS = "{mean_rank:.1f} ({rank_low}–{rank_high})"
CLEAR = 2.0  # standard errors from which a loss of accuracy is clear


def target(report: Draft, analysis: MatchAnalysis) -> Part:
    """Compare the ranks by the target, by others and by all votes, and check the last."""
    kinds, layout, seed = analysis.kinds, report.layout, report.settings.random_seed
    assert kinds is not None  # for the type checker
    mine, theirs = analysis.of_kinds()
    alone, apart = report.sample(mine), report.sample(theirs)
    worth = votes_worth(report.posterior, alone)
    check = target_check(
        report.predicted, predict(mine, alone, seed), target=kinds.target, kind=kinds.group
    )
    others = " and ".join(map(str, kinds.others))
    name = str(kinds.target)
    by = {f"By {name} and {others}": report.posterior, f"By {name}": alone, f"By {others}": apart}
    items = report.summary.index
    found = {
        label: rank_summary(one, top=layout.top, ci_prob=layout.ci_prob).loc[items]
        for label, one in by.items()
    }
    table = pd.DataFrame(
        {label: formatted(one, "Item", {"": RANKS})[""] for label, one in found.items()}
    )
    csv = pd.concat(dict(zip(("both", "target", "others"), found.values(), strict=True)))
    csv = csv.rename_axis(["votes_of", "item"])
    bias = report.posterior["posterior"]["bias"]
    size = report.posterior["posterior"]["bias_spread"]
    most = np.abs(bias.mean(SAMPLE)).max("other_kind").to_series().idxmax()
    numbers = pd.DataFrame(
        {
            "votes": worth.votes, "others": worth.others,
            "worth_of_1000": worth.per_thousand if np.isfinite(worth.worth) else np.nan,
            "sd_alone": worth.sd_alone, "sd": worth.sd, "loss": check.loss,
            "loss_alone": check.loss_alone, "gain": check.gain, "se": check.se,
        },
        index=pd.Index([name], name="target"),
    )  # fmt: skip
    values = {
        "target": name,
        "others": others,
        "worth": worth,
        "finite": bool(np.isfinite(worth.worth)),
        "check": check,
        "worse": check.gain < -CLEAR * check.se,
        "bias": (float(size.mean()), float(size.std())),
        "most": most,
    }
    files = {"ranks_by_kind.csv": mark_counted(csv), "target.csv": mark_counted(numbers)}
    return Part(
        f"Ranks by {name}, by {others}, and by both",
        paragraphs("target", **values),
        table,
        file="ranks_by_kind.csv",
        files=files,
        data={"target": numbers, "ranks_by_kind": csv.reset_index("votes_of")},
        warnings=paragraphs("target_worse", **values) if values["worse"] else (),
    )
