"""Models on JAX: data as arguments, rows on many devices, and engines that take them from there.

`compile` makes the log density of a PyMC model a JAX function of values and of data, which may be
larger than those the model was built with and lie on several devices or hosts; `find_map` climbs
to the posterior mode, in one jitted loop and then by Newton's method, and `svi` approximates the
posterior by normals, from some rows at a time; `map_fits` solves many problems of one shape at
once. Collectives, launching processes and sampling are left to XLA, `jax.distributed` and the
samplers: this room hands over functions.

This room needs the extra ``jax``. It may import jax, numpy, numpyro, optax, pymc, pytensor,
scipy, xarray, the rooms distributions and inference, and schema.
"""

try:
    from bayesrank.jax.log_density import LogDensity, compile
    from bayesrank.jax.many import map_fits
    from bayesrank.jax.modes import JaxMode, find_map
    from bayesrank.jax.variational import svi
except ModuleNotFoundError as error:
    lacking = str(error.name).partition(".")[0]
    if lacking not in {"jax", "jaxlib", "numpyro", "optax"}:
        raise
    raise ImportError(
        f"bayesrank.jax needs the package {lacking}, which is not installed: "
        'pip install "bayesrank[jax]".'
    ) from error

__all__ = ["JaxMode", "LogDensity", "compile", "find_map", "map_fits", "svi"]
