"""What is wrong with a configuration, in words for the operator.

``check`` finds what the service cannot run with, ``warnings`` what it can,
and ``unknown_options`` what is probably misspelt. Options that belong to
other services are nobody's mistake: the file may be the real nova.conf.
"""

from importlib import metadata

from oslo_config import cfg
from oslo_config import types

from nova_sched import exception
from nova_sched.conf import database
from nova_sched.conf import messaging
from nova_sched.conf import placement
from nova_sched.conf import types as option_types
from nova_sched.options import files
from nova_sched.options import names as option_names
from nova_sched.options import nearest
from nova_sched.options import sections
from nova_sched.options import settings
from nova_sched.options import without_effect

_VALUE_ERRORS = (cfg.ConfigFileValueError, cfg.ConfigSourceValueError,
                 cfg.TemplateSubstitutionError)

#: Values that exist in Nova but that this release cannot serve.
NOT_AVAILABLE = {
    'mc': 'heartbeats in memcached are not available in this release; use db',
}

#: Without Placement's answers nothing else keeps hosts from being overfilled.
SIZE_FILTERS = ('RamFilter', 'DiskFilter')


def check(conf):
    """What the service cannot run with: list of ConfigurationError.

    Reads every option. Names of drivers, filters and weighers are not looked
    up here, but where they are loaded.
    """
    errors, invalid = _unreadable(conf)
    for part in (messaging.transport_url, messaging.own_notification_url,
                 messaging.lock_path, messaging.check_tls_files,
                 database.database_url, database.api_database_url):
        errors += _tried(part, conf)
    if 'servicegroup_driver' not in invalid:
        errors += _unavailable('[DEFAULT] servicegroup_driver',
                               conf.servicegroup_driver)
    return errors


def _tried(function, conf):
    try:
        function(conf)
    except exception.ConfigurationError as exc:
        return [exc]
    except _VALUE_ERRORS:
        return []       # reported by option already
    return []


def _option_names(conf):
    """Every option that is registered: yields (section, name)."""
    for name, value in _items(conf):
        if isinstance(value, cfg.ConfigOpts.GroupAttr):
            for in_group in value:
                yield name, in_group
        else:
            yield 'DEFAULT', name


def _items(conf):
    for name in conf:
        try:
            yield name, conf[name]
        except _VALUE_ERRORS:
            yield name, None


def _unreadable(conf):
    """Options whose value is malformed: their errors and their names."""
    errors, invalid = [], set()
    known = sections.known_opts()
    for section, name in _option_names(conf):
        try:
            (conf if section == 'DEFAULT' else conf[section])[name]
        except _VALUE_ERRORS as exc:
            opt = known.get((section, name))
            errors.append(_value_error(conf, section, name, opt, exc))
            invalid.add(name)
    return errors, invalid


def _value_error(conf, section, name, opt, exc):
    option = f'[{section}] {name}'
    written = _as_written(conf, section, opt) if opt else None
    if written is None:
        return exception.ConfigurationError(
            option, 'as given outside the files', str(exc))
    place, old_name, text = written
    hint = _expected(opt, text)
    if (place, old_name) != (section, name):
        hint += f' (the option is now {option})'
    return exception.ConfigurationError(
        f'[{place}] {old_name}', '****' if opt.secret else text, hint)


def _as_written(conf, section, opt):
    """Where the files give an option: (section, name, text), or None."""
    raw = files.raw_sections(conf)
    for place, name in sections.places(section, opt):
        texts = raw.get(place, {}).get(name)
        if texts:
            return place, name, texts[-1]
    return None


def _expected(opt, value):
    """What an option takes, in words."""
    kind = opt.type
    choices = getattr(kind, 'choices', None)
    if choices:
        return 'must be one of ' + ', '.join(map(str, choices)) + (
            '; ' + nearest.did_you_mean(value, map(str, choices))
            if nearest.nearest(value, map(str, choices)) else '')
    if isinstance(kind, types.Boolean):
        return 'must be true or false'
    if isinstance(kind, types.Number):
        words = ('must be a whole number' if isinstance(kind, types.Integer)
                 else 'must be a number')
        if kind.min is not None and kind.max is not None:
            return f'{words} from {kind.min} to {kind.max}'
        if kind.min is not None:
            return f'{words}, {kind.min} or more'
        return words
    return f'is no valid {kind.type_name}'


