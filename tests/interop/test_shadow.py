"""A shadow beside the real nova-scheduler: same bus, databases, Placement.

NOVA_SCHED_TEST_SHADOW: how many requests; 500 are compared in some minutes.
NOVA_SCHED_TEST_SEED: another cloud and other requests.
"""

import concurrent.futures
import dataclasses
import datetime
import itertools
import json
import os
import sys
import threading
import uuid

import pytest
import sqlalchemy as sa

from nova_sched.dry_run import copied_candidates as copied
from nova_sched.shadow import compare
from nova_sched.shadow import report
from tests.builders import messages
from tests.functional import processes
from tests.functional import stage
from tests.interop import generate
from tests.interop import rig as rigs

pytestmark = pytest.mark.real

REQUESTS = int(os.environ.get('NOVA_SCHED_TEST_SHADOW', 40))
SEED = os.environ.get('NOVA_SCHED_TEST_SEED', '34')
#: Callers at a time, where requests get in each other's way.
CALLERS = 4
#: Requests to a shadow of other options.
OTHER = 12
#: Of a request that only Placement can judge.
NOT_JUDGED = 'not judged'


class Rig(rigs.Rig):
    """The real nova-scheduler, asked as conductors do, and a shadow."""

    def watch(self, directory, **options):
        """Start a shadow, by the configuration of the scheduler.

        directory: where the scheduler's is.  options: of the shadow alone.
        """
        [scheduler] = self.schedulers
        name = f'shadow-{uuid.uuid4().hex[:8]}'
        file = directory / f'{name}.jsonl'
        file.touch()
        self._told, self._reading = {}, threading.Lock()
        self._rest = ''
        self._lines = self._exit.enter_context(file.open())
        own = stage.write_config(
            directory / f'{name}.conf', nova_sched__shadow_report=file,
            nova_sched__shadow_patience=20, **options)
        self.shadow = processes.Program(
            'nova-sched', [
                '--shadow', '--config-file',
                directory / f'{scheduler.exchange}.conf',
                '--config-file', own],
            directory / f'{name}.log')
        self._exit.callback(self.shadow.end)
        self.shadow.wait_for_lines('Listening to topic')
        self._cell0 = sa.create_engine(self.databases.urls['cell0'])
        self._exit.callback(self._cell0.dispose)

    def told(self):
        """What the shadow has reported: first instance -> dict."""
        with self._reading:
            *whole, self._rest = (
                self._rest + self._lines.read()).split('\n')
            for line in whole:
                entry = json.loads(line)
                self._told[entry['instances'][0]] = entry
            return dict(self._told)

    def _client(self, scheduler, **target):
        # By the queue for whoever is free, as a conductor: the key that the
        # shadow's queue is bound with.
        if target.get('namespace'):
            return super()._client(scheduler, **target)
        return messages.raw_client(self.transport,
                                   exchange=scheduler.exchange, **target)

    def call(self, scheduler, question):
        """As of Rig; returns when the shadow has compared it."""
        refused, selections = super().call(scheduler, question)
        if refused:
            self._bury(question.uuids)
        processes.until(lambda: question.uuids[0] in self.told(),
                        f'a line about {question.topic}', interval=0.02)
        return refused, selections

    def _bury(self, uuids):
        """Put instances into cell0, as their conductor does."""
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        with self._cell0.begin() as connection:
            for uuid_ in uuids:
                connection.execute(sa.text(
                    'INSERT IGNORE INTO instances (uuid, vm_state, deleted, '
                    'created_at) VALUES (:uuid, :state, 0, :now)'),
                    {'uuid': uuid_, 'state': 'error', 'now': now})


@pytest.fixture(scope='module')
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp('shadow')


@pytest.fixture(scope='module')
def rig(directory):
    with Rig(directory, ['nova'], SEED) as rig:
        rig.watch(directory, nova_sched__candidates='mirror')
        yield rig


