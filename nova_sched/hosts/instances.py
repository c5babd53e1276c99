"""The hosts of instances, read on demand for one request.

Most requests need no instances.  A server group or a same-host hint needs the
hosts of a few instances by uuid; some plug-ins need all instances on a host.
Each is read by one statement at the first access, and cached during the
request.
"""

import copy
import dataclasses
import functools
import itertools

from nova_sched import objects
from nova_sched.hosts import instance_details

#: Scheduler hints that name instances.
HINTS = ('different_host', 'same_host')


def named(spec_obj):
    """Return the uuids of instances in the hints of a RequestSpec: list."""
    return [uuid for hint in HINTS for uuid in hinted(spec_obj, hint)]


def hinted(spec_obj, hint):
    """Return the uuids of instances in one hint of a RequestSpec: list."""
    uuids = spec_obj.get_scheduler_hint(hint)
    return [uuid for uuid in (uuids if isinstance(uuids, list) else [uuids])
            if isinstance(uuid, str)]


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """An instance that the request itself has placed on a host."""

    uuid: str
    host: str
    flavor: object = None

    def instance(self):
        """Return the instance for rules: an Instance with host and flavor."""
        return objects.Instance.on_host({
            'uuid': self.uuid, 'host': self.host, 'flavor': self.flavor})


