"""``decision``: what the scheduler has decided, and why."""

import contextlib
import json

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched.cmd.manage import decision as decision_command
from nova_sched.observe import decision_document
from nova_sched.observe import decision_store
from nova_sched.observe.recorder import Recorder
from nova_sched.page import writing
from nova_sched.scheduler import manager
from tests.builders import clouds
from tests.builders import decisions
from tests.builders import documents
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules
from tests.builders import schemas
from tests.builders.decisions import NOW
from tests.builders.decisions import UUIDS
from tests.unit.cmd import conftest

ROW = ('Number', 'Request', 'Outcome', 'Instances', 'Hosts', 'Reason')

SCHEMA = schemas.schema('nova_sched.observe', 'decision_document')
EXPLAIN_SCHEMA = schemas.schema('nova_sched.cmd.manage', 'explain')
PLAN_SCHEMA = schemas.schema('nova_sched.cmd.manage', 'plan')


@pytest.fixture
def store(tmp_path):
    """A store with two decisions, and one of another day."""
    conf = rules.a_conf(DEFAULT__state_path=str(tmp_path),
                        DEFAULT__host='here')
    made = decision_store.DecisionStore.in_file(conf)
    made.add([
        decisions.a_record(20, decisions.names(40), 5, arrived=NOW - 86400),
        decisions.a_refusal('0 of 20 hosts: 20 RamFilter', arrived=NOW),
        decisions.a_refusal('x' * 100, 'req-3', arrived=NOW + 1)])
    yield made
    made.close()


@pytest.fixture
def decision(run, tmp_path):
    """Function: a command about the decisions of this directory."""
    file = tmp_path / 'mine.conf'
    file.write_text(f'[DEFAULT]\nstate_path = {tmp_path}\nhost = here\n')

    def decision(*words):
        return run('--config-file', file, 'decision', *words)
    return decision


def fields(ended):
    """What people read: {field: its lines}."""
    found, name = {}, None
    for line in ended.out.splitlines():
        cells = [cell.strip() for cell in line.split('|')]
        if len(cells) == 4 and cells[1:3] != ['Field', 'Value']:
            name = cells[1] or name
            found.setdefault(name, []).append(cells[2])
    return found


class TestList:
    def test_has_the_newest_first(self, decision, store):
        rows = conftest.table(decision('list', '-f', 'json'))

        assert [[row[name] for name in ROW] for row in rows] == [
            [3, 'req-3', 'refused', 2, [], 'x' * 100],
            [2, 'req-2', 'refused', 2, [], '0 of 20 hosts: 20 RamFilter'],
            [1, 'req-1', 'placed', 5, ['h0', 'h1', 'h2'], None]]

    def test_cuts_for_people_what_is_long(self, decision, store):
        ended = decision('list')

        assert 'h0, h1, h2 and 2 more' in ended.out
        assert 'x' * 77 + '...' in ended.out

    @pytest.mark.parametrize('options, numbers', [
        (['--limit', 1], [3]), (['--limit', 10 ** 30], [3, 2, 1]),
        (['--refused'], [3, 2]), (['--placed'], [1]),
        (['--failed'], []), (['--host', 'h1'], [1]), (['--minutes', 60],
                                                      [3, 2])])
    def test_has_those_that_are_asked_for(self, decision, store, options,
                                          numbers):
        rows = conftest.table(decision('list', '-f', 'json', *options))

        assert [row['Number'] for row in rows] == numbers

    @pytest.mark.parametrize(('code', 'ended'), [
        ('rma', (2, '', 'Invalid input received: --code rma: there is no such '
                        'code; did you mean ram?\n')),
        ('numa', (0, 'There are no such decisions.\n', '')),
        ('rack_is_full', (0, 'There are no such decisions.\n', ''))])
    def test_a_code_that_is_none_is_told(self, decision, store, code, ended):
        """But plug-ins have codes of their own."""
        assert decision('list', '--code', code) == ended

    def test_says_that_there_are_none(self, decision, store):
        ended = decision('list', '--failed')

        assert (ended.code, ended.out) == (
            0, 'There are no such decisions.\n')

    def test_without_a_file_says_where_it_was_looked_for(self, decision,
                                                         tmp_path):
        ended = decision('list')

        assert ended.code == 2
        assert f'{tmp_path}/nova_sched_decisions_3.sqlite' in ended.err


