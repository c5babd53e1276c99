"""nova-sched-manage request plan: a decision without any effect."""

import json

import pytest

from nova_sched.dry_run import decider
from tests.builders import clouds
from tests.builders import http_placement
from tests.builders import http_server
from tests.builders import requests
from tests.builders import schemas
from tests.builders.clouds import a_uuid
from tests.builders.plans import HOSTS
from tests.builders.plans import SCHEMA
from tests.builders.plans import document
from tests.builders.plans import hosts_of
from tests.builders.plans import last_line
from tests.builders.plans import nodes


class TestAnswer:
    def test_is_a_table_of_instances_above_one_of_filters(self, plan):
        ended = plan()

        assert ended.code == 0
        assert '| Host | Node | Zone | Weight | Alternates |' in ended.out
        assert '| a    | a    | nova | 1      | b, c       |' in ended.out
        assert '| RamFilter ' in ended.out
        assert last_line(ended) == (
            'plan: outcome=placed placed=1 of=1 hosts=3 filter=- '
            'code=- kind=-')

    def test_has_the_reason_of_a_refusal(self, plan):
        ended = plan('--ram', 10 ** 6)

        assert (ended.code, ended.err) == (1, '')
        assert ended.out.startswith(
            'Requested: 1 x 1 VCPU, 1,000,000 MB, 1 GB\n'
            'No valid host: 0 of 3 hosts: 3 RamFilter (need 1000000 MB, ')
        assert last_line(ended) == (
            'plan: outcome=refused placed=0 of=1 hosts=3 '
            'filter=RamFilter code=ram kind=too_large')

    def test_has_one_line_for_many_instances_that_are_alike(self, plan):
        many = '--count', 40, '--ram', 100
        lines = [line.replace(' ', '').split('|')[1:-1]
                 for line in plan(*many).out.splitlines()
                 if 'instances' in line]

        assert lines == [['40instances', 'ax23,bx13,cx4', 'ax23,bx13,cx4',
                          'nova', '1', '']]
        assert len(plan(*many, '-f', 'value').out.splitlines()) == 40
        assert plan('--count', 10, '--ram', 100).out.count('| b, c ') == 10

    def test_names_hosts_that_a_filter_rejects(self, plan):
        ended = plan('--ram', 8500)

        line, = [line for line in ended.out.splitlines()
                 if line.startswith('| RamFilter ')]
        assert line.replace(' ', '') == '|RamFilter|3|1|2|b,c|'

    def test_is_one_object_for_programs(self, plan):
        found = document(plan('--count', 2, '--ram', 500, '-f', 'json'))

        assert (found['version'], found['outcome']) == ('1.3', 'placed')
        assert found['request']['instances'] == 2
        first = found['placements'][0]
        assert (first['host'], first['node'], first['zone']) == (
            'a', 'a', 'nova')
        assert first['weighers'] == [{
            'name': 'RAMWeigher', 'raw': 9000.0, 'normalized': 1.0,
            'multiplier': 1.0}]
        assert [other['host'] for other in first['alternates']] == ['b', 'c']
        assert {'instance': 0, 'name': 'RamFilter', 'before': 3, 'after': 3
                } in found['filters']
        assert found['placement'] == {'asked': False, 'offered': None}
        assert found['state']['hosts'] == 3
        assert found['state']['moved'] is False
        assert len(found['state']['cells']) == 1

    def test_has_text_for_weights_that_json_lacks(self, plan, cloud):
        """Metadata of an aggregate may set such a multiplier."""
        cloud.load_nodes(*nodes(), aggregates=[clouds.an_aggregate(
            hosts=['a', 'b', 'c'],
            metadata={'ram_weight_multiplier': 'nan'})])
        ended = plan('-f', 'json')

        def none(word):
            raise ValueError(f'{word} is no JSON')

        found = json.loads(ended.out, parse_constant=none)
        schemas.check(found, SCHEMA)
        [placed] = found['placements']
        assert placed['weight'] == 'nan'
        assert placed['weighers'][0]['multiplier'] == 'nan'

    def test_has_the_reason_of_a_refusal_for_programs(self, plan):
        found = document(plan('--ram', 10 ** 6, '-f', 'json'), 1)

        assert (found['outcome'], found['placements']) == ('refused', [])
        assert found['reason'].startswith('0 of 3 hosts: 3 RamFilter')
        assert (found['code'], found['kind'], found['codes']) == (
            'ram', 'too_large', [
                {'code': 'ram', 'stage': 'filters', 'hosts': 3}])
        [rejected] = found['rejected']
        assert rejected['name'] == 'RamFilter'
        assert {host['host'] for host in rejected['hosts']} == set('abc')

    def test_is_rows_alone_in_other_formats(self, plan):
        ended = plan('-f', 'value', '-c', 'Host', '--count', 2)

        assert ended.out.split() == ['a', 'a']
        ended = plan('-f', 'value', '--ram', 10 ** 6)
        assert (ended.code, ended.out) == (1, '')
        assert '3 RamFilter' in ended.err

    def test_each_instance_sees_those_before_it(self, plan):
        assert hosts_of(plan('--count', 3, '--ram', 2000, '-f', 'json')) == [
            'a', 'b', 'a']

    @pytest.mark.parametrize('options, expected', [
        (['anti-affinity', '--count', 3], ['a', 'b', 'c']),
        (['anti-affinity', '--count', 4], None),
        (['anti-affinity', '--count', 6, '--group-max', 2],
         ['a', 'b', 'c', 'a', 'b', 'c']),
        (['anti-affinity', '--count', 7, '--group-max', 2], None),
        (['affinity', '--count', 3], ['a', 'a', 'a']),
        (['soft-affinity', '--count', 3], ['a', 'a', 'a']),
        (['soft-anti-affinity', '--count', 4], ['a', 'b', 'c', 'a'])])
    def test_instances_are_members_of_their_group(self, plan, options,
                                                  expected):
        """New ones too, as in a request from Nova's API."""
        ended = plan(
            '--ram', 1500, '-f', 'json', '--group-policy', *options, '--set',
            'filter_scheduler.weight_classes=nova_sched.scheduler.weights.'
            'all_weighers', *(
                f'--set=filter_scheduler.{kind}_weight_multiplier=10'
                for kind in ('ram', 'soft_affinity', 'soft_anti_affinity')))

        if expected is None:
            found = document(ended, 1)
            assert found['code'] == 'group_anti_affinity'
        else:
            assert hosts_of(ended) == expected

    @pytest.mark.parametrize('group', [
        {'policy': 'anti-affinity'},
        {'policy': 'anti-affinity', 'members': None, 'hosts': []},
        {'policy': 'anti-affinity', 'members': ['one'], 'hosts': ['b']},
        {'policies': ['anti-affinity']}])
    def test_instances_of_a_spec_are_members_too(self, plan, tmp_path, group):
        file = tmp_path / 'spec.json'
        file.write_text(json.dumps({
            'num_instances': 4, 'instance_group': group}))

        found = document(plan('--spec', file, '-f', 'json'), 1)
        assert found['code'] == 'group_anti_affinity'

    def test_may_be_of_a_spec_in_a_file(self, plan, tmp_path):
        file = tmp_path / 'spec.json'
        file.write_text('{"ignore_hosts": ["a"]}')

        assert hosts_of(plan('--spec', file, '-f', 'json')) == ['b']

    def test_may_be_of_a_stored_decision(self, plan, tmp_path):
        file = tmp_path / 'decision.json'
        spec = requests.a_request(ignore_hosts=['a']).obj_to_primitive()
        file.write_text(json.dumps({'number': 7, 'request': {
            'spec_obj': spec, 'instance_uuids': [a_uuid()]}}))

        assert hosts_of(plan('--spec', file, '-f', 'json')) == ['b']