class Instances:
    """The hosts of instances: from the database, and picks not yet there.

    locate: function of a list of uuids that returns {uuid: host name}.
    on_hosts: function that returns the instances on all hosts as dicts with
        at least uuid and host.  With column names as arguments, it returns the
        distinct values of these columns.
    images: function of a list of host names and a tuple of names of image
        properties, see ``HostReader.image_properties``; by default there are
        no image properties.
    details: function of the name of a column, see
        ``HostReader.instance_details``; by default there are no details.
    unseen: names of hosts with instances that rules do not see.
    in_flight: function that returns the picks of other requests: {uuid: object
        with ``host`` and, as Placed, ``instance()``}.

    cells: uuids of the cells that have the request's hosts; they must respond.
    own: keys of the request's own ledger entries.
    pending: result of ``in_flight`` at the first access, or a later result;
        None before.
    """

    def __init__(self, locate, on_hosts,
                 images=lambda hosts, names: (), details=lambda name: {},
                 unseen=frozenset(), in_flight=dict):
        self.cells, self.own, self.pending = frozenset(), frozenset(), None
        self._in_flight = in_flight
        self._locate, self._on_hosts = locate, on_hosts
        self._images, self._described = images, {}
        self._placed, self._unseen = {}, unseen
        self._unreported_hosts = None
        self._located, self._requested = {}, set()
        self._by_host, self._objects = None, {}
        self._read_details = details
        self._values = {}

    @functools.cached_property
    def _details(self):
        return instance_details.InstanceDetails(self._read_details)

    def copy(self):
        """Return a copy with its own picks, which shares the cached reads."""
        twin = copy.copy(self)
        twin._placed, twin._unreported_hosts = dict(self._placed), None
        return twin

    def located(self, uuids, placed=True):
        """Return the hosts of instances that rules see: {uuid: host name}.

        placed: whether to include picks that the database may not show.
        """
        hosts = self.running(uuids, placed)
        if not self._unseen:
            return hosts
        return {uuid: host for uuid, host in hosts.items()
                if host not in self._unseen}

    def running(self, uuids, placed=True):
        """Return the hosts of instances that are on a host: {uuid: host name}.

        placed: whether to include picks that the database may not show.
        """
        if not uuids:
            return {}
        # Before the database is read, see _unreported.
        unreported = self._unreported() if placed else {}
        # Fast for groups of thousands, which are requested repeatedly.
        known = self._located
        if placed:
            self._requested.update(uuids)
        unknown = [uuid for uuid
                   in itertools.filterfalse(known.__contains__, uuids)
                   if uuid not in unreported]
        if unknown:
            known |= dict.fromkeys(unknown) | self._locate(unknown)
        hosts = {uuid: host for uuid, host
                 in zip(uuids, map(known.get, uuids), strict=True) if host}
        if unreported:
            hosts |= {uuid: unreported[uuid].host
                      for uuid in unreported.keys() & {*uuids}}
        return hosts

    def on_host(self, host):
        """Return the instances on a host: new dict {uuid: Instance}."""
        # Before the database is read, see _unreported.
        unreported = self._unreported_by_host()
        if host not in self._objects:
            if self._by_host is None:
                self.cache_all(self._on_hosts())
            self._objects[host] = {
                row['uuid']: objects.Instance.on_host(row, self._details)
                for row in self._by_host.get(host, ())}
        return self._objects[host] | unreported.get(host, {})

    def detail(self, uuid, name):
        """Return a detail of an instance on a host, or None.

        See instance_details.InstanceDetails.of.
        """
        return self._details.of(uuid, name)

    def each(self, name):
        """Return the values of an instances' column: {host: set of values}.

        The values must be hashable.
        """
        # Before the database is read, see _unreported.
        unreported = self._unreported_by_host()
        if name not in self._values:
            self.cache_each(name)
        by_host = dict(self._values[name])
        for host, instances in unreported.items():
            values = {getattr(instance, name) for instance
                      in instances.values()
                      if instance.obj_attr_is_set(name)}
            if values:
                by_host[host] = by_host.get(host, set()) | values
        return by_host

    def image_properties(self, hosts, names):
        """Return stored image properties of instances: {host: list of tuple}.

        hosts: list of host names.  names: tuple of property names; a * at the
            end matches all names with this prefix.
        Each tuple has the (name, text) pairs of one instance, sorted.
        Instances without properties, and picks, are left out.
        """
        known = self._described.setdefault(names, {})
        unknown = [host for host in hosts if host not in known]
        if unknown:
            by_host = {}
            seen = [host for host in unknown if host not in self._unseen]
            for host, uuid, name, text in self._images(seen, names):
                by_host.setdefault(host, {}).setdefault(uuid, {})[name] = text
            known |= dict.fromkeys(unknown, ()) | {
                host: [tuple(sorted(texts.items()))
                       for texts in described.values()]
                for host, described in by_host.items()}
        return {host: known[host] for host in hosts}

    def known(self):
        """Return the hosts of all requested instances: two dicts.

        Both are {uuid: host name}: of instances in the database, and of other
        requests' picks, which the database may not show yet.
        """
        return ({uuid: host for uuid, host in self._located.items() if host},
                {uuid: self.pending[uuid].host for uuid
                 in self._requested & (self.pending or {}).keys()})

    def is_known_to_run(self, uuid):
        """Return whether the database showed the instance on a host."""
        return bool(self._located.get(uuid))

    def cache_located(self, uuids, located):
        """Cache the hosts of instances.

        uuids: uuids of all instances that were looked up.
        located: {uuid: host name} of the instances that are on a host.
        """
        self._located |= dict.fromkeys(uuids) | located

    def cache_each(self, name):
        """Read one column of the instances on all hosts, for ``each``."""
        values = {}
        for row in self._on_hosts('host', name):
            if row['host'] not in self._unseen and name in row:
                values.setdefault(row['host'], set()).add(row[name])
        self._values[name] = values

    def cache_all(self, rows):
        """Cache the instances on all hosts, a result of ``on_hosts``."""
        by_host = {}
        for row in rows:
            if row['host'] not in self._unseen:
                by_host.setdefault(row['host'], []).append(row)
        self._by_host = by_host

    def place(self, uuid, host, flavor=None):
        """Count an instance as running on a host."""
        self._placed[uuid] = Placed(uuid, host, flavor)
        self._unreported_hosts = None

    def start_over(self, pending=None):
        """Forget the request's own picks, for a new view of the hosts.

        pending: the new ``pending``; None to keep the present value.
        """
        self._placed, self._unreported_hosts = {}, None
        if pending is not None:
            self.pending = pending

    def _unreported(self):
        """Return picks that the database may not show: {uuid: Placed}.

        Values have the attributes of Placed.  It must be called before the
        database is read: an instance that appears there in between is then in
        at least one of the two.
        """
        if self.pending is None:
            self.pending = self._in_flight()
        return self.pending | self._placed

    def _unreported_by_host(self):
        """Return the picks that rules see: {host: {uuid: Instance}}."""
        if self._unreported_hosts is None:
            by_host = self._unreported_hosts = {}
            for uuid, placed in self._unreported().items():
                if placed.host not in self._unseen:
                    by_host.setdefault(placed.host, {})[uuid] = (
                        placed.instance())
        return self._unreported_hosts
