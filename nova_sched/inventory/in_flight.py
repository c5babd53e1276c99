"""An instance in flight, and what reads of the hosts show of it."""

import dataclasses
import typing

from nova_sched import objects


@dataclasses.dataclass(frozen=True, slots=True)
class InFlight:
    """One instance that was placed on a host.

    key: the instance's uuid; something else for an instance without one.
    demand: RequestSpec that has what an instance takes of a host.
    numa_limits: NUMATopologyLimits that the filters left, or None.
    group: key of its server group, or None.
    at: when it was placed, seconds since the epoch.
    allocations: what is claimed for it in Placement, which counts it then:
        provider uuid -> resource class -> amount; None if nothing is.
    """

    key: object
    host: str
    nodename: str
    demand: object
    numa_limits: object
    group: str | None
    at: float
    allocations: dict | None = dataclasses.field(default=None, hash=False)

    @property
    def claiming(self):
        """Whether it is claimed in Placement."""
        return self.allocations is not None

    @property
    def place(self):
        return self.host, self.nodename

    @property
    def takes_hardware(self):
        """Whether it takes NUMA cells, pages or PCI devices of its host.

        Placement does not count these.
        """
        requests = self.demand.pci_requests
        return (self.demand.numa_topology is not None
                or bool(requests and requests.requests))

    def instance(self):
        """Return what is known of its instance: objects.Instance."""
        flavor = self.demand.flavor
        return objects.Instance.on_host({
            'uuid': self.key, 'host': self.host, 'node': self.nodename,
            'instance_type_id': flavor.id, 'memory_mb': flavor.memory_mb,
            'vcpus': flavor.vcpus, 'root_gb': flavor.root_gb,
            'ephemeral_gb': flavor.ephemeral_gb, 'flavor': flavor})


class News(typing.NamedTuple):
    """What became of entries of the ledger.

    assumed: list of InFlight.
    claimed, forgotten: lists of (key, (host, node), when assumed).
    writes: provider uuid -> how many requests have changed what is held of
        it in Placement.
    heard: whether another daemon tells it.
    """

    assumed: list = ()
    claimed: list = ()
    forgotten: list = ()
    writes: dict = {}
    heard: bool = False


class UsageDelta:
    """The memory that hosts' rows have newly taken between two reads.

    before, now: the HostTable of both reads.

    That a row has changed says nothing of a certain instance: a compute
    service with two instances on the way writes the host of the second one
    before the row that counts it, maybe just after the row that counts the
    first.  So each placement has to find its own memory in the difference.
    """

    def __init__(self, before, now):
        self._before, self._now = before, now
        # (host, node) -> MB that no placement has found to be its own.
        self._left = {}

    def accounts_for(self, placed):
        """Return whether a host has newly taken the memory of an InFlight.

        If so, that memory accounts for no other one.
        False for a host that was not there before.
        """
        place, memory_mb = placed.place, placed.demand.memory_mb
        if place not in self._left:
            self._left[place] = self._taken(*place)
        if self._left[place] < max(1, memory_mb):
            return False
        self._left[place] -= memory_mb
        return True

    def _taken(self, *place):
        free = []
        for table in (self._before, self._now):
            row = table.row(*place)
            if row is None:
                return float('-inf')
            free.append(table.columns['free_ram_mb'].item(row))
        return free[0] - free[1]


def is_uuid(key):
    """Return whether a database can be asked for a key.

    Not for what callers make up.
    """
    return (isinstance(key, str) and len(key) <= 36 and key.isascii()
            and key.isprintable())
