"""A shadow, and config check, beside the real nova-scheduler.

They share its bus, databases and Placement.

NOVA_SCHED_TEST_SHADOW: number of requests; 500 take some minutes.
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

from nova_sched.dry_run.mirror_comparison import SAME
from nova_sched.dry_run.shadow import compare
from nova_sched.dry_run.shadow import report
from tests.builders import messages
from tests.functional import processes
from tests.functional import stage
from tests.interop import generate
from tests.interop import rig as rigs

pytestmark = pytest.mark.real

REQUESTS = int(os.environ.get('NOVA_SCHED_TEST_SHADOW', 40))
SEED = os.environ.get('NOVA_SCHED_TEST_SEED', '34')
#: Number of concurrent callers.
CALLERS = 4
#: Requests to a shadow with other options.
OTHER = 12
#: Verdict on a request that only Placement can judge.
NOT_JUDGED = 'not judged'


class Rig(rigs.Rig):
    """The real nova-scheduler, called as by conductors, and a shadow."""

    def watch(self, directory, **options):
        """Start a shadow with the configuration of the scheduler.

        directory: of the scheduler's file.  options: additional ones.
        """
        [scheduler] = self.schedulers
        name = f'shadow-{uuid.uuid4().hex[:8]}'
        file = directory / f'{name}.jsonl'
        file.touch()
        self._reports, self._reading = {}, threading.Lock()
        self._rest = ''
        self._lines = self._exit.enter_context(file.open())
        own = stage.write_config(
            directory / f'{name}.conf', nova_sched__shadow_report=file,
            DEFAULT__rpc_response_timeout=20, **options)
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

    def reports(self):
        """The shadow's reports: first instance -> dict."""
        with self._reading:
            *whole, self._rest = (
                self._rest + self._lines.read()).split('\n')
            for line in whole:
                entry = json.loads(line)
                self._reports[entry['instances'][0]] = entry
            return dict(self._reports)

    def _client(self, scheduler, **target):
        # By the shared queue's routing key, as a conductor: the shadow's
        # queue is bound with that key.
        if target.get('namespace'):
            return super()._client(scheduler, **target)
        return messages.raw_client(self.transport,
                                   exchange=scheduler.exchange, **target)

    def call(self, scheduler, question):
        """Call as Rig; return when the shadow has reported."""
        refused, selections = super().call(scheduler, question)
        if refused:
            self._bury(question.uuids)
        processes.until(lambda: question.uuids[0] in self.reports(),
                        f'a line about {question.topic}', interval=0.02)
        return refused, selections

    def _bury(self, uuids):
        """Write refused instances to cell0, as a conductor does."""
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
    """REQUESTS questions, of all topics in turn."""
    return list(itertools.islice(generate.questions(
        rig.world, rig.cells, SEED, 1 + REQUESTS // 10), REQUESTS))


def reports_on(rig, asked):
    """The shadow's reports on questions: list of dicts."""
    reports = rig.reports()
    return [reports[question.uuids[0]] for question in asked]


def show(capsys, reports):
    """Print the totals of reports."""
    with capsys.disabled():
        for row in report.totals(reports):
            sys.stdout.write('\n{:20} {:40} {:5}'.format(*row))


def disagreements(reports):
    """The reports that do not agree, for the text of a failure."""
    return '\n'.join(json.dumps(entry) for entry in reports
                     if entry['verdict'] not in compare.AGREEMENTS)


def rows_of(rows, check):
    """The rows of a check: list of (level, text)."""
    return [(row['level'], row['text']) for row in rows
            if row['option'] == check]


def host_states(rig, cell):
    """The numbers of hosts of a cell by state, as rows have them."""
    hosts = [host.is_ for host in rig.world.hosts if host.is_.cell == cell]
    disabled = sum(kind.disabled for kind in hosts)
    down = sum(kind.down and not kind.disabled for kind in hosts)
    return (f'{len(hosts) - disabled - down} up, {disabled} disabled, '
            f'{down} down')


def test_config_check_accepts_a_cloud_of_nova(rig, tmp_path):
    """Its only warnings are about the live nova-scheduler."""
    processes.until(lambda: _rows(rig.databases.urls['cell0'],
                                  'SELECT host FROM services'),
                    'the record of nova-scheduler')
    file = stage.write_config(tmp_path / 'nova.conf', **{
        'DEFAULT__host': 'ours', 'DEFAULT__service_down_time': 3600,
        **rig.databases.options(), **rig.placement.settings})
    status, output, errors = processes.run(
        'nova-sched-manage', '--config-file', file, 'config', 'check',
        '--connect', '-f', 'json', '--from', '2026.2')
    rows = json.loads(output)

    assert (status, errors) == (0, '')
    assert {row['option'] for row in rows if row['level'] == 'warning'} - {
        'MariaDB'} == {'other schedulers', 'queue scheduler'}
    (_, api), = rows_of(rows, 'API database')
    for words in (f'{len(rig.world.cells) + 1} cell mappings',
                  f'{len(rig.world.hosts)} host mappings',
                  f'{len(rig.world.aggregates)} aggregates', 'as of 2026.2'):
        assert words in api
    assert 'the database of cell cell0' in rows_of(rows, 'database')[0][1]
    for cell in rig.world.cells:
        (_, text), = rows_of(rows, 'cell {}({})'.format(
            rig.databases.mappings[cell]['uuid'], cell))
        assert 'as of 2026.2' in text
        assert host_states(rig, cell) in text
        assert ('the cell is disabled' in text) == (
            cell == rig.world.cells[-1])
    assert rows_of(rows, 'queue scheduler')[0][1].startswith('1 consumers')
    assert rows_of(rows, 'other schedulers') == [(
        'warning', f'a scheduler is up on host {rig.schedulers[0].host}, of '
        'version 74 (34.0.0 (2026.2))')]
    assert f'all {len(rig.world.hosts)} compute nodes' in rows_of(
        rows, 'Placement providers')[0][1]


def test_shadow_agrees_on_requests_in_sequence(rig, capsys):
    """Nothing changes in between, so each difference would be of rules."""
    [scheduler] = rig.schedulers
    asked = questions(rig)
    for question in asked:
        rig.ask(scheduler, question)

    reports = reports_on(rig, asked)
    show(capsys, reports)
    assert {entry['verdict'] for entry in reports} <= {
        *compare.AGREEMENTS, compare.NOT_COMPARABLE}, disagreements(reports)
    compared = [entry for entry in reports
                if entry['verdict'] != compare.NOT_COMPARABLE]
    assert len(compared) >= 0.9 * len(reports), disagreements(reports)


def test_mirror_at_rest_offers_what_placement_lists(rig):
    """The mirror follows the allocations of earlier questions in a while."""
    [scheduler] = rig.schedulers
    rig.shadow.wait_for_lines('resource providers were copied')
    judged = []
    for question in [each for each in questions(rig) if not each.held][:OTHER]:
        def agrees(question=question):
            again = _renewed(question)
            rig.ask(scheduler, again)
            [entry] = reports_on(rig, [again])
            return _mirror_verdict(entry) in (SAME, NOT_JUDGED) and entry
        entry = processes.until(agrees, f'the mirror for {question.topic}',
                                interval=1)
        judged.append(_mirror_verdict(entry))
    assert judged.count(SAME) >= OTHER // 2


def _mirror_verdict(entry):
    return entry['copy']['verdict'] if entry['copy'] else NOT_JUDGED


def test_shadow_reports_on_each_of_concurrent_requests(rig, capsys):
    """Requests that influenced each other are not comparable."""
    [scheduler] = rig.schedulers
    asked = [_renewed(question) for question in questions(rig)
             if not question.held][:REQUESTS // 2]
    with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(lambda question: rig.ask(scheduler, question), asked))

    reports = reports_on(rig, asked)
    show(capsys, reports)
    assert {entry['verdict'] for entry in reports} <= {
        *compare.AGREEMENTS, compare.NOT_COMPARABLE}, disagreements(reports)
    assert not rig.shadow.lines('Traceback')


def _renewed(question):
    """The same Question for new instances."""
    text = json.dumps([question.spec, question.uuids])
    for old in question.uuids:
        text = text.replace(old, str(uuid.uuid4()))
    spec, uuids = json.loads(text)
    return dataclasses.replace(question, spec=spec, uuids=uuids)


def test_shadow_attributes_differences_to_other_weights(rig, directory):
    """The same requests, decided by a shadow that stacks instances."""
    rig.shadow.end()
    rig.watch(directory, filter_scheduler__ram_weight_multiplier=-5)
    [scheduler] = rig.schedulers
    asked = [_renewed(question) for question in questions(rig)
             if not question.held][:OTHER]
    for question in asked:
        rig.ask(scheduler, question)

    reports = reports_on(rig, asked)
    lower = [entry for entry in reports if entry['verdict'] == compare.LOWER]
    assert lower, disagreements(reports)
    assert {entry['rule'] for entry in lower} == {'weight'}


def test_shadow_has_no_service_record_and_stops_by_sigterm(rig):
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