class TestState:
    @pytest.fixture
    def meanwhile(self, monkeypatch, cloud):
        """Function: have a statement run between decision and second read."""
        def meanwhile(statement):
            refresh = decider.Decider.refresh

            def refreshed(self):
                cloud.execute(statement)
                return refresh(self)
            monkeypatch.setattr(decider.Decider, 'refresh', refreshed)
        return meanwhile

    def test_changes_since_are_listed(self, plan, meanwhile):
        meanwhile("UPDATE compute_nodes SET free_ram_mb = 5 WHERE host = 'a'")

        assert ('The state has moved since: free_ram_mb of a: 9000 became 5.'
                in plan().out)
        meanwhile("UPDATE services SET deleted = id WHERE host = 'c'")
        state = document(plan('-f', 'json'))['state']
        assert (state['moved'], state['changes']) == (True, ['host c is gone'])

    def test_changes_are_unknown_with_a_caching_driver(self, plan):
        found = document(plan('--set', 'scheduler.driver=caching_scheduler',
                              '-f', 'json'))

        assert found['state']['moved'] is None

    def test_stays_as_it_is(self, plan, cloud):
        before = dump(cloud)

        plan('--count', 3)

        assert dump(cloud) == before


def dump(cloud):
    """All rows of all tables."""
    tables = cloud.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name: cloud.rows(f'SELECT * FROM {name}') for name, in tables}


