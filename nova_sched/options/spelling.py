"""How the files spell options: under an older name, twice, or misspelt.

Messages are made with current names, and ``Spelling`` replaces them with the
names used in the config files, so that operators can find them. Options of
other services are not mistakes: the file may be the real nova.conf.
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

#: Sections that only this service reads, or a plug-in.
_OURS = ('scheduler', 'filter_scheduler', 'metrics', 'trusted_computing')
#: Minimum similarity of a misspelt name to a name of this service; lower in
#: some sections.
_LIKE = 0.85
_LIKE_IN = {'nova_sched': 0, **dict.fromkeys(_OURS, 0.7)}

#: Sections of other services that are similar to a section of this service.
_NOT_OURS = ('placement_database',)


class Spelling:
    """The names of options in the files of a ConfigOpts."""

    def __init__(self, conf):
        self._conf = conf
        self._known = sections.known_opts()
        self._files = [contents for _path, contents in reversed(
            files.contents(conf))]

    def find_setting(self, section, opt, value=None):
        """Return the setting of an option in the files, or None.

        It is (section, name, text) as written; of several, the setting that
        takes effect; for an option with many values, the one of ``value``.
        """
        settings = [(written_in, name, text) for raw in self._files
                    for written_in, name in sections.places(section, opt)
                    for text in reversed(raw.get(written_in, {}).get(name,
                                                                     ()))]
        if not settings or self._is_overridden(section, opt):
            return None
        return next((setting for setting in settings if setting[2] == value),
                    settings[0])

    def _is_overridden(self, section, opt):
        """Return whether the command line or the program overrides it."""
        try:
            source = self._conf.get_location(
                opt.dest, None if section == 'DEFAULT' else section)
        except (cfg.Error, ValueError):
            return False        # a malformed value
        return source is not None and source.location in (
            cfg.Locations.command_line, cfg.Locations.set_override)

    def rename_in_text(self, text):
        """Replace each ``[section] name`` in a text by the files' name."""
        return _NAME.sub(lambda match: self._name(*match.groups()), text)

    def in_error(self, error):
        """Return a ConfigurationError that names options as the files do.

        The current name follows if it is different.
        """
        match = _NAME.fullmatch(error.option)
        if not match:
            return error
        name = self._name(*match.groups(), str(error.value))
        hint = self.rename_in_text(error.hint)
        if name != error.option:
            hint += f' (the option is now {error.option})'
        return exception.ConfigurationError(name, error.value, hint)

    def _name(self, section, name, value=None):
        opt = self._known.get((section, name))
        setting = opt and self.find_setting(section, opt, value)
        if setting and setting[:2] != (section, opt.name):
            section, name = setting[:2]
        return f'[{section}] {name}'


@contextlib.contextmanager
def as_in_files(conf):
    """Make ConfigurationErrors of a block name options as the files do.

    Also a decorator.
    """
    try:
        yield
    except exception.ConfigurationError as error:
        raise Spelling(conf).in_error(error) from None


def errors_as_in_files(function):
    """Decorate a function of conf that returns ConfigurationErrors.

    They name options as the files do.
    """
    @functools.wraps(function)
    def respelled(conf):
        errors = function(conf)
        return errors and list(map(Spelling(conf).in_error, errors))
    return respelled


def _names_by_section():
    """Return the names of options in files: dict section -> set of names."""
    known = {}
    for (section, _dest), opt in sections.known_opts().items():
        for place, name in sections.places(section, opt):
            known.setdefault(place, set()).add(name)
    return known


def unknown_options(conf):
    """Return the options in the files that are probably misspelt.

    A list of (section, name as written, nearest right name): close matches in
    sections of this service, and all unknown names in [nova_sched], which only
    this service reads.  The right name includes its section if that is
    different.
    """
    by_section, elsewhere = _names_by_section(), _elsewhere()
    registered, misspelt = set(sections.registered_names(conf)), []
    for section, values in files.raw_sections(conf).items():
        known = by_section.get(section, set())
        for name in values:
            if name in known or (section, name) in registered:
                continue
            near = nearest.nearest(name, known, _LIKE_IN.get(section, _LIKE))
            if section in ('DEFAULT', *_OURS):
                near = elsewhere.get(name, near)
            if near is not None:
                misspelt.append((section, name, near))
    return misspelt


@functools.cache
def _elsewhere():
    """Return a dict from other names of options to '[section] name'.

    It maps current, deprecated and section-prefixed names (such as
    metrics_weight_setting) of options in the sections of this service.  The
    names of drivers map to '[scheduler] driver'.
    """
    options = dict.fromkeys(names.DRIVERS.values(), '[scheduler] driver')
    ours = {place: opt for place, opt in sections.known_opts().items()
            if place[0] in _OURS}
    for (section, dest), opt in ours.items():
        for _place, name in sections.places(section, opt):
            options[name] = f'[{section}] {dest}'
    for section, dest in ours:
        options[dest] = options[f'{section}_{dest}'] = f'[{section}] {dest}'
    return options


def warnings(conf):
    """Return warnings on ignored, overridden and deprecated options in files.
    """
    return [*_misspelt_sections(conf), *_repeated(conf), *_older_names(conf)]


def _misspelt_sections(conf):
    ours = _names_by_section()
    for section, values in files.raw_sections(conf).items():
        if section in ours or section in _NOT_OURS:
            continue
        near = nearest.nearest(section, ours, _LIKE)
        if near is not None:
            yield (f'[{section}] is an unknown section, so its options '
                   f'{", ".join(values)} have no effect; did you mean '
                   f'[{near}]?')


def _repeated(conf):
    """Yield sentences on options that one file sets more than once."""
    single = {place for (section, _dest), opt in sections.known_opts().items()
              if not isinstance(opt, cfg.MultiOpt)
              for place in sections.places(section, opt)}
    for path, contents in files.contents(conf):
        for section, values in contents.items():
            for name, texts in values.items():
                if len(texts) > 1 and (section, name) in single:
                    yield (f'[{section}] {name} is set {len(texts)} times in '
                           f'{path}; only the last value is used')


def _older_names(conf):
    """Yield a warning per overridden option, then one on deprecated options.
    """
    spelling, replaced = Spelling(conf), messaging.replaced_options(conf)
    raw, deprecated, unused = files.raw_sections(conf), [], []
    for (section, dest), opt in sections.known_opts().items():
        settings = [(place, name) for place, name
                    in dict.fromkeys(sections.places(section, opt))
                    if name in raw.get(place, {})]
        if (section, dest) in replaced:
            unused += settings
            continue
        effective = spelling.find_setting(section, opt)
        if (len(settings) > 1 and effective is not None
                and not isinstance(opt, cfg.MultiOpt)):
            yield _overridden(effective[:2], settings)
            settings = [effective[:2]]
        for place, name in settings:
            if place != section or name not in (dest, opt.name):
                deprecated.append(
                    f'[{place}] {name} (now [{section}] {dest})')
            elif opt.deprecated_for_removal:
                deprecated.append(f'[{place}] {name}')
    if unused:
        yield _overridden(('DEFAULT', 'transport_url'), unused)
    if deprecated:
        yield ('These options are deprecated and still have an effect: '
               + ', '.join(deprecated)
               + '; use the newer name where there is one')


def _overridden(effective, settings):
    """Return the warning that one option overrides others."""
    unused = ', '.join(f'[{section}] {name}' for section, name in settings
                       if (section, name) != effective)
    return (f'[{effective[0]}] {effective[1]} overrides {unused}; remove the '
            'latter')
