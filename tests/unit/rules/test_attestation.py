"""The attestation server's word on nodes, and how long it holds."""

import threading

import pytest

from nova_sched.rules.attestation import TrustLevels

NOW = 1_700_000_000.0       # 2023-11-14T22:13:20Z
FRESH = '2023-11-14T22:13:00Z'


class Server:
    """Answers with what it is given, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, nodes):
        self.asked.append(nodes)
        return self.answers


def trusted(name, level='trusted', vtime=FRESH):
    return {'host_name': name, 'trust_lvl': level, 'vtime': vtime}


def levels(server, lifetime=60, now=NOW):
    return TrustLevels(server, lifetime, clock=lambda: now)


def test_one_question_is_about_all_nodes():
    server = Server(trusted('a'), trusted('b', 'untrusted'))
    found = levels(server)

    assert found.of(['a'], ['a', 'b', 'c']) == {'a': 'trusted'}
    assert found.of(['b'], ['a', 'b', 'c']) == {'b': 'untrusted'}
    assert server.asked == [['a', 'b', 'c']]


@pytest.mark.parametrize(('vtime', 'questions'), [
    ('2023-11-14T22:12:20Z', 1), ('2023-11-14T22:12:19Z', 2),
    ('2023-11-14T23:12:20+01:00', 1), ('2023-11-14T22:12:20', 1),
    ('2030-01-01T00:00:00Z', 1), ('Tue Nov 14 22:13:00 2023', 1),
    ('Tue Nov 14 22:10:00 2023', 2)])
def test_an_attestation_is_good_for_its_lifetime(vtime, questions):
    """An old one counts for the request that asked, and is asked again."""
    server = Server(trusted('a', vtime=vtime))
    found = levels(server)

    assert found.of(['a'], ['a']) == found.of(['a'], ['a']) == {
        'a': 'trusted'}
    assert len(server.asked) == questions


@pytest.mark.parametrize('vtime', ['yesterday', '', None, 5, [],
                                   '99999-01-01T00:00:00Z'])
def test_without_a_readable_time_the_level_is_unknown(vtime):
    """For as long as a good one would hold."""
    server = Server(trusted('a', vtime=vtime))
    found = levels(server)

    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert found.of(['a'], ['a']) == {'a': 'unknown'}
    assert len(server.asked) == 1


def test_nodes_without_an_answer_are_unknown_and_asked_about_again():
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
def test_an_answer_without_sense_is_none(answer):
    assert levels(Server(answer)).of(['a'], ['a']) == {'a': 'unknown'}


def test_a_missing_level_is_none():
    answer = {'host_name': 'a', 'vtime': FRESH}

    assert levels(Server(answer)).of(['a'], ['a']) == {'a': None}


def test_what_is_known_is_told_without_asking():
    server = Server(trusted('a'))

    assert levels(server).known(['a']) == {'a': 'unknown'}
    assert server.asked == []


def test_requests_that_wait_for_an_answer_share_it():
    """Also one that says nothing: they do not ask one after another."""
    asked, begun, go_on = [], threading.Event(), threading.Event()

    def poll(nodes):
        asked.append(nodes)
        begun.set()
        go_on.wait(10)
        return []

    found = levels(poll)
    waiting = [threading.Thread(target=found.of, args=(['a'], ['a']))
               for _ in range(5)]
    for thread in waiting:
        thread.start()
    begun.wait(10)
    go_on.set()
    for thread in waiting:
        thread.join(10)

    assert 1 <= len(asked) < 5