class TestShow:
    @pytest.mark.parametrize('key', ['1', 'req-1', UUIDS[4]])
    def test_is_asked_by_number_request_or_instance(self, decision, store,
                                                    key):
        shown = fields(decision('show', key))

        assert shown['request_id'] == ['req-1']
        assert shown['outcome'] == ['placed']

    def test_tells_people_what_each_rule_has_rejected(self, decision, store):
        shown = fields(decision('show', '1'))

        assert shown['filters'] == ['SizeFilter: 40 -> 20']
        assert shown['rejected'] == [
            'SizeFilter: 20 hosts: h20, h21, h22 and 17 more']

    def test_tells_people_what_weights_are_made_of(self, decision, store):
        shown = fields(decision('show', '1'))

        assert shown['picks'][1] == (
            f'{UUIDS[1]} on h1, weight -1 = RAMWeigher -1')
        assert shown['best'][9] == 'h9: weight -9 = RAMWeigher -9'

    def test_leaves_out_what_is_empty(self, decision, store):
        shown = fields(decision('show', '2'))

        assert shown['reason'] == ['0 of 20 hosts: 20 RamFilter']
        assert not {'picks', 'best', 'claims', 'request'} & shown.keys()

    def test_names_all_rejected_hosts_if_wanted(self, decision, store):
        ended = decision('show', '1', '--rejected', '-f', 'json')

        [rejected] = json.loads(ended.out)['rejected']
        assert len(rejected['named']) == 20

    def test_gives_programs_the_document_with_the_request(self, decision,
                                                          store):
        found = json.loads(decision('show', '2', '-f', 'json').out)

        assert found == decision_store.newest(store, '2')
        assert found['request'] == {'instance_uuids': UUIDS[:2]}

    @pytest.mark.parametrize('number', '123')
    def test_gives_programs_what_the_schema_says(self, decision, store,
                                                 number):
        schemas.check(json.loads(decision('show', number, '-f', 'json').out),
                      SCHEMA)

    def test_writes_a_page_of_the_document_with_all_hosts(
            self, decision, store, tmp_path):
        page = tmp_path / 'page.html'
        found = json.loads(decision('show', '1', '--html', page, '-f',
                                    'json').out)

        assert found['passed']['hosts'] == len(
            found['passed']['named']) == 20
        assert page.read_text() == writing.html(found)

    def test_with_a_page_tells_people_no_more(self, decision, store,
                                              tmp_path):
        ended = decision('show', '1', '--html', tmp_path / 'page.html')

        assert ended.out == decision('show', '1').out

    def test_of_several_names_the_others(self, decision, store):
        assert fields(decision('show', UUIDS[0]))['others'] == ['1, 2']

    @pytest.mark.parametrize('words, told', [
        (['show', 'req-9'], 'no decision req-9 is stored'),
        (['explain', '2'], 'the hosts of decision 2 are not stored')])
    def test_of_what_is_not_kept_says_so(self, decision, store, words, told):
        ended = decision(*words)

        assert ended.code == 2
        assert told in ended.err


class TestOfARunningService:
    """With --service it is asked over RPC."""

    @pytest.fixture
    def asked(self, call, run, scheduler, database, tmp_path):
        """Function: a command about what it has decided."""
        assert call('--request-id', 'req-asked').code == 0
        host = scheduler.conf.host

        def asked(*words, host=host):
            return run('--config-file', tmp_path / 'client.conf', 'decision',
                       *words, '--service', host)
        return asked

    def test_tells_the_same_as_the_log(self, asked):
        found = json.loads(asked('show', 'req-asked', '-f', 'json').out)

        schemas.check(found, SCHEMA)
        assert (found['outcome'], found['state']['hosts']) == ('placed', 6)
        rows = conftest.table(asked('list', '--limit', 1, '-f', 'json'))
        assert rows[0]['Hosts'] == [found['picks'][0]['host']]

    def test_says_what_is_not_kept(self, asked):
        ended = asked('show', 'req-9')

        assert ended.code == 2
        assert 'no decision req-9 is stored' in ended.err

    def test_of_another_host_has_no_answer(self, asked):
        ended = asked('list', '--timeout', 1, host='elsewhere')

        assert ended.code == 3
        assert 'No answer within 1 seconds' in ended.err


