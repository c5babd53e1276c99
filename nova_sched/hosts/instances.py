"""Where instances run, as far as one request asks.

Most requests never ask.  Those with a server group or a same-host hint ask
about a few instances by uuid; some plug-ins look at all instances of a host.
Either is answered by one statement, made when first asked and remembered for
the rest of the request.
"""

import dataclasses
import itertools

from nova_sched import objects
from nova_sched.hosts import kept

#: Scheduler hints that name instances.
HINTS = ('different_host', 'same_host')


def named(spec_obj):
    """The uuids of the instances that hints of a RequestSpec name: list."""
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
        """What rules know of it: where it is, and its flavor."""
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
    standing: function of such a dict of before: those in it that were not
        taken back since.

    cells: uuids of the cells whose hosts are decided on: they must answer.
    """

    def __init__(self, locate, on_hosts,
                 images=lambda hosts, names: (), details=lambda name: {},
                 unseen=frozenset(),
                 in_flight=dict, standing=dict):
        self.cells = frozenset()
        self._in_flight, self._standing = in_flight, standing
        self._moving = None
        self._locate, self._on_hosts = locate, on_hosts
        self._images, self._described = images, {}
        self._placed, self._unseen = {}, unseen
        self._unreported_hosts = None
        self._located = {}
        self._by_host, self._made = None, {}
        self._kept = kept.Kept(details)
        self._values = {}

    def located(self, uuids, placed=True):
        """{uuid: host name} of those of the instances that rules see.

        placed: whether those just placed count.
        """
        found = self.running(uuids, placed)
        if not self._unseen:
            return found
        return {uuid: host for uuid, host in found.items()
                if host not in self._unseen}

    def running(self, uuids, placed=True):
        """{uuid: host name} of those of the instances that are on a host."""
        if not uuids:
            return {}
        # First, so that what shows in the database meanwhile is in either.
        unreported = self._unreported() if placed else {}
        # A group of thousands is asked for again for each instance.
        known = self._located
        unknown = [*itertools.filterfalse(known.__contains__, uuids)]
        if unknown:
            known |= dict.fromkeys(unknown) | self._locate(unknown)
        found = {uuid: host for uuid, host
                 in zip(uuids, map(known.__getitem__, uuids), strict=True)
                 if host}
        if unreported:
            found |= {uuid: unreported[uuid].host
                      for uuid in unreported.keys() & {*uuids}}
        return found

    def on_host(self, host):
        """{uuid: objects.Instance} of the instances on a host, a new dict.
        """
        unreported = self._unreported_by_host()
        return self._reported(host) | unreported.get(host, {})

    def _reported(self, host):
        """Those that were read; their objects are made once."""
        if host not in self._made:
            self._made[host] = {
                row['uuid']: objects.Instance.on_host(row, self._kept)
                for row in self._listed().get(host, ())}
        return self._made[host]

    def each(self, name):
        """{host: set of values} of one column of the instances on each host.

        The values must be hashable.
        """
        unreported = self._unreported_by_host()
        if name not in self._values:
            self._values[name] = self._read_each(name)
        found = dict(self._values[name])
        for host, instances in unreported.items():
            values = {getattr(instance, name) for instance
                      in instances.values()
                      if instance.obj_attr_is_set(name)}
            if values:
                found[host] = found.get(host, set()) | values
        return found

    def _read_each(self, name):
        values = {}
        for row in self._on_hosts('host', name):
            if row['host'] not in self._unseen and name in row:
                values.setdefault(row['host'], set()).add(row[name])
        return values

    def _listed(self):
        """{host: list of rows} of the instances on all hosts, read once."""
        if self._by_host is None:
            by_host = {}
            for row in self._on_hosts():
                if row['host'] not in self._unseen:
                    by_host.setdefault(row['host'], []).append(row)
            self._by_host = by_host
        return self._by_host

    def image_properties(self, hosts, names):
        """Stored image properties: {host: [instance's properties, ...]}.

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

    def look_up(self, spec_obj, own=()):
        """Read now where the instances are that a RequestSpec names.

        own: uuids of the instances that it is for: in a group they are
            members, too, and may be somewhere already.
        """
        group = spec_obj.instance_group
        members = [*(group.members or ()), *own] if group is not None else ()
        self.running([*named(spec_obj), *members])

    def list_all(self):
        """Read now which instances are on each host."""
        # First, as in ``running``.
        self._unreported()
        self._listed()

    def place(self, uuid, host, flavor=None):
        """From now on the instance counts as running on the host."""
        self._placed[uuid] = Placed(uuid, host, flavor)
        self._unreported_hosts = None

    def start_over(self):
        """Have nothing placed by this request, and all that others placed.

        Called when the request is about to be decided, perhaps once more.
        """
        self._placed = {}
        self.catch_up()

    def catch_up(self):
        """Have all that others placed meanwhile."""
        self._unreported_hosts = None
        if self._moving is not None:
            # What is in flight no longer may show in the database by now,
            # which was read before.
            self._moving = (self._standing(self._moving)
                            | self._in_flight())

    def _unreported(self):
        """{uuid: Placed or alike} of what the database may not show yet."""
        if self._moving is None:
            self._moving = self._in_flight()
        return self._moving | self._placed

    def _unreported_by_host(self):
        """{host: {uuid: instance}} of these, as far as rules see them."""
        if self._unreported_hosts is None:
            by_host = self._unreported_hosts = {}
            for uuid, placed in self._unreported().items():
                if placed.host not in self._unseen:
                    by_host.setdefault(placed.host, {})[uuid] = (
                        placed.instance())
        return self._unreported_hosts