def questions(rig):
    """So many, in the order of their topics, over and over."""
    return list(itertools.islice(generate.questions(
        rig.world, rig.cells, SEED, 1 + REQUESTS // 10), REQUESTS))


def asked(rig, found):
    """What the shadow told of these questions: list of dicts."""
    told = rig.told()
    return [told[question.uuids[0]] for question in found]


def show(capsys, told):
    """Print what came of them, for whoever runs it with many."""
    with capsys.disabled():
        for row in report.totals(told):
            sys.stdout.write('\n{:20} {:40} {:5}'.format(*row))


def lines(told):
    """Those that do not agree, for whoever reads of a failure."""
    return '\n'.join(json.dumps(entry) for entry in told
                     if entry['verdict'] not in compare.AGREEMENTS)


def test_one_request_at_a_time_both_agree(rig, capsys):
    """Nothing moves in between, so a difference would be one of rules."""
    [scheduler] = rig.schedulers
    found = questions(rig)
    for question in found:
        rig.ask(scheduler, question)

    told = asked(rig, found)
    show(capsys, told)
    assert {entry['verdict'] for entry in told} <= {
        *compare.AGREEMENTS, compare.NOT_COMPARABLE}, lines(told)
    seen = [entry for entry in told
            if entry['verdict'] != compare.NOT_COMPARABLE]
    assert len(seen) >= 0.9 * len(told), lines(told)


def test_at_rest_its_copy_offers_what_placement_lists(rig):
    """What a question has changed before, a copy has seen after a while."""
    [scheduler] = rig.schedulers
    rig.shadow.wait_for_lines('resource providers were copied')
    judged = []
    for question in [each for each in questions(rig) if not each.held][:OTHER]:
        def agrees(question=question):
            again = _renewed(question)
            rig.ask(scheduler, again)
            [told] = asked(rig, [again])
            return _copy_verdict(told) in (copied.SAME, NOT_JUDGED) and told
        told = processes.until(agrees, f'the copy for {question.topic}',
                               interval=1)
        judged.append(_copy_verdict(told))
    assert judged.count(copied.SAME) >= OTHER // 2


def _copy_verdict(told):
    return told['copy']['verdict'] if told['copy'] else NOT_JUDGED


def test_of_requests_at_a_time_each_is_told_of(rig, capsys):
    """Those that got into each other's way are told apart."""
    [scheduler] = rig.schedulers
    found = [_renewed(question) for question in questions(rig)
             if not question.held][:REQUESTS // 2]
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(lambda question: rig.ask(scheduler, question), found))

    told = asked(rig, found)
    show(capsys, told)
    assert {entry['verdict'] for entry in told} <= {
        *compare.AGREEMENTS, compare.NOT_COMPARABLE}, lines(told)
    assert not rig.shadow.lines('Traceback')


def _renewed(question):
    """The same for other instances."""
    text = json.dumps([question.spec, question.uuids])
    for old in question.uuids:
        text = text.replace(old, str(uuid.uuid4()))
    spec, uuids = json.loads(text)
    return dataclasses.replace(question, spec=spec, uuids=uuids)


def test_other_weights_are_seen_in_what_they_change(rig, directory):
    """The same requests, decided by a shadow that packs hosts."""
    rig.shadow.end()
    rig.watch(directory, filter_scheduler__ram_weight_multiplier=-5)
    [scheduler] = rig.schedulers
    found = [_renewed(question) for question in questions(rig)
             if not question.held][:OTHER]
    for question in found:
        rig.ask(scheduler, question)

    told = asked(rig, found)
    lower = [entry for entry in told if entry['verdict'] == compare.LOWER]
    assert lower, lines(told)
    assert {entry['rule'] for entry in lower} == {'weight'}


def test_a_shadow_leaves_no_trace(rig):
    """No record of a service; it ends when it is told to."""
    services = [row for name in ('cell0', *rig.world.cells)
                for row in _rows(rig.databases.urls[name],
                                 'SELECT host FROM services '
                                 "WHERE `binary` LIKE '%%sched%%'")]
    assert services == [(rig.schedulers[0].host,)]
    assert rig.shadow.stop()[0] == 0


def _rows(url, sql):
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(sql).all()
    engine.dispose()
    return [tuple(row) for row in rows]
