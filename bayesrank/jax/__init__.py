"""Models on JAX: data as arguments, rows on many devices, and engines that take them from there.

`compile` makes the log density of a PyMC model a JAX function of values and of data, which may be
larger than those the model was built with and lie on several devices or hosts. `find_map` climbs to
the posterior mode, in one jitted loop and then by Newton's method. XLA, `jax.distributed` and the
samplers do the rest: normal approximations by NumPyro (`models/howto/shards.py`), and many
problems at once by `jax.vmap` (`models/howto/vmapped.py`).

This room needs the extra ``jax``. It may import jax, numpy, numpyro, optax, pymc, pytensor,
scipy, the rooms distributions and inference, and schema.
"""

try:
    from bayesrank.jax.log_density import LogDensity, compile
    from bayesrank.jax.modes import JaxMode, find_map
except ModuleNotFoundError as error:
    lacking = str(error.name).partition(".")[0]
    if lacking not in {"jax", "jaxlib", "numpyro", "optax"}:
        raise
    raise ImportError(
        f"bayesrank.jax needs the package {lacking}, which is not installed: "
        'pip install "bayesrank[jax]".'
    ) from error

__all__ = ["JaxMode", "LogDensity", "compile", "find_map"]
