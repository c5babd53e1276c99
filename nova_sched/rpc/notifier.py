"""Notifications: the bus that they go to, and whether it took them."""

import contextlib
import logging
import threading

from amqp import exceptions as amqp
import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import rpc
from nova_sched.rpc import driver

#: Where oslo.messaging says that a notification was not sent.
_LOGGERS = ('oslo_messaging.notify.messaging',
            'oslo_messaging.notify.notifier')

#: Errors that another try does not mend.
_OF_THE_PAYLOAD = (TypeError, ValueError)


class NotSentError(Exception):
    """A notification that its bus did not take."""


class RefusedError(Exception):
    """A notification that its bus takes at no other try either."""


class Bus:
    """The bus of [oslo_messaging_notifications]; connects when it is used.

    Raises ConfigurationError when its URL cannot be used.
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

        topics: instead of those configured.
        """
        return Notifier(messaging.Notifier(
            self._transport, publisher_id, topics=topics,
            serializer=rpc.ContextSerializer()))

    def close(self):
        """Close the connections."""
        self._transport.cleanup()


class Notifier:
    """A sender of one publisher's notifications.

    notifier: oslo.messaging's.
    """

    def __init__(self, notifier):
        self._notifier = notifier

    def info(self, context, event_type, payload):
        """Send a notification of priority INFO.

        Waits until the bus has it, or oslo.messaging gives it up. The context
        goes without its token, which oslo.messaging sees to.
        Raises NotSentError when it was given up; RefusedError for a queue
        that cannot be used as it is; TypeError or ValueError for a payload
        that cannot be written.
        """
        with _overheard() as errors:
            self._notifier.info(context, event_type, payload)
        for error in errors:
            if isinstance(error, _OF_THE_PAYLOAD):
                raise error
            # Of it oslo.messaging tells that it could not connect.
            cause = error.__context__
            if isinstance(cause, amqp.IrrecoverableChannelError):
                raise RefusedError(str(cause)) from error
            raise NotSentError(str(error) or type(error).__name__) from error


@contextlib.contextmanager
def _overheard():
    """Give the errors that oslo.messaging meets in this thread: list.

    oslo.messaging logs each with its payload, and keeps it to itself; such
    lines are taken out of the log.
    """
    thread, errors = threading.get_ident(), []

    def overhear(record):
        if record.thread != thread or not record.exc_info:
            return True
        errors.append(record.exc_info[1])
        return False

    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(overhear)
    try:
        yield errors
    finally:
        for logger in loggers:
            logger.removeFilter(overhear)
