"""Taking the PCI devices of a request out of a host's pools.

For each request in turn (``HostDevices._take``), the remaining pools are
narrowed to pools that

1. match one of its specifications (``DeviceKind.matches``);
2. are near enough to the guest's host cells, if these are known, for the
   request's NUMA policy (``_near``);
3. have devices of special kinds only if requested, and are live-migratable or
   not if all specifications agree (``DeviceKind.may_take``);
4. belong to the providers that Placement selected, if any.

The devices are taken from these pools, in order.

Pools reported by Queens' compute services are matched as in Queens: every key
of a specification counts, matching is case-sensitive, and vDPA devices are not
special.
"""

import collections
import dataclasses
import functools

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Cells:
    """The host cells of a guest.

    chosen: ids of these cells.
    sockets: id of each cell of the host -> its socket, or None.
    """

    chosen: frozenset
    sockets: dict

    @functools.cached_property
    def same_socket(self):
        """Ids of the cells in the same sockets: a set.

        Empty if the socket of any cell of the host is unknown.
        """
        if None in self.sockets.values():
            return set()
        sockets = {self.sockets.get(cell) for cell in self.chosen}
        return {cell for cell, socket in self.sockets.items()
                if socket in sockets}


class HostDevices:
    """The devices of one host, for the requests of one guest.

    pools: Pools.  requests: DeviceRequests, shared by hosts.

    Pools are identified by their index among the host's pools.
    """

    def __init__(self, pools, requests):
        self._source, self._pools = pools, pools.items
        self._device_requests = requests
        matching = requests.for_release(pools.is_newer)
        self._requests = matching.requests
        self._counts, self._free = {}, {}
        # For each kind: {pool: whether devices may be taken}, and the pools on
        # each NUMA node.
        self._may_take = {kind: {} for kind in matching.kinds}
        self._on_nodes = {kind: collections.defaultdict(list)
                          for kind in matching.kinds}
        for place, pool in enumerate(self._pools):
            self._counts[place] = pool['count']
            for kind, may_take in matching.kinds_of(pool).items():
                self._may_take[kind][place] = may_take
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
        """Return the remaining Pools, and the number of served requests.

        Stops at the first request with too few devices.
        For arguments see ``fits``.
        """
        counts, served = self._serve(mapping, cells)
        if not served:
            return self._source, served
        return self._source.with_pools([
            {**self._pools[place], 'count': count}
            for place, count in counts.items()]), served

    @property
    def nodes(self):
        """The NUMA nodes of devices that match a request: a set."""
        return set().union(*self._on_nodes.values())

    def free_on_nodes(self, number):
        """Count the devices for one request alone, by NUMA node.

        Returns a Counter, with None for devices at an unknown node.

        number: index of the request.
        """
        kind = self._requests[number].kind
        if kind not in self._free:
            counts = self._free[kind] = collections.Counter()
            for place, may_take in self._may_take[kind].items():
                if may_take:
                    pool = self._pools[place]
                    counts[pool['numa_node']] += pool['count']
        return self._free[kind]

    def shortfall(self):
        """Return (index of the first request with too few devices, number of
        devices for it after the requests before it), or None.
        """
        counts, served = self._serve(None, None)
        if served == len(self._requests):
            return None
        return served, _total(counts, self._eligible(
            counts, self._requests[served],
            self._device_requests.providers(None)[served], None))

    def near(self, number, cells):
        """Count the devices near Cells for one request alone.

        number: index of the request.
        """
        request = self._requests[number]
        may_take = self._may_take[request.kind]
        return sum([self._counts[place] for place in self._near(
            self._counts, request, cells) if may_take[place]])

    @functools.cached_property
    def _has_all_kinds(self):
        """Whether each request alone has a pool."""
        return all(any(pools.values()) for pools in self._may_take.values())

    def _serve(self, mapping, cells):
        """Return the result of ``taken``, with pools as {index: count}."""
        counts = dict(self._counts)
        given = self._device_requests.providers(mapping)
        for number, request in enumerate(self._requests):
            if not self._take(counts, request, given[number], cells):
                return counts, number
        return counts, len(self._requests)

    def _take(self, counts, request, given, cells):
        """Take the devices of one request; return whether there are enough.

        Empty pools are removed.
        """
        places = self._eligible(counts, request, given, cells)
        if not places or _total(counts, places) < request.count:
            return False
        if given:
            return self._take_given(counts, places, given)
        _take_in_order(counts, places, request.count)
        return True

    def _eligible(self, counts, request, given, cells):
        """Return the pools whose devices may be taken for a request."""
        may_take = self._may_take[request.kind]
        near = (may_take if cells is None
                else self._near(counts, request, cells))
        places = [place for place in near
                  if may_take[place] and place in counts]
        if not given:
            return places
        return [place for place in places
                if 0 < self._given_by(place, given) <= counts[place]]

    def _near(self, counts, request, cells):
        """Return the pools near enough to a guest's host cells."""
        kind = request.kind
        inside = self._on(kind, counts, cells.chosen)
        if request.policy == 'required' or (
                _total(counts, inside) >= request.count):
            return inside
        if request.policy == 'socket':
            return self._on(kind, counts, cells.same_socket)
        # Devices at an unknown node may be near.
        nodes = cells.chosen | {None}
        near = self._on(kind, counts, nodes)
        if request.policy == 'legacy' or _total(counts, near) >= request.count:
            return near
        return near + self._on(kind, counts,
                               self._on_nodes[kind].keys() - nodes)

    def _on(self, kind, counts, nodes):
        """Return the pools of a kind on some NUMA nodes, in order."""
        by_node = self._on_nodes[kind]
        return sorted([place for node in nodes if node in by_node
                       for place in by_node[node] if place in counts])

    def _given_by(self, place, given):
        """Return the number of devices that Placement takes from a pool."""
        return given.count(self._pools[place].get('rp_uuid'))

    def _take_given(self, counts, places, given):
        """Take the devices that Placement allocated; False if ambiguous."""
        for uuid, shared in self._ambiguous.items():
            if sum(place in counts for place in shared) > 1:
                _warn_ambiguous(uuid)
                return False
        for place in places:
            _take_some(counts, place, self._given_by(place, given))
        return True

    @functools.cached_property
    def _ambiguous(self):
        """Providers with several pools: {uuid: their pools}."""
        by_provider = collections.defaultdict(list)
        for place, pool in enumerate(self._pools):
            by_provider[pool.get('rp_uuid')].append(place)
        return {uuid: places for uuid, places in by_provider.items()
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
