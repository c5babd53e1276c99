"""The transport, and the request context of each call."""

import functools
import logging
import threading

from oslo_log import formatters
import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import rpc
from tests.builders import messages
from tests.builders import rules
from tests.builders.waiting import in_threads

LOG = logging.getLogger('nova_sched.scheduler.somewhere')
TOKEN = 'gAAAAAsecret-token-of-the-user'
EXCHANGE = 'rpc tests'


class Endpoint:
    """Returns and logs its argument."""

    target = messaging.Target(version='1.0')

    def __init__(self):
        self.contexts, self._together = [], threading.Barrier(2)

    def tell(self, ctxt, arg):
        self.contexts.append(ctxt)
        LOG.info('told %s', arg)
        return arg

    def meet(self, ctxt, arg):
        """Two concurrent calls log."""
        self._together.wait(10)
        LOG.info('met %s', arg)
        self._together.wait(10)


@pytest.fixture(scope='module', params=['fake://', 'kombu+memory://'])
def bus(request):
    """(transport, endpoint): a server in the process."""
    conf = rules.a_conf(DEFAULT__control_exchange=EXCHANGE)
    endpoint = Endpoint()
    with (messages.transport(conf, request.param) as made,
          messages.serving(made, conf, endpoint)):
        yield made, endpoint


@pytest.fixture
def client(bus):
    return messages.raw_client(bus[0], '1.0').prepare(timeout=20)


class Lines(logging.Handler):
    """Keeps all lines as in the service's log file."""

    def __init__(self, line_format):
        super().__init__(logging.DEBUG)
        conf = rules.a_conf(DEFAULT__logging_context_format_string=line_format)
        self.setFormatter(formatters.ContextFormatter(
            config=conf, project='nova_sched', version='1'))
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


@pytest.fixture
def lines(request):
    """Function of a format: all lines logged from then on."""
    root, added = logging.getLogger(), []
    before = root.level

    def lines(line_format='[%(request_id)s %(user)s %(project)s] '
                          '%(message)s'):
        added.append(Lines(line_format))
        root.addHandler(added[-1])
        root.setLevel(logging.DEBUG)
        return added[-1].lines
    yield lines
    root.setLevel(before)
    for handler in added:
        root.removeHandler(handler)


def a_context(**values):
    return context.RequestContext(**{
        'user_id': 'a-user', 'project_id': 'a-project', 'auth_token': TOKEN,
        'roles': ['member'], **values})


class TestConfiguration:

    def test_default_exchange_is_novas(self):
        for named, found in (({}, 'nova'),
                             ({'DEFAULT__control_exchange': 'x'}, 'x')):
            conf = rules.a_conf(**named)
            with messages.transport(conf) as made:
                assert made._driver._default_exchange == found

    @pytest.mark.parametrize('url', [
        'nonsense', 'no-such-driver://u:secret@host',
        'rabbit://u:secret@host:notaport/', 'rabbit://u:secr/et@host:5672/'])
    def test_unusable_url_is_refused_without_its_password(self, url):
        with pytest.raises(exception.ConfigurationError,
                           match='transport_url') as refused:
            rpc.get_transport(rules.a_conf(DEFAULT__transport_url=url))

        assert 'secr' not in str(refused.value)
        assert 'write rabbit://' in str(refused.value)


def test_context_arrives_as_it_was_sent(client, bus):
    sent = a_context(request_id='req-1234', is_admin=True,
                     quota_class='gold', read_deleted='yes')

    client.call(sent, 'tell', arg=1)

    arrived = bus[1].contexts[-1]
    assert arrived is not sent
    assert isinstance(arrived, context.RequestContext)
    assert arrived.to_dict().items() >= sent.to_dict().items()


class TestLogLines:
    def test_call_has_its_context_in_log_lines(self, client, lines):
        written = lines()

        client.call(a_context(request_id='req-77'), 'tell', arg='it')

        assert '[req-77 a-user a-project] told it' in written

    def test_concurrent_calls_have_their_contexts(self, client, lines):
        written = lines()
        in_threads(*(functools.partial(
            client.call, a_context(request_id=f'req-{name}'), 'meet', arg=name)
            for name in 'ab'))

        assert '[req-a a-user a-project] met a' in written
        assert '[req-b a-user a-project] met b' in written

    def test_refused_call_has_its_context(self, client, lines):
        written = lines()

        client.call(a_context(request_id='req-good'), 'tell', arg='it')
        with pytest.raises(Exception):  # noqa: B017 - depends on the bus
            client.call(a_context(request_id='req-bad', user_id='other'),
                        'no_such_method')

        [line] = [line for line in written if 'is refused' in line]
        assert line.startswith('[req-bad other a-project] A message')

    def test_never_show_the_token(self, client, lines):
        """Not even at DEBUG."""
        written = lines('%(auth_token)s %(roles)s %(message)s')

        client.call(a_context(), 'tell', arg='it')
        with pytest.raises(Exception):  # noqa: B017 - depends on the bus
            client.call(a_context(), 'no_such_method')

        assert "*** ['member'] told it" in written
        assert not [line for line in written if TOKEN in line]


class TestServer:
    def test_answers_on_the_shared_topic_and_on_its_hosts(self, bus):
        made, _ = bus
        for target in ({}, {'server': made.conf.host}):
            client = messages.raw_client(made, '1.0', **target)
            assert client.prepare(timeout=20).call(
                a_context(), 'tell', arg=5) == 5

    def test_does_not_decode_arguments(self, client):
        envelope = {'nova_object.name': 'NoSuch', 'nova_object.version': '9'}

        assert client.call(a_context(), 'tell', arg=[envelope]) == [envelope]
