"""Limits of the size of a request, far above any reasonable request.

``doc/source/limits.rst`` shows each constant with its comment.  REQUEST_BYTES
bounds all fields without a separate limit.  A larger request is refused with
InvalidInput, which names the field, its size and the limit.  Fields have no
separate limit if their cost is low and in proportion to their size.
"""

# Twice REQUEST_BYTES, so that a refused request can be read and answered.
#: Bytes of a message, unpacked. A larger message is dropped unread, with a
#: line in the log.
MESSAGE_BYTES = 8 << 20
#: Lists, objects and members in a message: all ``[``, ``{`` and ``,`` in it.
#: A message with more is dropped unread, too.
MESSAGE_PARTS = 300_000
#: Bytes of all arguments of a call, as JSON.
REQUEST_BYTES = 4 << 20
#: Instances of a request, whatever ``[nova_sched]
#: max_instances_per_request`` says.
INSTANCES = 10000
#: Members of a server group; also the hosts that they run on.
GROUP_MEMBERS = 10000
# A live migration without [DEFAULT] migrate_max_retries ignores all hosts that
# it has tried.
#: Hosts or nodes in one list: forced, or to be ignored.
HOSTS = 10000
#: Names in one such list, of hosts or of a server group, times the instances
#: of the request.
NAMED_WORK = 1_000_000
#: Hosts that the request was tried on before.
RETRIES = 100
#: Scheduler hints.
HINTS = 1000
#: Values of one scheduler hint.
HINT_VALUES = 10000
# Nova's database holds 255 characters.
#: Extra specs of a flavor.
EXTRA_SPECS = 500
#: Characters of the name, and of the value, of an extra spec.
EXTRA_SPEC_TEXT = 1024
#: Properties of an image.
IMAGE_PROPERTIES = 1000
# Glance allows 255 characters in a name, and 65,535 in a value.
#: Characters of the name of a property of an image.
IMAGE_PROPERTY_NAME = 1024
#: Characters of the value of a property of an image.
IMAGE_PROPERTY_TEXT = 256 << 10
# A value in Glance can contain 21,845 of the shortest conditions.
#: Conditions of an image on the version of the hypervisor.
VERSION_CONDITIONS = 30000
#: NUMA cells of a guest.
NUMA_CELLS = 64
# Linux is built for 8,192 CPUs at most.
#: The largest number of a CPU.
CPU_NUMBER = 8191
#: Characters of a list of CPU numbers such as ``0-3,^2``.
CPU_TEXT = 16384
#: PCI requests of an instance.
PCI_REQUESTS = 64
#: Conditions in the specifications of all PCI requests of an instance.
PCI_CONDITIONS = 1000
#: Requested networks; also physical networks, and security groups.
NETWORKS = 1000
#: Groups of resources besides the flavor's.
REQUEST_GROUPS = 256
#: Names in one list of such a group, or of a destination: traits, resource
#: classes, aggregates.
GROUP_NAMES = 10000

# The maximum of Nova's API.
#: Characters of a query for JsonFilter.
QUERY_TEXT = 112 << 10
#: Lists within lists of such a query.
QUERY_DEPTH = 100
#: Values of hosts that are looked at one by one to answer such a query, for
#: all instances of a request; each instance may use an equal share.
QUERY_WORK = 2_000_000
#: Values of each host that one instance may look at in any case.
QUERY_HOST_WORK = 20
