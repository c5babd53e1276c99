"""``capacity show`` on a database: numbers, stranded amounts, exit codes."""

import json

import pytest

from nova_sched.cmd import manage
from tests.builders import clouds
from tests.builders import commands
from tests.builders import schemas
from tests.functional import conftest

WEB, DB = 'web=4G,2,20G', 'db=12G,4,40G'


@pytest.fixture(autouse=True)
def plans():
    """Undo the restrictions that commands put on this process."""
    with commands.plans_undone():
        yield


@pytest.fixture
def stage(tmp_path):
    """Four hosts in two zones; one of them is disabled.

    cn1 has 20 GB of RAM and 8 CPUs free, cn2 has 20 GB and 2, cn3 has 3 GB.
    """
    with conftest.open_stage(
            tmp_path, 'fake', DEFAULT__service_down_time=10 ** 9,
            filter_scheduler__enabled_filters='ComputeFilter') as stage:
        stage.load(clouds.a_cloud(
            compute_nodes=[clouds.a_compute_node(
                name, memory_mb=32768, free_ram_mb=free, vcpus=8,
                stats=json.dumps({'num_instances': int(free < 32768)}),
                vcpus_used=used, local_gb=500, free_disk_gb=500,
                disk_available_least=500, cpu_allocation_ratio=1.0,
                ram_allocation_ratio=1.0, disk_allocation_ratio=1.0)
                for name, free, used in (
                    ('cn1', 20480, 0), ('cn2', 20480, 6), ('cn3', 3072, 0),
                    ('cn4', 32768, 0))],
            services=[clouds.a_service(name, disabled=name == 'cn4')
                      for name in ('cn1', 'cn2', 'cn3', 'cn4')],
            hosts=['cn1', 'cn2', 'cn3', 'cn4'],
            aggregates=[clouds.an_aggregate(
                number, hosts, name=zone,
                metadata={'availability_zone': zone})
                for number, (zone, hosts) in enumerate((
                    ('az1', ['cn1', 'cn2']), ('az2', ['cn3', 'cn4'])), 1)]))
        yield stage


@pytest.fixture
def show(stage, capsys):
    """Function that runs "capacity show": (code, output, error output)."""
    def run(*options):
        capsys.readouterr()
        code = manage.main(['--config-file', str(stage.config_file()),
                            'capacity', 'show', *options])
        return code, *capsys.readouterr()
    return run


def shown(show, *options):
    """The JSON of a successful command."""
    code, output, errors = show(*options, '-f', 'json')
    assert code == 0, errors
    document = json.loads(output)
    schemas.check(document, schemas.schema('nova_sched.cmd.manage',
                                           'capacity'))
    return document


def test_numbers_are_those_of_free_amounts_by_zone(show):
    found = {(row['flavor'], row['group']): row['placeable'] for row in shown(
        show, '--flavor', WEB, '--flavor', DB, '--by', 'zone')['capacity']}

    # cn1 by CPU (4) and RAM (1); cn2 by CPU; cn3 has too little RAM.
    assert found == {('web', 'az1'): 5, ('web', 'az2'): 0,
                     ('db', 'az1'): 1, ('db', 'az2'): 0}


def test_row_names_limits_worst_host_and_stranded_amounts(show):
    [row] = shown(show, '--flavor', WEB)['capacity']

    assert row == {
        'flavor': 'web', 'group': 'all', 'placeable': 5, 'hosts': 2,
        'empty_cloud': 12, 'worst_host': 'cn1', 'without_worst_host': 1,
        'limits': [{'limit': 'CPU', 'hosts': 2}, {'limit': 'RAM', 'hosts': 1},
                   {'limit': 'service down or disabled', 'hosts': 1}],
        'stranded': [
            a_part('RAM', 32768, 'service down or disabled'),
            a_part('RAM', 4096 + 16384, 'CPU', 2),
            a_part('RAM', 3072, 'less than one instance needs'),
            a_part('disk', (500 - 80 + 500 - 20) * 1024, 'CPU', 2),
            a_part('disk', 500 * 1024, 'RAM'),
            a_part('disk', 500 * 1024, 'service down or disabled'),
            a_part('CPU', 8, 'RAM'),
            a_part('CPU', 8, 'service down or disabled')],
        'exact': True, 'inexact': []}


def a_part(resource, amount, cause, hosts=1):
    return {'resource': resource, 'amount': amount,
            'unit': 'VCPUs' if resource == 'CPU' else 'MB', 'hosts': hosts,
            'cause': cause}


def test_free_amounts_are_taken_or_stranded(show):
    for row in shown(show, '--flavor', WEB, '--flavor', DB)['capacity']:
        ram = {'web': 4096, 'db': 12288}[row['flavor']]
        stranded = sum(part['amount'] for part in row['stranded']
                       if part['resource'] == 'RAM')
        assert row['placeable'] * ram + stranded == (
            20480 + 20480 + 3072 + 32768)


def test_table_ends_with_notes_and_a_line_for_programs(show):
    code, output, _ = show('--flavor', WEB)

    assert code == 0
    assert '| web    | all   | 5         |' in output
    assert ('Without Placement, amounts are counted by RamFilter, CoreFilter, '
            'DiskFilter.\n') in output
    assert output.splitlines()[-1].startswith(
        'capacity: flavors=1 hosts=4 placeable=5 exact=yes ms=')


