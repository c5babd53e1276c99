"""Rules for a complete selection of host cells: devices and networks.

They depend on the set of chosen cells, not on the guest cells' positions.
"""

import collections
import functools

from nova_sched.hardware.numa import cells as numa_cells
from nova_sched.hardware.numa import effort
from nova_sched.hardware.numa import matching
from nova_sched.hardware.numa import search as numa_search
from nova_sched.hardware.numa import shortfall as shortfalls
from nova_sched.hardware.pci import devices as pci_devices


class SelectionRules:
    """The rules for a complete selection, on one host.

    hosts: HostCells in the order of the search; selections are bit masks of
        their positions.
    required: numa_guest.GuestRequirements.
    pools: Pools of the host, or None to ignore devices.
    spend: method of an effort.Effort.
    """

    def __init__(self, hosts, required, pools, spend):
        self._hosts, self._required = hosts, required
        self._networks = _networks_near(hosts, required.networks)
        self._pools, self._mapping, self._spend = pools, None, spend
        self._looks_at_pools = bool(required.pci) and pools is not None
        self._sockets = {cell.id: cell.socket for cell in hosts}
        # Verdicts by the providers of devices, which many candidates share.
        self._known = collections.defaultdict(dict)
        self._verdicts = {}
        nodes = self._devices.nodes if self._looks_at_pools else ()
        self._cost = effort.VERDICT + len(required.pci) * (
            effort.REQUEST + len(pools.items) / effort.PAIRS
            if self._looks_at_pools else 0)
        self._counting = sum(
            1 << position for position, cell in enumerate(hosts)
            if cell.id in nodes or (
                required.networks is not None and cell.networks is not None))
        self._socket_at = [cell.socket for cell in hosts]
        self._by_socket = (
            self._looks_at_pools and None not in self._socket_at
            and any(request.numa_policy == 'socket'
                    for request in required.pci))

    @classmethod
    def of(cls, hosts, required, pools, spend):
        """Return the rules, or None if they allow any selection."""
        made = cls(hosts, required, pools, spend)
        if made._looks_at_pools or required.networks is not None:
            return made
        return None

    def judge_by(self, mapping):
        """Use the providers in an allocation candidate's mapping.

        mapping: request group -> provider uuids; or None.
        """
        self._mapping = mapping
        self._verdicts = self._known[
            self._required.device_requests.providers(mapping)]

    @functools.cached_property
    def _devices(self):
        return pci_devices.HostDevices(self._pools,
                                       self._required.device_requests)

    @functools.cached_property
    def _supplies(self):
        """For each kind of request: (devices by position, others) -> needed.
        """
        needed = {}
        for number, request in enumerate(
                self._required.pci if self._looks_at_pools else ()):
            supply = self._supply(number, request)
            needed[supply] = max(needed.get(supply, 0), request.count)
        return needed

    def _supply(self, number, request):
        free = self._devices.free_on_nodes(number)
        here = tuple([free[cell.id] for cell in self._hosts])
        policy = request.numa_policy or 'legacy'
        if policy == 'preferred' or (policy == 'socket' and self._by_socket):
            return (), free.total()
        elsewhere = free[None] if policy == 'legacy' else 0
        return here, elsewhere

    def shortfall(self, positions, count):
        """Return the Shortfall of devices or networks, or None.

        positions: of the cells that some guest cell fits on.
        count: number of the guest's cells.
        For a guest of several cells, only a lack near all these cells counts.
        """
        cells = [self._hosts[position] for position in positions]
        choices = [[cell] for cell in cells] if count == 1 else [cells]
        for number, request in enumerate(
                self._required.pci if self._looks_at_pools else ()):
            near = max(self._devices.near(number, pci_devices.Cells(
                frozenset(cell.id for cell in chosen), self._sockets))
                for chosen in choices)
            if near < request.count:
                return shortfalls.of_all(shortfalls.DEVICES, request.count,
                                         near)
        allowed = [networks_allow(self._hosts, chosen, self._networks)
                   for chosen in choices]
        return None if any(allowed) else shortfalls.of_all(
            shortfalls.NETWORKS)

    def allow(self, chosen):
        """Return whether the chosen cells are allowed; raises GivenUp."""
        self._spend()
        key = chosen & self._counting, self._by_socket and frozenset(
            self._socket_at[position] for position in matching.bits(chosen))
        if key not in self._verdicts:
            self._spend(self._cost)
            cells = [self._hosts[position]
                     for position in matching.bits(chosen)]
            has_devices = not self._looks_at_pools or self._devices.fits(
                self._mapping, pci_devices.Cells(
                    frozenset(cell.id for cell in cells), self._sockets))
            self._verdicts[key] = has_devices and networks_allow(
                self._hosts, cells, self._networks)
        return self._verdicts[key]

    def allow_some(self, chosen, others, count):
        """Return whether the chosen cells and some others are allowed.

        chosen, others: masks; any ``count`` of the others may be added.
        Raises GivenUp, because the time is exponential in the number of others
        with devices or networks.
        """
        if not self._may_allow(chosen, others, count):
            return False
        counting = others if self._by_socket else others & self._counting
        fillers = others & ~counting
        for some in numa_search.subsets(counting, count):
            self._spend()
            missing = count - some.bit_count()
            if missing <= fillers.bit_count() and self.allow(
                    chosen | some | _lowest(fillers, missing)):
                return True
        return False

    def _may_allow(self, chosen, others, count):
        """Return whether enough devices are near for each request alone."""
        self._spend(effort.SUPPLY * len(self._supplies))
        for (here, elsewhere), needed in self._supplies.items():
            near = sum([here[position] for position in matching.bits(chosen)
                        if here])
            most = sorted([here[position] for position
                           in matching.bits(others) if here], reverse=True)
            if elsewhere + near + sum(most[:count]) < needed:
                return False
        return True


def _networks_near(hosts, requested):
    """Return the request's networks that are near some cell of the host.

    requested: NetworkMetadata of the request, or None.
    """
    return None if requested is None else numa_cells.Networks(
        frozenset().union(*(cell.networks.physnets for cell in hosts
                            if cell.networks)) & requested.physnets,
        requested.tunneled)


def networks_allow(hosts, chosen, requested):
    """Return whether the request's networks are near the chosen cells.

    requested: cells.Networks, or None.  A network near no cell allows any
    cells.
    """
    if requested is None:
        return True
    ids = {cell.id for cell in chosen}
    inside = [cell.networks for cell in hosts
              if cell.networks and cell.id in ids]
    outside = [cell.networks for cell in hosts
               if cell.networks and cell.id not in ids]
    missing = set(requested.physnets).difference(
        *(networks.physnets for networks in inside))
    if any(missing & networks.physnets for networks in outside):
        return False
    return (not requested.tunneled
            or any(networks.tunneled for networks in inside)
            or not any(networks.tunneled for networks in outside))


def _lowest(mask, count):
    low = 0
    for _ in range(count):
        low |= mask & -mask
        mask &= mask - 1
    return low
