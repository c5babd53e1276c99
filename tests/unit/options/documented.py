"""The options that operators' documentation of Nova's scheduler names."""

import pathlib
import tomllib

from nova_sched.options import known_options

_TABLE = tomllib.loads(pathlib.Path(__file__).parents[2].joinpath(
    'data', 'documented-options.toml').read_text())

#: (section, name) -> default, None if it is unset.
DEFAULTS = {(section, name): default
            for section, options in _TABLE['defaults'].items()
            for name, default in options.items()}
DEFAULTS |= {(section, name): None
             for section, names in _TABLE['unset'].items() for name in names}

#: (section, name) of the options whose default is not compared.
COMPUTED = [(section, name) for section, names in _TABLE['computed'].items()
            for name in names]

#: (section, name, older section, older name).
OLD_NAMES = [(section, name, *known_options.place(old))
             for section, options in _TABLE['old_names'].items()
             for name, olds in options.items() for old in olds]
