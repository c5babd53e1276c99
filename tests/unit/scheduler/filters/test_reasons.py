"""Reasons and log lines of filters: edge cases that no page quotes.

The plain words of each filter stand on its page; test_docs_reasons holds
them.
"""

import json

import pytest

from nova_sched import exception
from nova_sched.scheduler import filters
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_group
from tests.builders.requests import a_request
from tests.builders.requests import an_image
from tests.builders.rules import a_filter
from tests.unit.scheduler.filters.test_amounts import cpus
from tests.unit.scheduler.filters.test_amounts import ram

RUNNING = {'m1': 'a', 'm2': 'a', 'm3': 'b', 'stranger': 'c'}
KVM, XEN = ('x86_64', 'kvm', 'hvm'), ('x86_64', 'xen', 'xen')
ISOLATED = {'isolated_images': ['i'], 'isolated_hosts': ['a', 'b', 'c']}
DOWN = {'service_up': False}
DISABLED = {'service_disabled': True}


def in_zone(zone):
    return a_host(aggregates=[{'availability_zone': zone}])


def supporting(*triples):
    return a_host(supported_instances=json.dumps(triples),
                  hypervisor_version=6002000)


def reporting(*names):
    return a_host(metrics=json.dumps(
        [{'name': name, 'value': 1} for name in names]))


def before_rocky(**fields):
    group = a_group(**fields)
    group.wire_version = '1.10'
    return group


