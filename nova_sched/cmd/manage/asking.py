"""What commands ask of a scheduler, and of the broker before it."""

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
    """No scheduler answers, as far as can be told with a broker that does."""


def consumers(conf, seconds):
    """Return who takes requests at the broker: list of (host, number).

    Of the hosts of a cluster the first that answers; none of a broker that is
    no RabbitMQ.  The number is None where there is no queue.
    seconds: that it may take.
    Raises NoAnswer for a broker that cannot be asked.
    """
    found, failures = message_broker.consumers(conf, seconds)
    if failures and not found:
        raise exits.NoAnswer('; '.join(
            f'{row.found}. {row.advice}' for row in failures))
    return found[:1]


def answer(conf, seconds, ask):
    """Return what a scheduler answers to a question.

    ask: function of an RPC transport.
    seconds: that it may take.  oslo.messaging's own time-out begins only with
        a connection, for which it waits for ever.
    Raises NotServed without an answer in time, NoAnswer if the broker does
    not take the question, and NovaSchedException if the scheduler fails.
    """
    def ask_over_transport():
        transport = rpc.get_transport(conf)
        found = ask(transport)
        transport.cleanup()
        return found

    broker = config.masked(config.transport_url(conf))
    try:
        return remote.Call(seconds + 1, ask_over_transport).result()
    except (remote.DeadlineExceeded, TimeoutError,
            messaging.MessagingTimeout):
        raise NotServed(
            f'No answer within {seconds} seconds by way of {broker}: is '
            'that broker up, and does a scheduler serve the topic '
            f'{conf.scheduler_topic} there?') from None
    except messaging.RemoteError as exc:
        # Its text has the traceback, too.
        raise exception.NovaSchedException(
            f'The scheduler failed with {exc.exc_type}: {exc.value}; its log '
            'says more') from None
    except _BROKEN as exc:
        raise exits.NoAnswer(f'The broker at {broker} does not take the '
                             f'request: {exc}') from None
