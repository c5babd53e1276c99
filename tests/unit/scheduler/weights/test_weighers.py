"""The built-in weighers but ImagePropertiesWeigher: values, multipliers."""

import json

import pytest

from nova_sched import exception
from nova_sched.plugins import loading
from nova_sched.scheduler.weights import pci
from nova_sched.weights import weigh
from tests.builders.drivers import CELL1
from tests.builders.drivers import CELL2
from tests.builders.hosts import NEVER_REPORTED
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.pci import a_pci_request
from tests.builders.pci import a_pool
from tests.builders.pci import pci_requests
from tests.builders.pci import pci_stats
from tests.builders.requests import a_destination
from tests.builders.requests import a_request
from tests.builders.rules import configured
from tests.builders.rules import weights

WEIGHERS = {cls.__name__: cls for cls in loading.all_weighers()}
#: Two members of a group on host a, one on b, another instance on c.
RUNNING = {'m1': 'a', 'm2': 'a', 'm3': 'b', 'stranger': 'c'}
MEMBERS = ['m1', 'm2', 'm3', 'm4']
SOFT = {'soft-affinity': 'ServerGroupSoftAffinityWeigher',
        'soft-anti-affinity': 'ServerGroupSoftAntiAffinityWeigher'}
MISSING = -10000.0


def a_weigher(name, **options):
    return configured(WEIGHERS[name], **options)


def raw(name, block, **request):
    return a_weigher(name).raw(block, a_request(**request)).tolist()


@pytest.mark.parametrize(('name', 'column', 'values', 'expected'), [
    ('RAMWeigher', 'free_ram_mb', [512, 512], [1.0, 1.0]),
    ('RAMWeigher', 'free_ram_mb', [-1, -5], [0.0, 0.0]),
    ('IoOpsWeigher', 'num_io_ops', [0, 2, 1], [0.0, -1.0, -0.5]),
    ('IoOpsWeigher', 'num_io_ops', [3, 3], [-1.0, -1.0]),
    ('BuildFailureWeigher', 'failed_builds', [2, 2], [0.0, 0.0]),
    ('HypervisorVersionWeigher', 'hypervisor_version',
     [None, 6002000, 8000000], [0.0, 0.75025, 1.0]),
    ('NumInstancesWeigher', 'num_instances', [0, 5], [0.0, 0.0]),
])
def test_weights_are_scaled_values_of_a_column(name, column, values, expected):
    """From 0 to the best host; negative values count as 0."""
    records = [a_host(**{column: value}) for value in values]

    assert weights(a_weigher(name), hosts(*records)) == expected


def test_cpus_count_after_overcommit():
    assert weights(a_weigher('CPUWeigher'), hosts(
        a_host(vcpus_total=4, vcpus_used=8, cpu_allocation_ratio=4.0),
        a_host(vcpus_total=16, vcpus_used=0, cpu_allocation_ratio=1.0),
        a_host(vcpus_total=2, vcpus_used=9, cpu_allocation_ratio=1.0),
        a_host(vcpus_used=0, **NEVER_REPORTED))) == [0.5, 1.0, 0.0, 0.0]


MULTIPLIERS = [
    (name, WEIGHERS[name].multiplier_name) for name in (
        'RAMWeigher', 'CPUWeigher', 'DiskWeigher', 'IoOpsWeigher',
        'HypervisorVersionWeigher', 'NumInstancesWeigher', 'PCIWeigher',
        'CrossCellWeigher')]


@pytest.mark.parametrize(('name', 'option'), MULTIPLIERS)
def test_multipliers_of_aggregates_replace_the_option(name, option):
    """The smallest counts; one invalid number voids them all."""
    weigher = a_weigher(name, **{option: 7.0})
    block = hosts(*(
        a_host(aggregates=[{option: value} for value in values])
        for values in (['-2', '3'], ['bad', '9'], ['1,5'], [' 4 '], ['0'])))

    assert weigher.multipliers(block).tolist() == [-2.0, 7.0, 7.0, 4.0, 0.0]
    assert weigher.weight_multiplier(block.states()[0]) == -2.0
    assert weigher.multipliers(hosts(a_host())) == 7.0


