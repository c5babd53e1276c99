"""``decision``: past decisions and their explanation."""

import json

import pytest

from nova_sched.cmd.manage import decision as decision_command
from nova_sched.observe import decision_document
from nova_sched.observe import decision_store
from nova_sched.page import writing
from tests.builders import clouds
from tests.builders import decisions
from tests.builders import documents
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
        decisions.a_record(20, decisions.a_table(40), 5, arrived=NOW - 86400),
        decisions.a_refusal('0 of 20 hosts: 20 RamFilter', arrived=NOW),
        decisions.a_refusal('x' * 100, 'req-3', arrived=NOW + 1)])
    yield made
    made.close()


@pytest.fixture
def decision(by, tmp_path):
    """Function: a command about the decisions of this directory."""
    return by(f'[DEFAULT]\nstate_path = {tmp_path}\nhost = here\n',
              'decision')


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
    def test_has_decisions_that_match(self, decision, store, options, numbers):
        rows = conftest.table(decision('list', '-f', 'json', *options))

        assert [row['Number'] for row in rows] == numbers

    @pytest.mark.parametrize(('code', 'ended'), [
        ('rma', (2, '', 'Invalid input received: --code rma: there is no such '
                        'code; did you mean ram?\n')),
        ('numa', (0, 'There are no such decisions.\n', '')),
        ('rack_is_full', (0, 'There are no such decisions.\n', ''))])
    def test_a_misspelt_code_is_an_error(self, decision, store, code, ended):
        """But plug-ins have codes of their own."""
        assert decision('list', '--code', code) == ended


class TestShow:
    @pytest.mark.parametrize('key', ['1', 'req-1', UUIDS[4]])
    def test_is_asked_by_number_request_or_instance(self, decision, store,
                                                    key):
        shown = fields(decision('show', key))

        assert shown['request_id'] == ['req-1']
        assert shown['outcome'] == ['placed']

    def test_has_the_hosts_that_each_rule_rejected(self, decision, store):
        shown = fields(decision('show', '1'))

        assert shown['filters'] == ['SizeFilter: 40 -> 20']
        assert shown['rejected'] == [
            'SizeFilter: 20 hosts: h20, h21, h22 and 17 more']

    def test_has_the_parts_of_weights(self, decision, store):
        shown = fields(decision('show', '1'))

        assert shown['picks'][1] == (
            f'{UUIDS[1]} on h1, weight -1 = RAMWeigher -1')
        assert shown['best'][9] == 'h9: weight -9 = RAMWeigher -9'

    def test_omits_empty_fields(self, decision, store):
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
    def test_as_json_fits_the_schema(self, decision, store, number):
        schemas.check(json.loads(decision('show', number, '-f', 'json').out),
                      SCHEMA)

    def test_writes_a_page_of_the_document_with_all_hosts(
            self, decision, store, tmp_path):
        page = tmp_path / 'page.html'
        found = json.loads(decision('show', '1', '--html', page, '-f',
                                    'json').out)

        assert found['passed']['hosts'] == len(found['passed']['named']) == 20
        assert page.read_text() == writing.html(found)

    def test_names_other_decisions_by_the_key(self, decision, store):
        assert fields(decision('show', UUIDS[0]))['others'] == ['1, 2']

    @pytest.mark.parametrize('words, told', [
        (['show', 'req-9'], 'no decision req-9 is stored'),
        (['explain', '2'], 'the hosts of decision 2 are not stored')])
    def test_unknown_decisions_are_errors(self, decision, store, words, told):
        ended = decision(*words)

        assert ended.code == 2
        assert told in ended.err


class TestOfARunningService:
    """With --service the scheduler is queried over RPC."""

    @pytest.fixture
    def ask(self, call, run, scheduler, database, tmp_path):
        """Function: a command about its decisions."""
        assert call('--request-id', 'req-asked').code == 0
        host = scheduler.conf.host

        def ask(*words, host=host):
            return run('--config-file', tmp_path / 'nova-sched.conf',
                       'decision', *words, '--service', host)
        return ask

    def test_has_the_decisions_of_the_service(self, ask):
        found = json.loads(ask('show', 'req-asked', '-f', 'json').out)

        schemas.check(found, SCHEMA)
        assert (found['outcome'], found['state']['hosts']) == ('placed', 6)
        rows = conftest.table(ask('list', '--limit', 1, '-f', 'json'))
        assert rows[0]['Hosts'] == [found['picks'][0]['host']]

    def test_unknown_decision_is_an_error(self, ask):
        ended = ask('show', 'req-9')

        assert ended.code == 2
        assert 'no decision req-9 is stored' in ended.err


