"""Models on JAX: data as arguments, rows on many devices, and searches for the mode.

`compile` turns the log density of a PyMC model into a JAX function of values and of data. The data
may be larger than the data with which the model was built, and may lie on several devices or hosts.
`find_map` climbs to the posterior mode, in one jitted loop and then by Newton's method. Other tools
use these functions: NumPyro for normal approximations (`models/howto/shards.py`), and `jax.vmap`
for many problems at once (`models/howto/vmapped.py`).

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
        f"bayesrank.jax needs the package {lacking}, which is not installed. Run "
        'pip install "bayesrank[jax]".'
    ) from error

__all__ = ["JaxMode", "LogDensity", "compile", "find_map"]