@pytest.mark.parametrize('policy', SOFT)
def test_negative_options_of_groups_count_as_zero(policy):
    """But not multipliers of aggregates."""
    option = f"{policy.replace('-', '_')}_weight_multiplier"
    block = hosts(a_host(aggregates=[{option: '-2'}]), a_host())

    assert a_weigher(SOFT[policy], **{option: -2.0}).multipliers(
        block).tolist() == [-2.0, 0.0]


def test_positive_multipliers_of_build_failures_are_negated():
    key = 'build_failure_weight_multiplier'
    block = hosts(a_host(failed_builds=4, aggregates=[{key: '0'}]),
                  a_host(failed_builds=4, aggregates=[{key: '10'}]),
                  a_host(failed_builds=2), a_host(failed_builds=0))

    assert weights(a_weigher('BuildFailureWeigher'), block) == [
        0.0, -10.0, -500000.0, 0.0]


def test_weights_of_several_weighers_add_up():
    """The example of the documentation."""
    weighed = weigh(
        [a_weigher(name) for name in (
            'RAMWeigher', 'DiskWeigher', 'IoOpsWeigher',
            'BuildFailureWeigher')],
        hosts(a_host(free_ram_mb=4096, free_disk_mb=100, num_io_ops=0),
              a_host(free_ram_mb=8192, free_disk_mb=50, num_io_ops=2),
              a_host(free_ram_mb=8192, free_disk_mb=400, num_io_ops=1,
                     failed_builds=3)), a_request())

    assert weighed.rows.tolist() == [0, 1, 2]
    assert weighed.weights.tolist() == [0.75, 0.125, -999998.5]


@pytest.mark.parametrize(('name', 'policy', 'members', 'expected'), [
    (SOFT['soft-affinity'], 'soft-affinity', MEMBERS, [2, 1, 0]),
    (SOFT['soft-anti-affinity'], 'soft-anti-affinity', MEMBERS, [-2, -1, 0]),
    (SOFT['soft-affinity'], 'affinity', MEMBERS, [0, 0, 0]),
    (SOFT['soft-affinity'], 'soft-anti-affinity', MEMBERS, [0, 0, 0]),
    (SOFT['soft-affinity'], 'soft-affinity', ['gone'], [0, 0, 0]),
    (SOFT['soft-affinity'], 'soft-affinity', ['m3', 'm3'], [0, 1, 0])])
def test_members_of_soft_groups_are_counted(name, policy, members, expected):
    block = hosts(*map(a_host, 'abc'), running=RUNNING)

    assert raw(name, block, group={
        'policy': policy, 'members': members}) == expected
    assert raw(name, block) == [0, 0, 0]


def test_members_may_be_null():
    spec = a_request(group={'policy': 'soft-affinity'})
    spec.instance_group.members = None

    assert a_weigher(SOFT['soft-affinity']).raw(
        hosts(a_host('a'), running=RUNNING), spec).tolist() == [0]


def test_all_nodes_of_a_host_have_its_members():
    """Also members that the same request has just placed."""
    block = hosts(a_host('a', nodename='a1'), a_host('a', nodename='a2'),
                  running=RUNNING)
    block.instances.place('m4', 'a')

    assert raw(SOFT['soft-affinity'], block, group={
        'policy': 'soft-affinity', 'members': MEMBERS}) == [3, 3]


@pytest.mark.parametrize(('destination', 'expected'), [
    ({'cell': CELL2, 'allow_cross_cell_move': True}, [-1, 1, -1]),
    ({'host': 'host0'}, [0, 0, 0]),
    ({'allow_cross_cell_move': True}, [0, 0, 0]),
    ({'cell': CELL1}, [0, 0, 0])])
def test_moves_prefer_hosts_of_their_cell(destination, expected):
    block = hosts(*(a_host(cell_uuid=cell) for cell in (CELL1, CELL2, CELL1)))

    assert raw('CrossCellWeigher', block,
               requested_destination=a_destination(**destination)) == expected
    assert weights(a_weigher('CrossCellWeigher'), block, a_request(
        requested_destination=a_destination(**destination))) == [
        max(value, 0) * 1000000.0 for value in expected]


