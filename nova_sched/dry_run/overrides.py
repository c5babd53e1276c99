"""Changes of the configuration in this process only, for "what if"."""

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

#: Resources with an allocation ratio; the suffix of their columns and options.
RESOURCES, _RATIO = ('cpu', 'ram', 'disk'), '_allocation_ratio'


@dataclasses.dataclass(frozen=True)
class Setting:
    """An option and its new value.

    section: DEFAULT or another section.  name: current or former name.
    value: text, as in a configuration file.
    """

    section: str
    name: str
    value: str

    @classmethod
    def parse(cls, text):
        """Return the Setting of a text SECTION.OPTION=VALUE.

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
        """Return the text for ``parse``, with a secret value hidden."""
        *_, opt = _places().get((self.section, self.name), (None,))
        secret = opt is not None and opt.secret
        return (f'{self.section}.{self.name}='
                f'{"****" if secret else self.value}')


def host_ratio(text):
    """Return the (column, ratio) of a text RESOURCE=RATIO.

    Raises ValueError.
    """
    resource, _equals, value = text.partition('=')
    ratio = float(value)
    if resource not in RESOURCES or not 0 < ratio < math.inf:
        raise ValueError(text)
    return f'{resource}{_RATIO}', ratio


host_ratio.__name__ = 'RESOURCE=RATIO'


def without_effect(conf, settings, table, ranker):
    """Yield a sentence for each Setting that did not affect a decision.

    table: HostTable of the decision, or None.
    ranker: scheduler.ranking.Ranker of the decision, or None.
    """
    for setting in settings:
        (section, dest, _), reason = _option(conf, setting), None
        if (section, dest) in known_options.ignored():
            reason = 'this release accepts that option and does not act on it'
        elif dest.endswith(_RATIO) and table is not None:
            reason = _without_ratio(conf, dest, table)
        elif dest.endswith('_weight_multiplier') and ranker is not None and (
                dest not in {
                    getattr(getattr(weigher, 'rule', weigher),
                            'multiplier_name', None)
                    for weigher in ranker.weighers}):
            reason = 'no weigher that runs has this multiplier'
        if reason:
            yield f'--set {setting}: {reason}'


def _without_ratio(conf, dest, table):
    """Return how many hosts do not use a ratio: text; None if all use it."""
    name = dest.removeprefix('initial_')
    others = np.count_nonzero(table.columns[name] != conf[dest])
    if not (conf[dest] and others):
        return None
    return (f'{others:,} of {table.size:,} hosts have another ratio all the '
            'same, as they report their own; --host-ratio '
            f'{name.removesuffix(_RATIO)}={conf[dest]:g} decides as if all '
            'had this one')


def apply(conf, settings=(), without=(), enable=()):
    """Change options and the list of filters of a ConfigOpts.

    settings: Settings.  without: names of filters to remove.
    enable: names of filters to append.
    Raises ConfigurationError for an invalid value, and InvalidInput for an
    unknown option or filter.
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
    """Raise InvalidInput for an unknown filter."""
    for name in names:
        if name not in known:
            raise exception.InvalidInput(
                reason=f'{option} {name}: {problem}; '
                       f'{nearest.did_you_mean(name, known)}')


def _set(conf, setting):
    """Override one option."""
    section, dest, opt = _option(conf, setting)
    value = setting.value
    if opt is not None and opt.multi:
        # A JSON value may contain commas.
        value = [value] if value.startswith('{') else [
            part.strip() for part in value.split(',') if part.strip()]
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
    """Return current and former names of options.

    A dict (section, name in a file) -> (current section, dest, option).
    """
    return {place: (section, dest, opt) for (section, dest), opt
            in reversed(sections.known_opts().items())
            for place in reversed(sections.places(section, opt))}


def _option(conf, setting):
    """Return the current (section, dest, option) of a Setting.

    The option is None if a plug-in registers it.
    """
    places = {(section, name): (section, name, None) for section, name
              in sections.registered_names(conf)} | _places()
    if (setting.section, setting.name) in places:
        return places[setting.section, setting.name]
    wrong = f'{setting.section}.{setting.name}'
    near = nearest.nearest(wrong, [
        f'{section}.{name}' for section, name in places])
    raise exception.InvalidInput(
        reason=f'--set {setting}: there is no option {wrong}; ' + (
            f'did you mean {near}?' if near else
            '"nova-sched-manage config check" shows those that are set'))
