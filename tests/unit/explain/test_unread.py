"""Parts of a request that no running rule reads."""

import pytest

from nova_sched import objects
from nova_sched.explain import unread
from nova_sched.scheduler import filters
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.requests import an_image
from tests.unit.explain.builders import a_ranker

UUID = '0d2c6d1e-6a0e-4c53-9f0e-3a1f5d0c1a11'


class RackFilter(filters.BaseHostFilter):
    """A plug-in's filter."""


def unread_parts(*names, asks_placement=False, weighers=None, aggregates=(),
         running=('a', 'b'), **request):
    """The sentences on a request where these filters run."""
    return unread.unread(
        a_request(**request), a_ranker(*names, weighers=weighers),
        hosts(*map(a_host, running)).snapshot, asks_placement, aggregates)


def flavor(*keys):
    return {'extra_specs': dict.fromkeys(keys, '1')}


def group(policy):
    return {'group': {'policy': policy, 'members': [UUID]}}


#: A request -> what reads a part of it, and the beginning of the sentence.
READ = [
    ({'hints': {'same_host': UUID}}, 'SameHostFilter', 'hint same_host'),
    ({'hints': {'different_host': [UUID]}}, 'DifferentHostFilter',
     'hint different_host'),
    ({'hints': {'build_near_host_ip': '10.0.0.1'}},
     'SimpleCIDRAffinityFilter', 'hint build_near_host_ip'),
    ({'hints': {'query': '["=", "$host", "a"]'}}, 'JsonFilter', 'hint query'),
    (group('affinity'), 'ServerGroupAffinityFilter',
     'policy affinity of the server group'),
    (group('anti-affinity'), 'ServerGroupAntiAffinityFilter',
     'policy anti-affinity of the server group'),
    (flavor('capabilities:hypervisor_type'), 'ComputeCapabilitiesFilter',
     'extra spec capabilities:hypervisor_type'),
    (flavor('aggregate_instance_extra_specs:ssd'),
     'AggregateInstanceExtraSpecsFilter',
     'extra spec aggregate_instance_extra_specs:ssd'),
    (flavor('ssd'), 'AggregateInstanceExtraSpecsFilter', 'extra spec ssd'),
    (flavor('trust:trusted_host'), 'TrustedFilter',
     'extra spec trust:trusted_host'),
    (flavor('hw:mem_page_size'), 'NUMATopologyFilter',
     'extra spec hw:mem_page_size'),
    (flavor('hw:cpu_policy'), 'NUMATopologyFilter',
     'extra spec hw:cpu_policy'),
    ({'image': an_image({'hw_numa_nodes': 2})}, 'NUMATopologyFilter',
     'image property hw_numa_nodes'),
    ({'image': an_image({'hw_architecture': 'x86_64'})},
     'ImagePropertiesFilter', 'image property hw_architecture'),
    ({'pci_requests': objects.InstancePCIRequests(requests=[
        objects.InstancePCIRequest(count=1, spec=[{'vendor_id': '8086'}])])},
     'PciPassthroughFilter', 'the requested PCI devices'),
    ({'availability_zone': 'az1'}, 'AvailabilityZoneFilter',
     'availability zone az1')]


@pytest.mark.parametrize(('request_', 'reader', 'what'), READ,
                         ids=[what for *_, what in READ])
def test_the_filter_that_would_read_a_part_is_named(request_, reader, what):
    assert unread_parts('RamFilter', **request_) == [
        f'Nothing reads {what}: {reader} does not run; --enable {reader} '
        'runs it in a plan']
    assert unread_parts('RamFilter', reader, **request_) == []


@pytest.mark.parametrize('policy', ['soft-affinity', 'soft-anti-affinity'])
def test_soft_policies_are_for_weighers(policy):
    [sentence] = unread_parts('RamFilter', weighers=[], **group(policy))

    assert f'policy {policy} of the server group' in sentence
    assert sentence.endswith('name it in [filter_scheduler] weight_classes')
    assert unread_parts('RamFilter', **group(policy)) == []


