"""The message broker: whether it answers, and which consumers it has.

Exchanges and queues of the service must have the same form, or not exist.
"""

import re
import typing

import amqp

from nova_sched import conf as config
from nova_sched import remote
from nova_sched import toml_files
from nova_sched.preflight.rows import ERROR
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row
from nova_sched.rpc import brokers
from nova_sched.rpc import declarations

#: Timeout of a broker host, in seconds, for each step and for all steps.
TIMEOUT = 10
_ALL_STEPS = 3 * TIMEOUT

_TEXTS = toml_files.read('advice.toml', __package__)
_DELETE = 'stop all programs that use it and delete it at the broker'


class _Found(typing.NamedTuple):
    """State of one broker host.

    consumers: of the queue of requests, None without it.  refusals: list of
    declarations.Refusal.
    """

    consumers: int | None
    refusals: list


class MessageBroker:
    """The hosts of the broker, queried at the same time.

    The constructor starts the queries.
    """

    def __init__(self, conf):
        self._topic = conf.scheduler_topic
        url = config.transport_url(conf)
        self._masked = config.masked(url)
        self._calls = _query(_ALL_STEPS, conf, url, _host_state, conf, url)
        url = conf.oslo_messaging_notifications.transport_url
        notifies = url and any(name.startswith('messaging')
                               for name in config.notification_drivers(conf))
        self._notification_calls = (
            _query(_ALL_STEPS, conf, url, _log_in) if notifies else [])

    def rows(self):
        """Return the rows about the broker: list of Row."""
        if not self._calls:
            return [Row('broker', OK, f'{self._masked} is no RabbitMQ, so it '
                        'is not checked'), *self._notification_rows()]
        answers, results = [], []
        for broker, call in self._calls:
            results.append(_row('broker', broker, call, answers,
                                '[DEFAULT] transport_url'))
        if answers:
            results.append(self._queue(answers[0].consumers))
            results += [self._refused(refusal)
                        for refusal in answers[0].refusals]
        return results + self._notification_rows()

    def _notification_rows(self):
        # Requests do not need it, so failures are warnings.
        return [_row('notification broker', broker, call, [],
                     '[oslo_messaging_notifications] transport_url', WARNING)
                for broker, call in self._notification_calls]

    def _queue(self, consumers):
        """Return the row of the queue of requests."""
        check = f'queue {self._topic}'
        if consumers is None:
            return Row(check, OK, 'does not exist yet; this service will '
                       'create it')
        if not consumers:
            return Row(check, OK, 'no scheduler takes requests')
        return Row(check, WARNING, f'{consumers} consumers take requests: '
                   'the workers of a live scheduler',
                   'They share the requests with this service; stop '
                   'nova-scheduler if this service should answer all requests')

    def _refused(self, refusal):
        """Return the row of an exchange or queue with another form."""
        declaration = refusal.declaration
        check = f'{declaration.kind} {declaration.name}'
        advice = self._form_advice(declaration, refusal.reason)
        if refusal.bearable:
            return Row(check, WARNING, f'{refusal.reason}: the service uses '
                       'it, with queues that are not durable', advice)
        return Row(check, ERROR, f'{refusal.reason}: the service would retry '
                   'without end', advice)

    def _form_advice(self, declaration, reason):
        forms = _TEXTS['fanout_forms' if declaration.name == (
            f'{self._topic}_fanout') else 'forms']
        differs = re.search("arg '([^']*)'", reason)
        options = forms.get(differs and differs[1])
        if options:
            return (f'Set [oslo_messaging_rabbit] {options} as for the '
                    f'service that created it, or {_DELETE}')
        name = ('control_exchange' if declaration.kind == 'exchange'
                else 'scheduler_topic')
        return (f'No option results in this form; set another [DEFAULT] '
                f'{name}, or {_DELETE}')


def _query(seconds, conf, url, function, *args):
    """Start to query each host: list of (broker, remote.Call).

    function: of a Broker and args.
    """
    return [(broker, remote.Call(
        seconds, function, broker, *args, name='preflight'))
        for broker in brokers.brokers(conf, url)]


def consumers(conf, seconds):
    """Return the numbers of consumers of requests: a pair of lists.

    (host, number, None without a queue) of the hosts that answer, and a Row
    about each that does not.
    seconds: timeout of the hosts, which are queried at the same time.
    """
    url = config.transport_url(conf)
    counts, failures = [], []
    for broker, call in _query(seconds, conf, url, _count, conf, url):
        answers = []
        row = _row('broker', broker, call, answers, '[DEFAULT] transport_url')
        counts += [(broker.where, count) for count in answers]
        if row.outcome == ERROR:
            failures.append(row)
    return counts, failures


def _count(broker, conf, url):
    """Return the number of consumers of requests; None without a queue."""
    (_exchange, queue), *_ = declarations.of_server(conf, url)[0]
    with broker.connected(TIMEOUT) as connection:
        return queue.consumers(connection)


def _host_state(broker, conf, url):
    """Return the state of a broker host: _Found."""
    consumed = declarations.of_server(conf, url)
    (_exchange, queue), *_ = consumed[0]
    with broker.connected(TIMEOUT) as connection:
        return _Found(queue.consumers(connection),
                      declarations.refusals(connection, consumed))


def _log_in(broker):
    """Connect to a broker host."""
    with broker.connected(TIMEOUT):
        pass


def _row(check, broker, call, answers, option, failure=ERROR):
    """Return the row of one host.

    answers: list to which the result of the call is appended.
    failure: outcome when the host cannot be used.
    """
    try:
        answers.append(call.result())
    except (OSError, amqp.AMQPError, remote.DeadlineExceeded) as error:
        advice = next(_TEXTS['broker'][kind.__name__]
                      for kind in type(error).__mro__
                      if kind.__name__ in _TEXTS['broker'])
        return Row(check, failure, f'{broker.where}: {_one_line(error)}',
                   advice.format(option))
    except Exception as error:
        return Row(check, failure, f'{broker.where}: unexpected '
                   f'{type(error).__name__}', 'See the log of the broker')
    return Row(check, OK, f'{broker.where}: connects and logs in')


def _one_line(error):
    """Return the text of an error in one line."""
    text = getattr(error, 'reply_text', None) or str(error)
    return ' '.join(text.split()) or type(error).__name__