def test_empty_cloud_has_no_instances_and_keeps_reserved_amounts(
        stage, show, tmp_path):
    """Amounts that hosts without instances report as used are reserved."""
    path = tmp_path / 'cloud.json'
    path.write_text(json.dumps(clouds.a_cloud(compute_nodes=[
        clouds.a_compute_node(
            name, memory_mb=32768, free_ram_mb=20480, vcpus=64, local_gb=900,
            free_disk_gb=900, disk_available_least=900,
            stats=json.dumps({'num_instances': count}))
        for name, count in (('cn1', 0), ('cn2', 1))], hosts=['cn1', 'cn2'],
        instances=[clouds.an_instance('cn2', instance_type_id=7)])))
    rows = shown(show, '--cloud', str(path), '--flavor', WEB, '--by', 'host',
                 '--enable', 'TypeAffinityFilter')['capacity']

    assert [(row['placeable'], row['empty_cloud']) for row in rows] == [
        (5, 5), (0, 8)]


def test_group_without_hosts_has_too_few_instances(show, tmp_path):
    path = tmp_path / 'cloud.json'
    path.write_text(json.dumps(clouds.a_cloud(compute_nodes=[], hosts=[])))

    assert show('--cloud', str(path), '--flavor', WEB, '--by', 'zone',
                '--at-least', '1')[0] == 1


def test_host_with_several_nodes_is_lost_as_a_whole(show, tmp_path):
    path = tmp_path / 'cloud.json'
    path.write_text(json.dumps(clouds.a_cloud(compute_nodes=[
        clouds.a_compute_node(
            host, hypervisor_hostname=node, memory_mb=8192, free_ram_mb=8192,
            vcpus=64, local_gb=900, free_disk_gb=900,
            disk_available_least=900)
        for host, node in (('cn1', 'n1'), ('cn1', 'n2'), ('cn2', 'n3'))],
        hosts=['cn1', 'cn2'])))
    [row] = shown(show, '--cloud', str(path), '--flavor', WEB)['capacity']

    assert (row['placeable'], row['hosts'], row['worst_host'],
            row['without_worst_host']) == (6, 2, 'cn1', 2)


def test_notes_say_what_is_counted(show):
    document = shown(show, '--flavor', WEB, '--without-host', 'cn1',
                     '--hosts', '2 like cn2', '--as-empty')

    assert (document['hosts'], document['notes'][1:]) == (5, [
        'Counted with --without-host cn1, --hosts "2 like cn2", --as-empty.'])


def test_note_names_filters_that_flavors_need(show):
    assert shown(show, '--flavor', f'{WEB},hw:numa_nodes=2')['notes'][1:] == [
        'NUMATopologyFilter is not enabled: NUMA cells do not count.']


@pytest.mark.parametrize(('options', 'placeable'), [
    (['--without-host', 'cn1'], 1), (['--without-aggregate', 'az1'], 0),
    (['--set', 'filter_scheduler.max_instances_per_host=2', '--enable',
      'NumInstancesFilter'], 2),
    (['--host-ratio', 'cpu=2'], 10),
    (['--hosts', '3 like cn2'], 5 + 3 * 4), (['--as-empty'], 12),
    (['--hosts', '2 like cn4'], 5)])
def test_numbers_of_another_cloud_or_configuration(show, options, placeable):
    [row] = shown(show, '--flavor', WEB, *options)['capacity']

    assert row['placeable'] == placeable


@pytest.mark.parametrize(('least', 'code'), [(5, 0), (6, 1)])
def test_exit_code_is_1_if_too_few_instances_fit(show, least, code):
    assert show('--flavor', WEB, '--at-least', str(least))[0] == code


def test_flavors_of_a_file_are_found_by_name(show, tmp_path):
    path = tmp_path / 'cloud.json'
    path.write_text(json.dumps(clouds.a_cloud(2, flavors=[
        {'name': name, 'flavorid': name, 'memory_mb': ram, 'vcpus': 8,
         'root_gb': 1, 'extra_specs': {}}
        for name, ram in (('m1.web', 4096), ('m1.db', 30000))])))

    found = [shown(show, '--cloud', str(path), *options)['capacity']
             for options in (['--flavor', 'm1.web'], ['--all-flavors'])]

    assert [[(row['flavor'], row['placeable']) for row in rows]
            for rows in found] == [
        [('m1.web', 14)], [('m1.web', 14), ('m1.db', 2)]]


@pytest.mark.parametrize(('options', 'text'), [
    ([], 'give --flavor NAME, or --all-flavors'),
    (['--flavor', 'm1.none'], 'flavor m1.none'),
    (['--flavor', 'm1.none'], '--flavor m1.none=RAM,VCPUS,DISK'),
    (['--flavor', 'web=4G'], '1 of 3 sizes'),
    (['--flavor', 'web=4G,two,20G'], 'NAME=RAM,VCPUS,DISK'),
    (['--flavor', WEB, '--without-host', 'cn9'], 'did you mean cn'),
    (['--flavor', WEB, '--without-aggregate', 'az9'], 'did you mean az'),
    (['--flavor', WEB, '--hosts', '2 like cn9'], 'did you mean cn'),
    (['--flavor', f'{WEB},hw:numa_nodes=x'], 'flavor web')])
def test_wrong_input_is_named_with_the_next_step(show, options, text):
    code, output, errors = show(*options)

    assert (code, output) == (2, '')
    assert text in errors