PCI_HOSTS = hosts(a_host(), *(
    a_host(pci_stats=pci_stats(*(a_pool(count=count) for count in counts)))
    for counts in ([8], [2000], [99], [3, 5], [], [10 ** 30])),
    a_host(pci_stats='{'))


@pytest.mark.parametrize('request_', [
    {}, {'pci_requests': pci_requests(a_pci_request(1))}])
def test_fewer_pci_devices_are_better_for_any_request(request_):
    """99 and more count the same; so do zero and unreadable texts."""
    assert raw('PCIWeigher', PCI_HOSTS, **request_) == [
        100, 92, 1, 1, 92, 100, 1, 100]


def test_pci_devices_of_a_report_are_counted_once(monkeypatch):
    counted, weight = [], pci._weight
    monkeypatch.setattr(pci, '_weight', lambda pools: (
        counted.append(pools) or weight(pools)))
    block = hosts(*(a_host(pci_stats=pci_stats(a_pool(count=count)))
                    for count in (1, 2, 1)))

    for _ in range(3):
        some = block.snapshot.block(block.rows[::-1])
        assert raw('PCIWeigher', some) == [99, 98, 99]
    assert len(counted) == 2


def reporting(multiplier=None, **values):
    """A host with metrics; an underscore in a name stands for a dot."""
    return a_host(aggregates=[] if multiplier is None else [
        {'metrics_weight_multiplier': multiplier}], metrics=json.dumps(
        [{'name': name.replace('_', '.'), 'value': value}
         for name, value in values.items()]))


REPORTS = (reporting(cpu_percent=0.1, cpu_frequency=1),
           reporting(cpu_percent=0.2), reporting())


def weighed_metrics(settings, *records, **options):
    return a_weigher('MetricsWeigher', metrics__weight_setting=settings, **{
        f'metrics__{name}': value for name, value in options.items()}).raw(
        hosts(*records), a_request()).tolist()


@pytest.mark.parametrize(('settings', 'expected'), [
    (['cpu.percent=2', 'cpu.frequency=-1'], [19, MISSING, MISSING]),
    (['cpu.percent=2', 'cpu.frequency=0'], [20, 40, MISSING]),
    ([], [0, 0, 0]),
    (['cpu.percent=1', 'cpu.percent=1'], [20, 40, MISSING]),
    (['cpu.frequency=0'], [0, 0, 0])])
def test_metrics_are_added_times_their_ratios(settings, expected):
    """A missing metric counts as unavailable unless its ratio is 0."""
    assert weighed_metrics(settings, *REPORTS, required=False) == expected


@pytest.mark.parametrize('ratio', [1, 0])
def test_a_missing_required_metric_fails_the_request(ratio):
    with pytest.raises(exception.ComputeHostMetricNotFound) as failed:
        weighed_metrics([f'cpu.percent={ratio}'], *REPORTS)

    assert str(failed.value) == (
        'Metric cpu.percent could not be found on the compute host node '
        'host2.host2.')


@pytest.mark.parametrize(('option', 'of_aggregate', 'expected'), [
    (1.0, '0', 0.0), (0.0, '2', MISSING), (1.0, 'bad', MISSING)])
def test_multiplier_0_excuses_missing_metrics(option, of_aggregate, expected):
    assert weighed_metrics(['cpu.percent=1'], reporting(of_aggregate),
                           required=False, weight_multiplier=option) == [
        expected]


def test_metrics_have_options():
    """The weight of hosts without them, and the multiplier."""
    assert weighed_metrics(
        ['cpu.percent=1', 'cpu.frequency=1'], reporting(cpu_percent=1),
        required=False, weight_of_unavailable=-3.5) == [-3.5]
    assert a_weigher('MetricsWeigher', metrics__weight_multiplier=-2.5
                     ).multipliers(hosts(a_host())) == -2.5
