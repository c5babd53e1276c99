"""What if: a configuration that is changed in this process alone."""

import dataclasses
import functools
import math

import numpy as np
from oslo_config import cfg

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.options import checking
from nova_sched.options import known_options
from nova_sched.options import nearest
from nova_sched.options import sections
from nova_sched.plugins import loading as plugins

#: Of what hosts have a ratio, and how columns of ratios and options end.
RESOURCES, _RATIO = ('cpu', 'ram', 'disk'), '_allocation_ratio'


@dataclasses.dataclass(frozen=True)
class Setting:
    """One option with another value.

    section: DEFAULT or another one.  name: of today, or of before.
    value: text, as a file would have it.
    """

    section: str
    name: str
    value: str

    @classmethod
    def parse(cls, text):
        """Return the Setting that SECTION.OPTION=VALUE says.

        Raises InvalidInput.
        """
        place, equals, value = text.partition('=')
        section, dot, name = place.strip().partition('.')
        if not (equals and dot and section and name):
            raise exception.InvalidInput(
                reason=f'--set {text}: write SECTION.OPTION=VALUE, such as '
                       'filter_scheduler.ram_weight_multiplier=2.0 or '
                       'DEFAULT.default_availability_zone=nova')
        return cls(section, name, value.strip())

    def __str__(self):
        """Return it as ``parse`` takes it, without a secret value."""
        found = _places().get((self.section, self.name))
        secret = found is not None and found[-1].secret
        return (f'{self.section}.{self.name}='
                f'{"****" if secret else self.value}')


def host_ratio(text):
    """Return what hosts are to report by RESOURCE=RATIO: (column, ratio).

    Raises ValueError.
    """
    resource, _equals, value = text.partition('=')
    ratio = float(value)
    if resource not in RESOURCES or not 0 < ratio < math.inf:
        raise ValueError(text)
    return f'{resource}{_RATIO}', ratio


host_ratio.__name__ = 'RESOURCE=RATIO'


def without_effect(conf, settings, table, ranker):
    """Yield sentences on Settings that a decision may not have gone by.

    table: HostTable that was decided on, or None.
    ranker: rules.ranking.Ranker of the decision, or None.
    """
    for setting in settings:
        section, dest, _opt = _option(conf, setting)
        why = None
        if (section, dest) in known_options.ignored():
            why = 'this release accepts that option and does not act on it'
        elif dest.endswith(_RATIO) and table is not None:
            why = _without_ratio(conf, dest, table)
        elif dest.endswith('_weight_multiplier') and ranker is not None and (
                dest not in {
                    getattr(getattr(weigher, 'rule', weigher),
                            'multiplier_name', None)
                    for weigher in ranker.weighers}):
            why = 'no weigher that runs has this multiplier'
        if why:
            yield f'--set {setting}: {why}'


def _without_ratio(conf, dest, table):
    """Return on which hosts a ratio does not count; None if on all."""
    column = table.columns[dest.removeprefix('initial_')]
    others = np.count_nonzero(column != conf[dest])
    if not (conf[dest] and others):
        return None
    resource = dest.removeprefix('initial_').removesuffix(_RATIO)
    return (f'{others:,} of {table.size:,} hosts have another ratio all the '
            'same, as they report their own; --host-ratio '
            f'{resource}={conf[dest]:g} decides as if all had this one')


def apply(conf, settings=(), without=(), enable=()):
    """Change a ConfigOpts: some options, and which filters run.

    settings: Settings.  without, enable: names of filters to leave out, and
        to run last.
    Raises ConfigurationError for a value that an option does not take, and
    InvalidInput for an option or filter that there is not.
    """
    for setting in settings:
        _set(conf, setting)
    if not (without or enable):
        return
    filters = config.enabled_filters(conf)
    _check_known('--without', without, filters, 'no such filter runs')
    filters = [name for name in filters if name not in without]
    _check_known('--enable', enable, plugins.available_filters(conf)
                 if enable else (), 'no such filter')
    filters += [name for name in dict.fromkeys(enable)
                if name not in filters]
    conf.set_override(
        'baremetal_enabled_filters' if config.uses_baremetal_filters(conf)
        else 'enabled_filters', filters, 'filter_scheduler')


def _check_known(option, names, known, problem):
    """Raise InvalidInput for a filter that is not known."""
    for name in names:
        if name not in known:
            raise exception.InvalidInput(
                reason=f'{option} {name}: {problem}; '
                       f'{nearest.did_you_mean(name, known)}')


def _set(conf, setting):
    """Override one option."""
    section, dest, opt = _option(conf, setting)
    value = setting.value
    if opt is not None and opt.multi and value.startswith('{'):
        # JSON has commas of its own.
        value = [value]
    elif opt is not None and opt.multi:
        value = [part.strip() for part in value.split(',') if part.strip()]
    try:
        conf.set_override(dest, value,
                          None if section == 'DEFAULT' else section)
    except cfg.NoSuchOptError:
        raise exception.InvalidInput(
            reason=f'--set {setting}: this option counts in a file '
                   'only; name one by --config-file') from None
    except ValueError as error:
        raise exception.ConfigurationError(
            f'[{section}] {dest}',
            '****' if opt is not None and opt.secret else value,
            str(error) if opt is None
            else checking.expected(opt, setting.value)) from None


@functools.cache
def _places():
    """Return where files may give options: (section, name) -> (section, dest,
    option) of today.
    """
    return {place: (section, dest, opt) for (section, dest), opt
            in reversed(sections.known_opts().items())
            for place in reversed(sections.places(section, opt))}


def _option(conf, setting):
    """Return (section, dest, option) of today that a Setting is about.

    The option is None where only a plug-in knows it.
    """
    places = {(section, name): (section, name, None) for section, name
              in sections.registered_names(conf)} | _places()
    found = places.get((setting.section, setting.name))
    if found is not None:
        return found
    names = [f'{section}.{name}' for section, name in places]
    wrong = f'{setting.section}.{setting.name}'
    near = nearest.nearest(wrong, names)
    raise exception.InvalidInput(
        reason=f'--set {setting}: there is no option {wrong}; ' + (
            f'did you mean {near}?' if near else
            '"nova-sched-manage config check" shows those that are set'))
