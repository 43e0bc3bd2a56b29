"""PyTensor's flags of the tests, and without them."""

import os
import re
import shutil

__all__ = ["compiler", "flags_of_users"]


def flags_of_users() -> str:
    """PyTensor's flags without those of the tests: what a user gets is compiled by numba."""
    flags = os.environ.get("PYTENSOR_FLAGS", "").split(",")
    return ",".join(flag for flag in flags if not re.match(r"\s*(mode|cxx)\s*=", flag))


def compiler() -> str:
    """Name the C compiler, if there is one."""
    return shutil.which("g++") or ""
