"""Three hosts for "request plan", and its output for programs."""

import json

from tests.builders import clouds
from tests.builders import schemas
from tests.builders.clouds import a_uuid

#: Providers of the hosts a, b and c, best first.
HOSTS = {'a': a_uuid(1), 'b': a_uuid(2), 'c': a_uuid(3)}
SCHEMA = schemas.schema('nova_sched.cmd.manage', 'plan')
#: Configuration that weighs hosts by memory only.
FILE = """
[database]
connection = {url}
[filter_scheduler]
weight_classes = nova_sched.scheduler.weights.ram.RAMWeigher
"""


def nodes(free=(9000, 8000, 7000), names='abc'):
    """Compute nodes with free memory in MB."""
    return [clouds.a_compute_node(host, uuid=HOSTS[host], free_ram_mb=ram)
            for host, ram in zip(names, free, strict=True)]


def document(ended, code=0):
    """The JSON object of a command's output, checked by the schema."""
    assert ended.code == code, ended.err
    found = json.loads(ended.out)
    schemas.check(found, SCHEMA)
    return found


def hosts_of(ended):
    """The hosts of a plan, one an instance: list."""
    return [placed['host'] for placed in document(ended)['placements']]


def last_line(ended):
    """The last line of a plan's output without -f, which programs read."""
    return ended.out.splitlines()[-1]
