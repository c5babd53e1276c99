"""What a server still does for callers while all of its threads are busy."""

from concurrent import futures
import threading
import types

import oslo_messaging as messaging
import pytest

from nova_sched import rpc
from nova_sched.concurrency import turns
from nova_sched.rpc import server as rpc_server
from tests.builders import rules
from tests.builders.services import wait_for

PING = {'method': 'oslo_rpc_server_ping'}


class Message:
    """A request whose work takes until ``go_on`` is set."""

    every = []

    def __init__(self, content, taken=True, weight=1):
        self.message, self._taken, self.weight = content, taken, weight
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.every.append(self)

    def take(self):
        return self._taken


class Arrived:
    """Where requests come in: they come when somebody looks, or polls.

    looks: what each look is to bring, lists of Message; then it is stopped.
    """

    def __init__(self):
        self.stopping, self.polled_at, self.looks = False, 5.5, []
        self.waiting, self.retrier = [], None

    def look(self, taken):
        self.waiting += self.looks.pop(0)
        self.waiting = [each for each in self.waiting if not taken(each)]
        self.stopping = not self.looks

    def poll(self, batch_size):
        return []


class Listener:
    """A listener of oslo.messaging that is told when something comes."""

    def __init__(self):
        self._poll_style_listener = Arrived()

    def start(self, on_incoming):
        pass

    def stop(self):
        pass

    def cleanup(self):
        pass


def work(incoming):
    message = incoming[0]._message
    message.begun.set()
    assert message.go_on.wait(20)


@pytest.fixture
def patience(monkeypatch):
    """Nobody goes on beside who has the turn."""
    monkeypatch.setattr(turns, 'PATIENCE', 60)


@pytest.fixture
def arrived():
    return Arrived()


@pytest.fixture
def server(arrived, monkeypatch, request):
    """A server that has begun, of one thread or as many as a test says."""
    monkeypatch.setattr(rpc_server, '_POLL', 0.001)
    conf = rules.a_conf(DEFAULT__transport_url='fake://',
                        DEFAULT__executor_thread_pool_size=getattr(
                            request, 'param', 1))
    made = rpc.get_server(rpc.get_transport(conf), conf, [])
    listener = Listener()
    listener._poll_style_listener = arrived
    made._create_listener = lambda: rpc_server._ClosingListener(
        listener, made._work_executor, made._reserve)
    made._process_incoming = work
    made.start()
    yield made
    for message in Message.every:
        message.go_on.set()
    Message.every.clear()
    arrived.stopping = True
    made.stop()
    made.wait()


@pytest.fixture
def busy(server):
    """The request that the server's one thread works on."""
    message = Message({'method': 'decide'})
    server._on_incoming([message])
    assert message.begun.wait(20)
    yield message
    message.go_on.set()


class TestPings:
    """They have a thread in reserve."""

    @pytest.mark.parametrize('content', [
        PING, {'namespace': 'baseapi', 'method': 'ping'}])
    def test_are_answered_while_all_others_work(self, server, busy, content):
        ping = Message(content)
        server._on_incoming([ping])
        assert ping.begun.wait(20)
        ping.go_on.set()
        assert not busy.go_on.is_set()

    @pytest.mark.parametrize('server', [3], indirect=True)
    def test_begin_before_calls_that_wait_for_their_turn(self, patience,
                                                         server, busy):
        call, ping = Message({'method': 'decide'}), Message(PING)
        server._on_incoming([call])
        server._on_incoming([ping])
        busy.go_on.set()
        assert ping.begun.wait(20)
        assert not call.begun.is_set()
        ping.go_on.set()
        assert call.begun.wait(20)

    def test_are_answered_by_any_thread_that_is_free(self, server):
        pings = [Message(PING), Message(PING)]
        for ping in pings:
            server._on_incoming([ping])
        assert all(ping.begun.wait(20) for ping in pings)
        for ping in pings:
            ping.go_on.set()

    def test_that_come_behind_a_request_do_not_wait_for_it(
            self, server, busy, arrived):
        ping, other = Message(PING), Message({'method': 'decide'})
        arrived.looks[:] = [[], [ping, other]]
        server._on_incoming([Message({'method': 'decide'})])
        assert ping.begun.wait(20)
        ping.go_on.set()
        assert arrived.waiting == [other]

    def test_are_at_most_16_that_wait(self, server, busy, arrived):
        """One more waits with the requests; so do those that have waited
        no longer once they are answered."""
        pings = [Message(PING) for _ in range(17)]
        arrived.looks[:] = [pings]
        server._on_incoming([Message({'method': 'decide'})])
        assert arrived.waiting == pings[16:]

        for ping in pings[:16]:
            ping.go_on.set()
        wait_for(lambda: server._answer_ping(pings[16]))
        pings[16].go_on.set()

    def test_that_belong_to_another_by_now_leave_room(self, server, busy):
        for _ in range(40):
            assert server._answer_ping(Message(PING, taken=False))


def test_a_request_that_belongs_to_another_by_now_is_not_worked_on(server):
    """And its thread is free for the next."""
    gone, next_one = Message({}, taken=False), Message({})
    next_one.go_on.set()
    server._on_incoming([gone])
    server._on_incoming([next_one])
    assert next_one.begun.wait(20)
    assert not gone.begun.is_set()


