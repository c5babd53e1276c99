"""Taking the PCI devices a request asks for out of a host's pools.

For each request in turn (``Supply._take``), from the pools that are left:

1. Pools that match one of its specifications (``Kind.matches``).
2. If it is known on which host cells the guest would run: pools near enough
   to them for the request's NUMA policy (``_near``).
3. Devices of special kinds only if asked for, and live-migratable ones or
   others if all specifications agree on it (``Kind.may_take``).
4. If Placement says which providers the devices come from: those.
5. The devices are taken from these pools, in their order.

The steps before the last only leave out pools.

Pools as Queens' compute services report them are matched as Queens does it:
every key of a specification counts, capitals matter and vDPA devices are not
special.
"""

import collections
import dataclasses
import functools

from oslo_log import log as logging

from nova_sched.hardware.pci import demand as pci_demand

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
    """Return whether a host has enough devices, as ``Supply.fits`` does.

    pools: Pools.  requests: list of InstancePCIRequest.
    Whoever asks about many hosts makes one Demand for all of them instead.
    """
    return Supply(pools, pci_demand.Demand(requests)).fits(mapping, cells)


class Supply:
    """The devices of one host, for the requests of one guest.

    pools: Pools.  demand: Demand.

    Pools are known by their places among those of the host.
    """

    def __init__(self, pools, demand):
        self._source, self._pools, self._demand = pools, pools.items, demand
        wants = demand.wants(pools.is_newer)
        self._wants = wants.each
        self._found = {kind: {} for kind in wants.kinds}
        for place, pool in enumerate(self._pools):
            for kind, may_take in wants.of(pool).items():
                self._found[kind][place] = may_take

    def fits(self, mapping=None, cells=None):
        """Whether there are enough devices for all requests together.

        mapping: of the allocation candidate, request group -> provider uuids;
            or None.
        cells: Cells, or None if NUMA does not matter.
        """
        return self._has_all_kinds and (
            self._serve(mapping, cells)[1] == len(self._wants))

    def taken(self, mapping=None, cells=None):
        """The pools left, and how many requests they were taken for.

        The first request that there is too little for ends it.  Arguments as
        of ``fits``.
        """
        counts, served = self._serve(mapping, cells)
        if not served:
            return self._source, served
        return self._source.with_pools([
            {**self._pools[place], 'count': count}
            for place, count in counts.items()]), served

    def free_on_nodes(self, number):
        """How many devices one request could take, by NUMA node: a Counter.

        number: of the request.  None is no known node.
        """
        found = collections.Counter()
        for place, may_take in self._found[self._wants[number].kind].items():
            if may_take:
                pool = self._pools[place]
                found[pool['numa_node']] += pool['count']
        return found

    @functools.cached_property
    def _has_all_kinds(self):
        """Whether each request alone would find a pool."""
        return all(any(found.values()) for found in self._found.values())

    def _serve(self, mapping, cells):
        """As ``taken``, with the pools left as {place: devices}."""
        counts = {place: pool['count']
                  for place, pool in enumerate(self._pools)}
        given = self._demand.providers(mapping)
        for number, want in enumerate(self._wants):
            if not self._take(counts, want, given[number], cells):
                return counts, number
        return counts, len(self._wants)

    def _take(self, counts, want, given, cells):
        """Take the devices of one request; whether there are enough.

        Pools with nothing left go, but for empty ones that are not reached.
        """
        found = self._found[want.kind]
        places = [place for place in found if place in counts]
        if cells is not None:
            places = self._near(places, counts, want, cells)
        places = [place for place in places if found[place]]
        if given:
            places = [place for place in places
                      if 0 < self._given_by(place, given) <= counts[place]]
        if not places or _total(counts, places) < want.count:
            return False
        if given:
            return self._take_given(counts, places, given)
        _take_in_order(counts, places, want.count)
        return True

    def _near(self, places, counts, want, cells):
        """The pools whose devices may serve a guest on some host cells."""
        inside = self._on(places, cells.chosen)
        if want.policy == 'required' or (
                _total(counts, inside) >= want.count):
            return inside
        if want.policy == 'socket':
            return self._on(places, cells.same_socket)
        # Of devices at no known node it is not known that they are far away.
        nodes = cells.chosen | {None}
        near = self._on(places, nodes)
        if want.policy == 'legacy' or _total(counts, near) >= want.count:
            return near
        return near + [place for place in places
                       if self._pools[place]['numa_node'] not in nodes]

    def _on(self, places, nodes):
        return [place for place in places
                if self._pools[place]['numa_node'] in nodes]

    def _given_by(self, place, given):
        """How many devices Placement takes of a pool's provider."""
        return given.count(self._pools[place].get('rp_uuid'))

    def _take_given(self, counts, places, given):
        """Take what Placement says; whether that is not ambiguous."""
        for uuid, shared in self._ambiguous.items():
            if sum(place in counts for place in shared) > 1:
                _warn_ambiguous(uuid)
                return False
        for place in places:
            _take_some(counts, place, self._given_by(place, given))
        return True

    @functools.cached_property
    def _ambiguous(self):
        """Providers that several pools are of: {uuid: their places}."""
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
