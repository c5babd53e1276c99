"""Taking the PCI devices of a request out of a host's pools.

For each request in turn (``HostDevices._take``), from the pools that are left:

1. Pools that match one of its specifications (``DeviceKind.matches``).
2. If it is known on which host cells the guest would run: pools near enough
   to them for the request's NUMA policy (``_near``).
3. Devices of special kinds only if asked for, and live-migratable ones or
   others if all specifications agree on it (``DeviceKind.may_take``).
4. If Placement says which providers the devices come from: those.
5. The devices are taken from these pools, in their order.

The steps before the last only leave out pools.

Pools that Queens' compute services report are matched as in Queens: every key
of a specification counts, matching is case-sensitive, and vDPA devices are not
special.
"""

import collections
import dataclasses
import functools

from oslo_log import log as logging

from nova_sched.hardware.pci.requests import DeviceRequests

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Cells:
    """Where on a host a guest would run.

    chosen: ids of the host cells.
    sockets: id of each cell that the host has -> its socket, or None.
    """

    chosen: frozenset
    sockets: dict

    @functools.cached_property
    def same_socket(self):
        """Ids of the cells in the sockets of the chosen ones: a set.

        Empty if the socket of any of the host's cells is not known.
        """
        if None in self.sockets.values():
            return set()
        wanted = {self.sockets.get(cell) for cell in self.chosen}
        return {cell for cell, socket in self.sockets.items()
                if socket in wanted}


def fits(pools, requests, mapping=None, cells=None):
    """Return whether a host has enough devices, as ``HostDevices.fits`` does.

    pools: Pools.  requests: list of InstancePCIRequest.
    To ask about many hosts, share one DeviceRequests among HostDevices.
    """
    return HostDevices(pools, DeviceRequests(requests)).fits(mapping, cells)


