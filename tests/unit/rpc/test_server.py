import threading
from unittest import mock

from oslo_context import context as oslo_context
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import rpc
from nova_sched.rpc import server as rpc_server
from tests.builders import rules
from tests.builders.services import no_thread
from tests.builders.services import wait_for


class Message:
    """A request of a name, as oslo.messaging hands it over."""

    def __init__(self, name):
        self.name, self.message = name, {'method': 'decide'}


class Listener:
    """A listener of oslo.messaging over a list of names of requests.

    requests: delivered from the start.  late: delivered, and so
    acknowledged, while the connection closes.
    """

    def __init__(self, requests=(), late=()):
        self._requests, self._late = list(requests), list(late)
        self._poll_style_listener = self
        self.log = []

    def start(self, on_incoming):
        for request in self._requests:
            on_incoming([Message(request)])

    def stop(self):
        self.log.append('stop')

    def cleanup(self):
        self.log.append('close')

    def poll(self, batch_size):
        return [Message(self._late.pop(0))] if self._late else []


@pytest.fixture
def server():
    """A function: a Listener, work on a request -> a server of 2 threads."""
    def make(listener, work):
        conf = rules.a_conf(DEFAULT__transport_url='fake://')
        made = rpc.get_server(rpc.get_transport(conf), conf, [])
        conf.set_override('executor_thread_pool_size', 2)
        made._free = threading.Semaphore(2)
        made._create_listener = lambda: rpc_server._ClosingListener(
            listener, made._work_executor, made._reserve)
        made._process_incoming = lambda incoming: work(
            incoming[0]._message.name)
        return made
    return make


def test_the_service_uses_it():
    conf = rules.a_conf(DEFAULT__transport_url='fake://')
    made = rpc.get_server(rpc.get_transport(conf), conf, [])
    assert isinstance(made, rpc_server.Server)


def test_requests_that_arrive_while_the_connection_closes_are_worked_on(
        server):
    done = []
    running = server(Listener(['a'], late=['b', 'c']), done.append)
    running.start()
    running.stop()
    running.wait()
    assert sorted(done) == ['a', 'b', 'c']


def test_the_connection_closes_before_the_last_answer(server):
    """What the broker still holds goes to other workers at once."""
    listener, go_on = Listener(['slow']), threading.Event()
    running = server(listener, lambda request: go_on.wait(10))
    running.start()
    running.stop()
    assert listener.log == ['stop', 'close']
    go_on.set()
    running.wait()
    assert listener.log == ['stop', 'close']


def test_a_request_is_taken_only_when_a_thread_is_free(server):
    go_on, begun = threading.Event(), []

    def work(request):
        begun.append(request)
        assert go_on.wait(10)
    running = server(Listener(['a', 'b', 'c', 'd']), work)
    starting = threading.Thread(target=running.start)
    starting.start()
    wait_for(lambda: len(begun) == 2)
    starting.join(0.2)
    assert starting.is_alive()
    assert sorted(begun) == ['a', 'b']
    go_on.set()
    starting.join(10)
    running.stop()
    running.wait()
    assert sorted(begun) == ['a', 'b', 'c', 'd']


def test_work_that_fails_frees_its_thread(server):
    begun = []

    def work(request):
        begun.append(request)
        raise ValueError(request)
    running = server(Listener(['a', 'b', 'c', 'd']), work)
    running.start()
    running.stop()
    running.wait()
    assert sorted(begun) == ['a', 'b', 'c', 'd']


@pytest.mark.parametrize('fails', ['take', 'submit'])
def test_what_cannot_be_worked_on_takes_no_place_for_good(server, fails):
    running = server(Listener(), list)
    running.start()
    for _ in range(2):
        message = Message('lost')
        message.take = fail if fails == 'take' else lambda: True
        with (mock.patch.object(running._work_executor, 'submit', fail),
              pytest.raises(OSError, match='no')):
            running._on_incoming([message])
    running.stop()
    running.wait()
    assert [running._free.acquire(blocking=False) for _ in range(3)] == [
        True, True, False]


def fail(*args):
    raise OSError('no')


def test_all_messages_have_a_thread_that_is_there_before(server):
    """Pings, too."""
    begun, done = [], threading.Event()
    running = server(Listener(), lambda name: begun.append(name) or (
        len(begun) == 2 and done.set()))
    running.start()
    with no_thread():
        running._on_incoming([Message('a')])
        running._work(Message('ping'), running._reserve.submit,
                      threading.Semaphore())
        assert done.wait(10)
    running.stop()
    running.wait()


def test_contradicting_options_are_a_configuration_error(monkeypatch):
    conf = rules.a_conf(DEFAULT__transport_url='fake://')
    transport = rpc.get_transport(conf)
    monkeypatch.setattr(transport, '_listen', mock.Mock(
        side_effect=RuntimeError('rabbit_stream_fanout needs ...')))
    with pytest.raises(exception.ConfigurationError,
                       match='rabbit_stream_fanout needs'):
        rpc.get_server(transport, conf, []).start()


def test_a_thread_does_not_remember_whose_request_it_worked_on(server):
    """What it logs before its next one's context is known is nobody's."""
    seen = []

    def work(request):
        seen.append(oslo_context.get_current())
        context.RequestContext(request_id=f'req-{request}')
    running = server(Listener([*'abcdef']), work)
    running.start()
    running.stop()
    running.wait()
    assert seen == [None] * 6