def _unavailable(option, value):
    if value not in NOT_AVAILABLE:
        return []
    return [exception.ConfigurationError(
        option, value, NOT_AVAILABLE[value])]


def warnings(conf):
    """What is odd but does not stop the service: list of sentences."""
    found = []
    for group, name in (('metrics', 'weight_setting'),
                        ('filter_scheduler', 'image_props_weight_setting')):
        good, bad = settings.parse_weights(conf[group][name])
        found += [f'[{group}] {name} = {weighed}=...: nothing has a name that '
                  f'ends in a blank; write no blanks around the ='
                  for weighed, _ratio in good if weighed != weighed.strip()]
        if bad:
            found.append(
                'Ignoring the invalid elements of the option '
                f'{group}.{name}: {", ".join(bad)}')
    found += _clamped(conf)
    if conf.service_down_time <= conf.report_interval:
        found.append(
            f'[DEFAULT] service_down_time = {conf.service_down_time} is not '
            f'above report_interval = {conf.report_interval}: '
            f'{settings.service_down_time(conf)} seconds are used')
    if conf.concurrency_backend == 'eventlet':
        found.append('[DEFAULT] concurrency_backend: this service uses '
                     'native threads whatever this says')
    if (option_names.host_manager_name(conf)
            == option_names.IRONIC_HOST_MANAGER):
        found.append(
            '[scheduler] host_manager: Nova deprecated the bare-metal host '
            'manager and removed it in 18.0.0 (Rocky); it is part of this '
            'service and runs')
    found += _unknown_notifiers(conf)
    found += _without_effect(conf)
    found += _overfilling(conf)
    return found


def _unknown_notifiers(conf):
    """Sentences on drivers of notifications that there are not."""
    known = metadata.entry_points(group='oslo.messaging.notify.drivers').names
    return [f'[oslo_messaging_notifications] driver = {name} is no driver of '
            f'notifications, so nothing is sent by it; '
            + nearest.did_you_mean(name, known)
            for name in conf.oslo_messaging_notifications.driver
            if name and name not in known]


def _without_effect(conf):
    """A sentence that names the options that are set for nothing."""
    known = sections.known_opts()
    found = [f'[{section}] {name}'
             for section, name in without_effect.options()
             if (section, name) in known
             and (conf if section == 'DEFAULT' else conf[section])[name]
             != known[section, name].default]
    if not found:
        return []
    return ['This release accepts these options but does not act on them: '
            + ', '.join(found)]


def _overfilling(conf):
    """A sentence, where hosts may get more than fits on them."""
    if (option_names.driver_name(conf) != 'caching_scheduler'
            or not placement.placement_configured(conf)
            or option_names.uses_baremetal_filters(conf)):
        return []
    enabled = option_names.enabled_filters(conf)
    lacking = [name for name in SIZE_FILTERS if name not in enabled]
    if not lacking:
        return []
    return ['[placement] is configured, but the caching scheduler does not '
            'ask Placement: nothing keeps hosts from being overfilled unless '
            'RamFilter and DiskFilter are named in [filter_scheduler] '
            f'enabled_filters, which lacks {" and ".join(lacking)}']


def _clamped(conf):
    """Sentences on values that are moved to their minimum."""
    found = []
    for (section, name), opt in sections.known_opts().items():
        written = (_as_written(conf, section, opt)
                   if isinstance(opt.type, option_types.Clamped) else None)
        if written is None:
            continue
        place, old_name, text = written
        if opt.type.num_type(text) < opt.type.min:
            found.append(
                f'[{place}] {old_name} = {text} is below its minimum: '
                f'{opt.type.min} is used for [{section}] {name}')
    return found


def unknown_options(conf):
    """Options in the files that are probably ours, misspelt.

    Returns a list of (section, name as written, nearest right name), only
    for close matches in sections that are ours; options of other services
    are left alone.
    """
    ours = {}
    for (section, _dest), opt in sections.known_opts().items():
        for place, name in sections.places(section, opt):
            ours.setdefault(place, set()).add(name)
    registered = set(_option_names(conf))
    found = []
    for section, values in files.raw_sections(conf).items():
        known = ours.get(section, set())
        for name in values:
            if name in known or (section, name) in registered:
                continue
            near = nearest.nearest(name, known, cutoff=0.85)
            if near is not None:
                found.append((section, name, near))
    return found
