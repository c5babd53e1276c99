"""The message broker: whether it answers, and who takes requests there."""

import socket
import ssl

import amqp

from nova_sched import conf as config
from nova_sched import deadline
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row
from nova_sched.rpc import brokers

#: Seconds that a host of the broker has for each step, and for all.
TIMEOUT = 10
_ALL_STEPS = 3 * TIMEOUT

_TLS_ADVICE = ('Check the ssl options of [oslo_messaging_rabbit] against the '
               'certificate of the broker, and that its port speaks TLS')
_NO_ANSWER_ADVICE = (
    'Check that it runs, and its host, port and, if it speaks TLS, '
    '[oslo_messaging_rabbit] ssl')
#: What an error means to the operator, the first that fits; {} is the option.
_ADVICE = (
    (amqp.AccessRefused, 'Check user and password in {}, and what this user '
                         'may do in the virtual host'),
    (amqp.NotAllowed, 'Check the virtual host in {}: that it is there, and '
                      'that the user has permissions in it'),
    (ssl.SSLError, _TLS_ADVICE),
    (socket.gaierror, 'Check the host name in {}'),
    ((OSError, deadline.DeadlineExceeded), _NO_ANSWER_ADVICE),
    (amqp.AMQPError, 'See the log of the broker'),
)


class MessageBroker:
    """The hosts of the broker, which are asked at the same time.

    Making one starts to ask.
    """

    def __init__(self, conf):
        self._topic = conf.scheduler_topic
        url = config.transport_url(conf)
        self._masked = config.masked(url)
        self._calls = self._ask(conf, url)
        url = conf.oslo_messaging_notifications.transport_url
        self._notification_calls = self._ask(conf, url) if url and any(
            name.startswith('messaging')
            for name in config.notification_drivers(conf)) else []

    def _ask(self, conf, url):
        """Start to ask each host: list of (broker, deadline.Call)."""
        return [(broker, deadline.Call(
            _ALL_STEPS, broker.consumers, self._topic, TIMEOUT,
            name='preflight')) for broker in brokers.brokers(conf, url)]

    def rows(self):
        """Return the rows about the broker: list of Row."""
        if not self._calls:
            return [Row('broker', OK, f'{self._masked} is no RabbitMQ and '
                        'not asked'), *self._notification_rows()]
        consumers, found = [], []
        for broker, call in self._calls:
            found.append(_row('broker', broker, call, consumers,
                              '[DEFAULT] transport_url'))
        if consumers:
            found.append(self._queue(consumers[0]))
        return found + self._notification_rows()

    def _notification_rows(self):
        # Requests are answered without it.
        return [_row('notification broker', broker, call, [],
                     '[oslo_messaging_notifications] transport_url', WARNING)
                for broker, call in self._notification_calls]

    def _queue(self, consumers):
        """Return the row of the queue of requests."""
        check = f'queue {self._topic}'
        if consumers is None:
            return Row(check, OK, 'is not there yet; this service will make '
                       'it')
        if not consumers:
            return Row(check, OK, 'nobody takes requests')
        return Row(check, WARNING, f'{consumers} consumers take requests: '
                   'the workers of a scheduler that is live',
                   'They share the requests with this service; stop '
                   'nova-scheduler when this one is to answer them all')


def _row(check, broker, call, consumers, option, failure=ERROR):
    """Return the row of one host.

    consumers: list that gets the number of the queue's consumers.
    failure: outcome when the host cannot be used.
    """
    try:
        consumers.append(call.result())
    except (OSError, amqp.AMQPError, deadline.DeadlineExceeded) as error:
        advice = next(text for kind, text in _ADVICE
                      if isinstance(error, kind))
        return Row(check, failure, f'{broker.where}: {_one_line(error)}',
                   advice.format(option))
    except Exception as error:
        return Row(check, failure, f'{broker.where}: {type(error).__name__}, '
                   'which is not expected', 'See the log of the broker')
    return Row(check, OK, f'{broker.where}: connects and logs in')


def _one_line(error):
    """Return the text of an error in one line."""
    text = getattr(error, 'reply_text', None) or str(error)
    return ' '.join(text.split()) or type(error).__name__
