"""nova-sched-manage request plan: explanations and changes that help."""


import jsonschema
import pytest

from nova_sched.cmd.manage import plan_report
from nova_sched.page import writing
from tests.builders import plans
from tests.builders import schemas
from tests.builders.clouds import a_uuid


@pytest.fixture
def document(plan):
    """Function: the JSON of "request plan", which fits the schema."""
    def document(*options, code=0):
        return plans.document(plan(*options, '-f', 'json'), code)
    return document


class TestWhy:
    def test_the_pick_is_explained_below_the_filters(self, plan):
        lines = plan('--ram', 7500).out.splitlines()

        at = lines.index('a is first because of RAMWeigher (+0.11 of a gap '
                         'of 0.11 to b)')
        assert lines[at + 1:at + 3] == [
            '2 of 3 hosts fit, rejected: 1 only RamFilter',
            'Placement is not used.']

    def test_a_refusal_has_changes_that_help(self, plan):
        ended = plan('--ram', 9500)

        assert ended.code == 1
        for line in ('only RamFilter: 3 of 3 hosts, a, b, c',
                     'with 500 MB of RAM less on a the request is placed',
                     'with up to 9,000 MB of RAM the request is placed'):
            assert line in ended.out.splitlines()

    def test_unread_parts_of_the_request_are_noted(self, plan, document):
        hint = '--hint', f'same_host={a_uuid()}'
        note = ('Nothing reads hint same_host: SameHostFilter does not run; '
                '--enable SameHostFilter runs it in a plan')

        assert note in plan(*hint).out.splitlines()
        assert document(*hint)['notes'] == [note]
        assert document()['notes'] == []

    def test_a_host_of_an_aggregate_in_another_case_is_noted(
            self, document, cloud):
        cloud.execute("INSERT INTO aggregates (id, name) VALUES (1, 'fast')")
        cloud.execute('INSERT INTO aggregate_hosts (id, host, aggregate_id) '
                      "VALUES (1, 'A', 1)")

        [note] = document()['notes']
        assert note.startswith('Aggregate fast has a host A, which is not a')

    def test_is_in_the_json(self, document):
        placed, refused = document('--ram', 7500), document('--ram', 9500,
                                                            code=1)

        assert placed['why']['pick']['host'] == 'a'
        assert placed['why']['matrix']['fitting'] == 2
        assert (placed['why_not'], placed['changes'],
                placed['schedule_info']) == ([], [], None)
        assert refused['why']['pick'] is None
        assert [change['kind'] for change in refused['changes']] == [
            'freed', 'smaller_amounts']

    def test_explains_the_first_or_the_failed_instance(self, document):
        placed = document('--count', 2, '--ram', 6000)
        refused = document('--count', 4, '--ram', 6000, code=1)

        assert placed['why']['instance'] == 0
        assert refused['why']['instance'] == 3
        assert refused['changes'][0]['change'] == {'instances': 3, 'wanted': 4}

    def test_is_about_the_host_that_is_drawn(self, document):
        found = document('--set', 'filter_scheduler.host_subset_size=3')

        assert found['why']['pick']['host'] == (found['placements'][0]['host'])
        assert (found['why']['pick']['tied'], found['why']['pick']['drawn']
                ) == (3, True)

    def test_smaller_flavors_are_tried(self, document, plan):
        change, *_ = document('--ram', 9500, '--or-flavor', 'mid=8000,1,1',
                              '--or-flavor', 'tiny=64,1,1', code=1)['changes']

        assert change['change']['flavor'] == 'mid'
        assert plan('--ram', 9500, '--or-flavor', 'mid=8000').code == 2

    def test_is_missing_for_a_driver_without_rules(self, plan, document):
        driver = '--set', 'scheduler.driver=chance_scheduler'

        assert ('The driver chance_scheduler does not use filters and '
                'weighers on known hosts: there is no explanation.'
                in plan(*driver, '--host', 'a').out)
        found = document(*driver, '--host', 'a', '--all-hosts')
        assert [found[name] for name in (
            'why', 'why_not', 'changes', 'schedule_info')] == [
            None, [], [], None]


