"""The fields of each object, and the values of unset fields.

For each object and version: the names of its fields, with ``?`` if null is a
value, ``=x`` for the value of the unset field or its empty type, ``~`` if
reading does not set the field, and ``@version`` of the object that added the
field. The same as in Nova, except that some fields may be null that old
releases omit or send as null.
"""

import re

import pytest

from nova_sched import objects
from nova_sched.objects import base

FORMS = {
    'Aggregate 1.3': """
        id uuid@1.2 name hosts?=list metadata?=dict created_at?
        updated_at? deleted_at? deleted=False""",
    'AggregateList 1.3': """
        objects=list""",
    'CellMapping 1.1': """
        id uuid name? transport_url database_connection disabled=False@1.1
        created_at? updated_at?""",
    'ComputeNode 1.19': """
        id uuid@1.15 host?@1.7 hypervisor_hostname? vcpus? vcpus_used?
        memory_mb? memory_mb_used? local_gb? local_gb_used? free_ram_mb?
        free_disk_gb? running_vms? current_workload? hypervisor_version?
        hypervisor_type? cpu_info? stats?@1.3 host_ip?@1.4
        numa_topology?@1.5 cpu_allocation_ratio?@1.14
        ram_allocation_ratio?@1.14 disk_allocation_ratio?@1.16 created_at?
        updated_at? deleted_at? deleted=False""",
    'ComputeNodeList 1.17': """
        objects=list""",
    'Destination 1.4': """
        host node? cell?@1.1 aggregates?@1.2
        allow_cross_cell_move=False@1.3 forbidden_aggregates?@1.4""",
    'Flavor 1.2': """
        id name? memory_mb vcpus root_gb ephemeral_gb flavorid swap=0
        rxtx_factor?=1.0 vcpu_weight? disabled=False is_public=True
        extra_specs=dict projects=list description?@1.2 created_at?
        updated_at? deleted_at? deleted=False""",
    'ImageMeta 1.8': """
        id? name? status? visibility? protected? checksum? owner? size?
        virtual_size? container_format? disk_format? created_at?
        updated_at? tags=list direct_url? min_ram? min_disk?
        properties=ImageMetaProps""",
    'Instance 2.8': """
        id uuid host? node? project_id? user_id? vm_state? task_state?
        memory_mb? vcpus? root_gb? ephemeral_gb? instance_type_id? flavor?
        image_ref? system_metadata?=dict metadata?=dict numa_topology?
        pci_requests? os_type? availability_zone? old_flavor? new_flavor?
        power_state? display_name? hostname? created_at? launched_at?
        updated_at?""",
    'InstanceGroup 1.11': """
        id user_id? project_id? uuid name? policies?=list members?
        hosts?@1.10 policy?@1.11 _rules?=dict@1.11 created_at? updated_at?
        deleted_at? deleted=False""",
    'InstanceList 2.6': """
        objects=list""",
    'InstanceNUMACell 1.6': """
        id cpuset=set pcpuset=set@1.5 cpuset_reserved?@1.4 memory
        pagesize?@1.1 cpu_topology?@1.2 cpu_pinning_raw?@1.2
        cpu_policy?@1.2 cpu_thread_policy?@1.3""",
    'InstanceNUMATopology 1.3': """
        id instance_uuid cells=list emulator_threads_policy?@1.3""",
    'InstancePCIRequest 1.4': """
        count spec=list alias_name? is_new=False request_id?
        requester_id?@1.3 numa_policy?@1.2""",
    'InstancePCIRequests 1.1': """
        instance_uuid? requests=list""",
    'NUMATopologyLimits 1.1': """
        cpu_allocation_ratio ram_allocation_ratio network_metadata?@1.1""",
    'NetworkMetadata 1.0': """
        physnets=set tunneled=False""",
    'NetworkRequest 1.3': """
        network_id? address? port_id? pci_request_id? tag?@1.2
        arq_uuid?@1.3 device_profile?@1.3""",
    'NetworkRequestList 1.1': """
        objects=list""",
    'RequestGroup 1.3': """
        use_same_provider=True resources=dict required_traits=set
        forbidden_traits=set aggregates=list forbidden_aggregates=set@1.3
        requester_id?@1.1 provider_uuids=list@1.1 in_tree?@1.2""",
    'RequestLevelParams 1.1': """
        root_required=set root_forbidden=set same_subtree=list@1.1""",
    'RequestSpec 1.15': """
        id image? numa_topology? pci_requests? project_id? user_id?@1.9
        availability_zone? flavor num_instances=1 ignore_hosts?
        force_hosts? force_nodes? requested_destination?@1.6 retry?
        limits? instance_group? scheduler_hints? instance_uuid?
        security_groups=SecurityGroupList@1.8
        network_metadata?=NetworkMetadata~@1.10 is_bfv=False@1.11
        requested_resources?=list@1.12
        request_level_params=RequestLevelParams@1.13
        requested_networks=NetworkRequestList@1.14""",
    'SchedulerLimits 1.0': """
        memory_mb? vcpu? disk_gb? numa_topology?""",
    'SchedulerRetries 1.1': """
        num_attempts=1 hosts=ComputeNodeList""",
    'SecurityGroup 1.2': """
        id name description? user_id? project_id? uuid@1.2 created_at?
        updated_at? deleted_at? deleted=False""",
    'SecurityGroupList 1.1': """
        objects=list""",
    'Selection 1.1': """
        compute_node_uuid service_host nodename cell_uuid limits?
        allocation_request? allocation_request_version?
        availability_zone?@1.1""",
    'Service 1.22': """
        id uuid?@1.21 host? binary? topic? report_count disabled=False
        disabled_reason? forced_down=False last_seen_up? version created_at?
        updated_at? deleted_at? deleted=False""",
    'ServiceList 1.19': """
        objects=list""",
    'VirtCPUTopology 1.0': """
        sockets? cores? threads?""",
}
FIELD = re.compile(r'(\w+?)(\?)?(?:=(\w+(?:\.\d)?))?(~)?(?:@([\d.]+))?')


