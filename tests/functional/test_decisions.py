"""Stored decisions equal the answers and log lines of their requests."""

import json
import os
import pathlib
import re
import signal

import pytest

from nova_sched import exception
from nova_sched.observe import decision_store
from tests.functional import processes
from tests.functional import stage as stages

pytestmark = pytest.mark.real

#: Number of requests, of five kinds in turn, and of hosts.
REQUESTS, HOSTS = map(int, os.environ.get(
    'NOVA_SCHED_TEST_DECISIONS', '30,8').split(','))

#: Arguments of Caller.ask of each kind; the last kind is refused.
KINDS = ({}, {'memory_mb': 2048, 'vcpus': 2}, {'count': 3},
         {'alternates': False}, {'memory_mb': 10 ** 9})

_LINE = re.compile(
    r'\[(?:\S+ )*(req-\d+)[ \]].* Request for (?P<instances>\d+) '
    r'instance\(s\).*; (?P<alternates>\d+) alternate\(s\), '
    r'(?P<hosts>\d+) hosts.* seed (?P<seed>\d+)')


def ask_all(caller, first=0, number=REQUESTS):
    """Send requests: {request id: (instance uuids, answer)}.

    The answer is lists of names of hosts; None for a refusal.
    """
    answered = {}
    for index in range(first, first + number):
        request_id = f'req-{index}'
        try:
            answer = stages.names(caller.ask(
                request_id=request_id, **KINDS[index % len(KINDS)]))
        except exception.NoValidHost:
            answer = None
        answered[request_id] = caller.instances, answer
    return answered


def printed(stage, *words):
    """The JSON output of "nova-sched-manage decision"."""
    return json.loads(processes.manage(
        '--config-file', stage.config_file('stage'), 'decision', *words,
        '-f', 'json'))


def answer_in(found):
    """The answer in a stored decision, in the form of ``ask_all``."""
    if found['outcome'] != 'placed':
        return None
    return [[pick['host'], *(other['host'] for other in pick['alternates'])]
            for pick in found['picks']]


def logged(daemon):
    """{request id: numbers of instances, alternates and hosts, and seed},
    read from the log.
    """
    return {match[1]: {name: int(number) for name, number
                       in match.groupdict().items()}
            for match in map(_LINE.search, daemon.text.splitlines()) if match}


def numbers_in(found):
    """The numbers of a stored decision, in the form of ``logged``."""
    return {**{name: found[name] for name in (
        'instances', 'alternates', 'seed')}, 'hosts': found['state']['hosts']}


def until_kept(stage, answered):
    """Wait until the store has all answered requests."""
    processes.until(
        lambda: {row['Request'] for row in printed(
            stage, 'list', '--limit', '100000')} >= answered.keys(),
        'all are kept')


def check(stage, answered, some):
    """Check that stored decisions equal the answers.

    some: ids of requests whose whole decision is compared and yielded.
    """
    rows = {row['Request']: row for row
            in printed(stage, 'list', '--limit', '100000')}
    assert rows.keys() >= answered.keys()
    for request_id, (uuids, answer) in answered.items():
        row = rows[request_id]
        assert row['Instances'] == len(uuids)
        assert (row['Outcome'] == 'placed') is (answer is not None)
        assert row['Hosts'] == [names[0] for names in answer or ()]
    for request_id in some:
        uuids, answer = answered[request_id]
        found = printed(stage, 'show', request_id)
        assert found == printed(stage, 'show', uuids[-1])
        assert answer_in(found) == answer
        assert found['instance_uuids'] == uuids
        yield found


def test_stored_decisions_equal_answers_and_log(stage):
    """They survive a kill of the master and of both workers.

    tests/interop has those of the filter scheduler, with claims.
    """
    stage.cloud(HOSTS)
    daemon = stage.daemon(2, scheduler__driver=stages.CHANCE)
    answered = ask_all(stage.client())
    until_kept(stage, answered)
    for worker in daemon.workers:
        os.kill(worker, signal.SIGKILL)
    daemon.signal(signal.SIGKILL)
    daemon.wait()

    by_log = logged(daemon)
    # A request for several instances, and a refused request.
    for found in check(stage, answered, ['req-2', 'req-4']):
        assert numbers_in(found) == by_log[found['request_id']]
        assert found['service'] == stage.conf.host
        assert found['state']['hosts'] == HOSTS


def test_damaged_file_is_replaced_and_logged_once(stage):
    """By one of the workers; new decisions of all can be read."""
    stage.cloud(4)
    daemon = stage.daemon(2)
    caller = stage.client()
    until_kept(stage, ask_all(caller, number=5))
    path = decision_store.path(stage.configuration())
    with path.open('r+b') as file:
        file.seek(4096)
        file.write(b'x' * 100_000)

    answered = ask_all(caller, first=5, number=20)
    daemon.wait_for_lines('is damaged and replaced by an empty')
    answered |= ask_all(caller, first=25, number=20)
    until_kept(stage, answered)
    daemon.stop()

    assert len(daemon.lines('is damaged and replaced by an empty')) == 1
    assert not daemon.lines('Traceback')
    assert pathlib.Path(f'{path}.damaged').exists()