class HostDevices:
    """The devices of one host, for the requests of one guest.

    pools: Pools.  requests: DeviceRequests.

    Pools are known by their places among those of the host.
    """

    def __init__(self, pools, requests):
        self._source, self._pools = pools, pools.items
        self._device_requests = requests
        matching = requests.for_release(pools.is_newer)
        self._requests = matching.requests
        self._counts, self._free = {}, {}
        # Of each kind: {place: whether devices may be taken}, and the places
        # on each NUMA node.
        self._found = {kind: {} for kind in matching.kinds}
        self._on_nodes = {kind: collections.defaultdict(list)
                          for kind in matching.kinds}
        for place, pool in enumerate(self._pools):
            self._counts[place] = pool['count']
            for kind, may_take in matching.kinds_of(pool).items():
                self._found[kind][place] = may_take
                self._on_nodes[kind][pool['numa_node']].append(place)

    def fits(self, mapping=None, cells=None):
        """Return whether there are enough devices for all requests together.

        mapping: of the allocation candidate, request group -> provider uuids;
            or None.
        cells: Cells, or None if NUMA does not matter.
        """
        return self._has_all_kinds and (
            self._serve(mapping, cells)[1] == len(self._requests))

    def taken(self, mapping=None, cells=None):
        """Return the Pools left, and how many requests were served.

        Stops at the first request that there are too few devices for.
        Arguments as in ``fits``.
        """
        counts, served = self._serve(mapping, cells)
        if not served:
            return self._source, served
        return self._source.with_pools([
            {**self._pools[place], 'count': count}
            for place, count in counts.items()]), served

    @property
    def nodes(self):
        """The NUMA nodes of all devices that match a request: a set."""
        return set().union(*self._on_nodes.values())

    def free_on_nodes(self, number):
        """Count the devices that one request could take, by NUMA node.

        Returns a Counter, with None for no known node.

        number: place of the request in the list.
        """
        kind = self._requests[number].kind
        if kind not in self._free:
            self._free[kind] = self._free_on_nodes(kind)
        return self._free[kind]

    def shortfall(self):
        """Return (number of the first request that finds too few devices
        beside those before it, how many it finds); None if all find enough.
        """
        counts, served = self._serve(None, None)
        if served == len(self._requests):
            return None
        return served, sum([counts.get(place, 0) for place, may_take
                            in self._found[self._requests[served].kind].items()
                            if may_take])

    def near(self, number, cells):
        """Count the devices that one request alone could take near to Cells.

        number: place of the request in the list.
        """
        request = self._requests[number]
        found = self._found[request.kind]
        return sum([self._counts[place] for place in self._near(
            self._counts, request, cells) if found[place]])

    def _free_on_nodes(self, kind):
        found = collections.Counter()
        for place, may_take in self._found[kind].items():
            if may_take:
                pool = self._pools[place]
                found[pool['numa_node']] += pool['count']
        return found

    @functools.cached_property
    def _has_all_kinds(self):
        """Whether each request alone would find a pool."""
        return all(any(found.values()) for found in self._found.values())

    def _serve(self, mapping, cells):
        """Return as ``taken``, with the pools left as {place: count}."""
        counts = dict(self._counts)
        given = self._device_requests.providers(mapping)
        for number, request in enumerate(self._requests):
            if not self._take(counts, request, given[number], cells):
                return counts, number
        return counts, len(self._requests)

    def _take(self, counts, request, given, cells):
        """Take the devices of one request; return whether there are enough.

        Pools that become empty are removed.
        """
        found = self._found[request.kind]
        near = (found if cells is None
                else self._near(counts, request, cells))
        places = [place for place in near
                  if found[place] and place in counts]
        if given:
            places = [place for place in places
                      if 0 < self._given_by(place, given) <= counts[place]]
        if not places or _total(counts, places) < request.count:
            return False
        if given:
            return self._take_given(counts, places, given)
        _take_in_order(counts, places, request.count)
        return True

    def _near(self, counts, request, cells):
        """Return the pools that may serve a guest on some host cells."""
        kind = request.kind
        inside = self._on(kind, counts, cells.chosen)
        if request.policy == 'required' or (
                _total(counts, inside) >= request.count):
            return inside
        if request.policy == 'socket':
            return self._on(kind, counts, cells.same_socket)
        # Of devices at no known node it is not known that they are far away.
        nodes = cells.chosen | {None}
        near = self._on(kind, counts, nodes)
        if request.policy == 'legacy' or _total(counts, near) >= request.count:
            return near
        return near + self._on(kind, counts,
                               self._on_nodes[kind].keys() - nodes)

    def _on(self, kind, counts, nodes):
        """Return the pools of a kind on some NUMA nodes, in their order."""
        by_node = self._on_nodes[kind]
        return sorted([place for node in nodes if node in by_node
                       for place in by_node[node] if place in counts])

    def _given_by(self, place, given):
        """Return how many devices Placement takes of a pool's provider."""
        return given.count(self._pools[place].get('rp_uuid'))

    def _take_given(self, counts, places, given):
        """Take what Placement allocated; return whether it is unambiguous."""
        for uuid, shared in self._ambiguous.items():
            if sum(place in counts for place in shared) > 1:
                _warn_ambiguous(uuid)
                return False
        for place in places:
            _take_some(counts, place, self._given_by(place, given))
        return True

    @functools.cached_property
    def _ambiguous(self):
        """Providers that several pools belong to: {uuid: their places}."""
        found = collections.defaultdict(list)
        for place, pool in enumerate(self._pools):
            found[pool.get('rp_uuid')].append(place)
        return {uuid: places for uuid, places in found.items()
                if uuid and len(places) > 1}


def _total(counts, places):
    return sum([counts[place] for place in places])


def _take_in_order(counts, places, needed):
    for place in places:
        number = min(counts[place], needed)
        _take_some(counts, place, number)
        needed -= number
        if not needed:
            break


def _take_some(counts, place, number):
    counts[place] -= number
    if not counts[place]:
        del counts[place]


@functools.lru_cache(maxsize=256)
def _warn_ambiguous(uuid):
    LOG.warning('The PCI devices of resource provider %s are in several '
                'pools of their host, so they cannot be used', uuid)
