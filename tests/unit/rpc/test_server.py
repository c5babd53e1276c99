"""The RPC server: which thread processes a message, and when."""

from concurrent import futures
import contextlib
import threading
from unittest import mock

from oslo_context import context as oslo_context
import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import rpc
from nova_sched.rpc import server as rpc_server
from tests.builders import rules
from tests.builders.services import no_thread
from tests.builders.services import wait_for

CALL, PING = {'method': 'decide'}, {'method': 'oslo_rpc_server_ping'}


class Message:
    """A request that is processed until ``may_end`` is set.

    taken: whether ``take`` succeeds.
    """

    def __init__(self, content=CALL, taken=True, weight=1, ends=True):
        self.message, self._taken, self.weight = content, taken, weight
        self.begun, self.may_end = threading.Event(), threading.Event()
        if ends:
            self.may_end.set()

    def take(self):
        return self._taken


class Listener:
    """A listener of oslo.messaging.

    late: messages delivered, and so acknowledged, while it closes.
    looks: messages of each ``look``; after the last it is stopping.
    """

    def __init__(self):
        self._poll_style_listener = self
        self.late, self.looks, self.waiting, self.log = [], [], [], []
        self.stopping, self.polled_at, self.retrier = False, 5.5, None

    def start(self, on_incoming):
        self.log.append('start')

    def stop(self):
        self.log.append('stop')

    def cleanup(self):
        self.log.append('close')

    def read_available(self, try_take):
        self.waiting += self.looks.pop(0)
        self.waiting = [message for message in self.waiting
                        if not try_take(message)]
        self.stopping = not self.looks

    def poll(self, batch_size):
        return [self.late.pop(0)] if self.late else []


def process(incoming):
    message = incoming[0]._message
    message.begun.set()
    assert message.may_end.wait(20)


@pytest.fixture
def listener():
    return Listener()


@pytest.fixture
def server(listener, monkeypatch, request):
    """A running server with one thread, or the parameter's number."""
    monkeypatch.setattr(rpc_server, '_POLL', 0.001)
    conf = rules.a_conf(DEFAULT__transport_url='fake://',
                        DEFAULT__executor_thread_pool_size=getattr(
                            request, 'param', 1))
    made = rpc.get_server(rpc.get_transport(conf), conf, [])
    made._create_listener = lambda: rpc_server._ClosingListener(
        listener, made._work_executor, made._reserve)
    made._process_incoming = process
    made.start()
    yield made
    listener.stopping = True
    end(made)


def end(server):
    server.stop()
    server.wait()


@pytest.fixture
def busy(server):
    """The request that the only thread processes."""
    message = Message(ends=False)
    server._on_incoming([message])
    assert message.begun.wait(20)
    yield message
    message.may_end.set()


class TestPing:
    @pytest.mark.parametrize('content', [
        PING, {'namespace': 'baseapi', 'method': 'ping'}])
    def test_is_answered_by_a_reserved_thread(self, server, busy, content):
        ping = Message(content)
        server._on_incoming([ping])
        assert ping.begun.wait(20)
        assert not busy.may_end.is_set()

    def test_does_not_wait_for_request_before_it(self, server, busy, listener):
        ping, other = Message(PING), Message()
        listener.looks[:] = [[], [ping, other]]
        server._on_incoming([Message()])
        assert ping.begun.wait(20)
        assert listener.waiting == [other]

    def test_waits_with_requests_beyond_16_pings(self, server, busy, listener):
        pings = [Message(PING, ends=False) for _ in range(17)]
        listener.looks[:] = [pings]
        server._on_incoming([Message()])
        assert listener.waiting == pings[16:]

        for ping in pings:
            ping.may_end.set()
        wait_for(lambda: server._answer_ping(pings[16]))


def test_request_that_is_not_taken_is_not_processed(server):
    """Its thread is free for the next request."""
    gone, request = Message(taken=False), Message()
    server._on_incoming([gone])
    server._on_incoming([request])
    assert request.begun.wait(20)
    assert not gone.begun.is_set()


def test_waiting_request_is_requeued_by_a_stop(server, busy, listener):
    listener.stopping = True
    waiting = Message()
    waiting.take = pytest.fail
    server._on_incoming([waiting])
    assert not waiting.begun.is_set()


@pytest.mark.parametrize('server', [2], indirect=True)
def test_request_is_taken_only_when_a_thread_is_free(server, listener):
    listener.looks[:] = [[]] * 10 ** 6
    requests = [Message(ends=False) for _ in range(4)]

    def deliver():
        for request in requests:
            server._on_incoming([request])
    with futures.ThreadPoolExecutor(1) as pool:
        delivering = pool.submit(deliver)
        assert all(request.begun.wait(20) for request in requests[:2])
        with contextlib.suppress(futures.TimeoutError):
            delivering.result(0.2)
        assert not requests[2].begun.is_set()
        for request in requests:
            request.may_end.set()
    assert all(request.begun.wait(20) for request in requests)


