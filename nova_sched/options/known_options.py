"""Older names of options, and options without effect."""

from nova_sched import toml_files

#: Sentence in the help of an ignored option.
SENTENCE = 'This release accepts this option but does not act on it.'


def place(text):
    """Return the (section, name) of a text such as ``[scheduler] workers``."""
    section, _, name = text.removeprefix('[').partition('] ')
    return section, name


def old_names(section, name):
    """Return the older names of an option: list of (section, name)."""
    names = toml_files.read('known_options.toml', __package__)['old_names']
    return list(map(place, names.get(section, {}).get(name, ())))


def ignored(*tables):
    """Return the options that are accepted but not acted on.

    A list of (section, name).  tables: tables of the file; default: both, the
    options with a warning and the options without.
    """
    known = toml_files.read('known_options.toml', __package__)
    return [(section, name)
            for kind in tables or ('ignored', 'ignored_silently')
            for section, names in known[kind].items() for name in names]
