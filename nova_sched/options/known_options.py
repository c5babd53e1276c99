"""Tables of options: TOML files of the package."""

import functools
from importlib import resources
import tomllib

#: Sentence in the help of an ignored option.
SENTENCE = 'This release accepts this option but does not act on it.'


@functools.cache
def table(name, package=__package__):
    """Return the contents of a TOML file of a package: dict, read only."""
    return tomllib.loads((resources.files(package) / name).read_text())


def place(text):
    """Return the (section, name) of a text such as ``[scheduler] workers``."""
    section, _, name = text.removeprefix('[').partition('] ')
    return section, name


def old_names(section, name):
    """Return the older names of an option: list of (section, name)."""
    names = table('known_options.toml')['old_names']
    return list(map(place, names.get(section, {}).get(name, ())))


def ignored(*tables):
    """Return the options that are accepted but not acted on.

    A list of (section, name).  tables: tables of the file; default: both, the
    options with a warning and the options without.
    """
    known = table('known_options.toml')
    return [(section, name)
            for kind in tables or ('ignored', 'ignored_silently')
            for section, names in known[kind].items() for name in names]
