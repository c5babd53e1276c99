"""Instances that were placed on a host which does not show them yet."""

import dataclasses
import typing

from nova_sched import objects


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedInstance:
    """One instance that was placed on a host.

    key: the instance's uuid, or a made-up key for an instance without one.
    demand: RequestSpec with the amounts that the instance takes of a host.
    numa_limits: NUMATopologyLimits set by the filters, or None.
    group: key of its server group, or None.
    at: when it was placed, seconds since the epoch.
    allocations: its claim in Placement: provider uuid -> resource class ->
        amount; None without a claim.
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
        """Whether the instance has, or is to have, a claim in Placement."""
        return self.allocations is not None

    @property
    def place(self):
        return self.host, self.nodename

    @property
    def takes_hardware(self):
        """Whether the instance takes NUMA cells, pages or PCI devices.

        Placement does not count these.
        """
        requests = self.demand.pci_requests
        return (self.demand.numa_topology is not None
                or bool(requests and requests.requests))

    def instance(self):
        """Return the attributes known of the instance: objects.Instance."""
        flavor = self.demand.flavor
        return objects.Instance.on_host({
            'uuid': self.key, 'host': self.host, 'node': self.nodename,
            'instance_type_id': flavor.id, 'memory_mb': flavor.memory_mb,
            'vcpus': flavor.vcpus, 'root_gb': flavor.root_gb,
            'ephemeral_gb': flavor.ephemeral_gb, 'flavor': flavor})


class News(typing.NamedTuple):
    """Changes of the ledger, shared with other workers and daemons.

    assumed: list of PlacedInstance.
    claimed, forgotten: lists of (key, (host, node), when assumed).
    writes: provider uuid -> number of requests that have changed its
        allocations in Placement.
    from_peer: whether it comes from another daemon.
    """

    assumed: list = ()
    claimed: list = ()
    forgotten: list = ()
    writes: dict = {}
    from_peer: bool = False


class UsageDelta:
    """The memory that was newly used on hosts between two reads.

    before, now: the HostTable of both reads.

    A changed row does not prove that it counts a certain instance.  A compute
    service that builds two instances writes the host of the second instance
    before the row that counts it, possibly right after the row that counts
    the first.  So each instance must be matched by memory of its own.
    """

    def __init__(self, before, now):
        self._before, self._now = before, now
        # (host, node) -> MB that are not attributed to an instance yet.
        self._unmatched = {}

    def accounts_for(self, placed):
        """Return whether the difference on a host covers a PlacedInstance.

        If so, that memory is attributed to it.  False for a new host.
        """
        place, memory_mb = placed.place, placed.demand.memory_mb
        if place not in self._unmatched:
            self._unmatched[place] = self._newly_used(*place)
        if self._unmatched[place] < max(1, memory_mb):
            return False
        self._unmatched[place] -= memory_mb
        return True

    def _newly_used(self, *place):
        free = []
        for table in (self._before, self._now):
            row = table.row(*place)
            if row is None:
                return float('-inf')
            free.append(table.columns['free_ram_mb'].item(row))
        return free[0] - free[1]


def is_uuid(key):
    """Return whether a key can be a uuid in a database.

    Callers may send keys of any kind.
    """
    return (isinstance(key, str) and len(key) <= 36 and key.isascii()
            and key.isprintable())
