"""Taking the PCI devices a request asks for out of a host's pools.

For each request in turn (``_serve``), from the pools that are left:

1. Pools that match one of its specifications (``_matching``).
2. If it is known on which host cells the guest would run: pools near enough
   to them for the request's NUMA policy (``_near``).
3. Devices of special kinds only if asked for (``_ordinary``).
4. If Placement says which providers the devices come from: those
   (``_provided``).
5. Live-migratable ones, or others, if all specifications agree on it
   (``_migratable``).
6. The devices are taken from these pools, in their order (``_taken``).

The steps before the last only leave out pools.

Pools as Queens' compute services report them are matched as Queens does it:
every key of a specification counts, capitals matter and vDPA devices are not
special.
"""

import collections
import dataclasses
import functools

from oslo_log import log as logging

from nova_sched.hardware.pci.pools import count

LOG = logging.getLogger(__name__)

#: Keys of a specification that are for Placement, not for matching.
_FOR_PLACEMENT = frozenset(('resource_class', 'traits', 'rp_uuids',
                            'rp_uuid'))
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))


@dataclasses.dataclass(frozen=True)
class Cells:
    """Where on a host a guest would run.

    chosen: ids of the host cells.
    sockets: id of each cell that the host has -> its socket, or None.
    """

    chosen: frozenset
    sockets: dict

    def same_socket(self):
        """Ids of the cells in the sockets of the chosen ones: a set.

        Empty if the socket of any of the host's cells is not known.
        """
        if None in self.sockets.values():
            return set()
        wanted = {self.sockets.get(cell) for cell in self.chosen}
        return {cell for cell, socket in self.sockets.items()
                if socket in wanted}


def apply(pools, requests, mapping=None, cells=None):
    """The pools left after all requests: ``Pools``, or None if too few.

    pools: Pools.  requests: list of InstancePCIRequest.
    mapping: of the allocation candidate, request group -> provider uuids; or
        None.
    cells: Cells, or None if NUMA does not matter.
    """
    left = _left(pools, requests, mapping, cells)
    return None if left is None else pools.with_pools(left)


def fits(pools, requests, mapping=None, cells=None):
    """Whether there are enough devices.  Arguments as of ``apply``."""
    return _left(pools, requests, mapping, cells) is not None


def _left(pools, requests, mapping, cells):
    left = pools.items
    for request, given in zip(requests, providers(requests, mapping),
                              strict=True):
        left = _serve(left, request, given, cells, pools.is_newer)
        if left is None:
            return None
    return left


def providers(requests, mapping):
    """Which provider each device of each request is to come from.

    Returns a tuple of tuples of uuids, one for each request; empty ones where
    Placement does not say.  It is all of a mapping that ``apply`` looks at.
    """
    return tuple(tuple(_providers(request, mapping)) for request in requests)


def _providers(request, mapping):
    if request.alias_name is None:
        # A Neutron port: Placement knows nothing of its device.
        return []
    if mapping:
        name = request.request_id
        return [uuids[0] for group, uuids in mapping.items()
                if name and group.startswith(name) and uuids]
    text = request.spec[0].get('rp_uuids') if request.spec else None
    return text.split(',') if text else []


def free_for(pools, request):
    """How many devices of a host one request could take, wherever they are.

    Arguments as of ``apply``.
    """
    return free_on_nodes(pools, request).total()


def free_on_nodes(pools, request):
    """The same by NUMA node: a Counter; None is no known node."""
    found = collections.Counter()
    for pool in _ordinary(_matching(pools.items, request, pools.is_newer),
                          request, pools.is_newer):
        found[pool['numa_node']] += pool['count']
    return found


def _serve(left, request, given, cells, newer):
    """The pools left after one request: list of dicts, or None."""
    pools = _matching(left, request, newer)
    if count(pools) < request.count:
        # Most hosts have no such devices.
        return None
    pools = _near(pools, request, cells)
    pools = _ordinary(pools, request, newer)
    pools = _provided(pools, given)
    pools = _migratable(pools, request)
    if not pools or count(pools) < request.count:
        return None
    return _taken(left, pools, request.count, given)


def _matching(pools, request, newer):
    ignored = _FOR_PLACEMENT if newer else ()
    specs = [{key: _comparable(value, newer) for key, value in spec.items()
              if key not in ignored} for spec in request.spec]
    return [pool for pool in pools if any(
        all(_comparable(pool.get(key), newer) == value
            for key, value in spec.items()) for spec in specs)]


def _comparable(value, newer):
    return value.lower() if newer and isinstance(value, str) else value


def _near(pools, request, cells):
    """The pools whose devices may serve a guest on some host cells."""
    if cells is None:
        return pools
    policy = request.numa_policy or 'legacy'
    inside = _on(pools, cells.chosen)
    if policy == 'required' or count(inside) >= request.count:
        return inside
    if policy == 'socket':
        return _on(pools, cells.same_socket())
    # Of devices at no known node it is not known that they are far away.
    near = _on(pools, cells.chosen | {None})
    if policy == 'legacy' or count(near) >= request.count:
        return near
    return near + [pool for pool in pools if pool not in near]


def _on(pools, nodes):
    return [pool for pool in pools if pool['numa_node'] in nodes]


def _ordinary(pools, request, newer):
    """Without devices of a special kind that is not asked for.

    Whole network cards, which are cut into virtual functions otherwise; vDPA
    devices; ports that a SmartNIC manages.
    """
    kinds = {spec.get('dev_type') for spec in request.spec}
    hidden = {'type-PF'} | ({'vdpa'} if newer else set())
    pools = [pool for pool in pools
             if pool.get('dev_type') not in hidden - kinds]
    if any(_is_managed(spec) for spec in request.spec):
        return pools
    return [pool for pool in pools if not _is_managed(pool)]


def _is_managed(item):
    return str(item.get('remote_managed')).lower() in _TRUE


def _provided(pools, given):
    if not given:
        return pools
    wanted = collections.Counter(given)
    return [pool for pool in pools
            if 0 < wanted[pool.get('rp_uuid')] <= pool['count']]


def _migratable(pools, request):
    wanted = {spec.get('live_migratable') for spec in request.spec}
    if wanted not in ({'true'}, {'false'}):
        return pools
    return [pool for pool in pools if pool.get('live_migratable') in wanted]


def _taken(left, pools, needed, given):
    """What is left when the devices are taken from these of the pools."""
    numbers = (_by_provider(left, pools, given) if given
               else _in_order(pools, needed))
    if numbers is None:
        return None
    # Pools with nothing left go, but for empty ones that were not reached.
    return [{**pool, 'count': pool['count'] - numbers.get(id(pool), 0)}
            for pool in left if numbers.get(id(pool)) != pool['count']]


def _in_order(pools, needed):
    """How many devices to take of each pool: {id of pool: number}."""
    numbers = {}
    for pool in pools:
        numbers[id(pool)] = min(pool['count'], needed)
        needed -= numbers[id(pool)]
        if not needed:
            break
    return numbers


def _by_provider(left, pools, given):
    """The same when Placement says how many; None if it is ambiguous."""
    pools_of = collections.Counter(pool.get('rp_uuid') for pool in left)
    for uuid, number in pools_of.items():
        if uuid and number > 1:
            _warn_ambiguous(uuid)
            return None
    wanted = collections.Counter(given)
    return {id(pool): wanted[pool['rp_uuid']] for pool in pools}


@functools.lru_cache(maxsize=256)
def _warn_ambiguous(uuid):
    LOG.warning('The PCI devices of resource provider %s are in several '
                'pools of their host, so they cannot be used', uuid)
