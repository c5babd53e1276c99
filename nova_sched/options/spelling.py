"""How the files spell options: under an older name, twice, or misspelt.

Messages are made with the names of today, and ``Spelling`` turns these into
those of the files, which is what their reader looks for. Options that belong
to other services are no mistake: the file may be the real nova.conf.
"""

import contextlib
import functools
import re

from oslo_config import cfg

from nova_sched import exception
from nova_sched.conf import messaging
from nova_sched.options import files
from nova_sched.options import names
from nova_sched.options import nearest
from nova_sched.options import sections

_NAME = re.compile(r'\[(\w+)\] (\w+)')

#: Sections that other services have no options in, though plug-ins may.
_OURS = ('scheduler', 'filter_scheduler', 'metrics', 'trusted_computing')
#: How similar to one of ours a name must be to be taken for it, misspelt; in
#: these sections less.
_LIKE = 0.85
_LIKE_IN = {'nova_sched': 0, **dict.fromkeys(_OURS, 0.7)}

#: Sections of Nova that are like one of ours, and are meant.
_NOT_OURS = ('placement_database',)


class Spelling:
    """The names that the files of a ConfigOpts give options."""

    def __init__(self, conf):
        self._conf = conf
        self._known = sections.known_opts()
        self._files = [found for _path, found in reversed(
            files.contents(conf))]

    def as_written(self, section, opt, value=None):
        """Return where the files give an option, or None if they do not.

        (section, name, text) of the place that counts, of several.  An option
        of many values has all of them: then of the one that gives ``value``.
        """
        found = [(place, name, text) for raw in self._files
                 for place, name in sections.places(section, opt)
                 for text in reversed(raw.get(place, {}).get(name, ()))]
        if not found or self._is_overridden(section, opt):
            return None
        return next((one for one in found if one[2] == value), found[0])

    def _is_overridden(self, section, opt):
        """Return whether the command line or the program overrides it."""
        try:
            found = self._conf.get_location(
                opt.dest, None if section == 'DEFAULT' else section)
        except (cfg.Error, ValueError):
            return False        # what is malformed has no place
        return found is not None and found.location in (
            cfg.Locations.command_line, cfg.Locations.set_override)

    def in_words(self, text):
        """Return a text with each ``[section] name`` as the files have it."""
        return _NAME.sub(lambda match: self._name(*match.groups()), text)

    def in_error(self, error):
        """Return a ConfigurationError that names options as the files do.

        Today's name follows, where it is another one.
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
    """Have ConfigurationErrors of a context name options as the files do.

    Also a decorator.
    """
    try:
        yield
    except exception.ConfigurationError as error:
        raise Spelling(conf).in_error(error) from None


def errors_as_written(function):
    """Decorate a function of conf that returns ConfigurationErrors.

    They name options as the files do.
    """
    @functools.wraps(function)
    def respelled(conf):
        found = function(conf)
        return found and list(map(Spelling(conf).in_error, found))
    return respelled


def _places():
    """Return where files may give our options: dict section -> names."""
    ours = {}
    for (section, _dest), opt in sections.known_opts().items():
        for place, name in sections.places(section, opt):
            ours.setdefault(place, set()).add(name)
    return ours


def unknown_options(conf):
    """Return the options in the files that are probably ours, misspelt.

    A list of (section, name as written, nearest right name): close matches in
    sections that are ours, and all that is unknown in [nova_sched], which
    nobody else reads.  The right name has its section where that is another
    one.
    """
    ours, registered = _places(), set(sections.registered_names(conf))
    found, elsewhere = [], _elsewhere()
    for section, values in files.raw_sections(conf).items():
        known = ours.get(section, set())
        for name in values:
            if name in known or (section, name) in registered:
                continue
            near = nearest.nearest(name, known, _LIKE_IN.get(section, _LIKE))
            if section in ('DEFAULT', *_OURS):
                near = elsewhere.get(name, near)
            if near is not None:
                found.append((section, name, near))
    return found


@functools.cache
def _elsewhere():
    """Return the names of our sections' options, wherever they stand.

    Dict name -> '[section] name': of names alone, behind that of their
    section, as documents print metrics_weight_setting, and those of older
    releases.  A driver's name is its option's value.
    """
    found = dict.fromkeys(names.DRIVERS.values(), '[scheduler] driver')
    ours = {place: opt for place, opt in sections.known_opts().items()
            if place[0] in _OURS}
    for (section, dest), opt in ours.items():
        for _place, name in sections.places(section, opt):
            found[name] = f'[{section}] {dest}'
    for section, dest in ours:
        found[dest] = found[f'{section}_{dest}'] = f'[{section}] {dest}'
    return found


def warnings(conf):
    """Return what does not count as the files spell it: list of sentences."""
    return [*_misspelt_sections(conf), *_repeated(conf), *_older_names(conf)]


def _misspelt_sections(conf):
    ours = _places()
    for section, values in files.raw_sections(conf).items():
        if section in ours or section in _NOT_OURS:
            continue
        near = nearest.nearest(section, ours, _LIKE)
        if near is not None:
            yield (f'[{section}] is no section, and nobody reads its '
                   f'{", ".join(values)}; did you mean [{near}]?')


def _repeated(conf):
    """Return sentences on options that one file gives twice."""
    single = {place for (section, _dest), opt in sections.known_opts().items()
              if not isinstance(opt, cfg.MultiOpt)
              for place in sections.places(section, opt)}
    for path, found in files.contents(conf):
        for section, values in found.items():
            for name, texts in values.items():
                if len(texts) > 1 and (section, name) in single:
                    yield (f'[{section}] {name} stands in {path} '
                           f'{len(texts)} times; only the last counts')


def _older_names(conf):
    """Yield sentences on options that stand there under two names, or beside
    what counts in their place, and one on all others with newer names, or that
    will go.
    """
    written, unread = Spelling(conf).as_written, messaging.unread(conf)
    found, idle = [], []
    for (section, dest), opt in sections.known_opts().items():
        given = _given(conf, section, opt)
        if (section, dest) in unread:
            idle += given
            continue
        counts = written(section, opt)
        if (len(given) > 1 and counts is not None
                and not isinstance(opt, cfg.MultiOpt)):
            yield _one_counts(counts[:2], given)
            given = [counts[:2]]
        for place, name in given:
            if place != section or name not in (dest, opt.name):
                found.append(f'[{place}] {name} (now [{section}] {dest})')
            elif opt.deprecated_for_removal:
                found.append(f'[{place}] {name}')
    if idle:
        yield _one_counts(('DEFAULT', 'transport_url'), idle)
    if found:
        yield ('These options are deprecated, and count all the same: '
               + ', '.join(found)
               + '; write the newer names, and leave what has none')


def _given(conf, section, opt):
    """Return where the files give an option: list of (section, name)."""
    raw = files.raw_sections(conf)
    return [(place, name) for place, name
            in dict.fromkeys(sections.places(section, opt))
            if name in raw.get(place, {})]


def _one_counts(one, given):
    """Return the sentence on options that do nothing beside another one."""
    others = ', '.join(f'[{section}] {name}' for section, name in given
                       if (section, name) != one)
    return f'[{one[0]}] {one[1]} counts, and not {others}; take that out'
