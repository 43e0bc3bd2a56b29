"""Log-probabilities of matches and of tables of counts, by loops over what was observed."""

import itertools
from math import lgamma

import numpy as np
from scipy.stats import norm

import bayesrank as br
from tests.likelihoods.count_tables import table_logp


def outcome_logs(family, lead, tie):
    """Logarithms of the probabilities of the outcomes of one match, by the definitions."""
    if family is br.Thurstone:
        return np.array([norm.logcdf(lead), norm.logcdf(-lead)])
    first, second = np.exp(lead), 1.0
    if family is br.BradleyTerry:
        worths = np.array([first, second])
    elif family is br.Davidson:
        worths = np.array([first, second, tie * np.sqrt(first * second)])
    else:
        one, other = first + tie * second, tie * first + second
        worths = np.array(
            [first / one, second / other, (tie**2 - 1) * first * second / one / other]
        )
    return np.log(worths / worths.sum())


def tables_by_loop(counts, values, dims, given_pairs):
    """Log-probabilities, one ranker and problem after the other."""
    exact = np.zeros(len(counts.rankers))
    for n, ranker in enumerate(counts.rankers):
        whole = counts.dense(ranker)
        for p in range(len(counts.problems)):
            inside = np.flatnonzero(counts.problem_idx == p)
            at = {by: group.idx[n] for by, group in counts.groups.items()}
            at |= {"ranker": n, "problem": p}
            own = {
                name: np.array([
                    x[tuple({**at, "item": i}[d] for d in dims[name])] for i in inside
                ])
                for name, x in values.items()
            }  # fmt: skip
            theta, variance = own.get("adherence", [1.0])[0], own.get("variance")
            table = whole[np.ix_(inside, inside)]
            of_table = of_pairs if given_pairs else table_logp
            arguments = (theta, own["score"]) if given_pairs else (own["score"], theta)
            exact[n] += of_table(table, *arguments, variance) if table.any() else 0.0
    return exact


def of_pairs(table, theta, score, variance):
    """Log-probability of a table, given how often each pair is compared."""
    out, g = 0.0, np.full(len(score), 0.5) if variance is None else variance
    for i, j in itertools.combinations(range(len(score)), 2):
        won, lost = table[i, j], table[j, i]
        logit = 2 * theta * (score[i] - score[j]) / (g[i] + g[j])
        out += lgamma(won + lost + 1) - lgamma(won + 1) - lgamma(lost + 1)
        out -= won * np.log1p(np.exp(-logit)) + lost * np.log1p(np.exp(logit))
    return out
