"""Where instances run, as far as one request asks.

Most requests never ask.  Those with a server group or a same-host hint ask
about a few instances by uuid; some plug-ins look at all instances of a host.
Either is answered by one statement, made when first asked and remembered for
the rest of the request.
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
    """Return the uuids of the instances that hints of a RequestSpec name:
    list.
    """
    found = []
    for hint in HINTS:
        uuids = spec_obj.get_scheduler_hint(hint)
        found += uuids if isinstance(uuids, list) else [uuids]
    return [uuid for uuid in found if isinstance(uuid, str)]


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """An instance that a request has placed itself, on a host."""

    uuid: str
    host: str
    flavor: object = None

    def instance(self):
        """Return what rules know of it: where it is, and its flavor."""
        return objects.Instance.on_host({
            'uuid': self.uuid, 'host': self.host, 'flavor': self.flavor})


class Instances:
    """Locations of instances: the database, and what it does not show yet.

    locate: function of a list of uuids, returns {uuid: host name}.
    on_hosts: function that returns the instances of all hosts as dicts with
        at least uuid and host; of names of their columns, which distinct
        values of these there are.
    images: function of a list of host names and a tuple of names of image
        properties, returns what ``HostReader.image_properties`` does; by
        default nothing is known of images.
    details: function of the name of a column, or of metadata, returns what
        ``HostReader.instance_details`` does; by default nothing is kept.
    unseen: names of hosts of whose instances rules see none.
    in_flight: function that returns what other requests have placed, {uuid:
        object with ``host`` and, like Placed, ``instance()``}.

    cells: uuids of the cells whose hosts are decided on: they must answer.
    own: keys of the request's own placements in flight.
    pending: what ``in_flight`` returned when it was first needed, or what
        has been set since; None before.
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
        self._located, self._asked = {}, set()
        self._by_host, self._made = None, {}
        self._read_details = details
        self._values = {}

    @functools.cached_property
    def _kept(self):
        return instance_details.InstanceDetails(self._read_details)

    def copy(self):
        """Return the same with placements of its own from now on.

        What is read is known to both.
        """
        twin = copy.copy(self)
        twin._placed, twin._unreported_hosts = dict(self._placed), None
        return twin

    def located(self, uuids, placed=True):
        """Return {uuid: host name} of those of the instances that rules see.

        placed: whether those just placed count.
        """
        found = self.running(uuids, placed)
        if not self._unseen:
            return found
        return {uuid: host for uuid, host in found.items()
                if host not in self._unseen}

    def running(self, uuids, placed=True):
        """Return {uuid: host name} of those of the instances that are on a
        host.
        """
        if not uuids:
            return {}
        # First, so that what shows in the database meanwhile is in either.
        unreported = self._unreported() if placed else {}
        # A group of thousands is asked for again for each instance.
        known = self._located
        if placed:
            self._asked.update(uuids)
        unknown = [uuid for uuid
                   in itertools.filterfalse(known.__contains__, uuids)
                   if uuid not in unreported]
        if unknown:
            known |= dict.fromkeys(unknown) | self._locate(unknown)
        found = {uuid: host for uuid, host
                 in zip(uuids, map(known.get, uuids), strict=True) if host}
        if unreported:
            found |= {uuid: unreported[uuid].host
                      for uuid in unreported.keys() & {*uuids}}
        return found

    def on_host(self, host):
        """Return {uuid: objects.Instance} of the instances on a host, a new
        dict.
        """
        unreported = self._unreported_by_host()
        return self._reported(host) | unreported.get(host, {})

    def detail(self, uuid, name):
        """Return a detail of an instance that is on a host, as
        instance_details.InstanceDetails.of does; None without.
        """
        return self._kept.of(uuid, name)

    def _reported(self, host):
        """Return those that were read; their objects are made once."""
        if host not in self._made:
            self._made[host] = {
                row['uuid']: objects.Instance.on_host(row, self._kept)
                for row in self._listed().get(host, ())}
        return self._made[host]

    def each(self, name):
        """Return {host: set of values} of one column of the instances on each
        host.

        The values must be hashable.
        """
        unreported = self._unreported_by_host()
        if name not in self._values:
            self.know_each(name)
        found = dict(self._values[name])
        for host, instances in unreported.items():
            values = {getattr(instance, name) for instance
                      in instances.values()
                      if instance.obj_attr_is_set(name)}
            if values:
                found[host] = found.get(host, set()) | values
        return found

    def _listed(self):
        """Return {host: list of rows} of the instances on all hosts, read
        once.
        """
        if self._by_host is None:
            self._by_host = self._seen_by_host(self._on_hosts())
        return self._by_host

    def _seen_by_host(self, rows):
        by_host = {}
        for row in rows:
            if row['host'] not in self._unseen:
                by_host.setdefault(row['host'], []).append(row)
        return by_host

    def image_properties(self, hosts, names):
        """Return stored image properties: {host: [instance's properties,
        ...]}.

        hosts: list of host names.  names: tuple, in which a name that ends
        in * stands for all that begin so.
        An instance's are a tuple of (name, text), sorted; instances without
        any, and those just placed, are left out.
        """
        known = self._described.setdefault(names, {})
        unknown = [host for host in hosts if host not in known]
        if unknown:
            found = {}
            seen = [host for host in unknown if host not in self._unseen]
            for host, uuid, name, text in self._images(seen, names):
                found.setdefault(host, {}).setdefault(uuid, {})[name] = text
            known |= dict.fromkeys(unknown, ()) | {
                host: [tuple(sorted(texts.items()))
                       for texts in described.values()]
                for host, described in found.items()}
        return {host: known[host] for host in hosts}

    def known(self):
        """Return where those instances are that were asked for: two dicts.

        uuid -> host name: of those that run, and of those that others have
        placed, which the database may not show yet.
        """
        return ({uuid: host for uuid, host in self._located.items() if host},
                {uuid: self.pending[uuid].host for uuid
                 in self._asked & (self.pending or {}).keys()})

    def is_known_to_run(self, uuid):
        """Return whether the database has told on which host it is."""
        return bool(self._located.get(uuid))

    def know_located(self, uuids, located):
        """Take where instances run, for rules to find it known.

        uuids: of the instances that were looked for.
        located: {uuid: host name} of those that are on a host.
        """
        self._located |= dict.fromkeys(uuids) | located

    def know_each(self, name):
        """Read one column of the instances on all hosts, see ``each``."""
        values = {}
        for row in self._on_hosts('host', name):
            if row['host'] not in self._unseen and name in row:
                values.setdefault(row['host'], set()).add(row[name])
        self._values[name] = values

    def know_all(self, rows):
        """Take the instances on all hosts, as ``on_hosts`` returns them."""
        self._by_host = self._seen_by_host(rows)

    def place(self, uuid, host, flavor=None):
        """Count the instance as running on the host from now on."""
        self._placed[uuid] = Placed(uuid, host, flavor)
        self._unreported_hosts = None

    def start_over(self, pending=None):
        """Forget what this request placed on an earlier view of the hosts.

        pending: the new ``pending``; None where it was never needed.
        """
        self._placed, self._unreported_hosts = {}, None
        if pending is not None:
            self.pending = pending

    def note_pending(self):
        """Get the picks of other requests, if they are not known yet.

        Called before the database is read, so that an instance which appears
        in between is in one of the two.
        """
        if self.pending is None:
            self.pending = self._in_flight()

    def _unreported(self):
        """Return picks that the database may not show: {uuid: Placed}.

        Values have the attributes of Placed.
        """
        self.note_pending()
        return self.pending | self._placed

    def _unreported_by_host(self):
        """Return {host: {uuid: instance}} of these, as far as rules see them.
        """
        if self._unreported_hosts is None:
            by_host = self._unreported_hosts = {}
            for uuid, placed in self._unreported().items():
                if placed.host not in self._unseen:
                    by_host.setdefault(placed.host, {})[uuid] = (
                        placed.instance())
        return self._unreported_hosts
