"""As ``nova.rpc``: notifications of plug-ins."""

import os

import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import rpc
from nova_sched.compat import driver_signatures
from nova_sched.compat.nova import reach
from nova_sched.compat.nova.conf import CONF
from nova_sched.rpc import driver

#: Notifications that the service sends itself.
_SENT_BY_SERVICE = tuple(f'scheduler.select_destinations.{phase}'
                         for phase in ('start', 'end'))

_transports = {}


class Notifier(messaging.Notifier):
    """Sends notifications, except duplicates of the service's own."""

    def info(self, ctxt, event_type, payload):
        """Send a notification of priority INFO."""
        is_sent = driver_signatures.current().notifies
        if not (event_type in _SENT_BY_SERVICE and is_sent):
            super().info(ctxt, event_type, payload)


def get_notifier(service, host=None, publisher_id=None):
    """Return a notifier of a service with the process's configuration.

    publisher_id: ``<service>.<host>`` unless given; host: this one.
    It has debug, info, warn, error and critical, each with the arguments
    (context, event_type, payload), and uses
    [oslo_messaging_notifications] and [notifications] notification_format.
    """
    return notifier(CONF, publisher_id or f'{service}.{host or CONF.host}')


def notifier(conf, publisher_id):
    """Return the Notifier of a publisher; conf: ConfigOpts."""
    # Plug-ins send unversioned notifications.
    muted = (reach.is_limited() or
             conf.notifications.notification_format == 'versioned')
    return Notifier(
        _transport(conf), publisher_id, driver='noop' if muted else None,
        serializer=rpc.ContextSerializer())


def _transport(conf):
    """Return the transport that all notifiers of a process share."""
    url = config.notification_transport_url(conf)
    # A transport keeps a reference to its configuration: its id is unique.
    key = os.getpid(), id(conf), url, conf.control_exchange
    if key not in _transports:
        _transports.setdefault(
            key, driver.transport(messaging.get_notification_transport, conf,
                                  url))
    return _transports[key]
