"""What the tests are worth: wrong formulas, one at a time, each of which some test must notice.

``./dev run python -m tests.mutants`` takes the mutants of `MUTANTS` in turn: it copies the tree to
a temporary folder, puts the wrong text in the place of the right one, runs the tests named, to the
first that fails, and says whether one did. The working tree is not touched. It ends with 1 if a
mutant survives. ``--list`` prints the names, ``--only NAME`` takes one, and may be repeated.

A survivor means that a test is missing, not that a mutant is to be taken out. A mutant whose text
is not there any more, which `tests/test_mutants.py` tells, has to follow the formula.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MUTANTS", "Mutant", "mutate", "place"]

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("bayesrank", "models", "tests", "conftest.py", "pyproject.toml")
FAILED, PASSED = 1, 0  # what pytest returns


@dataclass(frozen=True)
class Mutant:
    """A wrong formula: the only place with the right text, in the files of a folder."""

    name: str
    folder: str
    right: str
    wrong: str
    tests: tuple[str, ...]  # of which those are run whose nearest existing folder this is


PAIRS, LUCE = "bayesrank/likelihoods/pairs", "bayesrank/likelihoods/plackett_luce"
PMOP, MPM = "bayesrank/likelihoods/pmop", "bayesrank/likelihoods/mpm"
MALLOWS, CHOICES = "bayesrank/likelihoods/mallows", "bayesrank/likelihoods"
DISTRIBUTIONS = "bayesrank/distributions"

MUTANTS = (
    # Choices
    Mutant(
        "best and worst: the worst is in the middle",
        "bayesrank/data/read",
        "np.where(shown.worst, WORST, MIDDLE)",
        "np.where(shown.worst, MIDDLE, MIDDLE)",
        ("tests/data/test_choice_entries.py",),
    ),
    Mutant(
        "coding: no level is minus the sum of the others",
        "bayesrank/data/read",
        "table[-1], kept = -1.0, slice(-1)",
        "kept = slice(-1)",
        ("tests/data/test_choice_entries.py",),
    ),
    # Mallows
    Mutant(
        "footrule: a pair is closed in as many ways as one is kept",
        MALLOWS,
        "closed = f[s - 1, k + 1] + 2.0 * math.log(k + 1.0)",
        "closed = f[s - 1, k + 1] + math.log(2.0 * k + 1.0)",
        ("tests/likelihoods/mallows/test_normalisers.py",),
    ),
    Mutant(
        "Kendall: a stage too few",
        MALLOWS,
        "pt.exp(-t[..., None] * np.arange(n_items)), axis=-1",
        "pt.exp(-t[..., None] * np.arange(n_items - 1)), axis=-1",
        ("tests/likelihoods/mallows/test_normalisers.py",),
    ),
    Mutant(
        "consensus: the cost of pairs the wrong way round",
        MALLOWS,
        "found = ranks[:, :, None] < ranks[:, None, :]",
        "found = ranks[:, :, None] > ranks[:, None, :]",
        # the sum over all orders is that over all reversed ones: it is the order that turns round
        ("tests/inference/test_consensus.py",),
    ),
    Mutant(
        "Mallows: the prior of the consensus is left out",
        MALLOWS,
        "[0] - gammaln(n + 1.0) - log_z",
        "[0] - log_z",
        ("tests/likelihoods/mallows/test_orders.py",),
    ),
    Mutant(
        "generalised Mallows: what was chosen before is passed over, too",
        MALLOWS,
        "out[r, j] += ranks[r, s] > j + 1 and consensus[r, s] < chosen_rank",
        "out[r, j] += ranks[r, s] != j + 1 and consensus[r, s] < chosen_rank",
        ("tests/likelihoods/mallows/test_stages.py",),
    ),
    Mutant(
        "steps: a leap is judged by the order before it",
        "bayesrank/inference/mixtures",
        "if log_u < after - current:",
        "if log_u < current - after:",
        ("tests/inference/test_steps.py",),
    ),
    # Choices
    Mutant(
        "sequential: the best item may be the worst, too",
        CHOICES,
        "u, rest = utility_of(ranks, utility), used & ~best",
        "u, rest = utility_of(ranks, utility), used",
        ("tests/distributions/test_max_diff.py",),
    ),
    Mutant(
        "Marley: an item is paired with itself",
        CHOICES,
        "others = pt.neq(slot[..., :, None], slot[..., None, :]) & where",
        "others = pt.eq(slot[..., :, None] * 0, 0) & where",
        ("tests/distributions/test_max_diff.py",),
    ),
    Mutant(
        "scales: each is that of the stage before",
        CHOICES,
        "pt.clip(ranks - 1, 0, n_stages - 1)",
        "pt.clip(ranks - 2, 0, n_stages - 1)",
        ("tests/distributions/test_max_diff.py",),
    ),
    # Pairs
    Mutant(
        "Davidson: nu squared",
        PAIRS,
        "_adjacent(lead, [0.0, safe_log(nu), 0.0], [ONE, nu, ONE])",
        "_adjacent(lead, [0.0, safe_log(nu), 0.0], [ONE, nu**2, ONE])",
        ("tests/likelihoods/pairs/test_outcomes.py",),
    ),
    Mutant(
        "Rao-Kupper: theta on the wrong side",
        PAIRS,
        "_cumulative_logit(lead, [threshold, -threshold], [gap])",
        "_cumulative_logit(lead, [threshold, threshold], [gap])",
        ("tests/likelihoods/pairs/test_outcomes.py",),
    ),
    Mutant(
        "Thurstone: noise on each item instead of the difference",
        PAIRS,
        "return cumulative_probit_log_probabilities(lead, [0.0])",
        "return cumulative_probit_log_probabilities(lead / math.sqrt(2), [0.0])",
        ("tests/likelihoods/pairs/test_outcomes.py",),
    ),
    Mutant(
        "grades: a boundary pushes the better grade the wrong way",
        PAIRS,
        "change = (strong * odds - weak) / total",
        "change = (strong * odds + weak) / total",
        ("tests/likelihoods/pairs/test_graded.py",),
    ),
    Mutant(
        "both bad: the threshold item is left out of a tie",
        PAIRS,
        "log_both = pt.log(2 * one + (1 + theta) * (p + q))",
        "log_both = pt.log((1 + theta) * (p + q))",
        ("tests/likelihoods/pairs/test_grounded.py",),
    ),
    Mutant(
        "both bad: the level is not halved",
        PAIRS,
        "level[k] = 0.5 * factor * both[k] -",
        "level[k] = factor * both[k] -",
        ("tests/likelihoods/pairs/test_grounded.py",),
    ),
    Mutant(
        "adjacent grades: as many steps as grades",
        PAIRS,
        "level := level + c / steps",
        "level := level + c / (steps + 1)",
        ("tests/likelihoods/pairs/test_graded.py",),
    ),
    Mutant(
        "pairs: impossible outcomes that did not come are not left out",
        PAIRS,
        "pt.eq(counts[..., outcome], 0)",
        "pt.eq(counts[..., outcome], -1)",
        ("tests/likelihoods/pairs/test_outcomes.py",),
    ),
    Mutant(
        "pairs: the order effect is the second item's",
        DISTRIBUTIONS,
        'lead = lead + as_double(order_effect, "`order_effect`")',
        'lead = lead - as_double(order_effect, "`order_effect`")',
        ("tests/distributions/test_pairwise.py",),
    ),
    Mutant(
        "pairs in one pass: a tie is no defeat of the item that leads",
        PAIRS,
        "weak = (lost[k] if positive else won[k]) + tied[k]",
        "weak = lost[k] if positive else won[k]",
        ("tests/likelihoods/pairs/test_total.py",),
    ),
    Mutant(
        "pairs in one pass: the order effect is scaled by the adherence",
        PAIRS,
        "gap[k] = slope[k] * adherence[_place(at_group[k], adherence)]",
        "gap[k] = slope[k]",
        ("tests/likelihoods/pairs/test_total.py",),
    ),
    Mutant(
        "deviations beside the adherence, and not within it",
        PAIRS,
        "_add_slopes(by_effects, gap, at[:within], x[:within])",
        "_add_slopes(by_effects, slope, at[:within], x[:within])",
        ("tests/likelihoods/pairs/test_total.py",),
    ),
    Mutant(
        "deviations of the second item are added",
        DISTRIBUTIONS,
        'add(f"second at {group}", second, -1.0)',
        'add(f"second at {group}", second, 1.0)',
        ("tests/distributions/test_observed_pairs.py",),
    ),
    Mutant(
        "BPR: the item that the user has not is preferred",
        PAIRS,
        "lead = utility[..., 0] - utility[..., 1]",
        "lead = utility[..., 1] - utility[..., 0]",
        ("tests/likelihoods/pairs/test_outcomes.py",),
    ),
    Mutant(
        "ListNet: a choice without its normaliser",
        "models/shared",
        "pt.sum(pt.switch(choose, total - w, 0.0), axis=-1)",
        "pt.sum(pt.switch(choose, -w, 0.0), axis=-1)",
        ("tests/models/test_losses.py",),
    ),
    # Plackett-Luce
    Mutant(
        "Plackett-Luce: the remainder below a block begins a slot too early",
        LUCE,
        "remainder[row, pt.minimum(end, n_slots - 1)]",
        "remainder[row, pt.minimum(end - 1, n_slots - 1)]",
        ("tests/likelihoods/plackett_luce/test_graph.py",),
    ),
    Mutant(
        "Plackett-Luce: a choice without its normaliser",
        LUCE,
        "pt.switch(stage & pt.eq(size, 1), u - remainder, 0.0)",
        "pt.switch(stage & pt.eq(size, 1), u, 0.0)",
        ("tests/likelihoods/plackett_luce/test_graph.py",),
    ),
    Mutant(
        "Plackett-Luce: the last block is a stage like the others",
        LUCE,
        "stage = used & ~last",
        "stage = used",
        ("tests/likelihoods/plackett_luce/test_graph.py",),
    ),
    Mutant(
        "Plackett-Luce: the sign of a subset in the gradient of a block",
        LUCE,
        "gamma[i] += share * (chance[subset ^ (1 << i)] - chance[subset])",
        "gamma[i] += share * (chance[subset ^ (1 << i)] + chance[subset])",
        (
            "tests/likelihoods/plackett_luce/test_per_slot_kernel.py",
            "tests/likelihoods/plackett_luce/test_per_slot.py",
        ),
    ),
    Mutant(
        "Plackett-Luce: the density of the quadrature's variable is dropped",
        LUCE,
        "log_g = y - pt.exp(y) + segment_sum",
        "log_g = -pt.exp(y) + segment_sum",
        ("tests/likelihoods/plackett_luce/test_quadrature.py",),
    ),
    Mutant(
        "Plackett-Luce: weights of rankings are ignored",
        LUCE,
        "return weight[:, None] * total",
        "return total",
        ("tests/likelihoods/plackett_luce/test_per_item.py",),
    ),
    Mutant(
        "Plackett-Luce: draws ignore the sizes of blocks",
        DISTRIBUTIONS,
        "return pt.switch(where, 1 + _blocks_before(place, sizes), 0)",
        "return pt.switch(where, 1 + place, 0)",
        (
            "tests/distributions/test_plackett_luce.py",
            "tests/distributions/test_battery.py",
        ),
    ),
    Mutant(
        "Plackett-Luce: in draws, slots not in use take places",
        DISTRIBUTIONS,
        "pt.argsort(pt.switch(where, -score, np.inf), axis=-1)",
        "pt.argsort(pt.switch(where, -score, 0.0), axis=-1)",
        (
            "tests/distributions/test_plackett_luce.py",
            "tests/distributions/test_battery.py",
        ),
    ),
    # Mixtures
    Mutant(
        "mixture: component probabilities that do not sum to one",
        "bayesrank/likelihoods",
        "total = pt.sum(pt.exp(shifted), axis=1)",
        "total = pt.sum(pt.exp(2.0 * shifted), axis=1)",
        ("tests/likelihoods/test_mixture.py",),
    ),
    Mutant(
        "mixture: counts inside the sum over components",
        DISTRIBUTIONS,
        "ones = np.ones(rankings.n_rankings)",
        "ones = rankings.evidence",
        ("tests/distributions/test_mixture.py",),
    ),
    Mutant(
        "mixture: rankings of a ranker are drawn of different components",
        DISTRIBUTIONS,
        "component = component[p.ranker] if cls.by_ranker else component",
        "component = component[_number(p.ranks) % component.shape[0]]"
        " if cls.by_ranker else component",
        ("tests/distributions/test_mixture.py",),
    ),
    Mutant(
        "Plackett-Luce: the gradient of one component takes the weights of another",
        LUCE,
        "term_bar[stage_of[k], g] += bar[r, g] * weight[r]",
        "term_bar[stage_of[k], g] += bar[r, 0] * weight[r]",
        ("tests/likelihoods/plackett_luce/test_per_item.py",),
    ),
    # PMOP
    Mutant(
        "PMOP: the set function of the mean is that of the sum",
        PMOP,
        "return total - math.log(n)",
        "return total",
        ("tests/likelihoods/pmop/test_set_functions.py",),
    ),
    Mutant(
        "PMOP: tie prevalences are those of one item more",
        PMOP,
        "log_weight[s - 1] + log_binomial(k, s - extra)",
        "log_weight[s % log_weight.size] + log_binomial(k, s - extra)",
        (
            "tests/likelihoods/pmop/test_set_functions.py",
            "tests/likelihoods/pmop/test_weak_orders.py",
            "tests/likelihoods/pmop/test_op.py",
        ),
    ),
    Mutant(
        "PMOP: the recursion over subsets leaves the last item out",
        PMOP,
        "for k in range(1, min(i + 1, m) + 1):",
        "for k in range(1, min(i, m) + 1):",
        ("tests/likelihoods/pmop/test_subsets.py",),
    ),
    # MPM
    Mutant(
        "MPM: adherence is dropped from the agreement",
        MPM,
        "+ theta * agreement - pt.switch(",
        "+ agreement - pt.switch(",
        ("tests/likelihoods/mpm/test_graph.py",),
    ),
    Mutant(
        "MPM: variances are ignored where counts agree",
        MPM,
        "out[ranker[e]] += count[e] * (score[i] - score[j]) / scale",
        "out[ranker[e]] += count[e] * (score[i] - score[j])",
        ("tests/likelihoods/mpm/test_op.py",),
    ),
    Mutant(
        "MPM: items are compared with themselves",
        MPM,
        "sums[n, 0] * sums[n, 1] - s.size * math.exp(-2.0 * a)",
        "sums[n, 0] * sums[n, 1]",
        ("tests/likelihoods/mpm/test_op.py",),
    ),
)


def place(mutant: Mutant, root: Path = ROOT) -> Path:
    """Find the file that has the right text.

    Parameters
    ----------
    mutant : Mutant
    root : path
        The tree.

    Returns
    -------
    Path

    Raises
    ------
    LookupError
        If the text is not there exactly once.
    """
    found = {
        path: path.read_text(encoding="utf-8").count(mutant.right)
        for path in sorted((root / mutant.folder).rglob("*.py"))
    }
    if sum(found.values()) != 1:
        raise LookupError(
            f"Mutant {mutant.name!r}: {mutant.right!r} must stand once in the files of "
            f"{mutant.folder}; it stands there {sum(found.values())} times."
        )
    return next(path for path, times in found.items() if times)


def mutate(mutant: Mutant, root: Path) -> None:
    """Put the wrong text in the place of the right one in the tree at `root`, a copy."""
    path = place(mutant, root)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.right, mutant.wrong), encoding="utf-8")


def _named(tests: tuple[str, ...], root: Path) -> list[str]:
    """The tests, or of each what holds it and is there."""
    nearest = [next(p for p in (Path(t), *Path(t).parents) if (root / p).exists()) for t in tests]
    return list(dict.fromkeys(str(path) for path in nearest))


def caught(mutant: Mutant, folder: Path) -> bool:
    """Whether a test fails if a copy of the tree in an empty folder has this formula.

    Raises
    ------
    RuntimeError
        If the tests could not be run.
    """
    root, flags = folder / "tree", os.environ.get("PYTENSOR_FLAGS", "")
    ignore = None
    if "numba" in place(mutant).read_text(encoding="utf-8"):
        # The caches of numba and PyTensor do not know what a kernel calls
        ignore = shutil.ignore_patterns("__pycache__")
        flags = f"{flags},base_compiledir={folder / 'pytensor'}".strip(",")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=ignore)
        else:
            shutil.copy2(ROOT / name, root / name)
    mutate(mutant, root)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider",
         *_named(mutant.tests, root)],
        cwd=root,
        env=os.environ | {"PYTENSOR_FLAGS": flags, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if done.returncode not in (PASSED, FAILED):
        raise RuntimeError(f"The tests of mutant {mutant.name!r} did not run:\n{done.stdout}")
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            print(f"  {line}", flush=True)
    return done.returncode == FAILED


def main() -> int:
    """Run the mutants that are named, or all."""
    parser = argparse.ArgumentParser(description="Whether tests notice wrong formulas.")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--only", action="append", metavar="NAME", help="this one")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if options.only is None or m.name in options.only]
    if options.list:
        print("\n".join(mutant.name for mutant in chosen))
        return 0
    if not chosen:
        parser.error(f"there is no mutant {options.only}; see --list")
    survivors = []
    for mutant in chosen:
        place(mutant)
    for mutant in chosen:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            noticed = caught(mutant, Path(folder))
        verdict = "caught" if noticed else "SURVIVED"
        print(f"{verdict}: {mutant.name} ({time.perf_counter() - start:.0f} s)", flush=True)
        if not noticed:
            survivors.append(mutant.name)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
