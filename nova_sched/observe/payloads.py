"""The payloads of notifications about requests, in Nova's two forms.

They are made while another thread decides on the same request, so they must
not change it: the default of an unset field is looked up, not set.

``picks`` is a list of decision.Pick, for a request that has ended.  As in
Nova, the notification of its end names the last instance, and adds the picked
hosts to the hosts of its server group.
"""

import dataclasses
import datetime

from nova_sched.objects import spec_dicts


def unversioned(spec_obj, picks=()):
    """Return the older form: the ``request_spec`` of RPC 4.2, plain JSON."""
    request_spec = spec_dicts.to_request_spec_dict(spec_obj)
    request_spec['instance_type'] = _flat(spec_obj.flavor)
    request_spec['instance_properties'] |= {
        'uuid': _uuid(spec_obj, picks),
        'numa_topology': _flat(spec_obj.numa_topology),
        'pci_requests': _flat(spec_obj.pci_requests)}
    return {'request_spec': request_spec}


def versioned(spec_obj, picks=()):
    """Return the newer form: an envelope of Nova's RequestSpecPayload 1.1."""
    return _REQUEST.of(
        spec_obj,
        instance_uuid=_uuid(spec_obj, picks),
        flavor=_FLAVOR.of(spec_obj.flavor),
        force_hosts=_first(spec_obj.force_hosts),
        force_nodes=_first(spec_obj.force_nodes),
        image=_image(spec_obj.image),
        instance_group=_group(spec_obj.instance_group, picks),
        numa_topology=_NUMA.of_instance(spec_obj.numa_topology, spec_obj),
        pci_requests=_PCI.of_instance(spec_obj.pci_requests, spec_obj),
        requested_destination=_destination(spec_obj.requested_destination),
        retry=_retry(spec_obj.retry),
        scheduler_hints=spec_obj.scheduler_hints or {},
        security_groups=[_value(group, 'uuid') for group
                         in _items(spec_obj, 'security_groups')])


@dataclasses.dataclass(frozen=True)
class _Form:
    """A class of Nova's payloads.

    fields: names separated by blanks, the same as in our object.
    parts: field -> _Form of the object in it, or of each object in its list.
    """

    name: str
    version: str
    fields: str
    parts: dict = dataclasses.field(default_factory=dict)

    def of(self, obj, **made):
        """Return the envelope for an object, None for None.

        made: values of fields that differ from the object's.
        """
        if obj is None:
            return None
        return _envelope(self.name, self.version, {
            name: made[name] if name in made else self._field(obj, name)
            for name in self.fields.split()})

    def of_instance(self, part, spec_obj):
        """Return the envelope for a part of a request, with its instance."""
        return None if part is None else self.of(part, instance_uuid=(
            _value(part, 'instance_uuid') or spec_obj.instance_uuid))

    def _field(self, obj, name):
        form, value = self.parts.get(name), _value(obj, name)
        if form is None:
            write = obj.fields[name].kind.write
            return value if value is None or write is None else write(value)
        return (list(map(form.of, value)) if isinstance(value, list)
                else form.of(value))


def _envelope(name, version, data):
    return {'nova_object.name': name, 'nova_object.namespace': 'nova',
            'nova_object.version': version, 'nova_object.data': data}


_REQUEST = _Form('RequestSpecPayload', '1.1', (
    'instance_uuid project_id user_id availability_zone flavor force_hosts '
    'force_nodes ignore_hosts instance_group image numa_topology '
    'pci_requests num_instances requested_destination retry scheduler_hints '
    'security_groups'))
_FLAVOR = _Form('FlavorPayload', '1.4', (
    'flavorid memory_mb vcpus root_gb ephemeral_gb name swap rxtx_factor '
    'vcpu_weight disabled is_public extra_specs projects description'))
_IMAGE = _Form('ImageMetaPayload', '1.0', (
    'id name status visibility protected checksum owner size virtual_size '
    'container_format disk_format created_at updated_at tags direct_url '
    'min_ram min_disk properties'))
_GROUP = _Form('ServerGroupPayload', '1.1', (
    'uuid name user_id project_id policies members hosts policy rules'))
_CPU_TOPOLOGY = _Form('VirtCPUTopologyPayload', '1.0',
                      'sockets cores threads')
_NUMA_CELL = _Form('InstanceNUMACellPayload', '1.2', (
    'id cpuset pcpuset cpuset_reserved memory pagesize cpu_topology '
    'cpu_pinning_raw cpu_policy cpu_thread_policy'),
    {'cpu_topology': _CPU_TOPOLOGY})
_NUMA = _Form('InstanceNUMATopologyPayload', '1.0',
              'instance_uuid cells emulator_threads_policy',
              {'cells': _NUMA_CELL})
_PCI_REQUEST = _Form('InstancePCIRequestPayload', '1.1',
                     'count spec alias_name request_id numa_policy')
_PCI = _Form('InstancePCIRequestsPayload', '1.0', 'instance_uuid requests',
             {'requests': _PCI_REQUEST})
_CELL = _Form('CellMappingPayload', '2.0', 'uuid name disabled')
_RETRY = _Form('SchedulerRetriesPayload', '1.0', 'num_attempts hosts')


def _value(obj, name):
    """Return a field of an object, or its default, without setting it."""
    if obj.obj_attr_is_set(name):
        return getattr(obj, name)
    unset = obj.fields[name].unset
    return unset() if callable(unset) else unset


def _items(obj, name):
    """Return the objects in a field that is a list object."""
    return _value(_value(obj, name), 'objects')


def _uuid(spec_obj, picks):
    """Return the uuid of the last picked instance, or the request's own."""
    last = picks[-1].instance_uuid if picks else None
    return last or spec_obj.instance_uuid


def _first(names):
    return names[0] if names else None


def _flat(obj):
    """Return the set fields of an object, nested ones too, as plain JSON."""
    return None if obj is None else {
        name: value.strftime('%Y-%m-%dT%H:%M:%S.%f')
        if isinstance(value, datetime.datetime) else value
        for name, value in obj.flat().items()}


def _group(group, picks):
    if group is None:
        return None
    hosts = _value(group, 'hosts')
    if picks:
        hosts = [*(hosts or ()), *(pick.host for pick in picks)]
    return _GROUP.of(group, hosts=hosts, rules=_value(group, '_rules') or {})


def _image(image):
    if image is None:
        return None
    made = {name: None for name in _IMAGE.fields.split()
            if not image.obj_attr_is_set(name)}
    made['properties'] = _envelope(
        'ImageMetaPropsPayload', '1.20', _value(image, 'properties').flat())
    return _IMAGE.of(image, **made)


def _destination(destination):
    """Return a destination without unset fields and a cell's URLs."""
    if destination is None:
        return None
    data = {name: _value(destination, name) for name in ('host', 'node')
            if destination.obj_attr_is_set(name)}
    if destination.obj_attr_is_set('cell'):
        data['cell'] = _CELL.of(destination.cell)
    data['aggregates'] = _value(destination, 'aggregates')
    return _envelope('DestinationPayload', '1.0', data)


def _retry(retry):
    if retry is None:
        return None
    return _RETRY.of(retry, hosts=[
        _value(node, 'hypervisor_hostname')
        for node in _items(retry, 'hosts')])
