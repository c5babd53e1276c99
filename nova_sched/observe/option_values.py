"""What the options are set to, as it may be logged."""

import re

from oslo_config import cfg

from nova_sched.options import sections

#: What stands for a value that nobody may read.
MASK = '****'

#: A password in a URL; as much as may be part of one.
_PASSWORD = re.compile(r'(://[^\s:/@]*):\S*@')

#: Names of options of plug-ins, which may keep it to themselves that they
#: are secret.
_SECRET_NAME = re.compile(
    'pass(word|wd|code|phrase)|secret|token|credential|_key$|^code$')


class OptionValues:
    """The values of all options of a ConfigOpts at one time."""

    def __init__(self, conf):
        self._conf, self._values = conf, read(conf)

    def changes(self):
        """Return what has changed since the last call: text, an option each.
        """
        before, self._values = self._values, read(self._conf)
        places = sorted(place for place in before.keys() & self._values.keys()
                        if before[place] != self._values[place])
        old, new = (
            masked(self._conf, {place: found[place] for place in places})
            for found in (before, self._values))
        return '; '.join(
            f'[{section}] {name}: {old[section][name]} became '
            f'{new[section][name]}' for section, name in places
        ) or 'nothing changed'


def read(conf):
    """Return the values of all options: dict (section, name) -> value.

    An option whose value is malformed is left out.
    """
    found = {}
    for name in conf:
        try:
            value = conf[name]
        except (cfg.Error, ValueError):
            continue
        if not isinstance(value, cfg.ConfigOpts.GroupAttr):
            found['DEFAULT', name] = value
            continue
        for option in value:
            try:
                found[name, option] = value[option]
            except (cfg.Error, ValueError):
                continue
    return found


def masked(conf, found):
    """Return values without passwords: dict section -> name -> text.

    conf: the ConfigOpts that they are of.  found: as from ``read``.
    Passwords within URLs are masked, too.
    """
    options, texts = sections.known_opts(), {}
    for (section, name), value in found.items():
        secret = _is_registered_secret(conf, section, name) or (
            options[section, name].secret if (section, name) in options
            else _SECRET_NAME.search(name))
        texts.setdefault(section, {})[name] = _text(value, secret)
    return texts


def _is_registered_secret(conf, section, name):
    """Return whether an option was registered as a secret.

    No public way leads to that: a log-in's options are those of its type,
    and plug-ins register their own.
    """
    try:
        return conf._get_opt_info(
            name, None if section == 'DEFAULT' else section)['opt'].secret
    except cfg.Error:
        return False


def _text(value, secret):
    if value is None or value == '':
        return 'unset'
    if secret:
        return MASK
    return _PASSWORD.sub(rf'\1:{MASK}@', str(value))
