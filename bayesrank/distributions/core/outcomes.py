"""Labels of outcome spaces, written into the model for `compare`.

The class method ``outcome`` of every random variable returns its label. `declare_outcomes` finds
the label of variables that `pm.Mixture`, `pm.CustomDist` or `pm.observe` make from our
distributions.
"""

import json
from typing import Any

import numpy as np
import pymc as pm
from pymc.distributions.custom import CustomSymbolicDistRV
from pymc.distributions.mixture import MixtureRV
from pymc.variational.minibatch_rv import MinibatchRandomVariable
from pytensor.tensor import TensorVariable

from bayesrank.schema import CONTENTS, DATA, OUTCOME, OUTCOMES, name_of

__all__ = ["SCALED", "contents_of", "declare_outcomes", "labelled", "outcome_label"]


SCALED = "nothing: total_size multiplies every log-likelihood"


def outcome_label(outcome: str, n: int, total_size: Any = None) -> str:
    """Return the label of the outcome space of `n` log-probabilities; `total_size` is PyMC's."""
    total = total_size[0] if isinstance(total_size, list | tuple) else total_size
    scaled = total not in (None, ..., n) and not outcome.startswith("nothing")
    return SCALED if scaled else outcome


def _write_outcome(name: str, outcome: str, n: int) -> None:
    """Write the label of an array's outcome space into the model in context."""
    pm.modelcontext(None).add_coord(name_of(name, OUTCOME), [outcome])
    pm.Data(name_of(name, OUTCOMES), [n], dims=name_of(name, OUTCOME))


def contents_of(model: pm.Model, name: str) -> dict[str, Any] | None:
    """Return what the table of a variable's data contains; None if it observes an array."""
    dims = model.named_vars_to_dims.get(name_of(name, DATA), ())
    if len(dims) != 3 or not str(dims[2]).endswith(f"_{CONTENTS}"):  # data of the user
        return None
    contents: dict[str, Any] = json.loads(model.coords[dims[2]][0])
    return contents


def declare_outcomes(name: str, *, model: pm.Model | None = None) -> str:
    """Record the outcome space of a `pm.Mixture` of bayesrank's distributions, for comparisons.

    `bayesrank.compare` compares models of the same outcomes. Only `pm.Mixture` and `pm.CustomDist`
    need this call, because their results do not name the components.

    Parameters
    ----------
    name : str
        The observed variable.
    model : pm.Model, optional
        By default the model in context. Call this function before sampling.

    Returns
    -------
    str
        Name of the outcome space.

    Raises
    ------
    ValueError
        If the variable is not observed, or is not a mixture of bayesrank distributions with the
        same outcomes.

    See Also
    --------
    compare, loo, Mixture

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> with pm.Model() as model:
    ...     tastes = [pm.Normal(name, 0, 1, shape=3) for name in ("one", "other")]
    ...     components = [br.PlackettLuce.dist(taste) for taste in tastes]
    ...     y = pm.Mixture("y", [0.3, 0.7], components, observed=[[1, 2, 3], [2, 1, 3]])
    ...     br.declare_outcomes("y")
    'weak orders given their block sizes'
    """
    model = pm.modelcontext(model)
    known = {rv.name: rv for rv in model.observed_RVs}
    rv = known.get(model.name_for(name))
    if rv is None:
        raise ValueError(
            f"The model has no observed variable {name!r}; it observes {sorted(known)}."
        )
    found = _outcomes(rv)
    if len(found) > 1:
        raise ValueError(
            f"The components of {name!r} have different outcomes: {'; '.join(sorted(found))}. "
            "Give components of the same outcomes."
        )
    if found == {""}:
        raise ValueError(
            f"{name!r} has distributions from outside bayesrank, so its outcome space is "
            "unknown. Use arviz.compare, and make sure that the models describe the same outcomes."
        )
    (outcome,) = found
    if (contents := contents_of(model, rv.name)) is not None:
        return str(contents["outcome"])
    if name_of(rv.name, OUTCOMES) not in model.named_vars:
        base = _base(rv)
        n = _n_rows(model.rvs_to_values[rv], rv.ndim - base.owner.op.ndim_supp)
        total = None if base is rv else getattr(rv.owner.inputs[1], "data", None)
        with model:
            label = outcome_label(outcome, n, None if total is None else int(total))
            _write_outcome(name, label, n)
    return str(model.coords[name_of(name, OUTCOME)][0])


def labelled(name: str, rv: TensorVariable) -> TensorVariable:
    """Return a variable that observes an array, with its outcome space in the model."""
    if rv in pm.modelcontext(None).observed_RVs:  # otherwise a part is missing, and random
        declare_outcomes(name)
    return rv


def _base(rv: TensorVariable) -> TensorVariable:
    """Return the random variable that `total_size` wraps."""
    wrapped = isinstance(rv.owner.op, MinibatchRandomVariable)
    return rv.owner.inputs[0] if wrapped else rv


def _outcomes(rv: TensorVariable) -> set[str]:
    """Return the labels of a variable's components, empty for other distributions."""
    node = _base(rv).owner
    op = node.op
    if hasattr(op, "outcome"):
        return {op.outcome(*node.inputs[2:])}
    if isinstance(op, MixtureRV):
        return set().union(*(_outcomes(component) for component in node.inputs[2:]))
    if isinstance(op, CustomSymbolicDistRV):
        return _outcomes(op.inner_outputs[op.default_output])
    return {""}


def _n_rows(value: Any, n_axes: int) -> int:
    """Return the number of log-probabilities, or 1 if it is unknown before evaluation."""
    shape = value.type.shape[:n_axes]
    return 1 if None in shape else int(np.prod(shape))