def parsed(form):
    """Return {name: (null, unset value, whether reading sets it, since)}."""
    return {name: (bool(null), unset, not unkept, since or '1.0')
            for name, null, unset, unkept, since in (
                FIELD.fullmatch(text).groups() for text in form.split())}


def an_object(named, **data):
    """Read an object with these fields from the wire."""
    name, version = named.split()
    return base.NovaObject.obj_from_primitive({
        'nova_object.name': name, 'nova_object.namespace': 'nova',
        'nova_object.version': version, 'nova_object.data': data})


@pytest.mark.parametrize('named', FORMS)
class TestObject:
    def test_fields_and_versions(self, named):
        assert {name: field.since
                for name, field in an_object(named).fields.items()} == {
            name: since
            for name, (*_, since) in parsed(FORMS[named]).items()}

    def test_null_is_kept_or_counts_as_unset(self, named):
        for name, (null, *_) in parsed(FORMS[named]).items():
            found = an_object(named, **{name: None})
            assert found.obj_attr_is_set(name) == (
                null or an_object(named).obj_attr_is_set(name)), name

    def test_value_of_unset_field(self, named):
        for name, (_, unset, sets, _) in parsed(FORMS[named]).items():
            found = an_object(named)
            value = getattr(found, name)
            said = str(value)
            if value is not None and not isinstance(value, int | float):
                said = type(value).__name__
                assert not (value.objects if 'List' in said else
                            value if said in ('list', 'dict', 'set') else ())
            assert (name, said) == (name, str(unset))
            assert found.obj_attr_is_set(name) == (
                sets and said == type(value).__name__)


def test_image_properties_are_not_null_and_in_all_versions():
    for field in objects.ImageMetaProps.fields.values():
        assert not field.nullable
        assert (field.unset, field.since) == (None, '1.0')
