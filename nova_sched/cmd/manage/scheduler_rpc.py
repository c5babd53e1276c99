"""Queries to the message broker and to a running scheduler."""

from amqp import exceptions as amqp
from kombu import exceptions as kombu
import oslo_messaging as messaging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import remote
from nova_sched import rpc
from nova_sched.cmd.manage import exits
from nova_sched.preflight import message_broker

_BROKEN = (messaging.MessagingException, amqp.AMQPError, kombu.KombuError,
           OSError)


class NotServed(exits.NoAnswer):
    """No scheduler responds in time; the broker does, as far as is known."""


def consumers(conf, seconds):
    """Return the number of consumers of the request queue: (host, number).

    A list with one pair, of the first host of a cluster that responds; empty
    if the broker is not RabbitMQ.  The number is None if there is no queue.
    seconds: timeout.
    Raises NoAnswer if the broker does not respond.
    """
    counts, failures = message_broker.consumers(conf, seconds)
    if failures and not counts:
        raise exits.NoAnswer('; '.join(
            f'{row.found}. {row.advice}' for row in failures))
    return counts[:1]


def call(conf, seconds, make_call):
    """Call a scheduler over RPC and return its reply.

    make_call: function of an RPC transport that returns the reply.
    seconds: timeout.  oslo.messaging's own timeout does not cover the
        connection, for which it waits for ever.
    Raises NotServed without a reply in time, NoAnswer if the broker does not
    take the call, and NovaSchedException if the scheduler fails.
    """
    def call_over_transport():
        transport = rpc.get_transport(conf)
        result = make_call(transport)
        transport.cleanup()
        return result

    broker = config.masked(config.transport_url(conf))
    try:
        return remote.Call(seconds + 1, call_over_transport).result()
    except (remote.DeadlineExceeded, TimeoutError,
            messaging.MessagingTimeout):
        raise NotServed(
            f'No answer within {seconds} seconds from {broker}: is that '
            'broker up, and does a scheduler serve the topic '
            f'{conf.scheduler_topic} there?') from None
    except messaging.RemoteError as exc:
        # Its str() includes the traceback.
        raise exception.NovaSchedException(
            f'The scheduler failed with {exc.exc_type}: {exc.value}; see '
            'its log') from None
    except _BROKEN as exc:
        raise exits.NoAnswer(f'The broker at {broker} does not take the '
                             f'request: {exc}') from None
