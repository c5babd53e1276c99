"""What a guest wants of hosts' PCI devices, prepared for many hosts.

Requests are read, and their specifications brought into the form that pools
are compared with, when a ``Demand`` is first held against a host: once a
request, not once a host.  Pools that are alike in all that the requests look
at are judged once, whatever tags they have besides.
"""

import dataclasses

#: Keys of a specification that are for Placement, not for matching.
_FOR_PLACEMENT = frozenset(('resource_class', 'traits', 'rp_uuids',
                            'rp_uuid'))
#: Tags of pools that are looked at without being asked for.
_SPECIAL = frozenset(('dev_type', 'live_migratable', 'remote_managed'))
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))


class Demand:
    """The PCI requests of one guest, in their order.

    requests: list of InstancePCIRequest, not to be changed meanwhile.
    """

    def __init__(self, requests):
        self._requests, self._wants, self._groups = requests, {}, {}
        # Placement knows nothing of the device of a Neutron port.
        self._names = tuple(
            request.request_id if request.alias_name is not None else None
            for request in requests)
        self._listed = tuple(map(_listed, requests))

    def wants(self, newer):
        """What hosts are asked for: ``Wants``.

        newer: whether their compute services are of after Queens.
        """
        if newer not in self._wants:
            self._wants[newer] = Wants(self._requests, newer)
        return self._wants[newer]

    def providers(self, mapping):
        """Which provider each device of each request is to come from.

        mapping: of the allocation candidate, request group -> provider uuids;
            or None.
        Returns a tuple of tuples of uuids, one for each request; empty ones
        where Placement does not say.  It is all of a mapping that matters.
        """
        if not mapping:
            return self._listed
        # Candidates differ in providers, hardly ever in groups.
        names = frozenset(mapping)
        if names not in self._groups:
            self._groups[names] = tuple(
                [group for group in mapping
                 if name and group.startswith(name)] for name in self._names)
        return tuple([
            tuple([mapping[group][0] for group in groups if mapping[group]])
            for groups in self._groups[names]])


def _listed(request):
    """The providers that a request itself names: tuple of uuids."""
    if request.alias_name is None or not request.spec:
        return ()
    text = request.spec[0].get('rp_uuids')
    return tuple(text.split(',')) if text else ()


@dataclasses.dataclass(frozen=True, slots=True)
class Want:
    """One request: so many devices of a kind.

    policy: how near to the guest's cells they are to be.
    """

    count: int
    policy: str
    kind: 'Kind'


class Wants:
    """What hosts of one era are asked for.

    each: tuple of Want, one a request.
    kinds: the Kinds of them, each once.
    """

    def __init__(self, requests, newer):
        ignored, kinds, each = _FOR_PLACEMENT if newer else (), {}, []
        for request in requests:
            specs = tuple(
                tuple((key, value) for key, value in spec.items()
                      if key not in ignored) for spec in request.spec)
            if specs not in kinds:
                kinds[specs] = Kind(tuple(map(dict, specs)), newer)
            each.append(Want(request.count, request.numa_policy or 'legacy',
                             kinds[specs]))
        self.each, self.kinds = tuple(each), tuple(kinds.values())
        self._newer, self._known = newer, {}
        self._keys = _SPECIAL.union(
            key for specs in kinds for spec in specs for key, _ in spec)

    def of(self, pool):
        """Which Kinds a pool is of: {kind: whether it may be taken from}.

        pool: a dict as of ``Pools.items``.
        """
        seen = tuple([item for item in pool.items() if item[0] in self._keys])
        if seen not in self._known:
            values = comparable(dict(seen), self._newer)
            self._known[seen] = {kind: kind.may_take(pool)
                                 for kind in self.kinds
                                 if kind.matches(values)}
        return self._known[seen]


class Kind:
    """Devices that match one of some specifications.

    specs: tuple of dicts, without what is for Placement.
    newer: whether hosts are of after Queens.
    """

    def __init__(self, specs, newer):
        self._conditions = [_conditions(spec, newer) for spec in specs]
        hidden = {'type-PF'} | ({'vdpa'} if newer else set())
        self._hidden = hidden - {spec.get('dev_type') for spec in specs}
        self._managed = any(map(_is_managed, specs))
        migratable = {spec.get('live_migratable') for spec in specs}
        self._migratable = (
            migratable if migratable in ({'true'}, {'false'}) else None)

    def matches(self, values):
        """Whether a pool has what one specification says.

        values: of the pool, as ``comparable`` gives them.
        """
        for wanted, missing in self._conditions:
            if wanted <= values.items() and missing.isdisjoint(values):
                return True
        return False

    def may_take(self, pool):
        """Whether the devices of a matching pool are not kept for others.

        Devices of special kinds are only for who asks for them: whole network
        cards, which are cut into virtual functions otherwise; vDPA devices;
        ports that a SmartNIC manages.  Live-migratable ones, or others, are
        if all specifications agree on it.
        """
        return (pool.get('dev_type') not in self._hidden
                and (self._managed or not _is_managed(pool))
                and (self._migratable is None
                     or pool.get('live_migratable') in self._migratable))


def comparable(item, newer):
    """A pool or specification as they are compared: without what is null.

    Capitals matter to Queens only.
    """
    return {key: value.lower() if newer and isinstance(value, str) else value
            for key, value in item.items() if value is not None}


def _conditions(spec, newer):
    """What a pool must have, as items, and keys that it must not have."""
    wanted = comparable(spec, newer)
    return wanted.items(), spec.keys() - wanted.keys()


def _is_managed(item):
    return str(item.get('remote_managed')).lower() in _TRUE
