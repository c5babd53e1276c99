"""Under which of its names the files give an option.

Messages are made with the names of today; whoever reads one looks for what
stands in the file.
"""

import contextlib
import functools
import re

from oslo_config import cfg

from nova_sched import exception
from nova_sched.options import files
from nova_sched.options import sections

_NAME = re.compile(r'\[(\w+)\] (\w+)')


class Spelling:
    """The names of options in the files of a ConfigOpts as they are now."""

    def __init__(self, conf):
        self._conf = conf
        self._known = sections.known_opts()
        self._files = [files.sections_of(path) for path
                       in reversed(files.config_files(conf))]

    def as_written(self, section, opt, value=None):
        """Where the files give an option: (section, name, text), or None.

        The place that counts, of several.  An option of many values has all
        of them: then the one that gives this value.
        """
        found = [(place, name, text) for raw in self._files
                 for place, name in sections.places(section, opt)
                 for text in reversed(raw.get(place, {}).get(name, ()))]
        if not found or self._is_overridden(section, opt):
            return None
        return next((one for one in found if one[2] == value), found[0])

    def _is_overridden(self, section, opt):
        """Whether a command line, or the program, says otherwise."""
        try:
            found = self._conf.get_location(
                opt.dest, None if section == 'DEFAULT' else section)
        except (cfg.Error, ValueError):
            return False        # what is malformed has no place
        return found is not None and found.location in (
            cfg.Locations.command_line, cfg.Locations.set_override)

    def in_words(self, text):
        """A text with each ``[section] name`` of today as the files have it.
        """
        return _NAME.sub(lambda match: self._name(*match.groups()), text)

    def in_error(self, error):
        """A ConfigurationError that names options as the files do.

        The name of today follows, where it is another one.
        """
        match = _NAME.fullmatch(error.option)
        if not match:
            return error
        name = self._name(*match.groups(), str(error.value))
        hint = self.in_words(error.hint)
        if name != error.option:
            hint += f' (the option is now {error.option})'
        return exception.ConfigurationError(name, error.value, hint)

    def _name(self, section, name, value=None):
        opt = self._known.get((section, name))
        written = opt and self.as_written(section, opt, value)
        if written and written[:2] != (section, opt.name):
            section, name = written[:2]
        return f'[{section}] {name}'


@contextlib.contextmanager
def as_in_files(conf):
    """A context, or decorator, whose ConfigurationErrors do so, too."""
    try:
        yield
    except exception.ConfigurationError as error:
        raise Spelling(conf).in_error(error) from None


def errors_as_written(function):
    """Decorator of a function of conf that returns ConfigurationErrors.

    They name options as the files do.
    """
    @functools.wraps(function)
    def respelled(conf):
        found = function(conf)
        return found and list(map(Spelling(conf).in_error, found))
    return respelled