class TestPage:
    @pytest.mark.parametrize('ram, code', [(7500, 0), (9500, 1)])
    def test_is_of_the_document_with_all_verdicts(self, document, tmp_path,
                                                  ram, code):
        page = tmp_path / 'page.html'
        found = document('--ram', ram, '--html', page, code=code)

        assert len(found['schedule_info']) == 3
        assert page.read_text() == writing.html(found)

    def test_is_written_for_people_too(self, plan, tmp_path):
        page = tmp_path / 'page.html'
        ended = plan('--ram', 7500, '--html', page)

        assert ended.out.splitlines()[-1].startswith('plan: outcome=placed')
        assert '1 instance would be placed' in page.read_text()

    def test_in_a_directory_that_is_missing_says_so(self, plan, tmp_path):
        path = tmp_path / 'none' / 'page.html'
        ended = plan('--html', path)

        assert ended.code == 2
        assert ended.err == (
            f'--html {path}: there is no directory {path.parent}; make it, '
            'or name another file\n')

    def test_errors_of_writing_are_named(self, plan, tmp_path):
        ended = plan('--html', tmp_path)

        assert ended.code == 2
        assert 'it cannot be written: Is a directory' in ended.err

class TestBestHosts:
    def test_have_their_weights(self, document):
        found = document('--ram', 7500)

        assert [(each['host'], each['weighers'][0]['name'])
                for each in found['best']] == [
            ('a', 'RAMWeigher'), ('b', 'RAMWeigher')]
        assert found['best'][0]['weight'] == found['placements'][0]['weight']
        assert found['asked']['memory_mb'] == 7500


class TestNamedHosts:
    def test_have_all_reasons_and_the_rank_they_would_have(self, plan):
        lines = plan('--ram', 7500, '--host', 'c', '--host',
                     'b').out.splitlines()

        at = lines.index('c does not fit: 1 rule')
        assert lines[at + 1:at + 6] == [
            '  RamFilter rejects it: needs 7500 MB of RAM, has 7000 MB left, '
            'lacks 500 MB',
            '  it would be number 3 of 3 hosts that fit',
            '  kept below a by RAMWeigher (-0.22)',
            'b fits',
            '  it is number 2 of 2 hosts that fit']

    def test_are_in_the_json(self, document):
        [told] = document('--ram', 7500, '--host', 'c')['why_not']

        assert (told['host'], told['fits'], told['rank']) == ('c', False, 3)
        [rejected] = told['rejected_by']
        assert rejected['figures'] == [{
            'what': 'RAM', 'kind': 'left', 'need_mb': 7500, 'have_mb': 7000,
            'lacking_mb': 500}]

    def test_all_hosts_have_a_verdict(self, document):
        found = document('--ram', 8500, '--all-hosts')['schedule_info']

        assert {(host['host'], host['result']) for host in found} == {
            ('a', 'passed'), ('b', 'failed'), ('c', 'failed')}


def test_the_decision_is_logged_once(run, plan, tmp_path):
    """On stderr, not among the output, which programs may read."""
    plan()

    ended = run('-v', '--config-file', tmp_path / 'nova-sched.conf', 'request',
                'plan', '--ram', 9500, '--host', 'a')

    assert ended.code == 1
    assert ended.err.count('Filter RamFilter returned 0 hosts') == 1
    assert ended.err.count('RamFilter: (start: 3, end: 0)') == 1
    assert 'returned 0 hosts' not in ended.out


def test_the_schema_is_of_this_version():
    assert plans.SCHEMA['title'] == (
        f'nova-sched-manage request plan -f json, version '
        f'{plan_report.VERSION}')
    with pytest.raises(jsonschema.ValidationError):
        schemas.check({'version': plan_report.VERSION}, plans.SCHEMA)
