"""Warnings of what an operator may not have meant.

``warnings`` is all of it, a sentence each, but what is probably misspelt in
a section of ours, which is in ``spelling``.
"""


from oslo_utils import strutils

from nova_sched import exception
from nova_sched.conf import placement
from nova_sched.conf import types as option_types
from nova_sched.options import entry_points
from nova_sched.options import files
from nova_sched.options import ignored_options
from nova_sched.options import log_files
from nova_sched.options import names
from nova_sched.options import nearest
from nova_sched.options import sections
from nova_sched.options import settings
from nova_sched.options import spelling
from nova_sched.options import tls

#: Without Placement's answers nothing else keeps hosts from being overfilled.
SIZE_FILTERS = ('RamFilter', 'DiskFilter')

#: Files of TLS that requests need, in sections that may do nothing:
#: (section, option that says that they do something) -> options.
_TLS_FILES = {
    ('neutron', 'auth_type'): ('cafile', 'certfile', 'keyfile'),
    ('service_user', 'auth_type'): ('cafile', 'certfile', 'keyfile'),
    ('trusted_computing', 'attestation_server'): (
        'attestation_server_ca_file',)}


def warnings(conf):
    """Return what is odd but does not stop the service: list of sentences."""
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
    if (names.host_manager_name(conf)
            == names.IRONIC_HOST_MANAGER):
        found.append(
            '[scheduler] host_manager: Nova deprecated the bare-metal host '
            'manager and removed it in 18.0.0 (Rocky); it is part of this '
            'service and runs')
    found += _unknown_notifiers(conf)
    found += _ignored_options(conf)
    found += _overfilled_hosts(conf)
    found += _filters_not_run(conf)
    found += _custom_manager(conf)
    found += _cells_v1(conf)
    found += _unreadable_authorities(conf)
    found += _unknown_log_ins(conf)
    found += log_files.warnings(conf)
    if log_files.lacks_journal(conf):
        found.append(
            '[DEFAULT] use_journal: Python has no module systemd, so the log '
            'goes where it would without this option; systemd keeps stdout '
            'and stderr in the journal. For the fields that the module adds, '
            'install nova_sched[journal]')
    return [*map(spelling.Spelling(conf).in_words, found),
            *spelling.warnings(conf)]


def _unknown_notifiers(conf):
    """Return sentences on unknown drivers of notifications."""
    known = entry_points.named('oslo.messaging.notify.drivers').names
    return [f'[oslo_messaging_notifications] driver = {name} is no driver of '
            f'notifications, so nothing is sent by it; '
            + nearest.did_you_mean(name, known)
            for name in conf.oslo_messaging_notifications.driver
            if name and name not in known]


def _ignored_options(conf):
    """Return a sentence that names the options that are set and ignored."""
    known = sections.known_opts()
    found = [f'[{section}] {name}'
             for section, name in ignored_options.options()
             if (section, name) in known.keys() - ignored_options.FOR_OTHERS
             and (conf if section == 'DEFAULT' else conf[section])[name]
             != known[section, name].default]
    if not found:
        return []
    return ['This release accepts these options but does not act on them: '
            + ', '.join(found)
            + '; take them out, unless another service reads this file']


def _overfilled_hosts(conf):
    """Return a sentence if hosts may get more than fits on them."""
    if (names.driver_name(conf) != 'caching_scheduler'
            or not placement.placement_configured(conf)
            or names.uses_baremetal_filters(conf)):
        return []
    enabled = names.enabled_filters(conf)
    lacking = [name for name in SIZE_FILTERS if name not in enabled]
    if not lacking:
        return []
    return ['[placement] is configured, but the caching scheduler does not '
            'ask Placement: nothing keeps hosts from being overfilled unless '
            'RamFilter and DiskFilter are named in [filter_scheduler] '
            f'enabled_filters, which lacks {" and ".join(lacking)}']


def _clamped(conf):
    """Return sentences on values that are moved to their minimum."""
    found, files_have = [], spelling.Spelling(conf)
    for (section, name), opt in sections.known_opts().items():
        written = (files_have.as_written(section, opt)
                   if isinstance(opt.type, option_types.Clamped) else None)
        if written is None:
            continue
        text = written[-1]
        try:
            is_below = opt.type.num_type(text) < opt.type.min
        except ValueError:
            continue    # an error, or another file's value counts
        if is_below:
            found.append(f'[{section}] {name} = {text} is below its minimum: '
                         f'{opt.type.min} is used')
    return found


def _filters_not_run(conf):
    """Return a sentence if filters are configured that do not run."""
    if (names.driver_name(conf) != 'chance_scheduler'
            or conf.filter_scheduler.enabled_filters is None):
        return []
    return ['[filter_scheduler] enabled_filters does nothing: the chance '
            'scheduler draws among all hosts that are up']


def _custom_manager(conf):
    """Return a sentence if a manager is named that is not Nova's."""
    name = conf.scheduler_manager
    if name in (None, 'nova.scheduler.manager.SchedulerManager'):
        return []
    return [f'[DEFAULT] scheduler_manager = {name} is never asked: write what '
            'it decides as a driver, and name that in [scheduler] driver']


def _cells_v1(conf):
    """Return a sentence if Kilo's cells are on."""
    texts = files.raw_values(conf, 'cells', 'enable')
    if not texts or not strutils.bool_from_string(texts[-1]):
        return []
    return ['[cells] enable: cells of the first version, which Nova removed '
            'in 19.0.0 (Stein), are not known here; the hosts of '
            '[database] are scheduled as if there were none']


def _unknown_log_ins(conf):
    """Return sentences on unknown ways to log in."""
    known = entry_points.named('keystoneauth1.plugin').names
    return [f'[{section}] auth_type = {name} is no way to log in, so '
            'requests that need one fail; '
            + nearest.did_you_mean(name, known)
            for section in ('placement', 'neutron', 'service_user')
            for name in files.raw_values(conf, section, 'auth_type')[-1:]
            if name and name not in known]


def _unreadable_authorities(conf):
    """Return sentences on files of TLS without which requests will fail."""
    found = []
    for (section, sign), options in _TLS_FILES.items():
        if not files.raw_values(conf, section, sign):
            continue
        for name in options:
            path = conf[section][name]
            try:
                if path:
                    tls.check_readable(f'[{section}] {name}', path)
            except exception.ConfigurationError as error:
                found.append(str(error))
    return found
