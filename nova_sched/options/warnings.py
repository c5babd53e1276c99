"""Warnings about values that the operator may not have intended.

``warnings`` returns them all, a sentence each, except misspelt options in
sections of this service, which ``spelling`` returns.
"""

import re

from oslo_utils import strutils

from nova_sched import exception
from nova_sched.conf import database
from nova_sched.conf import placement
from nova_sched.conf import types as option_types
from nova_sched.options import entry_points
from nova_sched.options import files
from nova_sched.options import known_options
from nova_sched.options import log_files
from nova_sched.options import names
from nova_sched.options import nearest
from nova_sched.options import sections
from nova_sched.options import settings
from nova_sched.options import spelling

#: Without Placement, only these keep hosts from being overfilled.
SIZE_FILTERS = ('RamFilter', 'DiskFilter')

#: Filters of amounts that Placement counts.
_COUNTED = tuple(f'{prefix}{name}' for name in (
    'RamFilter', 'CoreFilter', 'DiskFilter') for prefix in ('', 'Aggregate'))

#: Options with TLS files that requests need, in sections that may be unused:
#: (section, option that is set if the section is used) -> options.
_TLS_FILES = {
    ('neutron', 'auth_type'): ('cafile', 'certfile', 'keyfile'),
    ('service_user', 'auth_type'): ('cafile', 'certfile', 'keyfile'),
    ('trusted_computing', 'attestation_server'): (
        'attestation_server_ca_file',)}

#: Placeholder for a password in OpenStack's installation guides, and the
#: sections whose passwords the service uses.
_PLACEHOLDER = re.compile(r'\b[A-Z]{3,}_(?:DB)?PASS\b')
_WITH_PASSWORDS = {'DEFAULT', 'database', 'api_database', 'placement',
                   'neutron', 'service_user', 'oslo_messaging_rabbit',
                   'oslo_messaging_notifications'}

#: Sections and options of nova-compute alone.
_OF_COMPUTES = {'libvirt', 'vmware', 'ironic', 'zvm', 'compute_driver',
                'instances_path', 'compute'}


def warnings(conf):
    """Return the warnings about a ConfigOpts: list of sentences."""
    sentences = [sentence for kind in (
        _weights, _clamped, _odd_values, _unknown_notifiers, _ignored_options,
        _overfilled_hosts, _counted_twice, _without_effect,
        _unreadable_authorities, _unknown_log_ins, _placeholders,
        _without_database, log_files.warnings, _lacking_journal)
        for sentence in kind(conf)]
    return [*map(spelling.Spelling(conf).rename_in_text, sentences),
            *spelling.warnings(conf)]


def _lacking_journal(conf):
    """Yield a sentence if the journal cannot be written."""
    if log_files.lacks_journal(conf):
        yield ('[DEFAULT] use_journal: the Python module systemd is missing, '
               'so this option has no effect; systemd writes stdout and '
               'stderr to the journal. For the fields that the module adds, '
               'install nova_sched[journal]')


def _weights(conf):
    """Yield sentences on weights with another effect than intended."""
    for group, name in (('metrics', 'weight_setting'),
                        ('filter_scheduler', 'image_props_weight_setting')):
        good, bad = settings.parse_weights(conf[group][name])
        for weighed, _ratio in good:
            if weighed != weighed.strip():
                yield (f'[{group}] {name} = {weighed}=...: no name ends in a '
                       'blank; write no blanks around the =')
        if bad:
            yield (f'Ignoring the invalid elements of the option '
                   f'{group}.{name}: {", ".join(bad)}')


def _odd_values(conf):
    """Yield sentences on values that do not have their usual effect."""
    if conf.service_down_time <= conf.report_interval:
        yield (f'[DEFAULT] service_down_time = {conf.service_down_time} is '
               f'not above report_interval = {conf.report_interval}: '
               f'{settings.service_down_time(conf)} seconds are used')
    if conf.concurrency_backend == 'eventlet':
        yield ('[DEFAULT] concurrency_backend: this service always uses '
               'native threads')
    if names.host_manager_name(conf) == names.IRONIC_HOST_MANAGER:
        yield ('[scheduler] host_manager: Nova deprecated the bare-metal host '
               'manager and removed it in 18.0.0 (Rocky); this service still '
               'has it')


def _unknown_notifiers(conf):
    """Yield sentences on unknown drivers of notifications."""
    known = entry_points.named('oslo.messaging.notify.drivers').names
    for name in conf.oslo_messaging_notifications.driver:
        if name and name not in known:
            yield (f'[oslo_messaging_notifications] driver = {name} is no '
                   'notification driver, so it sends nothing; '
                   + nearest.did_you_mean(name, known))


def _ignored_options(conf):
    """Yield a sentence that names the options that are set and ignored."""
    known = sections.known_opts()
    ignored = [f'[{section}] {name}'
               for section, name in known_options.ignored('ignored')
               if (section, name) in known
               and sections.value(conf, section, name)
               != known[section, name].default]
    if ignored:
        yield ('This release accepts these options but does not act on them: '
               + ', '.join(ignored)
               + '; remove them, unless another service reads this file')