class TestExplain:
    """Past decisions are explained on the hosts as they were."""

    @pytest.fixture
    def explain(self, by, cloud, decided):
        """Function: the output of "decision explain" for a request.

        The request was for memory_mb; the hosts have changed since.
        """
        def explain(memory_mb, *options, **conf):
            cloud.load_nodes(
                clouds.a_compute_node('small', memory_mb=1000,
                                      free_ram_mb=1000),
                clouds.a_compute_node('large', memory_mb=8000,
                                      free_ram_mb=8000))
            text = decided(('req-1', {'memory_mb': memory_mb})) + ''.join(
                f'[{group}]\n{line}\n' for group, line in conf.items())
            cloud.load(['other'])
            return by(text, 'decision', 'explain', 'req-1')(*options)
        return explain

    def test_has_the_pick_and_a_named_host(self, explain):
        ended = explain(100, '--host', 'small')

        assert ended.code == 0
        assert 'large is first because of RAMWeigher' in ended.out
        assert '2 of 2 hosts fit' in ended.out
        assert 'kept below large by RAMWeigher (-0.88)' in ended.out

    def test_has_the_shortfall_of_a_refusal(self, explain):
        ended = explain(20000, '--host', 'small', '--or-flavor', 'tiny=50,1,1')

        assert 'refused: 0 of 2 hosts: 2 RamFilter' in ended.out
        assert 'needs 20000 MB of RAM, has 1000 MB in all' in ended.out
        assert 'with the flavor tiny (50 MB RAM' in ended.out

    def test_gives_programs_all_of_it(self, explain):
        found = json.loads(explain(20000, '-f', 'json', '--all-hosts').out)

        assert found['outcome'] == 'refused'
        assert found['why']['matrix']['combinations'] == [
            {'rules': ['RamFilter'], 'hosts': 2,
             'examples': ['large', 'small']}]
        assert [host['host'] for host in found['schedule_info']] == [
            'large', 'small']

    def test_writes_a_page_of_the_document_with_all_verdicts(
            self, explain, tmp_path):
        page = tmp_path / 'page.html'
        found = json.loads(explain(20000, '--html', page, '-f', 'json').out)

        assert len(found['schedule_info']) == 2
        assert page.read_text() == writing.html(found)

    def test_unknown_host_is_an_error(self, explain):
        ended = explain(100, '--host', 'smal')

        assert ended.code == 2
        assert 'there is no host smal; did you mean small?' in ended.err

    def test_has_filters_that_are_not_enabled_any_more(self, explain):
        ended = explain(20000,
                        filter_scheduler='enabled_filters=ComputeFilter')

        assert 'took part in the decision, but is not enabled' in ended.out
        assert 'RamFilter' in ended.out
        assert '2 of 2 hosts fit' in ended.out

    def test_needs_filters_and_weighers(self, explain):
        ended = explain(100, scheduler='driver=chance_scheduler')

        assert ended.code == 0
        assert 'chance_scheduler does not use the filters' in ended.out
        found = json.loads(explain(100, '-f', 'json',
                                   scheduler='driver=chance_scheduler').out)
        assert found['why'] is None
        assert 'does not use the filters' in found['notes'][-1]

    @pytest.mark.parametrize('memory_mb, options, conf', [
        (100, (), {}), (20000, ('--host', 'small', '--all-hosts'), {}),
        (20000, ('--or-flavor', 'tiny=50,1,1'), {}),
        (100, (), {'scheduler': 'driver=chance_scheduler'})])
    def test_as_json_fits_the_schema(self, explain, memory_mb, options, conf):
        ended = explain(memory_mb, *options, '-f', 'json', **conf)

        schemas.check(json.loads(ended.out), EXPLAIN_SCHEMA)

    def test_notes_a_limited_list_of_candidates(self):
        conf = rules.a_conf()
        found = {'source': 'placement', 'providers': 7, 'age_seconds': None}
        whole, cut = (documents.a_decision(candidates=each)
                      for each in (found, found | {'cut_at': 7}))

        assert decision_command._notes(conf, whole) == []
        [note] = decision_command._notes(conf, cut)
        assert ('as many candidates as [scheduler] max_placement_results = 7 '
                'allows, and may have left out hosts') in note


@pytest.mark.parametrize('schema, command, version', [
    (SCHEMA, 'show', decision_document.VERSION),
    (EXPLAIN_SCHEMA, 'explain', decision_command.VERSION)],
    ids=['show', 'explain'])
def test_a_schema_is_of_this_version(schema, command, version):
    assert schema['title'] == (
        f'nova-sched-manage decision {command} -f json, version {version}')


def test_schemas_agree_on_shared_parts():
    """Each schema is a file by itself, for users who validate."""
    own, shown = EXPLAIN_SCHEMA['properties'], SCHEMA['properties']
    shared = ('why', 'why_not', 'changes', 'changes_complete', 'schedule_info')

    assert {name: own[name] for name in shared} == {
        name: PLAN_SCHEMA['properties'][name] for name in shared}
    assert own['decision'] == {'type': 'object', 'properties': shown,
                               'required': SCHEMA['required']}
    assert EXPLAIN_SCHEMA['$defs'] == PLAN_SCHEMA['$defs'] | SCHEMA['$defs']
    for name in ('code', 'kind', 'codes', 'outcome', 'request_id'):
        assert own[name] == shown[name]
