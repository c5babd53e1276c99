"""Notifications about requests, as Nova sends them.

A request costs its own thread no more than a place in a queue: payloads are
made, and sent, in a thread of their own. That is safe because nobody changes
a RequestSpec that is not their own, and making a payload leaves no trace on
it.
"""

import dataclasses

from nova_sched import conf as config
from nova_sched.observe import outbox
from nova_sched.observe import payloads
from nova_sched.rpc import notifier

#: Seconds that a stop waits for what is still to be sent.
GRACE = 3


@dataclasses.dataclass(frozen=True)
class _Event:
    """A request that began, or ended with a decision.Pick each instance."""

    phase: str
    context: object
    spec_obj: object
    picks: list | tuple = ()


class Notifications:
    """The notifications that hosts are about to be chosen, and were.

    conf: ConfigOpts.  Nobody is told before ``configure``, nor where
    [oslo_messaging_notifications] driver is empty; nothing is made then.
    """

    def __init__(self, conf):
        self._conf, self._options, self._post = conf, None, None

    def configure(self):
        """Apply what the options say now.

        Raises ConfigurationError for a bus that there cannot be; all stays as
        it is then.
        """
        options = _options(self._conf)
        if options == self._options:
            return
        fresh = (_Post(self._conf) if config.notification_drivers(self._conf)
                 else None)
        old, self._post, self._options = self._post, fresh, options
        if old is not None:
            old.stop()

    def began(self, context, spec_obj):
        """Tell that hosts are about to be chosen for a request.

        context: RequestContext.  spec_obj: a RequestSpec that nobody changes.
        """
        self._tell('start', context, spec_obj)

    def ended(self, context, spec_obj, picks):
        """Tell that hosts were chosen: a decision.Pick each instance."""
        self._tell('end', context, spec_obj, picks)

    def stop(self):
        """Send what is queued, for at most GRACE seconds, and disconnect."""
        old, self._post, self._options = self._post, None, None
        if old is not None:
            old.stop()

    def _tell(self, *event):
        # Another thread may take it away meanwhile.
        post = self._post
        if post is not None:
            post.put(_Event(*event))


class _Post:
    """A sender of notifications in each form that [notifications] asks for.
    """

    def __init__(self, conf):
        bus, self._ways = notifier.Bus(conf), []
        wanted = conf.notifications.notification_format
        if wanted != 'versioned':
            self._ways.append((
                bus.notifier(f'scheduler.{conf.host}'),
                payloads.unversioned))
        if wanted != 'unversioned':
            self._ways.append((
                bus.notifier(
                    f'nova-scheduler:{conf.host}',
                    conf.notifications.versioned_notifications_topics),
                payloads.versioned))
        self._outbox = outbox.Outbox(
            _send, bus.close,
            keep=conf.oslo_messaging_notifications.retry < 0)

    def put(self, event):
        """Queue the notifications of an event."""
        for way, payload in self._ways:
            self._outbox.put((event, way, payload))

    def stop(self):
        """Send what is queued, for at most GRACE seconds."""
        self._outbox.stop(GRACE)


def _send(notification):
    """Make the payload of a notification and send it by its way."""
    event, way, payload = notification
    way.info(event.context, f'scheduler.select_destinations.{event.phase}',
             payload(event.spec_obj, event.picks))


def _options(conf):
    """Return all that notifications depend on, to be compared."""
    return (conf.host, config.notification_transport_url(conf),
            dict(conf.oslo_messaging_notifications),
            dict(conf.notifications))
