"""All options: to register, to list in a sample, and to look up."""

import copy
import functools
import types

from oslo_config import cfg
from oslo_log import _options as log_options

from nova_sched.conf import compute
from nova_sched.conf import database
from nova_sched.conf import default
from nova_sched.conf import filter_scheduler
from nova_sched.conf import healthcheck
from nova_sched.conf import keystone
from nova_sched.conf import messaging
from nova_sched.conf import metrics
from nova_sched.conf import neutron
from nova_sched.conf import notifications
from nova_sched.conf import nova_sched
from nova_sched.conf import pci
from nova_sched.conf import placement
from nova_sched.conf import scheduler
from nova_sched.conf import service_user
from nova_sched.conf import trusted_computing
from nova_sched.conf import upgrade_levels
from nova_sched.conf import workarounds
from nova_sched.options import known_options
from nova_sched.options import libraries

SECTIONS = (default, scheduler, filter_scheduler, metrics, database,
            placement, neutron, service_user, messaging, notifications,
            upgrade_levels, workarounds, compute, pci, trusted_computing,
            nova_sched, healthcheck)
for _section in SECTIONS:
    libraries.add_old_names(_section.GROUP, _section.OPTS)
#: Names of switches of files and command line, all in DEFAULT.
SWITCHES = frozenset(opt.dest for opt in (
    *log_options.common_cli_opts, *log_options.logging_cli_opts)
    if isinstance(opt, cfg.BoolOpt))

#: Errors of oslo.config for a $ without an option, and for malformed values.
SUBSTITUTION_ERRORS = (cfg.TemplateSubstitutionError, cfg.NoSuchOptError)
VALUE_ERRORS = (cfg.ConfigFileValueError, cfg.ConfigSourceValueError,
                *SUBSTITUTION_ERRORS)

#: Sections with log-in options, which are listed but not registered.
WITH_LOG_IN = (placement, neutron, service_user)


def _group(section):
    # A new group each time: a shared group would share registered options
    # and overrides.
    if section.HELP is None:
        return section.GROUP
    return cfg.OptGroup(section.GROUP, help=section.HELP.strip())


def register_opts(conf):
    """Register all options, ours and the libraries', on a ConfigOpts."""
    libraries.register_opts(conf)
    for section in SECTIONS:
        group = _group(section)
        if isinstance(group, cfg.OptGroup):
            conf.register_group(group)
        conf.register_opts(section.OPTS, section.GROUP)


def list_opts():
    """Return the service's own options: list of (group or None, options).

    Entry point ``oslo.config.opts``, for samples and documentation.  Includes
    the libraries' options that the libraries themselves do not list.
    """
    listed, ignored = copy.deepcopy(_own_opts()), known_options.ignored()
    for group, opts in listed:
        for opt in opts:
            opt.help = opt.help and opt.help.strip()
            if (_section_name(group), opt.dest) in ignored:
                opt.help += f' {known_options.SENTENCE}'
    return listed


def _own_opts():
    """Return the service's own options, uncopied: list of (group, options)."""
    libraries.set_lib_defaults()
    return [(_group(section),
             keystone.with_log_in(section.OPTS) if section in WITH_LOG_IN
             else section.OPTS)
            for section in SECTIONS] + libraries.list_unlisted_opts()


@functools.cache
def known_opts():
    """Return the service's and the libraries' options, to look them up.

    A read-only mapping (section, dest) -> option, made once.  The options are
    copies, because a ConfigOpts marks the options that it registers.
    """
    own = _own_opts()
    listed = log_options.list_opts() + libraries.list_lib_opts() + own
    return types.MappingProxyType({
        (_section_name(group), opt.dest): copy.copy(opt)
        for group, opts in listed for opt in opts})


def registered_names(conf):
    """Yield (section, name) of all options of a ConfigOpts."""
    for name in conf:
        try:
            value = conf[name]
        except (cfg.Error, ValueError):
            value = None
        if isinstance(value, cfg.ConfigOpts.GroupAttr):
            for in_group in value:
                yield name, in_group
        else:
            yield 'DEFAULT', name


def value(conf, section, name):
    """Return the value of an option of a ConfigOpts."""
    return (conf if section == 'DEFAULT' else conf[section])[name]


def places(section, opt):
    """Return the places of an option in files: list of (section, name)."""
    return [(section, opt.name), (section, opt.dest)] + [
        (old.group or section, old.name or opt.name)
        for old in opt.deprecated_opts]


def _section_name(group):
    return str(getattr(group, 'name', group) or 'DEFAULT')
