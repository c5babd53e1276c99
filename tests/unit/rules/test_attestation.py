"""Trust levels of nodes by the attestation server, and their lifetime."""

import threading

import pytest

from nova_sched.rules.attestation import TrustLevels

NOW = 1_700_000_000.0       # 2023-11-14T22:13:20Z
LONG = 10
FRESH = '2023-11-14T22:13:00Z'


class Server:
    """Returns given answers, and notes its queries."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, nodes):
        self.asked.append(nodes)
        return self.answers


def trusted(name, level='trusted', vtime=FRESH):
    return {'host_name': name, 'trust_lvl': level, 'vtime': vtime}


class Levels(TrustLevels):
    """Levels at a time that a test sets; queries are answered at once."""

    def __init__(self, poll, lifetime=60):
        super().__init__(poll, lifetime, clock=lambda: self.now)
        self.now = NOW

    def _ask(self, everyone):
        asking = super()._ask(everyone)
        asking.join(LONG)
        return asking


def levels(server):
    return Levels(server)


def test_one_query_is_for_all_nodes():
    server = Server(trusted('a'), trusted('b', 'untrusted'))
    found = levels(server)

    assert found.known(['a']) == {'a': 'unknown'}
    assert server.asked == []
    assert found.of(['a'], ['a', 'b', 'c']) == {'a': 'trusted'}
    assert found.of(['b'], ['a', 'b', 'c']) == {'b': 'untrusted'}
    assert server.asked == [['a', 'b', 'c']]


@pytest.mark.parametrize(('vtime', 'questions'), [
    ('2023-11-14T22:12:20Z', 1), ('2023-11-14T22:12:19Z', 2),
    ('2023-11-14T23:12:20+01:00', 1), ('2023-11-14T22:12:20', 1),
    ('2030-01-01T00:00:00Z', 1), ('Tue Nov 14 22:13:00 2023', 1),
    ('Tue Nov 14 22:10:00 2023', 2)])
def test_an_attestation_is_good_for_its_lifetime(vtime, questions):
    """An old one counts until the next answer."""
    server = Server(trusted('a', vtime=vtime))
    found = levels(server)

    assert found.of(['a'], ['a']) == found.of(['a'], ['a']) == {
        'a': 'trusted'}
    assert len(server.asked) == questions


@pytest.mark.parametrize('vtime', ['yesterday', '', None, 5, [],
                                   '99999-01-01T00:00:00Z'])
def test_without_a_readable_time_the_level_is_unknown(vtime):
    """For the same lifetime."""
    server = Server(trusted('a', vtime=vtime))
    found = levels(server)

    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert len(server.asked) == 1


def test_nodes_without_an_answer_are_unknown_and_queried_again():
    server = Server(trusted('a'))
    found = levels(server)
    found.of(['a', 'b'], ['a', 'b'])
    server.answers = []

    assert found.of(['b'], ['a', 'b']) == {'b': 'unknown'}
    assert found.known(['a']) == {'a': 'unknown'}
    assert len(server.asked) == 2


@pytest.mark.parametrize('answer', [
    None, 'a', {}, {'host_name': ['a']}, {'host_name': 'stranger'},
    {'host_name': 'a'}])
def test_an_invalid_answer_is_ignored(answer):
    assert levels(Server(answer)).of(['a'], ['a']) == {'a': 'unknown'}
    without_level = Server({'host_name': 'a', 'vtime': FRESH})
    assert levels(without_level).of(['a'], ['a']) == {'a': None}


@pytest.mark.parametrize(('seconds', 'questions'), [
    (30, 1), (31, 2), (60, 2), (61, 2)])
def test_an_answer_is_renewed_after_half_of_its_lifetime(seconds, questions):
    server = Server(trusted('a', vtime='2030-01-01T00:00:00Z'))
    found = levels(server)
    found.of(['a'], ['a'])
    found.now += seconds

    assert found.of(['a'], ['a']) == {'a': 'trusted'}
    assert len(server.asked) == questions


def test_an_error_of_a_query_leaves_levels_unknown(monkeypatch):
    raised = []
    monkeypatch.setattr(threading, 'excepthook', raised.append)
    server = Server(trusted('a'))
    found = levels(server)
    found.of(['a'], ['a'])
    server.answers = None
    found.now += 61

    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert [each.exc_type for each in raised] == [TypeError]


class SlowServer(Server):
    """Answers once a test lets it."""

    def __init__(self, *answers):
        super().__init__(*answers)
        self.begun, self.answering = threading.Event(), threading.Event()

    def __call__(self, nodes):
        super().__call__(nodes)
        self.begun.set()
        assert self.answering.wait(LONG)
        return self.answers


class TestDuringAQuery:
    @pytest.fixture
    def server(self):
        server = SlowServer(trusted('a'))
        yield server
        server.answering.set()

    def levels(self, server):
        now = [NOW]
        return TrustLevels(server, 60, clock=lambda: now[0]), now

    def test_the_last_answer_counts_for_its_lifetime(self, server):
        found, now = self.levels(server)
        server.answering.set()
        found.of(['a'], ['a'])
        server.answering.clear()
        server.begun.clear()
        now[0] += 60

        assert found.of(['a'], ['a', 'b']) == {'a': 'trusted'}
        assert server.begun.wait(LONG)
        assert found.of(['a', 'b'], ['a', 'b']) == {
            'a': 'trusted', 'b': 'unknown'}
        assert server.asked == [['a'], ['a', 'b']]

    @pytest.mark.parametrize('seconds', [0, 61])
    def test_nodes_are_unknown_when_no_answer_comes_in_time(
            self, server, seconds):
        """Also if the last answer is too old."""
        found, now = self.levels(server)
        found.PATIENCE = 0.0
        if seconds:
            server.answering.set()
            found.PATIENCE = LONG
            found.of(['a'], ['a'])
            found.PATIENCE = 0.0
            server.answering.clear()
            now[0] += seconds

        assert found.of(['a'], ['a']) == {'a': 'unknown'}

    def test_requests_that_wait_for_an_answer_share_it(
            self, server, monkeypatch):
        """Also an empty one, instead of one query each."""
        server.answers = []
        found, _ = self.levels(server)
        ask, waits = found._ask, threading.Semaphore(0)

        def asked(everyone):
            try:
                return ask(everyone)
            finally:
                waits.release()

        monkeypatch.setattr(found, '_ask', asked)
        waiting = [threading.Thread(target=found.of, args=(['a'], ['a']))
                   for _ in range(5)]
        for thread in waiting:
            thread.start()
        for _ in waiting:
            assert waits.acquire(timeout=LONG), 'a request does not ask'
        server.answering.set()
        for thread in waiting:
            thread.join(LONG)

        assert server.asked == [['a']]
