"""Data files of the package: TOML beside the module that reads it."""

import functools
from importlib import resources
import tomllib


@functools.cache
def read(name, package):
    """Return the contents of a TOML file of a package: dict, read only."""
    return tomllib.loads((resources.files(package) / name).read_text())
