"""The PCI requests of a guest, prepared for matching with many hosts.

Specifications are normalized once a request, not once a host.  Pools that are
equal in the keys which the requests read are matched once.
"""

import dataclasses

#: Keys of a specification that are for Placement, not for matching.
_FOR_PLACEMENT = frozenset(('resource_class', 'traits', 'rp_uuids',
                            'rp_uuid'))
#: Tags of pools that are always read.
_SPECIAL = frozenset(('dev_type', 'live_migratable', 'remote_managed'))
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))


class DeviceRequests:
    """The PCI requests of one guest, in their order.

    requests: list of InstancePCIRequest; must not be changed.
    """

    def __init__(self, requests):
        self._requests, self._by_release, self._groups = requests, {}, {}
        # Placement does not track the devices of Neutron ports.
        self._names = tuple(
            request.request_id if request.alias_name is not None else None
            for request in requests)
        self._listed = tuple(map(_listed, requests))

    def for_release(self, newer):
        """Return the ReleaseRequests for hosts of one era.

        newer: whether their compute services are newer than Queens.
        """
        if newer not in self._by_release:
            self._by_release[newer] = ReleaseRequests(self._requests, newer)
        return self._by_release[newer]

    def providers(self, mapping):
        """Return the provider of each device of each request.

        mapping: of the allocation candidate, request group -> provider uuids;
            or None.
        Returns a tuple with a tuple of uuids for each request, empty if
        Placement selects no providers for it.
        """
        if not mapping:
            return self._listed
        # Candidates of a request have the same groups.
        names = frozenset(mapping)
        if names not in self._groups:
            self._groups[names] = tuple(
                [group for group in mapping
                 if name and group.startswith(name)] for name in self._names)
        return tuple([
            tuple([mapping[group][0] for group in groups if mapping[group]])
            for groups in self._groups[names]])


def _listed(request):
    """Return the providers named in a request: tuple of uuids."""
    if request.alias_name is None or not request.spec:
        return ()
    text = request.spec[0].get('rp_uuids')
    return tuple(text.split(',')) if text else ()


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceRequest:
    """One request: ``count`` devices of a kind.

    policy: the NUMA affinity policy.
    """

    count: int
    policy: str
    kind: 'DeviceKind'


class ReleaseRequests:
    """The requests in the form for hosts of one era.

    requests: tuple of DeviceRequest, one for each InstancePCIRequest.
    kinds: their distinct DeviceKinds.
    """

    def __init__(self, requests, newer):
        ignored, kinds, made = _FOR_PLACEMENT if newer else (), {}, []
        for request in requests:
            specs = tuple(
                tuple((key, value) for key, value in spec.items()
                      if key not in ignored) for spec in request.spec)
            if specs not in kinds:
                kinds[specs] = DeviceKind(tuple(map(dict, specs)), newer)
            made.append(DeviceRequest(
                request.count, request.numa_policy or 'legacy', kinds[specs]))
        self.requests, self.kinds = tuple(made), tuple(kinds.values())
        self._newer, self._known = newer, {}
        self._keys = _SPECIAL.union(
            key for specs in kinds for spec in specs for key, _ in spec)

    def kinds_of(self, pool):
        """Return the kinds that a pool matches: {kind: whether takable}.

        pool: an item of ``Pools.items``.
        """
        seen = tuple([item for item in pool.items() if item[0] in self._keys])
        if seen not in self._known:
            values = comparable(dict(seen), self._newer)
            self._known[seen] = {kind: kind.may_take(pool)
                                 for kind in self.kinds
                                 if kind.matches(values)}
        return self._known[seen]


class DeviceKind:
    """Devices that match at least one of several specifications.

    specs: tuple of dicts, without the keys for Placement.
    newer: whether hosts are newer than Queens.
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
        """Return whether a pool matches one of the specifications.

        values: of the pool, as ``comparable`` returns them.
        """
        for required, forbidden in self._conditions:
            if required <= values.items() and forbidden.isdisjoint(values):
                return True
        return False

    def may_take(self, pool):
        """Return whether a request may take devices of a matching pool.

        Special devices must be requested: physical functions, vDPA devices,
        ports managed by a SmartNIC.  If all specifications agree on
        ``live_migratable``, the devices must agree, too.
        """
        return (pool.get('dev_type') not in self._hidden
                and (self._managed or not _is_managed(pool))
                and (self._migratable is None
                     or pool.get('live_migratable') in self._migratable))


def comparable(item, newer):
    """Return a pool or specification in the compared form, without nulls.

    Only Queens compares case-sensitively.
    """
    return {key: value.lower() if newer and isinstance(value, str) else value
            for key, value in item.items() if value is not None}


def _conditions(spec, newer):
    """Return the required items and the forbidden keys of a pool."""
    required = comparable(spec, newer)
    return required.items(), spec.keys() - required.keys()


def _is_managed(item):
    return str(item.get('remote_managed')).lower() in _TRUE