class TestWhatIf:
    def test_a_filter_did_not_run(self, plan):
        ended = plan('--ram', 9500, '--without', 'RamFilter')

        assert ended.code == 0
        assert 'Decided with --without RamFilter.' in ended.out
        assert '| RamFilter ' not in ended.out

    def test_one_more_ran(self, plan):
        found = document(plan('--vcpus', 100, '--enable', 'CoreFilter', '-f',
                              'json'), 1)

        assert found['configuration']['enabled_filters'][-1] == 'CoreFilter'
        assert found['configuration']['changed'] == ['--enable CoreFilter']

    def test_an_option_had_another_value(self, plan):
        """By whatever name a file may give it."""
        for name in ('filter_scheduler.ram_weight_multiplier',
                     'DEFAULT.ram_weight_multiplier'):
            assert hosts_of(plan('--set', f'{name}=-1', '-f', 'json')) == ['c']

    @pytest.mark.parametrize('name', [
        'ram_allocation_ratio', 'initial_ram_allocation_ratio'])
    def test_a_ratio_that_hosts_report_themselves_counts(self, plan, name):
        found = document(plan('--ram', 9500, '--set', f'DEFAULT.{name}=3',
                              '-f', 'json'), 1)

        assert found['notes'] == [
            f'--set DEFAULT.{name}=3: 3 of 3 hosts have another ratio all '
            'the same, as they report their own; --host-ratio ram=3 decides '
            'as if all had this one']

    def test_all_hosts_had_another_ratio(self, plan):
        ended = plan('--ram', 9500, '--host-ratio', 'ram=3')

        assert ended.code == 0
        assert 'Decided with --host-ratio ram=3.' in ended.out
        assert plan('--ram', 9500, '--set', 'DEFAULT.ram_allocation_ratio=3',
                    '--host-ratio', 'ram=3').out.count('--set') == 1

    @pytest.mark.parametrize(('setting', 'why'), [
        ('filter_scheduler.cpu_weight_multiplier=2',
         'no weigher that runs has this multiplier'),
        ('filter_scheduler.track_instance_changes=false',
         'this release accepts that option and does not act on it')])
    def test_an_option_without_effect_is_noted(self, plan, setting, why):
        assert document(plan('--set', setting, '-f', 'json'))['notes'] == [
            f'--set {setting}: {why}']

    def test_a_secret_is_not_repeated(self, plan):
        url = 'kombu+memory://user:open-sesame@h/'
        ended = plan('--set', f'DEFAULT.transport_url={url}')

        assert 'Decided with --set DEFAULT.transport_url=****' in ended.out
        assert 'sesame' not in ended.out + ended.err

