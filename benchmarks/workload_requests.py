"""The requests of workloads, in the form of a conductor's calls.

``of_kind`` yields an Asked for each request.  A ``Conductor`` converts them to
RequestSpecs and remembers the members of server groups.
"""

import collections
import dataclasses
import functools
import itertools
import json
import pathlib
import uuid

from oslo_utils import uuidutils

from benchmarks import topology
from benchmarks.asked import FAULT_DOMAIN
from benchmarks.asked import Asked
from nova_sched import objects
from nova_sched.objects import arguments

_TEMPLATE = json.loads(
    (pathlib.Path(__file__).parent / 'request.json').read_text())
_DATA = 'nova_object.data'


def of_kind(workload):
    """Return the requests of a workload: an iterator of Asked."""
    make = {'plain': _plain, 'groups': _groups, 'refused': _refused,
            'many': _many, 'topology': _topology}[workload.kind]
    return itertools.islice(make(workload), workload.requests)


def _plain(workload):
    for number in itertools.count():
        yield _distinct(number)


def _groups(workload):
    wanted = workload.requests_of
    for number in itertools.count():
        yield dataclasses.replace(
            _distinct(number), policy=wanted['policy'],
            group=number // wanted['members'])


def _refused(workload):
    cases = itertools.cycle(workload.requests_of['cases'])
    for number, case in enumerate(cases):
        asked = _distinct(number)
        if 'memory_mb' in case:
            case = case | {'memory_mb': case['memory_mb'] + number}
        yield dataclasses.replace(asked, outcome='refused', **case)


def _many(workload):
    for number in itertools.count():
        yield Asked(number=number, project=_project(number),
                    count=workload.instances)


def _topology(workload):
    wanted = workload.requests_of
    return topology.requests(wanted['data'], wanted['sequences'])


def _distinct(number):
    """Return a request for an instance with its own flavor and project."""
    return Asked(number=number, project=_project(number),
                 memory_mb=16 + number, vcpus=1 + number % 4)


def _project(number):
    return uuid.UUID(int=number, version=4).hex


@dataclasses.dataclass(frozen=True)
class _Member:
    uuid: str
    host: str
    domain: str | None


class Conductor:
    """Creates the requests, and remembers the groups' members."""

    def __init__(self):
        self._groups = collections.defaultdict(list)
        self._group_uuid = functools.cache(
            lambda key: uuidutils.generate_uuid())

    def request(self, asked):
        """Return (RequestSpec, instance uuids) of an Asked."""
        uuids = [uuidutils.generate_uuid() for _ in range(asked.count)]
        data = _TEMPLATE[_DATA] | {
            'instance_uuid': uuids[0], 'num_instances': asked.count,
            'project_id': asked.project, 'availability_zone': asked.zone,
            'flavor': _flavor(asked), 'image': _image(asked),
            'numa_topology': _numa_topology(asked),
            'instance_group': self._instance_group(asked, uuids),
            'scheduler_hints': self._hints(asked)}
        return arguments.from_wire(_TEMPLATE | {_DATA: data}), uuids

    def note(self, asked, uuids, hosts):
        """Remember the hosts of the instances of a group."""
        if asked.group is not None:
            self._groups[asked.group] += [
                _Member(*pair, asked.domain)
                for pair in zip(uuids, hosts, strict=True)]

    def _instance_group(self, asked, uuids):
        """Return a server group with the new instances among its members.

        Its hosts are the earlier members' hosts.
        """
        if asked.policy in (None, FAULT_DOMAIN):
            return None
        members = self._groups[asked.group]
        return objects.InstanceGroup(
            uuid=self._group_uuid(asked.group), name='group',
            policy=asked.policy, _rules={},
            members=[member.uuid for member in members] + uuids,
            hosts=sorted({member.host for member in members}),
        ).obj_to_primitive()

    def _hints(self, asked):
        """Keep a fault domain off the hosts of the group's other domains."""
        if asked.policy != FAULT_DOMAIN:
            return {}
        others = [member.uuid for member in self._groups[asked.group]
                  if member.domain != asked.domain]
        return {'different_host': others} if others else {}


def _flavor(asked):
    flavor = _TEMPLATE[_DATA]['flavor']
    specs = dict(asked.extra_specs)
    if asked.numa_nodes:
        specs['hw:numa_nodes'] = str(asked.numa_nodes)
    return flavor | {_DATA: flavor[_DATA] | {
        'id': asked.number + 1, 'flavorid': str(asked.number),
        'name': f'flavor-{asked.number}', 'memory_mb': asked.memory_mb,
        'vcpus': asked.vcpus, 'root_gb': asked.root_gb,
        'extra_specs': specs}}


def _image(asked):
    image = _TEMPLATE[_DATA]['image']
    properties = image[_DATA]['properties']
    return image | {_DATA: image[_DATA] | {
        'properties': properties | {_DATA: dict(asked.properties)}}}


def _numa_topology(asked):
    """Return the guest's cells, all alike, in the form of Nova's API."""
    nodes = asked.numa_nodes
    if not nodes:
        return None
    cpus, memory = asked.vcpus // nodes, asked.memory_mb // nodes
    return objects.InstanceNUMATopology(cells=[
        objects.InstanceNUMACell(
            id=node, cpuset=set(range(node * cpus, (node + 1) * cpus)),
            pcpuset=set(), memory=memory)
        for node in range(nodes)]).obj_to_primitive()