def test_what_waits_for_a_thread_at_the_stop_goes_back_to_the_broker(
        server, busy, arrived):
    arrived.stopping = True
    waiting = Message({'method': 'decide'})
    waiting.take = pytest.fail
    server._on_incoming([waiting])
    assert not waiting.begun.is_set()


def test_a_request_begins_as_soon_as_a_thread_is_free(
        server, busy, arrived):
    arrived.looks[:] = [[]] * 10 ** 6
    waiting = Message({'method': 'decide'})
    waiting.go_on.set()
    thread = threading.Thread(target=server._on_incoming, args=([waiting],))
    thread.start()
    busy.go_on.set()
    thread.join(20)
    assert waiting.begun.wait(20)


class TestLarge:
    """A large request is worked on where several threads are free."""

    @pytest.mark.parametrize('server', [3], indirect=True)
    @pytest.mark.parametrize(('weight', 'begins'), [
        (1, True), (2, True), (3, False), (100, False)])
    def test_it_takes_the_place_of_as_many(
            self, server, busy, arrived, weight, begins):
        arrived.looks[:] = [[], []]
        large = Message({'method': 'decide'}, weight=weight)
        large.go_on.set()
        server._on_incoming([large])
        assert large.begun.wait(20 if begins else 0) is begins

    @pytest.mark.parametrize('server', [3], indirect=True)
    def test_it_leaves_them_when_it_is_done(self, server):
        for _ in range(3):
            large = Message({'method': 'decide'}, weight=5)
            large.go_on.set()
            server._on_incoming([large])
            assert large.begun.wait(20)

    def test_it_has_its_arguments_once_it_is_worked_on(self, server):
        fetched = []
        large = Message({'method': 'decide'}, weight=2)
        large.load = lambda: fetched.append(large.begun.is_set())
        large.go_on.set()
        server._on_incoming([large])
        assert large.begun.wait(20)
        assert fetched == [False]


class TestTurns:
    """When requests were looked for last; None where nobody is to look."""

    def test_are_none_before_the_start(self):
        conf = rules.a_conf(DEFAULT__transport_url='fake://')
        made = rpc.get_server(rpc.get_transport(conf), conf, [])
        assert made.polled_at is None

    def test_are_those_of_the_loop_until_the_stop(self, server):
        assert server.polled_at == 5.5
        server.stop()
        assert server.polled_at is None

    def test_are_none_on_a_bus_within_the_process(self, server, arrived):
        del arrived.polled_at
        assert server.polled_at is None


def test_the_end_of_all_work_gives_up_replies_within_seconds(arrived):
    closed, reserve = [], futures.ThreadPoolExecutor(1)
    arrived.retrier = types.SimpleNamespace(close=closed.append)
    listener = Listener()
    listener._poll_style_listener = arrived
    rpc_server._ClosingListener(listener, None, reserve).cleanup()
    assert closed == [3]
    with pytest.raises(RuntimeError):
        reserve.submit(print)


class TestKeepalives:
    """A caller is told that its call is worked on, until that is over."""

    @pytest.fixture
    def call(self, monkeypatch):
        """A call whose keepalives end in these errors, one each."""
        monkeypatch.setattr(rpc_server, '_KEEPALIVE_RETRY', 0.001)

        class Call:
            msg_id, tries, message = 'id', 0, {'method': 'decide'}

            def heartbeat(self):
                self.tries += 1
                if self.errors:
                    raise self.errors.pop(0)

            def reply(self, reply=None, failure=None):
                self.replies.append((reply, self.over.is_set()))
        call = Call()
        call.errors, call.replies = [], []
        call.over = threading.Event()
        return call

    def test_are_tried_again_until_one_arrives(self, call):
        call.errors[:] = [messaging.MessageDeliveryFailure('no queue')] * 3
        answered = rpc_server._TrackedMessage(call)
        answered.ends(call.over)
        answered.heartbeat()
        assert call.tries == 4
        answered.heartbeat()
        assert call.tries == 5

    def test_that_go_wrong_otherwise_are_not_tried_again(self, call):
        call.errors[:] = [ZeroDivisionError()]
        answered = rpc_server._TrackedMessage(call)
        answered.ends(call.over)
        with pytest.raises(ZeroDivisionError):
            answered.heartbeat()
        assert call.tries == 1

    def test_end_as_the_reply_is_about_to_be_sent(self, call):
        answered = rpc_server._TrackedMessage(call)
        answered.ends(call.over)
        assert not call.over.is_set()
        answered.reply('hosts')
        assert call.replies == [('hosts', True)]
        answered.heartbeat()
        assert call.tries == 0

    def test_do_not_begin_after_the_reply(self, call):
        answered = rpc_server._TrackedMessage(call)
        answered.reply('hosts')
        assert not call.over.is_set()
        answered.ends(call.over)
        assert call.over.is_set()

    def test_begin_with_the_call(self, call):
        """Again and again, until it is over."""
        waits = []

        class Over(threading.Event):
            def wait(self, timeout):
                waits.append(timeout)
                return len(waits) > 3
        answered = rpc_server._TrackedMessage(call)
        call.client_timeout, over = 8, Over()
        rpc_server.Dispatcher([], None)._watchdog(over, answered)
        assert call.tries == 3
        assert not over.is_set()
        answered.reply()
        assert over.is_set()