def test_connection_closes_before_the_last_answer(server, busy, listener):
    """The broker requeues what was not acknowledged.

    Requests delivered, and so acknowledged, meanwhile are processed.
    """
    listener.late, listener.looks = [late := Message()], [[]] * 10 ** 6
    with futures.ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(server.stop)
        wait_for(lambda: listener.log == ['start', 'stop', 'close'])
        busy.may_end.set()
        stopping.result(20)
    server.wait()
    assert late.begun.is_set()


class TestLargeRequest:
    @pytest.mark.parametrize('server', [3], indirect=True)
    @pytest.mark.parametrize(('weight', 'begins'), [
        (1, True), (2, True), (3, False), (100, False)])
    def test_needs_as_many_threads_as_its_weight(
            self, server, busy, listener, weight, begins):
        listener.looks[:] = [[], []]
        large = Message(weight=weight)
        server._on_incoming([large])
        assert large.begun.wait(20 if begins else 0) is begins

    @pytest.mark.parametrize('server', [3], indirect=True)
    def test_is_decoded_first_and_frees_its_threads(self, server, listener):
        listener.looks[:] = [[]] * 10 ** 6
        decoded = []
        for _ in range(3):
            large = Message(weight=5)
            large.load = lambda large=large: decoded.append(
                large.begun.is_set())
            server._on_incoming([large])
            assert large.begun.wait(20)
        assert decoded == [False] * 3


def test_time_of_last_poll_is_known_while_server_runs(server, listener):
    conf = rules.a_conf(DEFAULT__transport_url='fake://')
    assert rpc.get_server(rpc.get_transport(conf), conf, []).polled_at is None
    assert server.polled_at == 5.5
    server.stop()
    assert server.polled_at is None


def fail(*args):
    raise OSError('no')


@pytest.mark.parametrize('fails', ['take', 'submit', 'process'])
def test_failed_request_frees_its_thread(server, fails):
    for _ in range(2):
        message = Message()
        if fails == 'process':
            message.may_end.wait = fail
            server._on_incoming([message])
            assert message.begun.wait(20)
            continue
        if fails == 'take':
            message.take = fail
        with (mock.patch.object(server._work_executor, 'submit', fail),
              pytest.raises(OSError, match='no')):
            server._on_incoming([message])
    end(server)
    assert [server._free.acquire(blocking=False) for _ in range(2)] == [
        True, False]


def test_threads_are_started_before_the_first_message(server):
    request, ping = Message(ends=False), Message(PING)
    with no_thread():
        server._on_incoming([request])
        server._on_incoming([ping])
        assert request.begun.wait(20)
        assert ping.begun.wait(20)
    request.may_end.set()


def test_contradicting_options_are_a_configuration_error(monkeypatch):
    conf = rules.a_conf(DEFAULT__transport_url='fake://')
    transport = rpc.get_transport(conf)
    monkeypatch.setattr(transport, '_listen', mock.Mock(
        side_effect=RuntimeError('rabbit_stream_fanout needs ...')))
    with pytest.raises(exception.ConfigurationError,
                       match='rabbit_stream_fanout needs'):
        rpc.get_server(transport, conf, []).start()


def test_thread_does_not_keep_the_context_of_its_last_request(server):
    """Its log lines before the next request's context have none."""
    contexts = []

    def keep_context(incoming):
        contexts.append(oslo_context.get_current())
        context.RequestContext(request_id='req-1')
    server._process_incoming = keep_context
    for _ in range(6):
        server._on_incoming([Message()])
        wait_for(lambda: server._free._value == 1)
    assert contexts == [None] * 6


class TestKeepalives:
    @pytest.fixture
    def call(self, monkeypatch):
        """A call whose keepalives raise ``errors``, one each."""
        monkeypatch.setattr(rpc_server, '_KEEPALIVE_RETRY', 0.001)

        class Call:
            msg_id, tries, message = 'id', 0, CALL
            errors, replies, ended = [], [], threading.Event()

            def heartbeat(self):
                self.tries += 1
                if self.errors:
                    raise self.errors.pop(0)

            def reply(self, reply=None, failure=None):
                self.replies.append((reply, self.ended.is_set()))
        return Call()

    def test_are_retried_until_delivered_and_end_with_the_reply(self, call):
        call.errors[:] = [messaging.MessageDeliveryFailure('no queue')] * 3
        message = rpc_server._TrackedMessage(call)
        message.end_with_reply(call.ended)
        message.heartbeat()
        assert call.tries == 4
        message.heartbeat()
        assert call.tries == 5
        message.reply('hosts')
        assert call.replies == [('hosts', True)]
        message.heartbeat()
        assert call.tries == 5

    def test_other_errors_are_raised(self, call):
        call.errors[:] = [ZeroDivisionError()]
        message = rpc_server._TrackedMessage(call)
        message.end_with_reply(call.ended)
        with pytest.raises(ZeroDivisionError):
            message.heartbeat()
        assert call.tries == 1

    def test_do_not_start_after_the_reply(self, call):
        message = rpc_server._TrackedMessage(call)
        message.reply('hosts')
        assert not call.ended.is_set()
        message.end_with_reply(call.ended)
        assert call.ended.is_set()
