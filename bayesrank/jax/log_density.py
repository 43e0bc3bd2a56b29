r"""Log densities as JAX functions of values and data.

The log density of a model is a sum over rows (rankings, pairs, rankers) plus a rest. The rest does
not depend on the data of the rows; it contains priors, other observations and potentials. Each
device evaluates its rows in blocks of equal size, one after another. The sums of the devices are
added once:

.. math:: \log p(\theta) = r(\theta) + \sum_{\text{devices}} \sum_{\text{blocks}}
          \sum_{i \in \text{block}} \ell_i(\theta; x_i).

Memory holds only one block at a time, and devices exchange only one number and one gradient.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from jax.experimental import multihost_utils
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from pymc.logprob.utils import CheckParameterValue
from pytensor.compile.mode import get_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.link.jax.dispatch import jax_funcify
from pytensor.raise_op import Assert
from pytensor.tensor import TensorConstant
from pytensor.tensor.random.type import RandomType

from bayesrank.distributions.core.observed import ObservedRV, new_table, uncast
from bayesrank.inference.approximation.modes import compile_values
from bayesrank.schema import DATA, name_of

__all__ = ["LogDensity", "compile"]

Values = Mapping[str, Any]
Rows = Mapping[str, Any]
IS_ROW = "is_row"  # mask of real rows; the last blocks are padded


@jax_funcify.register(Assert)
@jax_funcify.register(CheckParameterValue)
def _unchecked(op: Any, **kwargs: Any) -> Any:
    """Remove checks, because code compiled for a device cannot raise."""
    return lambda value, *conditions: value


def compile(
    model: pm.Model, rows: str = "ranking", *, chunk: int = 10_000, mesh: Mesh | None = None
) -> "LogDensity":
    """Compile the log density of a model for JAX, with the data of its rows as arguments.

    Parameters
    ----------
    model : pm.Model
        A model with at least one observed variable whose first dim is `rows`. A few rows of data
        are enough, because `LogDensity.put` takes other data.
    rows : str
        The dim along which the data are divided, such as "ranking" or "pair".
    chunk : int
        Number of rows that a device evaluates at a time, positive. Memory grows with it, not with
        the data.
    mesh : jax.sharding.Mesh, optional
        Devices along one axis, among which the rows are divided. They may belong to several
        processes, after ``jax.distributed.initialize``. By default, one device.

    Returns
    -------
    LogDensity

    Raises
    ------
    ValueError
        If no observed variable has the dim `rows`, or if a free variable has it. If a potential
        depends on data of the rows. If an array along the dim is not `pm.Data`, or if a variable is
        scaled by ``total_size``.

    See Also
    --------
    jax.find_map, jax.LogDensity

    Notes
    -----
    ``pymc.sampling.jax.get_jaxified_logp`` embeds the data as constants in the program, so they
    cannot be split among devices. A million rankings of ten items take 40 MB of the program.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> few = br.Rankings.from_orderings([["a", "b", "c"]])
    >>> many = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]] * 1000)
    >>> with pm.Model(coords=few.coords) as model:
    ...     _ = br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=few)
    >>> density = br.jax.compile(model)
    >>> data = density.put({"y": many})
    >>> round(float(density.logp({"utility": [1.0, 1.0, 0.0]}, data)), 1)
    -2354.3
    """
    if not isinstance(chunk, int) or chunk < 1:
        raise ValueError(
            f"`chunk` is {chunk!r}; it must be the number of rows of a block, 1 or more."
        )
    if mesh is not None and len(mesh.axis_names) != 1:
        raise ValueError(f"Expected a mesh with one axis; `mesh` has the axes {mesh.axis_names}.")
    return LogDensity(model, rows, chunk, mesh)


class LogDensity:
    """The log density of a model: a function of values of its free variables, and of data.

    `compile` returns it. Values are in the unbounded space of the sampler, under the names of
    PyMC's value variables, such as ``scale_log__``.

    See Also
    --------
    jax.compile, jax.find_map

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b"], ["a", "b"], ["b", "a"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     _ = br.PlackettLuce("y", pm.Normal("utility", dims="item"), observed=rankings)
    >>> density = br.jax.compile(model)
    >>> data, values = density.put(), density.start()
    >>> round(float(density.logp(values, data)), 3)  # three coin tosses, and the prior at 0
    -3.917
    >>> density.posterior_values(values)["utility"]
    array([0., 0.])

    The Hessian of the prior is minus the identity, and each ranking adds a quarter:

    >>> density.hessian_vector(values, {"utility": [1.0, 0.0]}, data)["utility"].tolist()
    [-1.75, 0.75]

    NumPyro samples from the density, with flat priors in the space of the sampler:

    >>> from numpyro.handlers import seed, trace
    >>> [*trace(seed(density.numpyro_model, 1)).get_trace(data)]
    ['utility', 'log_density']
    """

    def __init__(self, model: pm.Model, rows: str, chunk: int, mesh: Mesh | None) -> None:
        self.model, self.rows, self.chunk, self.mesh = model, rows, chunk, mesh
        self.names = [x.name for x in model.value_vars]
        by_row = [rv for rv in model.observed_RVs if _dims(model, rv)[:1] == (rows,)]
        graphs = {rv: _by_row(model, rv, rows) for rv in by_row}
        if not graphs:
            raise ValueError(
                f"The model has no observed variable whose first dim is {rows!r}; it observes "
                f"{ {rv.name: model.named_vars_to_dims.get(rv.name) for rv in model.observed_RVs} }"
                ". Set `rows` to the dim along which to divide the data."
            )
        _refuse_divided(model, rows)
        self._observed = {rv.name: rv for rv in graphs}
        total = sum(graphs.values(), start=pt.zeros(()))
        for rv, logp in graphs.items():
            _refuse_constants(model, rows, rv, logp)
        rest = model.logp(vars=[x for x in model.basic_RVs if x not in graphs] + model.potentials)
        data = [x for x in ancestors([total]) if _is_data(x)]
        others = [x for x in ancestors([rest]) if _is_data(x)]
        self._axis = {x.name: x for x in data if _is_by_row(model, x, rows, graphs)}
        if scattered := [x.name for x in others if x.name in self._axis]:
            raise ValueError(
                f"A potential, or a variable without the dim {rows!r}, depends on {scattered}, "
                f"which have it: the log density is not a sum over {rows}s. Remove this dependence."
            )
        self._whole = {x.name: x for x in [*data, *others] if x.name not in self._axis}
        whole = self._whole.values()
        self._row_inputs = [*model.value_vars, *self._axis.values(), *whole]
        self._row_logp = total
        self._terms_by_width: dict[Any, Callable[..., Any]] = {}
        self._rest = _jaxified(rest, [*model.value_vars, *whole])
        # takes ordered values and data; one pass over the rows gives the value and the gradient
        self.ordered_logp = jax.custom_vjp(self._value)
        self.ordered_logp.defvjp(self._forward, self._backward)

    def put(self, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Put data on the devices, in blocks.

        Parameters
        ----------
        data : mapping, optional
            New data by name: for observed variables as in `set_observed`, and values of other data
            variables along the rows. By default, the data of the model. With several processes,
            each passes its part.

        Returns
        -------
        dict of str to jax.Array
            Data for `logp` and the other methods: the same number of blocks for each device.

        Raises
        ------
        ValueError
            If data have different numbers of rows, or do not match the model.
        """
        given = {name: np.asarray(x.get_value()) for name, x in self._axis.items()}
        for name, value in (data or {}).items():
            given |= self._parts(name, value)
        lengths = {name: len(x) for name, x in given.items()}
        n = next(iter(lengths.values()))
        if set(lengths.values()) != {n}:
            raise ValueError(
                f"Data along {self.rows!r} have different numbers of rows, {lengths}. Pass new "
                "values for all of them."
            )
        if n == 0:
            raise ValueError(f"Expected at least one {self.rows}; the data have none.")
        n_devices = 1 if self.mesh is None else self.mesh.local_mesh.size
        size = min(self.chunk, -(-n // n_devices))
        n_blocks = -(-n // (size * n_devices))  # blocks per device
        if jax.process_count() > 1:  # all processes use the same size and number of blocks
            both = multihost_utils.process_allgather(np.array([size, -(-n // n_devices)]))
            size = int(both[:, 0].max())
            n_blocks = int(-(-both[:, 1].max() // size))
        n_all = size * n_blocks * n_devices
        # the last blocks are padded with copies of the first row, so that all values are finite
        row = np.r_[0:n, np.zeros(n_all - n, dtype=np.int64)]
        out = {name: x[row] for name, x in given.items()}
        out[IS_ROW] = np.arange(n_all) < n
        return {
            name: self._on_devices(x.reshape(-1, size, *x.shape[1:])) for name, x in out.items()
        }

    def _parts(self, name: str, value: Any) -> dict[str, Any]:
        rv = self._observed.get(name)
        if rv is None or not isinstance(rv.owner.op, ObservedRV):
            if name not in self._axis:
                raise ValueError(
                    f"{name!r} is not among the data along {self.rows!r}, {[*self._axis]}."
                )
            return {name: np.asarray(value, dtype=self._axis[name].type.dtype)}
        op = rv.owner.op
        if not isinstance(value, op.data_types):
            types = " or ".join(data_type.__name__ for data_type in op.data_types)
            raise TypeError(f"{name!r} observes {types}; got {type(value).__name__}.")
        p = op.named(rv.owner.inputs[2:])
        value = op.on_axes(self.model, name, value, p)
        op.check_new(self.model, name, value, p)
        record = op.record(name, value, p)
        parts = {name_of(name, part): x.value for part, x in record.parts.items()}
        parts[name_of(name, DATA)] = new_table(self.model, name, type(op), record)
        parts |= {f"{name}_{field}": x for field, x in record.derived.items()}
        dtypes = {part: x.type.dtype for part, x in self._axis.items() if part in parts}
        return {part: np.asarray(parts[part], dtype=dtype) for part, dtype in dtypes.items()}

    def _on_devices(self, x: Any) -> jax.Array:
        if self.mesh is None:
            return jnp.asarray(x)
        sharding = NamedSharding(self.mesh, PartitionSpec(self.mesh.axis_names[0]))
        if jax.process_count() > 1:
            return jax.make_array_from_process_local_data(sharding, x)
        return jax.device_put(x, sharding)

    def start(self) -> dict[str, Any]:
        """Return PyMC's initial values, in the space of the sampler."""
        point = self.model.initial_point()
        return {name: jnp.asarray(point[name]) for name in self.names}

    def logp(self, values: Values, data: Rows) -> jax.Array:
        """Evaluate the log density.

        Parameters
        ----------
        values : mapping of str to array
            Values of all free variables, in the space of the sampler.
        data : dict
            Data from `put`.

        Returns
        -------
        jax.Array, ()
        """
        return self.ordered_logp(self.in_order(values), data)

    def hessian_vector(self, values: Values, along: Values, data: Rows) -> dict[str, Any]:
        """Evaluate the Hessian of the log density times a direction, both by name."""
        flat, unravel = ravel_pytree(self.in_order(values))
        direction, _ = ravel_pytree(self.in_order(along))

        def product(logp: Callable[..., Any]) -> Callable[..., Any]:
            def times(x: Any, *block: Any) -> Any:
                slope = jax.grad(lambda x: logp(unravel(x), *block))
                return jax.jvp(slope, (x,), (direction,))[1]

            return times

        rows = self._summed(product(self._total), flat.size)(flat, dict(data))
        found = product(self._rest_logp)(flat) + rows
        return dict(zip(self.names, unravel(found), strict=True))

    def numpyro_model(self, data: Rows) -> None:
        """Declare a NumPyro model in the space of the sampler: ``NUTS(f.numpyro_model)``.

        Parameters
        ----------
        data : dict
            Data from `put`, which ``MCMC.run(key, data)`` passes on.
        """
        import numpyro
        from numpyro.distributions import ImproperUniform, constraints

        values = {}
        for name, x in self.start().items():
            flat = ImproperUniform(constraints.real, (), x.shape)
            values[name] = numpyro.sample(name, flat)
        numpyro.factor("log_density", self.logp(values, data))

    def posterior_values(self, values: Values) -> dict[str, Any]:
        """Compute the free variables and deterministics of the model from values."""
        return self._values_of({name: np.asarray(values[name]) for name in self.names})

    @cached_property
    def _values_of(self) -> Callable[[Any], dict[str, Any]]:
        return compile_values(self.model, mode="FAST_COMPILE")

    def in_order(self, values: Values) -> list[Any]:
        """Return values in the order of the model's variables."""
        if missing := [name for name in self.names if name not in values]:
            raise ValueError(f"Values of {missing} are missing; expected {self.names}.")
        return [jnp.asarray(values[name], dtype=float) for name in self.names]

    @property
    def _others(self) -> list[Any]:
        return [jnp.asarray(x.get_value(borrow=True)) for x in self._whole.values()]

    def _rest_logp(self, ordered: list[Any]) -> Any:
        return self._rest(*ordered, *self._others)[0]

    def _total(self, ordered: list[Any], block: Any) -> Any:
        rows = [block[name] for name in self._axis]
        widths = tuple(x.shape[1:] for x in rows)
        if widths not in self._terms_by_width:
            shapes = {name: (None, *x) for name, x in zip(self._axis, widths, strict=True)}
            with jax.ensure_compile_time_eval():  # constants are arrays, not traced
                self._terms_by_width[widths] = _jaxified(self._row_logp, self._row_inputs, shapes)
        terms = self._terms_by_width[widths](*ordered, *rows, *self._others)[0]
        return jnp.where(block[IS_ROW], terms, 0.0).sum()

    def _summed(self, block_sum: Callable[[Any, Any], Any], size: int) -> Callable[..., Any]:
        """Sum a function of values and a block, (size,), over the blocks of all devices."""

        def device_sum(x: Any, blocks: Any) -> Any:
            def add(total: Any, block: Any) -> Any:
                return total + block_sum(x, block), None

            return jax.lax.scan(add, jnp.zeros(size), blocks)[0]

        if self.mesh is None:
            return device_sum
        (axis,) = self.mesh.axis_names
        return jax.shard_map(
            lambda x, blocks: jax.lax.psum(device_sum(x, blocks), axis),
            mesh=self.mesh,
            in_specs=(PartitionSpec(), PartitionSpec(axis)),
            out_specs=PartitionSpec(),
            check_vma=False,
        )

    def _value_and_slope(self, flat: Any, unravel: Any, data: Rows) -> Any:
        """Return log density and gradient in one array, (1 + n,): all that devices exchange."""

        def with_slope(logp: Callable[..., Any]) -> Callable[..., Any]:
            def both(x: Any, *block: Any) -> Any:
                value, slope = jax.value_and_grad(lambda x: logp(unravel(x), *block))(x)
                return jnp.concatenate([value[None], slope])

            return both

        rows = self._summed(with_slope(self._total), flat.size + 1)(flat, dict(data))
        return with_slope(self._rest_logp)(flat) + rows

    def _value(self, ordered: list[Any], data: Rows) -> Any:
        flat, unravel = ravel_pytree(ordered)
        rows = self._summed(lambda x, block: self._total(unravel(x), block)[None], 1)
        return self._rest_logp(ordered) + rows(flat, dict(data))[0]

    def _forward(self, ordered: list[Any], data: Rows) -> Any:
        flat, unravel = ravel_pytree(ordered)
        found = self._value_and_slope(flat, unravel, data)
        return found[0], (unravel(found[1:]), data)

    @staticmethod
    def _backward(kept: Any, bar: Any) -> Any:
        slopes, data = kept
        return [bar * slope for slope in slopes], jax.tree.map(_no_slope, data)


def _no_slope(x: Any) -> Any:
    """Return the zero cotangent of data."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.zeros_like(x)
    return np.zeros(x.shape, dtype=jax.dtypes.float0)


def _is_data(x: Any) -> bool:
    return isinstance(x, SharedVariable) and not isinstance(x.type, RandomType)


def _dims(model: pm.Model, x: Any) -> tuple[Any, ...]:
    return tuple(model.named_vars_to_dims.get(x.name) or ())


def _by_row(model: pm.Model, rv: Any, rows: str) -> Any:
    """Build the log-probability of an observed variable for each row."""
    op = rv.owner.op
    if isinstance(op, ObservedRV) and not op.rows_apart:
        raise ValueError(
            f"The {rows}s of {rv.name!r} cannot be split: data of {type(op).__name__} are not "
            "stored by row, or it is evaluated on the host. Fit the model on one machine by "
            "pm.sample; br.jax supports PlackettLuce, GeneralizedMallows with a consensus, "
            "and models of matches."
        )
    if not isinstance(op, ObservedRV):
        (logp,) = model.logp(vars=[rv], sum=False)
        return logp.sum(axis=tuple(range(1, logp.ndim)))
    return op.logp_by_row(model.rvs_to_values[rv], op.named(_parameters(model, rv)))


def _parameters(model: pm.Model, rv: Any) -> list[Any]:
    """Return the parameters of an observed variable as functions of the model's values."""
    return model.replace_rvs_by_values(rv.owner.inputs[2:])


def _has_row_axis(axes: str, x: Any) -> bool:
    """Return whether a parameter has one axis more than its family names."""
    return x.ndim == len([axis for axis in axes.split(",") if axis]) + 1


def _is_by_row(model: pm.Model, x: Any, rows: str, graphs: Mapping[Any, Any]) -> bool:
    """Return whether data have one entry per row, by their dims or by their family."""
    if model.named_vars_to_dims.get(x.name) is not None:
        return _dims(model, x)[:1] == (rows,)
    for rv in graphs:
        op = rv.owner.op
        if isinstance(op, ObservedRV):
            axes_of = op.list_parameters(op.structure)
            for axes, y in zip(axes_of.values(), rv.owner.inputs[2:], strict=True):
                if uncast(y) is x:
                    return _has_row_axis(axes, x)
    return False


def _refuse_divided(model: pm.Model, rows: str) -> None:
    for rv in model.free_RVs:
        if rows in _dims(model, rv):
            raise ValueError(
                f"The free variable {rv.name!r} has the dim {rows!r} and cannot be split. "
                "Marginalise it, or give it another dim and index it by codes of the rows: "
                f"pm.Data(..., dims={rows!r})."
            )
    for rv in model.observed_RVs:
        if type(rv.owner.op).__name__ == "MinibatchRandomVariable":
            raise ValueError(
                f"{rv.name!r} is scaled by total_size for minibatches, but br.jax uses all rows. "
                "Leave out total_size."
            )


def _refuse_constants(model: pm.Model, rows: str, rv: Any, logp: Any) -> None:
    length = model.dim_lengths[rows].eval(mode="FAST_COMPILE")
    outputs, op = [logp], rv.owner.op
    if isinstance(op, ObservedRV):  # its other arrays of this length do not belong to rows
        axes_of = op.list_parameters(op.structure)
        given = zip(axes_of.values(), _parameters(model, rv), strict=True)
        outputs = [x for axes, x in given if _has_row_axis(axes, x)]
    for x in ancestors(outputs):
        if isinstance(x, TensorConstant) and length > 1 and x.type.shape[:1] == (length,):
            raise ValueError(
                f"The log-probabilities of {rows}s use an array of length {length}, "
                f"{x.data.ravel()[:3]}..., that is not pm.Data and could not be replaced. Register "
                f"it by pm.Data(..., dims={rows!r}), also if it is observed."
            )


def _jaxified(
    output: Any, inputs: list[Any], shapes: Mapping[str, Any] = MappingProxyType({})
) -> Callable[..., Any]:
    """Translate a graph for JAX; shared variables among the inputs become arguments.

    Data by row have the given shapes, because JAX cannot allocate arrays of computed lengths.
    Lengths of others are not fixed: axes of length one in the current data would count as
    broadcastable.
    """
    free = [
        pt.tensor(dtype=x.type.dtype, shape=shapes.get(x.name, (None,) * x.type.ndim), name=x.name)
        if isinstance(x, SharedVariable)
        else x
        for x in inputs
    ]
    (output,) = clone_replace([output], dict(zip(inputs, free, strict=True)), rebuild_strict=False)
    graph = FunctionGraph(free, [output], clone=True)
    get_mode("JAX").optimizer.rewrite(graph)
    return jax_funcify(graph)
