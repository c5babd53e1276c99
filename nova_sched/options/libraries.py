"""Options of the libraries: registered early, with Nova's defaults and names.

oslo.messaging, oslo.db and oslo.service register their options when they are
first used. This module sets Nova's defaults, and adds the older names that the
options had in Nova's files of Kilo and Mitaka and that the libraries have
dropped. Both are set on the libraries' own option objects (as
``oslo_messaging.set_transport_defaults`` does), because an option of the same
name that differs from the library's would clash with it.
"""

import importlib

from oslo_concurrency import opts as concurrency_options
from oslo_config import cfg
from oslo_db import options as db_options
import oslo_messaging
from oslo_messaging import opts as messaging_options
from oslo_messaging._drivers import amqp
from oslo_messaging._drivers import impl_rabbit
from oslo_messaging.notify import notifier
from oslo_reports import opts as report_options
from oslo_service import _options as service_options

from nova_sched.options import known_options

#: The option of [oslo_concurrency] that oslo.messaging's queue manager needs.
_LOCK_PATH = [(group, [opt for opt in opts if opt.name == 'lock_path'])
              for group, opts in concurrency_options.list_opts()]


def add_old_names(group, opts):
    """Add the older names to the options of a group, once."""
    for opt in opts:
        for old_group, name in known_options.old_names(group, opt.name):
            old = cfg.DeprecatedOpt(name, group=old_group)
            if old not in opt.deprecated_opts:
                opt.deprecated_opts.append(old)


def set_lib_defaults():
    """Give the libraries' options Nova's defaults and older names.

    The default of the prefetch count is the service's own.  Also the
    ``oslo.config.opts.defaults`` entry point, so that a generated sample shows
    the defaults.  May be called any number of times.
    """
    oslo_messaging.set_transport_defaults(control_exchange='nova')
    cfg.set_defaults(service_options.service_opts,
                     graceful_shutdown_timeout=180)
    # Without a bound one worker takes a whole burst, and the others get
    # nothing of it until the worker stops.
    cfg.set_defaults(impl_rabbit.rabbit_opts, rabbit_qos_prefetch_count=16)
    for group, opts in (
            ('database', db_options.database_opts),
            ('oslo_messaging_rabbit', amqp.amqp_opts),
            ('oslo_messaging_rabbit', impl_rabbit.rabbit_opts),
            ('oslo_messaging_notifications', notifier._notifier_opts)):
        add_old_names(group, opts)


def list_lib_opts():
    """Return the libraries' options registered here: (group, opts) pairs.

    oslo.messaging's options are its own objects, not the copies that its
    ``list_opts`` returns: a deprecated option remembers that it was read and
    then differs from its copy, so that a driver fails to register it again.
    """
    listed = (messaging_options._opts + db_options.list_opts()
              + report_options.list_opts())
    return [(group, opts) for group, opts in listed
            if group != 'oslo_messaging_kafka'] + list_unlisted_opts()


def list_unlisted_opts():
    """Return the libraries' options that are in no sample: (group, opts).

    oslo.service lists the option that the service uses together with
    eventlet's options, oslo.concurrency together with an unused option.
    oslo.messaging registers metrics and tracing on cfg.CONF only, although
    its RPC client reads them from its own configuration; releases before 18.3
    have no tracing.
    """
    listed = [(None, service_options.service_opts), *_LOCK_PATH]
    for module, name in (('_metrics', 'oslo_messaging_metrics'),
                         ('_tracing', 'oslo_messaging_tracing')):
        try:
            client = importlib.import_module(f'oslo_messaging.{module}.client')
        except ModuleNotFoundError:
            continue
        listed.append((name, getattr(client, name)))
    return listed


def register_opts(conf):
    """Register the libraries' options on a ConfigOpts."""
    set_lib_defaults()
    for group, opts in list_lib_opts():
        conf.register_opts(opts, group)