class TestCloudFile:
    @pytest.fixture
    def file(self, tmp_path):
        """A file of one host, d."""
        file = tmp_path / 'cloud.json'
        file.write_text(json.dumps(clouds.a_cloud(['d'])))
        return file

    def test_has_the_hosts_that_are_decided_on(self, plan, cloud, file):
        before = dump(cloud)

        assert hosts_of(plan('--cloud', file, '-f', 'json')) == ['d']
        assert dump(cloud) == before

    def test_leaves_nothing_behind(self, plan, file, tmp_path, monkeypatch):
        folder = tmp_path / 'temporary'
        folder.mkdir()
        monkeypatch.setattr('tempfile.tempdir', str(folder))

        assert plan('--cloud', file).code == 0
        assert list(folder.iterdir()) == []

    def test_needs_no_placement(self, plan, file):
        """Not even a configured one."""
        ended = plan('--cloud', file, '--ram', 10 ** 6, more=(
            '[placement]\nauth_type = none\n'
            'endpoint_override = http://127.0.0.1:9\n'))

        assert ended.code == 1
        assert 'Placement is not used.' in ended.out
        assert 'RamFilter (need' in ended.out

    def test_warns_if_no_filter_checks_sizes(self, plan, file):
        ended = plan('--cloud', file, '--without', 'RamFilter')

        assert 'Neither Placement nor RamFilter checks' in ended.err

    @pytest.mark.parametrize(('options', 'code', 'words'), [
        (('live-migration', '--to-host', 'f'), 0, 'placed=1'),
        (('live-migration', '--to-host', 'd'), 1, 'placed=0'),
        (('live-migration', '--ignore-host', 'e'), 0, 'placed=1'),
        (('resize', '--ram', 10 ** 6), 1, 'need 1000000 MB'),
        (('resize', '--count', 2), 2, 'leave out --count'),
        (('evacuate', '--ram', 4096, '--hint', 'a=b'), 2,
         'leave out --hint, --ram')])
    def test_a_spec_is_moved_like_a_stored_request(
            self, plan, tmp_path, options, code, words):
        file, spec = tmp_path / 'cloud.json', tmp_path / 'spec.json'
        uuid = a_uuid()
        file.write_text(json.dumps(clouds.a_cloud(
            ['d', 'e', 'f'],
            instances=[clouds.an_instance('d', uuid=uuid)])))
        spec.write_text(json.dumps({'instance_uuid': uuid}))

        ended = plan('--cloud', file, '--spec', spec, '--for', *options)

        assert ended.code == code, ended
        assert code or f'| {uuid} | f ' in ended.out
        assert words in (ended.err if code == 2 else ended.out)


class TestPlacement:
    @pytest.fixture
    def plan(self, plan, server):
        """Function: "request plan", with that Placement."""
        return lambda *options: plan(*options, more=(
            '[placement]\nauth_type = none\n'
            f'endpoint_override = {server.url}\n'))

    def offer(self, server, *names):
        server.on('GET', '/allocation_candidates', http_placement.candidates(
            *(http_placement.a_candidate(HOSTS[name]) for name in names)))

    def test_is_only_read(self, plan, server):
        self.offer(server, 'b', 'c')

        found = document(plan('-f', 'json'))

        assert found['placements'][0]['host'] == 'b'
        assert found['placement'] == {'asked': True, 'offered': 2}
        assert {asked.method for asked in server.asked} == {'GET'}

    @pytest.mark.parametrize('most', [2, 3])
    def test_notes_a_limited_list_of_candidates(self, plan, server, most):
        self.offer(server, 'b', 'c')
        limit = '--set', f'scheduler.max_placement_results={most}'

        assert ('as many candidates as [scheduler] max_placement_results = 2 '
                'allows' in plan(*limit).out) == (most == 2)
        assert document(plan(*limit, '-f', 'json'))['placement'].get(
            'cut_at') == (2 if most == 2 else None)

    def test_without_candidates_refuses(self, plan, server):
        ended = plan()

        assert ended.code == 1
        assert ended.out.splitlines()[1].startswith(
            'No valid host: Placement offers no host, and has no room for the '
            'amounts on any host, though hosts report room: it may have '
            'allocations of deleted instances')
        assert last_line(ended) == (
            'plan: outcome=refused placed=0 of=1 hosts=3 '
            'filter=allocation_candidates code=placement_offers_none '
            'kind=no_capacity')

    @pytest.mark.parametrize('answer', [
        http_placement.error(500), http_placement.error(403),
        http_server.DROP])
    def test_failure_is_not_a_refusal(self, plan, server, answer):
        server.on('GET', '/allocation_candidates', answer)

        ended = plan()

        assert (ended.code, ended.out) == (3, '')
        assert 'Placement' in ended.err or 'placement' in ended.err