@pytest.mark.parametrize('request_', [
    flavor('trait:CUSTOM_GOLD'), flavor('resources:VGPU'),
    flavor('resources1:VGPU'), flavor('trait_NET:CUSTOM_A'),
    flavor('group_policy'),
    {'image': an_image({'traits_required': ['CUSTOM_GOLD']})}])
def test_parts_for_placement_are_unread_without_it(request_):
    [sentence] = unread_parts('RamFilter', **request_)

    assert sentence.endswith(': Placement is not used')
    assert unread_parts('RamFilter', asks_placement=True, **request_) == []


@pytest.mark.parametrize('request_', [
    flavor('resources:VCPU', 'quota:cpu_shares', 'hw_rng:allowed',
           'hw:cpu_sockets', 'hide_hypervisor_id'),
    {'hints': {'group': UUID}},
    {'image': an_image({'os_distro': 'debian'})}, {}])
def test_parts_that_do_not_affect_the_choice_are_ignored(request_):
    assert unread_parts('RamFilter', **request_) == []


def test_dedicated_cpus_are_counted_by_placement():
    assert unread_parts('RamFilter', asks_placement=True,
                **flavor('hw:cpu_policy', 'hw:numa_nodes')) == [
        'Nothing reads extra spec hw:numa_nodes: NUMATopologyFilter does not '
        'run; --enable NUMATopologyFilter runs it in a plan']


@pytest.mark.parametrize(('request_', 'sentence'), [
    (flavor('capabilites:cpu_info:arch'),
     'extra spec capabilites:cpu_info:arch: did you mean capabilities?'),
    (flavor('rack:row'), 'extra spec rack:row: there is no scope rack'),
    ({'hints': {'same_hots': UUID}},
     'hint same_hots: did you mean same_host?'),
    ({'hints': {'rack': '7'}}, 'hint rack: no filter has such a hint')])
def test_unknown_names_are_reported(request_, sentence):
    assert unread_parts('RamFilter', **request_) == [
        f'Nothing reads {sentence}']


@pytest.mark.parametrize(('name', 'why'), [
    ('free_ram', 'did you mean $free_ram_mb?'),
    ('qqqq', 'hosts have no such attribute')])
def test_unknown_variables_of_a_query_are_reported(name, why):
    query = f'["and", [">=", "${name}", 1], ["=", "$stats.x", "1"]]'

    assert unread_parts('JsonFilter', hints={'query': query}) == [
        f'Nothing reads ${name} in hint query: {why}']


def test_an_extra_spec_without_a_scope_may_be_an_attribute_of_hosts():
    assert unread_parts('ComputeCapabilitiesFilter',
                **flavor('hypervisor_type')) == []
    assert len(unread_parts('ComputeCapabilitiesFilter', **flavor('ssd'))) == 1


def test_plug_ins_may_read_any_part():
    """The filter of Nova for a hint is named all the same."""
    assert unread_parts('RamFilter', RackFilter(), hints={'rack': '7'},
                        **flavor('rack:row')) == []
    [sentence] = unread_parts('RamFilter', RackFilter(),
                              hints={'same_host': UUID})
    assert sentence.startswith("No rule of Nova's reads hint same_host: ")


def test_a_class_of_a_filter_reads_what_that_reads():
    class OurNUMAFilter(filters.numa_topology_filter.NUMATopologyFilter):
        pass

    assert unread_parts('RamFilter', OurNUMAFilter(),
                **flavor('hw:numa_nodes')) == []


def test_a_host_of_an_aggregate_may_differ_by_case():
    aggregate = objects.Aggregate(id=1, name='fast', hosts=['A', 'b', 'C'])

    assert unread_parts('RamFilter', aggregates=[aggregate]) == [
        'Aggregate fast has a host A, which is not a: names of hosts differ '
        'by upper and lower case']