def _overfilled_hosts(conf):
    """Yield a sentence if hosts may be overfilled."""
    if (names.driver_name(conf) != 'caching_scheduler'
            or not placement.placement_configured(conf)
            or names.uses_baremetal_filters(conf)):
        return
    enabled = names.enabled_filters(conf)
    lacking = [name for name in SIZE_FILTERS if name not in enabled]
    if lacking:
        yield ('[placement] is configured, but the caching scheduler does not '
               'use Placement: nothing keeps hosts from being overfilled '
               'unless RamFilter and DiskFilter are named in '
               '[filter_scheduler] enabled_filters, which lacks '
               + ' and '.join(lacking))


def _counted_twice(conf):
    """Yield a sentence if filters count what Placement counts."""
    if not names.asks_placement(conf) or names.uses_baremetal_filters(conf):
        return
    enabled = set(names.enabled_filters(conf))
    counted = [name for name in _COUNTED if name in enabled]
    if counted:
        yield ('[filter_scheduler] enabled_filters: '
               f'{" and ".join(counted)} beside Placement: usage is counted '
               'twice, by Placement and by the reports of compute nodes, and '
               'a host must have room by both; remove such filters')


def _clamped(conf):
    """Yield sentences on values that are moved to their minimum."""
    find_setting = spelling.Spelling(conf).find_setting
    for (section, name), opt in sections.known_opts().items():
        if (not isinstance(opt.type, option_types.Clamped)
                or (place := find_setting(section, opt)) is None):
            continue
        text = place[-1]
        try:
            is_below = opt.type.num_type(text) < opt.type.min
        except ValueError:
            continue    # an error, or overridden by another file
        if is_below:
            yield (f'[{section}] {name} = {text} is below its minimum: '
                   f'{opt.type.min} is used')


def _without_effect(conf):
    """Yield sentences on options without effect in this service."""
    if (names.driver_name(conf) == 'chance_scheduler'
            and conf.filter_scheduler.enabled_filters is not None):
        yield ('[filter_scheduler] enabled_filters has no effect: the chance '
               'scheduler draws among all hosts that are up')
    if conf.scheduler_manager not in (
            None, 'nova.scheduler.manager.SchedulerManager'):
        yield (f'[DEFAULT] scheduler_manager = {conf.scheduler_manager} is '
               'not used: write a driver with its decisions, and name the '
               'driver in [scheduler] driver')
    cells = files.raw_values(conf, 'cells', 'enable')
    if cells and strutils.bool_from_string(cells[-1]):
        yield ('[cells] enable: cells v1, which Nova removed in 19.0.0 '
               '(Stein), are not supported; the hosts of [database] are '
               'scheduled as if there were no cells')


def _unknown_log_ins(conf):
    """Yield sentences on unknown types of log-in."""
    known = entry_points.named('keystoneauth1.plugin').names
    for section in ('placement', 'neutron', 'service_user'):
        for name in files.raw_values(conf, section, 'auth_type')[-1:]:
            if name and name not in known:
                yield (f'[{section}] auth_type = {name} is no type of log-in, '
                       'so requests that need a log-in fail; '
                       + nearest.did_you_mean(name, known))


def _unreadable_authorities(conf):
    """Yield sentences on unreadable TLS files, for which requests fail."""
    for (section, sign), options in _TLS_FILES.items():
        for name in options if files.raw_values(conf, section, sign) else ():
            try:
                if conf[section][name]:
                    files.check_readable(f'[{section}] {name}',
                                         conf[section][name])
            except exception.ConfigurationError as error:
                yield str(error)


def _placeholders(conf):
    """Yield sentences on placeholders for passwords."""
    for section, values in files.raw_sections(conf).items():
        for name, texts in values.items():
            for word in sorted(set(_PLACEHOLDER.findall(texts[-1]))):
                if section in _WITH_PASSWORDS:
                    yield (f'[{section}] {name} has {word}, the placeholder '
                           'for a password in the installation guides; '
                           'replace it by the password')


def _without_database(conf):
    """Yield a sentence if [database] probably lacks the cloud's hosts."""
    if conf.database.connection:
        return
    if conf.api_database.connection:
        yield ('[database] connection is not set beside [api_database] '
               'connection; set it to the database of cell0, as for '
               'nova-scheduler')
        return
    raw = files.raw_sections(conf)
    if not (raw.keys() & _OF_COMPUTES
            or raw.get('DEFAULT', {}).keys() & _OF_COMPUTES
            or ('transport_url' in raw.get('DEFAULT', {})
                and placement.placement_configured(conf))):
        return
    yield ('[database] connection is not set, so the hosts are those of the '
           f'file {database.database_url(conf).removeprefix("sqlite:///")}: '
           'this is probably the configuration of a compute node; use that of '
           'a controller, where nova-scheduler or nova-conductor runs')
