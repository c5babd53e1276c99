"""Notifications about requests, as Nova sends them.

A request only puts its events into a queue: a thread makes the payloads and
sends them.  That is safe because a RequestSpec is not changed once it is
shared, and making a payload does not change it either.
"""

import contextlib
import queue
import threading
import time
import typing

from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched.concurrency import threads
from nova_sched.observe import payloads
from nova_sched.rpc import notifier
from nova_sched.rpc.notifier import NotSentError
from nova_sched.rpc.notifier import RefusedError

LOG = logging.getLogger(__name__)

#: Most notifications that wait; the next one is dropped.
MOST = 1000
#: Seconds between a failed try and the next one.
PAUSE = 5
#: Seconds that a stop waits for queued notifications to be sent.
GRACE = 3


class Notifications:
    """The notifications at the begin and at the end of host selection.

    conf: ConfigOpts.  Nothing is made or sent before ``configure``, or with an
    empty [oslo_messaging_notifications] driver.
    """

    def __init__(self, conf):
        self._conf, self._options, self._sender = conf, None, None

    def configure(self):
        """Apply the current options.

        Raises ConfigurationError for an unusable bus; then nothing changes.
        """
        conf = self._conf
        # All options that affect notifications.
        options = (conf.host, config.notification_transport_url(conf),
                   dict(conf.oslo_messaging_notifications),
                   dict(conf.notifications))
        if options == self._options:
            return
        sends = config.notification_drivers(conf)
        self._replace(_sender(conf) if sends else None, options)

    def began(self, context, spec_obj):
        """Notify that host selection begins.

        context: RequestContext.  spec_obj: RequestSpec; it must not change
        any more.
        """
        self._notify('start', context, spec_obj)

    def ended(self, context, spec_obj, picks):
        """Notify that hosts were selected.  picks: decision.Pick per instance.
        """
        self._notify('end', context, spec_obj, picks)

    def stop(self):
        """Send queued notifications, for at most GRACE seconds, and close."""
        self._replace(None, None)

    def _replace(self, sender, options):
        old, self._sender, self._options = self._sender, sender, options
        if old is not None:
            old.outbox.stop(GRACE)

    def _notify(self, *event):
        # Another thread may set it to None at any time.
        sender = self._sender
        if sender is not None:
            for form in sender.forms:
                sender.outbox.put((*form, *event))


class _Sender(typing.NamedTuple):
    """The outbox, and a notifier and a payload's function for each form."""

    outbox: object
    forms: list


def _sender(conf):
    """Return a _Sender in the forms that [notifications] selects."""
    bus, forms = notifier.Bus(conf), []
    selected = conf.notifications.notification_format
    if selected != 'versioned':
        forms.append((bus.notifier(f'scheduler.{conf.host}'),
                      payloads.unversioned))
    if selected != 'unversioned':
        forms.append((
            bus.notifier(f'nova-scheduler:{conf.host}',
                         conf.notifications.versioned_notifications_topics),
            payloads.versioned))
    return _Sender(Outbox(
        _send, bus.close,
        keep=conf.oslo_messaging_notifications.retry < 0), forms)


def _send(notification):
    """Make the payload of a notification and send it."""
    target, payload, phase, context, *facts = notification
    target.info(context, f'scheduler.select_destinations.{phase}',
                payload(*facts))


class Outbox:
    """Sends notifications in its own thread, in the order of arrival.

    send: function of a notification; raises NotSentError when the bus does not
        take it, RefusedError when the bus never will: then it is dropped.
    close: function called at the end, in the same thread, because it may hang
        with the bus.
    keep: whether to repeat a notification until the bus takes it; else it is
        dropped.
    most: most notifications that wait.  pause: seconds after a failed try.

    The constructor starts the thread.  One line is logged when the bus fails
    or the queue is full, and one when all waiting notifications are sent.
    """

    def __init__(self, send, close, keep=True, most=MOST, pause=PAUSE):
        self._send, self._close = send, close
        self._keep, self._pause = keep, pause
        self._waiting = queue.Queue(most)
        self._stopping, self._over = threading.Event(), False
        # Number of notifications dropped in the present trouble; None without
        # trouble.
        self._lock, self._lost = threading.Lock(), None
        # repr of the last logged error that no further try would solve.
        self._refused = None
        self._busy = False
        self._thread = threads.start('notifications', self._run)

    def put(self, notification):
        """Queue a notification.  Neither waits nor raises."""
        try:
            self._waiting.put_nowait(notification)
            return
        except queue.Full:
            reason = f'{self._waiting.maxsize} wait already'
        # Outside of the except block: oslo.log would append its error.
        self._log_trouble(reason, lost=1)

    def stop(self, seconds):
        """Send queued notifications, for at most ``seconds``, and close."""
        end = time.monotonic() + seconds
        self._stopping.set()
        with contextlib.suppress(queue.Full):
            self._waiting.put(None, timeout=seconds)
        self._thread.join(max(0, end - time.monotonic()))
        self._over = True
        if unsent := self._busy + self._cleared():
            LOG.warning('%d notification(s) were not sent before the stop',
                        unsent)

    def _cleared(self):
        """Empty the queue, and return how many notifications it had."""
        count = 0
        with contextlib.suppress(queue.Empty):
            while True:
                count += self._waiting.get_nowait() is not None
        return count

    def _run(self):
        try:
            while not self._over and (
                    notification := self._waiting.get()) is not None:
                self._busy = True
                if not self._sent(notification):
                    break
                self._busy = False
        finally:
            self._close()

    def _sent(self, notification):
        """Send or drop a notification; return False if a stop comes first."""
        while error := self._failure(notification):
            self._log_trouble(error, lost=0 if self._keep else 1)
            if self._stopping.wait(self._pause):
                return False
            if not self._keep:
                break
        return True

    def _failure(self, notification):
        """Send a notification; return the error if the bus did not take it."""
        try:
            self._send(notification)
        except NotSentError as error:
            return error
        except Exception as error:
            # Another try would fail the same way.
            if repr(error) != self._refused:
                self._refused = repr(error)
                refused = isinstance(error, RefusedError)
                LOG.error('A notification cannot be sent and is dropped, as '
                          'are others for the same reason: %s',
                          error if refused else self._refused,
                          exc_info=not refused)
        else:
            self._log_recovery()
        return None

    def _log_trouble(self, reason, lost):
        with self._lock:
            first = self._lost is None
            self._lost = (self._lost or 0) + lost
        if first:
            LOG.warning('Notifications cannot be sent: %s. Requests are still '
                        'answered; up to %d notifications wait, more are '
                        'dropped', reason, self._waiting.maxsize)

    def _log_recovery(self):
        # While notifications wait, the queue may still overflow.
        if self._lost is None or not self._waiting.empty():
            return
        with self._lock:
            lost, self._lost = self._lost, None
        LOG.info('Notifications are sent again; %d were dropped', lost)
