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
    """No scheduler answers, though the broker does, as far as that is known.
    """


def consumers(conf, seconds):
    """Return the number of consumers of the request queue: list of (host,
    number).

    One entry, for the first host of a cluster that answers; empty if the
    broker is not RabbitMQ.  The number is None if there is no queue.
    seconds: timeout.
    Raises NoAnswer if the broker does not answer.
    """
    counts, failures = message_broker.consumers(conf, seconds)
    if failures and not counts:
        raise exits.NoAnswer('; '.join(
            f'{row.found}. {row.advice}' for row in failures))
    return counts[:1]


def answer(conf, seconds, ask):
    """Return the scheduler's answer to a question.

    ask: function of an RPC transport.
    seconds: timeout.  oslo.messaging's own timeout does not cover the
        connection, for which it waits for ever.
    Raises NotServed without an answer in time, NoAnswer if the broker does not
    take the question, and NovaSchedException if the scheduler fails.
    """
    def ask_over_transport():
        transport = rpc.get_transport(conf)
        result = ask(transport)
        transport.cleanup()
        return result

    broker = config.masked(config.transport_url(conf))
    try:
        return remote.Call(seconds + 1, ask_over_transport).result()
    except (remote.DeadlineExceeded, TimeoutError,
            messaging.MessagingTimeout):
        raise NotServed(
            f'No answer within {seconds} seconds from {broker}: is that '
            'broker up, and does a scheduler serve the topic '
            f'{conf.scheduler_topic} there?') from None
    except messaging.RemoteError as exc:
        # Its str() includes the traceback.
        raise exception.NovaSchedException(
            f'The scheduler failed with {exc.exc_type}: {exc.value}; its log '
            'says more') from None
    except _BROKEN as exc:
        raise exits.NoAnswer(f'The broker at {broker} does not take the '
                             f'request: {exc}') from None
