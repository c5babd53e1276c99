"""A consumer of notifications, like billing and telemetry services."""

import contextlib
import dataclasses

import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched.rpc import driver


@dataclasses.dataclass(frozen=True)
class Notification:
    """A received notification; metadata: id and time."""

    context: dict
    publisher_id: str
    event_type: str
    payload: dict
    metadata: dict


class Consumer:
    """Keeps notifications of priority INFO in ``heard``."""

    def __init__(self):
        self.heard = []

    def info(self, ctxt, *notification):
        self.heard.append(Notification(ctxt, *notification))

    def events(self, publisher=''):
        """(publisher, 'start' or 'end') of notifications, in order: list."""
        return [(each.publisher_id, each.event_type.rpartition('.')[2])
                for each in self.heard
                if each.publisher_id.startswith(publisher)]


@contextlib.contextmanager
def consumer(conf, topics=('notifications', 'versioned_notifications')):
    """A Consumer of these topics for a block."""
    # oslo.messaging's own transport takes five seconds to stop.
    transport = driver.transport(messaging.get_notification_transport, conf,
                                 config.notification_transport_url(conf))
    made = Consumer()
    listener = messaging.get_notification_listener(
        transport, [messaging.Target(topic=topic) for topic in topics],
        [made], executor='threading')
    listener.start()
    try:
        yield made
    finally:
        listener.stop()
        listener.wait()
        transport.cleanup()
