"""Notifications: the bus for them, and errors if it does not accept one."""

import contextlib
import logging
import threading

from amqp import exceptions as amqp
import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import rpc
from nova_sched.rpc import driver

#: Loggers of oslo.messaging's errors about notifications.
_LOGGERS = ('oslo_messaging.notify.messaging',
            'oslo_messaging.notify.notifier')

#: Errors of a payload that cannot be JSON; a retry does not help.
_PAYLOAD_ERRORS = (TypeError, ValueError)


class NotSentError(Exception):
    """A notification that its bus did not accept."""


class RefusedError(Exception):
    """A notification that its bus will not accept in a retry either."""


class Bus:
    """The bus of [oslo_messaging_notifications]; connects at its first use.

    Raises ConfigurationError for an unusable URL.
    """

    def __init__(self, conf):
        url = config.notification_transport_url(conf)
        try:
            self._transport = driver.transport(
                messaging.get_notification_transport, conf, url)
        except (messaging.DriverLoadFailure, RuntimeError) as error:
            raise exception.ConfigurationError(
                '[oslo_messaging_notifications] transport_url',
                config.masked(url), str(error)) from error

    def notifier(self, publisher_id, topics=None):
        """Return a Notifier of one publisher.

        topics: list; by default the configured topics.
        """
        return Notifier(self._transport, publisher_id, topics=topics,
                        serializer=rpc.ContextSerializer())

    def close(self):
        """Close the connections."""
        self._transport.cleanup()


class Notifier(messaging.Notifier):
    """A sender of one publisher's notifications."""

    def info(self, context, event_type, payload):
        """Send a notification of priority INFO.

        Waits until the bus accepts it, or oslo.messaging gives up.
        oslo.messaging removes the token from the context.
        Raises NotSentError if oslo.messaging gives up; RefusedError for a
        queue declared differently; TypeError or ValueError for a payload that
        cannot be JSON.
        """
        with _logged_errors() as errors:
            super().info(context, event_type, payload)
        for error in errors:
            if isinstance(error, _PAYLOAD_ERRORS):
                raise error
            # oslo.messaging raises a connection error in place of this one.
            cause = error.__context__
            if isinstance(cause, amqp.IrrecoverableChannelError):
                raise RefusedError(str(cause)) from error
            raise NotSentError(str(error) or type(error).__name__) from error


@contextlib.contextmanager
def _logged_errors():
    """Collect the errors that oslo.messaging logs in this thread: list.

    oslo.messaging logs these errors, with the payload, and does not raise
    them.  Their lines are removed from the log.
    """
    thread, errors = threading.get_ident(), []

    def collect(record):
        if record.thread != thread or not record.exc_info:
            return True
        errors.append(record.exc_info[1])
        return False

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(collect)
    try:
        yield errors
    finally:
        for logger in loggers:
            logger.removeFilter(collect)
