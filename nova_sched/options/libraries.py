"""Options of the libraries: registered early, with Nova's defaults and names.

oslo.messaging, oslo.db and oslo.service own their options and register them
when they are first used. Two things are wanted of them here: Nova's defaults,
and the names that they had in Nova's files of Kilo and Mitaka and that the
libraries have since forgotten. Both are put into the libraries' own option
objects (as ``oslo_messaging.set_transport_defaults`` does), because an option
of the same name that differs from theirs would clash with theirs.
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

#: Of [oslo_concurrency], what the queue manager of oslo.messaging needs.
_LOCK_PATH = [(group, [opt for opt in opts if opt.name == 'lock_path'])
              for group, opts in concurrency_options.list_opts()]


def add_old_names(group, opts):
    """Add their older names to the options of a group, once."""
    for opt in opts:
        for old_group, name in known_options.old_names(group, opt.name):
            old = cfg.DeprecatedOpt(name, group=old_group)
            if old not in opt.deprecated_opts:
                opt.deprecated_opts.append(old)


def set_lib_defaults():
    """Give the libraries' options Nova's defaults and older names.

    One default is ours: how many requests a worker takes ahead.
    Also the ``oslo.config.opts.defaults`` entry point, so that a generated
    sample shows them. May be called any number of times.
    """
    oslo_messaging.set_transport_defaults(control_exchange='nova')
    cfg.set_defaults(service_options.service_opts,
                     graceful_shutdown_timeout=180)
    # Without a bound one worker takes a whole burst, and keeps it from the
    # others when it stops.
    cfg.set_defaults(impl_rabbit.rabbit_opts, rabbit_qos_prefetch_count=16)
    for group, opts in (
            ('database', db_options.database_opts),
            ('oslo_messaging_rabbit', amqp.amqp_opts),
            ('oslo_messaging_rabbit', impl_rabbit.rabbit_opts),
            ('oslo_messaging_notifications', notifier._notifier_opts)):
        add_old_names(group, opts)


def list_lib_opts():
    """Return the libraries' options registered here: (group, opts) pairs.

    Of oslo.messaging its own objects, which its ``list_opts`` copies: an
    option that is deprecated remembers that it has been read, differs from
    its copy from then on, and a driver that registers it again fails.
    """
    listed = (messaging_options._opts + db_options.list_opts()
              + report_options.list_opts())
    return [(group, opts) for group, opts in listed
            if group != 'oslo_messaging_kafka'] + list_unlisted_opts()


def list_unlisted_opts():
    """Return those that the libraries put into no sample: (group, opts).

    oslo.service lists its one option of interest together with eventlet's,
    and oslo.concurrency together with one that has no effect here.
    oslo.messaging registers metrics and tracing on cfg.CONF only, although
    its RPC client reads them from the configuration it is given; releases
    before 18.3 have no tracing.
    """
    found = [(None, service_options.service_opts), *_LOCK_PATH]
    for module, name in (('_metrics', 'oslo_messaging_metrics'),
                         ('_tracing', 'oslo_messaging_tracing')):
        try:
            client = importlib.import_module(f'oslo_messaging.{module}.client')
        except ModuleNotFoundError:
            continue
        found.append((name, getattr(client, name)))
    return found


def register_opts(conf):
    """Register the libraries' options on a ConfigOpts."""
    set_lib_defaults()
    for group, opts in list_lib_opts():
        conf.register_opts(opts, group)