#: Filter, hosts, request, reason, options.
REASONS = [
    ('RamFilter', [ram(49152, 40960, 1.5), ram(65536, 4096)],
     {'memory_mb': 65536}, 'need 65536 MB, most free 4096 MB', {}),
    ('RamFilter', [ram(65536, 40960), ram(131072, 4096, 1.5)],
     {'memory_mb': 131072}, 'need 131072 MB, most free 69632 MB', {}),
    ('CoreFilter', [cpus(9, 13, 1.5)], {'vcpus': 8},
     'need 8 VCPUs, most free 0.5 VCPUs', {}),
    ('CoreFilter', [cpus(4, 0, 16.0), cpus(2, 0, 16.0)], {'vcpus': 8},
     'need 8 VCPUs, largest host 4 VCPUs', {}),
    ('ExactRamFilter', [ram(4096, 0), ram(4096, 500), ram(4096, 4096)],
     {'memory_mb': 600}, 'need exactly 600 MB, nearest has 500 MB', {}),
    ('ExactRamFilter', [ram(4096, -1)], {'memory_mb': 600},
     'need exactly 600 MB, nearest has -1 MB', {}),
    ('ExactCoreFilter', [cpus(8, 0), cpus(8, 7), cpus(0, 0)], {'vcpus': 2},
     'need exactly 2 VCPUs, nearest has 1 VCPUs', {}),
    ('ExactDiskFilter', [a_host(free_disk_mb=4096)],
     {'root_gb': 1, 'ephemeral_gb': 2, 'swap': 3},
     'need exactly 3075 MB, nearest has 4096 MB', {}),
    ('AggregateInstanceExtraSpecsFilter', [
        a_host(aggregates=[{'rack': 'r1'}]),
        a_host(aggregates=[{'rack': 'r2,r3'}]), a_host()],
     {'extra_specs': {'rack': 'r9'}},
     "aggregate metadata rack 'r9' needed, hosts have r1, r2, r3", {}),
    ('AvailabilityZoneFilter', [in_zone(f'z{n}') for n in range(7)],
     {'availability_zone': 'x'},
     "zone 'x' requested, hosts are in z0, z1, z2, z3, z4 and 2 more", {}),
    ('ComputeCapabilitiesFilter', [a_host(stats={'rack': '12'})],
     {'extra_specs': {'capabilities:hypervisor_type': 'AMD',
                      'capabilities:rack': '12'}},
     "hypervisor_type 'AMD' needed, hosts have QEMU", {}),
    ('ComputeFilter', [a_host(**service) for service in [
        DOWN, DOWN, DOWN, DISABLED, DOWN | DISABLED]], {},
     '3 service down, 2 service disabled', {}),
    ('ImagePropertiesFilter', [supporting(KVM), supporting(XEN)],
     {'image_properties': {'hw_architecture': 'x86_64', 'img_hv_type': 'xen',
                           'img_hv_requested_version': '>=9'}},
     'image needs hw_architecture=x86_64, img_hv_type=xen, '
     'img_hv_requested_version=>=9, hosts support x86_64/kvm/hvm, '
     'x86_64/xen/xen in 6.2.0', {}),
    ('IsolatedHostsFilter', [a_host('a'), a_host('b')],
     {'image': an_image(id='x')}, 'isolated hosts are a, b, isolated images '
     'are i, requested is image x', ISOLATED),
    ('IsolatedHostsFilter', [a_host('a')], {'image': an_image(id='i')},
     'isolated image i, no host is isolated',
     ISOLATED | {'isolated_hosts': []}),
    ('JsonFilter', [a_host('h', free_ram_mb=512), a_host('a')],
     {'hints': {'query': '["and", ["=", "$host", "x"], ["=", "$y", 1]]'}},
     'query ["and", ["=", "$host", "x"], ["=", "$y", 1]] not met, hosts have '
     'host a, h', {}),
    ('JsonFilter', [a_host()], {'hints': {'query': '["or"]'}},
     'query ["or"] not met', {}),
    ('JsonFilter', [a_host(free_ram_mb=number) for number in range(9)],
     {'hints': {'query': '["<", "$free_ram_mb", 0]'}},
     'query ["<", "$free_ram_mb", 0] not met, hosts have free_ram_mb 0 to 8',
     {}),
    ('MetricsFilter', [reporting('c', 'b'), reporting()], {},
     'metrics a, b, c needed, hosts report b, c',
     {'metrics__weight_setting': ['b=1', 'a=1', 'c=1']}),
    ('RetryFilter', [a_host('h1'), a_host('h2', nodename='n1')], {},
     'tried before: h1, h2 node n1', {}),
    ('SameHostFilter', [a_host()],
     {'hints': {'same_host': ['m1', 'm3', 'gone']}},
     'hint same_host names 3 instances, 2 of them on a, b', {}),
    ('ServerGroupAffinityFilter', [a_host()],
     {'group': {'policy': 'affinity', 'hosts': ['b', 'a']}},
     'affinity, its group is on a, b', {}),
    ('ServerGroupAntiAffinityFilter', [a_host('a'), a_host('b')],
     {'group': {'members': ['m1', 'm2', 'm3', 'stranger'],
                'rules': {'max_server_per_host': 0}}},
     'anti-affinity, at most 0 of its group on a host, it has 1 on b, 2 on a',
     {}),
    ('ServerGroupAntiAffinityFilter', [a_host('a'), a_host('b')],
     {'group': before_rocky(hosts=['a', 'b', 'elsewhere'])},
     'anti-affinity, at most 1 of its group on a host, it is on a, b', {}),
    ('SimpleCIDRAffinityFilter', [a_host(host_ip='10.0.1.1'),
                                  a_host(host_ip=None)],
     {'hints': {'build_near_host_ip': '10.0.0.9'}},
     'host address in 10.0.0.0/24 needed, hosts have 10.0.1.1, no address',
     {}),
]


@pytest.mark.parametrize(
    ('name', 'records', 'request_', 'words', 'options'), REASONS)
def test_the_reason_has_need_and_supply(name, records, request_, words,
                                        options):
    """Free amounts count only on hosts that are large enough."""
    assert a_filter(name, **options).reason(
        hosts(*records, running=RUNNING), a_request(**request_)) == words


