"""Generated hosts and requests with values that plug-ins often mishandle."""

import copy
import dataclasses
import json
import random

from nova_sched.testing import host_builders
from nova_sched.testing import request_builders

#: Part of all generated texts that are for operators only.
PRIVATE = 'fuzz'

_AMOUNTS = (-2048, -1, 0, 1, 511, 512, 1024, 65536)
_METADATA = ({}, {'availability_zone': 'z1'}, {'availability_zone': ''},
             {'ram_weight_multiplier': 'none', 'rack': 'r1, r2'},
             dict.fromkeys(('filter_tenant_id', 'instance_type', 'os_type',
                            'rack'), PRIVATE))
_UUIDS = ('m1', 'm2', request_builders.INSTANCE_UUID)


@dataclasses.dataclass(frozen=True)
class Case:
    """Some hosts and a request.

    records: see ``a_host``.  running: {uuid: host name}.
    """

    records: list
    running: dict
    spec_obj: object

    def hosts(self):
        """Return the hosts as a new HostBlock."""
        return host_builders.hosts(*copy.deepcopy(self.records),
                                   running=self.running)

    def request(self):
        """Return the request as a new RequestSpec."""
        return copy.deepcopy(self.spec_obj)


def case(number, records, requests):
    """Return the case of a number, always the same: Case.

    records, requests: hosts and requests of the test, to mix in.
    """
    draw = random.Random(number)
    hosts = [_a_host(draw, f'{PRIVATE}{i}') for i in range(draw.randint(0, 4))]
    hosts += draw.sample(list(records), draw.randint(0, len(records)))
    draw.shuffle(hosts)
    names = [record['host'] for record in hosts if 'host' in record]
    running = {uuid: draw.choice(names) for uuid in _UUIDS
               if names and draw.random() < 0.5}
    spec_obj = (draw.choice(requests) if requests and draw.random() < 0.7
                else _a_request(draw))
    return Case(hosts, running, spec_obj)


def _a_host(draw, name):
    values = {
        'total_usable_ram_mb': max(draw.choice(_AMOUNTS), 0),
        'free_ram_mb': draw.choice(_AMOUNTS),
        'free_disk_mb': draw.choice(_AMOUNTS),
        'vcpus_used': draw.choice((0, 1, 64)),
        'num_io_ops': draw.choice((0, 9)),
        'num_instances': draw.choice((0, 200)),
        'failed_builds': draw.choice((0, 3)),
        'service_up': draw.random() < 0.8,
        'service_disabled': draw.random() < 0.2,
        'hypervisor_type': draw.choice(('QEMU', 'ironic', None)),
        'hypervisor_version': draw.choice((0, 6002000, None)),
        'cpu_info': draw.choice((None, '', '{', json.dumps(
            {'arch': 'x86_64', 'features': ['aes']}))),
        'stats': draw.choice(({}, {'rack': 'r1'}, {'rack': None})),
        'supported_instances': draw.choice(
            (None, '[]', '[["x86_64", "kvm", "hvm"]]')),
        'aggregates': draw.choices(_METADATA, k=draw.randint(0, 2))}
    if draw.random() < 0.1:
        values |= host_builders.NEVER_REPORTED
    return host_builders.a_host(name, **values)


def _a_request(draw):
    fields = {
        'memory_mb': draw.choice((0, 512, 65536)),
        'vcpus': draw.choice((1, 64)),
        'root_gb': draw.choice((0, 40)),
        'num_instances': draw.choice((1, 3)),
        'availability_zone': draw.choice((None, 'nova', 'z1')),
        'hints': draw.choice((None, {'same_host': ['m1', 'm2']},
                              {'_nova_check_type': ['rebuild']})),
        'extra_specs': draw.choice(({}, {'rack': 'r1'},
                                    {'hw:cpu_policy': 'dedicated'})),
        'retry': draw.choice((None, [('fuzz0', 'fuzz0')])),
        'group': draw.choice((None, {'policy': 'affinity', 'members': ['m1'],
                                     'hosts': ['fuzz1']},
                              {'members': list(_UUIDS)})),
        'is_bfv': draw.random() < 0.2}
    if draw.random() < 0.2:
        fields['image'] = None
    else:
        fields['image_properties'] = draw.choice(
            ({}, {'hw_architecture': 'x86_64', 'os_type': 'linux'}))
    return request_builders.a_request(**fields)
