"""Requests for tests, valid by default: a test sets what matters to it."""

from nova_sched import nova_compat
from nova_sched import objects

INSTANCE_UUID = '8d3f2c1e-0000-4000-8000-000000000001'
IMAGE_ID = '155d900f-4e14-4e4c-a73d-069cbf4541e6'
GROUP_UUID = '5f1ba1e2-0000-4000-8000-00000000aaaa'
_FLAVOR = {'memory_mb': 512, 'vcpus': 1, 'root_gb': 1, 'ephemeral_gb': 0,
           'swap': 0, 'extra_specs': {}}


def a_flavor(**kw):
    """Return a Flavor; keywords are its fields."""
    return objects.Flavor(**{
        'id': 5, 'name': 'm1.tiny', 'flavorid': '1', **_FLAVOR, **kw})


def an_image(properties=None, **kw):
    """Return an ImageMeta; properties is a dict of any names."""
    return objects.ImageMeta(**{
        'id': IMAGE_ID, 'name': 'cirros', 'disk_format': 'qcow2',
        'min_ram': 0, 'min_disk': 0, 'size': 16300544,
        'properties': objects.ImageMetaProps.from_dict(properties or {}),
        **kw})


def a_group(policy='anti-affinity', members=(), hosts=(), rules=None,
            uuid=GROUP_UUID):
    """Return an InstanceGroup; rules is a dict: {'max_server_per_host': 2}."""
    return objects.InstanceGroup(
        uuid=uuid, name='group', policy=policy, members=list(members),
        hosts=list(hosts), _rules=rules or {})


def a_retry(*hosts, num_attempts=None):
    """Return SchedulerRetries after failures on (host, node) pairs."""
    return objects.SchedulerRetries.from_dict({
        'num_attempts': num_attempts or len(hosts) + 1,
        'hosts': [list(pair) for pair in hosts]})


def a_destination(**kw):
    """Return a Destination; keywords are its fields, cell a uuid or object."""
    if isinstance(kw.get('cell'), str):
        kw['cell'] = objects.CellMapping(uuid=kw['cell'], name='cell')
    return objects.Destination(**kw)


def a_request(**kw):
    """Return a RequestSpec as plug-ins get it; see ``a_request_spec``."""
    return nova_compat.loaded().with_mapping(a_request_spec(**kw))


def a_request_spec(*, hints=None, image_properties=None, group=None,
                   retry=None, wire_version='1.15', **kw):
    """Return a RequestSpec that needs 512 MiB, 1 CPU and 1 GiB.

    memory_mb, vcpus, root_gb, ephemeral_gb, swap, extra_specs: go to the
        flavor, unless ``flavor`` is given.
    hints: dict of text or lists of text.
    image_properties: dict of any names; ``image=None`` for no image.
    group: an InstanceGroup, or a dict of a_group's keywords.
    retry: a SchedulerRetries, or a list of (host, node).
    Every other keyword is a field of RequestSpec.
    """
    sizes = {name: kw.pop(name) for name in _FLAVOR if name in kw}
    if isinstance(group, dict):
        group = a_group(**group)
    if isinstance(retry, (list, tuple)):
        retry = a_retry(*retry)
    kw.setdefault('flavor', a_flavor(**sizes))
    kw.setdefault('image', an_image(image_properties))
    spec_obj = objects.RequestSpec(**{
        'instance_uuid': INSTANCE_UUID, 'num_instances': 1,
        'project_id': 'a-project', 'user_id': 'a-user',
        'availability_zone': None, 'numa_topology': None,
        'pci_requests': objects.InstancePCIRequests(requests=[]),
        'ignore_hosts': None, 'force_hosts': None, 'force_nodes': None,
        'requested_destination': None, 'retry': retry, 'limits': None,
        'instance_group': group, 'scheduler_hints': hints or {},
        'is_bfv': False, 'requested_resources': [], **kw})
    spec_obj.wire_version = wire_version
    return spec_obj
