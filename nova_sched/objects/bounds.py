"""How large a request may be: the limits that no sane request meets.

Each is a constant here and a row of the table in ``doc/source/limits.rst``.
What has no limit of its own is held by REQUEST_BYTES.  A larger request is
refused by InvalidInput, which names the field, its size and the limit; what
costs in proportion to its size, and little, is not limited but paid for.
"""

from nova_sched import exception

#: Bytes of a message on the bus, unpacked; a larger one is never decoded, and
#: nobody is answered.  Twice REQUEST_BYTES, so that what is refused is read.
MESSAGE_BYTES = 8 << 20
#: Lists, objects and members of a message, by the characters that begin or
#: part them; a message of more is never decoded.
MESSAGE_PARTS = 300_000
#: Bytes of all arguments of a call, as JSON text.
REQUEST_BYTES = 4 << 20
#: Instances of a request, whatever [nova_sched] max_instances_per_request
#: says.
INSTANCES = 10000
#: Members of a server group, and hosts that it says they are on.
GROUP_MEMBERS = 10000
#: Hosts or nodes in one list: to ignore, or forced.  A live migration without
#: [DEFAULT] migrate_max_retries ignores each host that it has tried.
HOSTS = 10000
#: Names in one of these lists times instances of the request, each of which
#: looks at all of them.
NAMED_WORK = 1_000_000
#: Hosts that were tried before.
RETRIES = 100
#: Scheduler hints, and values of one of them.
HINTS = 1000
HINT_VALUES = 10000
#: Extra specs of a flavor, and characters of a name or value; Nova's
#: database holds 255.
EXTRA_SPECS = 500
EXTRA_SPEC_TEXT = 1024
#: Properties of an image.
IMAGE_PROPERTIES = 1000
#: NUMA cells of a guest.
NUMA_CELLS = 64
#: The largest number of a CPU; Linux is built for 8,192 of them at most.
CPU_NUMBER = 8191
#: Characters of a text of CPU numbers such as 0-3,^2,8.
CPU_TEXT = 16384
#: PCI requests of an instance, and conditions in all their specifications.
PCI_REQUESTS = 64
PCI_CONDITIONS = 1000
#: Requested networks, and physical networks that they are on.
NETWORKS = 1000
#: Groups of resources beside those of the flavor.
REQUEST_GROUPS = 256
#: Names in one list of a request group or destination: traits, resource
#: classes, aggregates.
GROUP_NAMES = 10000

#: Characters of a query of JsonFilter: what Nova's API lets through; lists
#: within lists of it; and values of hosts that are looked at one by one to
#: answer it for all instances of a request together, or of each host for one
#: of many instances.
QUERY_TEXT = 112 << 10
QUERY_DEPTH = 100
QUERY_WORK = 2_000_000
QUERY_HOST_WORK = 20


def check_size(field, size, limit, unit='items', by=''):
    """Raise InvalidInput if something in a request is larger than its limit.

    field: its dotted path, or what else the caller knows it by.
    size, limit: numbers of ``unit``.  by: what sets the limit, if not this.
    """
    if size > limit:
        raise exception.InvalidInput(
            reason=f'{field}: {size} {unit}, and at most {limit} are allowed'
                   f'{by and " " + by}')
