"""The contents of the configuration files, as written.

For questions that oslo.config does not answer: whether a file has an option of
another service, under which name a value is written, which names are unknown.
"""

import glob
import os

from oslo_config import cfg

from nova_sched import exception

_FILE, _DIR = '--config-file', '--config-dir'


def config_files(conf):
    """Return the paths of all files that a ConfigOpts was read from: list.

    In the order in which oslo.config reads them.
    """
    if 'config_file' not in conf:    # nothing has been parsed yet
        return []
    named = list(_named_paths(conf._args or ()))
    # Default files are read before the files of the command line.
    for option, by_default in ((_DIR, conf.default_config_dirs),
                               (_FILE, conf.default_config_files)):
        if option not in (kind for kind, _path in named):
            named[:0] = [(option, path) for path in by_default]
    return [path for option, value in named for path in (
        [value] if option == _FILE else sorted(glob.glob(
            os.path.join(os.path.expanduser(value), '*.conf'))))]


def _named_paths(args):
    """Yield the paths of a command line: (_FILE or _DIR, path), in order."""
    args = iter(args)
    for arg in args:
        option, equals, value = arg.partition('=')
        if option in (_FILE, _DIR):
            yield option, value if equals else next(args)


def read(conf):
    """Return the current contents of these files: list of (path, sections).

    sections: see ``sections_of``.
    """
    return [(path, sections_of(path)) for path in config_files(conf)]


def contents(conf):
    """Return the contents of the files of a ConfigOpts, as ``read`` does.

    Those that a loading.Options has read, otherwise the current contents.
    """
    contents = getattr(conf, 'contents', None)
    return read(conf) if contents is None else contents


def raw_sections(conf):
    """Return all values in the files: section -> name -> list of texts.

    Section names are in lower case, except DEFAULT.  Values from several files
    or lines are in reading order.
    """
    return _merged(item for _path, values in contents(conf)
                   for item in values.items())


def sections_of(path):
    """Return the values in one file, like ``raw_sections``."""
    parsed = {}
    cfg.ConfigParser(os.path.expanduser(path), parsed).parse()
    return _merged(
        (section if section == 'DEFAULT' else section.lower(), values)
        for section, values in parsed.items())


def _merged(items):
    """Return the values of sections: dict section -> name -> list of texts.

    items: (section, dict name -> texts), where sections may be repeated.
    """
    sections = {}
    for section, values in items:
        merged = sections.setdefault(section, {})
        for name, texts in values.items():
            merged.setdefault(name, []).extend(texts)
    return sections


def check_readable(option, path, advice=''):
    """Raise ConfigurationError if a file that an option names cannot be read.

    Libraries that read TLS files do not report which file is missing.
    option: ``[section] name``.  advice: end of the message.
    """
    try:
        with open(path, 'rb'):
            pass
    except OSError as error:
        raise exception.ConfigurationError(
            option, path,
            f'cannot be read: {error.strerror}{advice}') from error


def raw_values(conf, group, name):
    """Return the texts that the files give one name: list, empty if absent."""
    return raw_sections(conf).get(group or 'DEFAULT', {}).get(name, [])