#: Filter, hosts, request, ends of the log lines, options.
LINES = [
    ('RamFilter', [ram(8192, 1000, 1.5), ram(4096, 4096)],
     {'memory_mb': 6000}, [
        'does not have 6000 MB usable ram before overcommit, it only has '
        '4096 MB.',
        'does not have 6000 MB usable ram, it only has 5096.0 MB usable '
        'ram.'], {}),
    ('CoreFilter', [cpus(4, 0), cpus(8, 7)], {'vcpus': 5}, [
        'does not have 5 total cpus before overcommit, it only has 4',
        'does not have 5 usable vcpus, it only has 1.0 usable vcpus'], {}),
    ('DiskFilter', [
        a_host(total_usable_disk_gb=total, free_disk_mb=free)
        for total, free in ((100, 1024), (5, 5120))], {'root_gb': 10}, [
        'does not have 10240 MB usable disk space before overcommit, it only '
        'has 5120 MB.',
        'does not have 10240 MB usable disk, it only has 1024.0 MB usable '
        'disk.'], {}),
    ('IoOpsFilter', [a_host(num_io_ops=8)], {}, [
        '(host0, host0) ram: 32768MB disk: 512000MB io_ops: 8 instances: 0 '
        'fails I/O ops check: Max IOs per host is set to 8'], {}),
    ('AggregateNumInstancesFilter', [a_host(num_instances=2, aggregates=[
        {'max_instances_per_host': '2'}])], {}, [
        'fails num_instances check: Max instances per host is set to 2'], {}),
    ('AggregateImagePropertiesIsolation',
     [a_host(aggregates=[{'os_distro': 'windows'}])],
     {'image_properties': {'os_distro': 'linux'}}, [
        'fails image aggregate properties requirements. Property os_distro '
        "does not match ['windows']."], {}),
    ('AggregateInstanceExtraSpecsFilter',
     [a_host(aggregates=[{'rack': 'r1'}]), a_host()],
     {'extra_specs': {'rack': 'r9'}}, [
        " fails flavor extra_specs requirements. '['r1']' do not match 'r9'"
        " (in Queens' words: fails instance_type extra_specs requirements)",
        ' fails flavor extra_specs requirements. Extra_spec rack is not in '
        "aggregate. (in Queens' words: fails instance_type extra_specs "
        'requirements)'], {}),
    ('AggregateMultiTenancyIsolation', [
        a_host(aggregates=[{'filter_tenant_id': 'prod'}]),
        a_host(aggregates=[{'filter_tenant_id': 'demo'}]), a_host()],
     {'project_id': 'demo'}, [
        'fails tenant id on aggregate', 'Host tenant id demo matched',
        "No tenant id's defined on host. Host passes."], {}),
    ('AvailabilityZoneFilter', [in_zone('a')], {'availability_zone': 'x'},
     ["has AZs: {'a'}"], {}),
    ('ComputeCapabilitiesFilter', [a_host(stats={'rack': '12'})],
     {'extra_specs': {'capabilities:rack': '13'}}, [
        "fails extra_spec requirements. '13' does not match 'rack'",
        " fails flavor extra_specs requirements (in Queens' words: fails "
        'instance_type extra_specs requirements)'], {}),
    ('ImagePropertiesFilter', [supporting(KVM), supporting()],
     {'image_properties': {'img_hv_type': 'xen'}}, [
        'Instance contains properties img_hv_type=xen that are not provided '
        "by the compute node supported_instances [['x86_64', 'kvm', 'hvm']] "
        'or hypervisor version 6002000 do not match',
        'does not support requested instance_properties',
        'Instance contains properties img_hv_type=xen, but no corresponding '
        'supported_instances are advertised by the compute node',
        'does not support requested instance_properties'], {}),
    ('MetricsFilter', [reporting('c')], {},
     ['does not have the following metrics: a, b'],
     {'metrics__weight_setting': ['b=1', 'a=1', 'c=1']}),
    ('RetryFilter', [a_host('h1'), a_host('h3')],
     {'retry': [('h1', 'h1'), ('h2', 'n1')]}, [
        "Host ['h1', 'h1'] fails.  Previously tried hosts: "
        "[['h1', 'h1'], ['h2', 'n1']]"], {}),
    ('ServerGroupAffinityFilter', [a_host('a')],
     {'group': {'policy': 'affinity', 'hosts': ['b']}},
     ["Group affinity: check if a in ['b']"], {}),
    ('ServerGroupAntiAffinityFilter', [a_host('a')], {'group': {'uuid': 'g'}},
     ['Group anti-affinity: check if the number of servers from group g on '
      'host a is less than 1.'], {}),
]


@pytest.mark.parametrize(
    ('name', 'records', 'request_', 'texts', 'options'), LINES)
def test_debug_lines_have_novas_words(name, records, request_, texts, options,
                                      caplog):
    """Operators search for them."""
    rule, block = a_filter(name, **options), hosts(*records)
    caplog.clear()
    with caplog.at_level('DEBUG', 'nova_sched'):
        rule.mask(block, a_request(**request_))

    assert len(caplog.messages) == len(texts)
    assert not [(line, text) for line, text in zip(
        caplog.messages, texts, strict=True) if not line.endswith(text)]


class SilentFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, filter_properties):
        return False

    def reason(self, hosts, spec_obj):
        raise ValueError('no words')


class RackFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        return False

    def why_not(self, host_state, spec_obj):
        rack = host_state.stats.get('rack')
        return rack and f'rack {rack} is full'


class PatientRamFilter(RamFilter):
    def why_not(self, host_state, spec_obj):
        return f'wait: {super().why_not(host_state, spec_obj)}'


class LoudRamFilter(PatientRamFilter):
    def reason(self, hosts, spec_obj):
        return f'{len(hosts)} HOSTS TOO SMALL'


class WordlessFilter(filters.BaseHostFilter):
    def why_not(self, host_state, spec_obj):
        return super().why_not(host_state, spec_obj) + 'no'


class TogetherFilter(filters.BaseHostFilter):
    def reason(self, hosts, spec_obj):
        return super().reason(hosts, spec_obj) + f'{len(hosts)} hosts'


def refusal(name, record, **request):
    """The reason of a request that the only host is refused for."""
    driver = MemoryScheduler(record, enabled_filters=[name],
                             available_filters=[
        'nova.scheduler.filters.all_filters',
        *(f'{__name__}.{cls.__name__}' for cls in (SilentFilter, RackFilter))])
    with pytest.raises(exception.NoValidHost) as refused:
        select(driver, a_request(**request))
    return refused.value.kwargs['reason']


@pytest.mark.parametrize(('name', 'record', 'request_', 'words'), [
    ('SilentFilter', a_host(), {}, '0 of 1 hosts: 1 SilentFilter'),
    ('RackFilter', a_host(stats={'rack': 'r1'}), {},
     '0 of 1 hosts: 1 RackFilter (rack r1 is full)'),
    # Not looked at, because the first requirement already rejects.
    ('ComputeCapabilitiesFilter', a_host(stats={'foo': 'abc'}),
     {'extra_specs': {'capabilities:hypervisor_type': 'x',
                      'capabilities:foo': '>= 3'}},
     "(hypervisor_type 'x' needed, hosts have QEMU)"),
    *(('ImagePropertiesFilter', a_host(hypervisor_version=version),
       {'image_properties': {'img_hv_type': 'xen',
                             'img_hv_requested_version': '>=6.0'}},
       'in no version)') for version in (-1, 0, None))])
def test_refusal_survives_filter_without_words(name, record, request_, words,
                                               caplog):
    assert refusal(name, record, **request_).endswith(words)
    assert (name == 'SilentFilter') == (
        'SilentFilter failed to give a reason for rejecting 1' in caplog.text)


def reason(rule, *racks):
    return rule.reason(hosts(*(
        a_host(stats={'rack': rack} if rack else {}, free_ram_mb=0,
               total_usable_ram_mb=512) for rack in racks)),
        a_request(memory_mb=1024))


@pytest.mark.parametrize(('racks', 'words'), [
    (['1', '1'], 'rack 1 is full'),
    (['1', '2', '2'], '2 rack 2 is full, 1 rack 1 is full'),
    ([None, '1'], 'rack 1 is full'),
    ([None] * 120, ''),
    (['x' * 200], 'rack ' + 'x' * 112 + '...'),
    ('112233445567', '2 rack 1 is full, 2 rack 2 is full, 2 rack 3 is full, '
     '2 rack 4 is full, 2 rack 5 is full and 2 others'),
    (['1'] * 60 + ['2'] * 60,
     'of 100 looked at: 60 rack 1 is full, 40 rack 2 is full'),
])
def test_reasons_of_single_hosts_are_counted(racks, words):
    """Reasons of at most a hundred hosts."""
    assert reason(RackFilter(), *racks) == words


@pytest.mark.parametrize(('cls', 'words'), [
    (PatientRamFilter, 'wait: need 1024 MB, largest host 512 MB'),
    (LoudRamFilter, '1 HOSTS TOO SMALL'),
    (WordlessFilter, 'no'),
    (TogetherFilter, '1 hosts'),
])
def test_a_derived_filters_own_words_come_first(cls, words):
    """It may call the base class by ``super``."""
    assert reason(cls(), None) == words


def test_the_reason_for_all_hosts_explains_one_host():
    state, = hosts(a_host(total_usable_ram_mb=512)).states()

    assert RamFilter().why_not(state, a_request(memory_mb=1024)) == (
        'need 1024 MB, largest host 512 MB')