class TestExplain:
    """What was decided a while ago, on the hosts as they were then."""

    @pytest.fixture
    def asked(self, run, cloud, tmp_path):
        """Function: what "decision explain" says of a request.

        It was for memory_mb; afterwards the hosts are other ones.
        """
        def asked(memory_mb, *options, **conf):
            cloud.load_nodes(
                clouds.a_compute_node('small', memory_mb=1000,
                                      free_ram_mb=1000),
                clouds.a_compute_node('large', memory_mb=8000,
                                      free_ram_mb=8000))
            recorder = Recorder(rules.a_conf(
                DEFAULT__state_path=str(tmp_path)))
            door = manager.SchedulerManager(
                cloud.driver(), drivers.door(cloud.driver()).offers, recorder)
            with contextlib.suppress(messaging.ExpectedException):
                door.select_destinations(
                    context.RequestContext(request_id='req-1'),
                    spec_obj=requests.a_request(
                        memory_mb=memory_mb).obj_to_primitive(),
                    instance_uuids=UUIDS[:1])
            with recorder.reading():
                pass
            cloud.load(['other'])
            file = tmp_path / 'mine.conf'
            file.write_text(''.join(
                f'[{group}]\n{text}\n' for group, text in (
                    ('DEFAULT', f'state_path = {tmp_path}'),
                    ('database', f'connection = {cloud.url}'),
                    *conf.items())))
            return run('--config-file', file, 'decision', 'explain', 'req-1',
                       *options)
        return asked

    def test_tells_why_the_pick_and_why_not_another(self, asked):
        ended = asked(100, '--host', 'small')

        assert ended.code == 0
        assert 'large is first because of RAMWeigher' in ended.out
        assert '2 of 2 hosts fit' in ended.out
        assert 'kept below large by RAMWeigher (-0.88)' in ended.out

    def test_tells_of_a_refusal_what_is_lacking(self, asked):
        ended = asked(20000, '--host', 'small', '--or-flavor', 'tiny=50,1,1')

        assert 'refused: 0 of 2 hosts: 2 RamFilter' in ended.out
        assert 'needs 20000 MB of RAM, has 1000 MB in all' in ended.out
        assert 'with the flavor tiny (50 MB RAM' in ended.out

    def test_gives_programs_all_of_it(self, asked):
        found = json.loads(asked(20000, '-f', 'json', '--all-hosts').out)

        assert found['outcome'] == 'refused'
        assert found['why']['matrix']['combinations'] == [
            {'rules': ['RamFilter'], 'hosts': 2,
             'examples': ['large', 'small']}]
        assert [host['host'] for host in found['schedule_info']] == [
            'large', 'small']

    def test_writes_a_page_of_the_document_with_all_verdicts(
            self, asked, tmp_path):
        page = tmp_path / 'page.html'
        found = json.loads(asked(20000, '--html', page, '-f', 'json').out)

        assert len(found['schedule_info']) == 2
        assert page.read_text() == writing.html(found)

    def test_tells_what_was_asked_of_one_instance(self, asked):
        found = json.loads(asked(20000, '-f', 'json').out)['decision']

        assert found['asked']['memory_mb'] == 20000

    def test_of_a_host_that_was_not_there_names_one_that_was(self, asked):
        ended = asked(100, '--host', 'smal')

        assert ended.code == 2
        assert 'there is no host smal; did you mean small?' in ended.err

    def test_tells_what_the_configuration_does_not_enable_any_more(
            self, asked):
        ended = asked(20000, filter_scheduler='enabled_filters=ComputeFilter')

        assert 'took part in the decision, but is not enabled' in ended.out
        assert 'RamFilter' in ended.out
        assert '2 of 2 hosts fit' in ended.out

    def test_needs_filters_and_weighers(self, asked):
        ended = asked(100, scheduler='driver=chance_scheduler')

        assert ended.code == 0
        assert 'chance_scheduler does not use the filters' in ended.out

    @pytest.mark.parametrize('memory_mb, options, conf', [
        (100, (), {}), (20000, ('--host', 'small', '--all-hosts'), {}),
        (20000, ('--or-flavor', 'tiny=50,1,1'), {}),
        (100, (), {'scheduler': 'driver=chance_scheduler'})])
    def test_as_json_is_what_its_schema_says(
            self, asked, memory_mb, options, conf):
        ended = asked(memory_mb, *options, '-f', 'json', **conf)

        schemas.check(json.loads(ended.out), EXPLAIN_SCHEMA)

    def test_says_where_placement_may_have_left_out_hosts(self):
        conf = rules.a_conf()
        found = {'source': 'placement', 'providers': 7, 'age_seconds': None}
        whole, cut = (documents.a_decision(candidates=each)
                      for each in (found, found | {'cut_at': 7}))

        assert decision_command._notes(conf, whole) == []
        [note] = decision_command._notes(conf, cut)
        assert ('as many candidates as [scheduler] max_placement_results = 7 '
                'allows, and may have left out hosts') in note

    def test_as_json_says_why_there_is_no_explanation(self, asked):
        found = json.loads(asked(100, '-f', 'json',
                                 scheduler='driver=chance_scheduler').out)

        assert found['why'] is None
        assert 'does not use the filters' in found['notes'][-1]


@pytest.mark.parametrize('schema, command, version', [
    (SCHEMA, 'show', decision_document.VERSION),
    (EXPLAIN_SCHEMA, 'explain', decision_command.VERSION)],
    ids=['show', 'explain'])
def test_a_schema_is_of_this_version(schema, command, version):
    assert schema['title'] == (
        f'nova-sched-manage decision {command} -f json, version {version}')


def test_what_explain_shares_with_others_their_schemas_say_alike():
    """Each is a file by itself, for those who validate."""
    own, shown = EXPLAIN_SCHEMA['properties'], SCHEMA['properties']
    shared = ('why', 'why_not', 'changes', 'changes_complete',
              'schedule_info')

    assert {name: own[name] for name in shared} == {
        name: PLAN_SCHEMA['properties'][name] for name in shared}
    assert own['decision'] == {'type': 'object', 'properties': shown,
                               'required': SCHEMA['required']}
    assert EXPLAIN_SCHEMA['$defs'] == PLAN_SCHEMA['$defs'] | SCHEMA['$defs']
    for name in ('code', 'kind', 'codes', 'outcome', 'request_id'):
        assert own[name] == shown[name]
