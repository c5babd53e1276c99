"""The values of the options, in a form that may be logged."""

import contextlib
import re

from oslo_config import cfg

from nova_sched.options import sections

#: Replacement of a secret value.
MASK = '****'

#: A password in a URL, up to the last @ that may end it.
_PASSWORD = re.compile(r'(://[^\s:/@]*):\S*@')

#: Names of secret options, for plug-ins that do not declare them secret.
_SECRET_NAME = re.compile(
    'pass(word|wd|code|phrase)|secret|token|credential|_key$|^code$')


class OptionValues:
    """The values of all options of a ConfigOpts at one time."""

    def __init__(self, conf):
        self._conf, self._values = conf, read(conf)

    def changes(self):
        """Return the changes since the last call as text, one for each option.
        """
        before, self._values = self._values, read(self._conf)
        places = sorted(place for place in before.keys() & self._values.keys()
                        if before[place] != self._values[place])
        old, new = (
            masked(self._conf, {place: values[place] for place in places})
            for values in (before, self._values))
        return '; '.join(
            f'[{section}] {name}: {old[section][name]} became '
            f'{new[section][name]}' for section, name in places
        ) or 'nothing changed'


def read(conf):
    """Return the values of all options: dict (section, name) -> value.

    Options with a malformed value are left out.
    """
    values = {}
    for section, name in sections.registered_names(conf):
        with contextlib.suppress(cfg.Error, ValueError):
            values[section, name] = sections.value(conf, section, name)
    return values


def masked(conf, values):
    """Return values without passwords: dict section -> name -> text.

    conf: the ConfigOpts of the values.  values: as from ``read``.
    Passwords within URLs are masked, too.
    """
    known, texts = sections.known_opts(), {}
    for (section, name), value in values.items():
        # A private method of ConfigOpts is the only way: log-in plug-ins and
        # plug-ins of the scheduler register options of their own.
        option = conf._get_opt_info(
            name, None if section == 'DEFAULT' else section)['opt']
        secret = option.secret or (
            (section, name) not in known and _SECRET_NAME.search(name))
        texts.setdefault(section, {})[name] = _text(value, secret)
    return texts


def _text(value, secret):
    if value is None or value == '':
        return 'unset'
    if secret:
        return MASK
    return _PASSWORD.sub(rf'\1:{MASK}@', str(value))
