"""One pick in flight, and what reads have shown of its instance."""

import dataclasses

from nova_sched import objects


@dataclasses.dataclass(frozen=True, slots=True)
class InFlight:
    """One pick.

    key: the instance's uuid; something else for one that has none.
    demand: RequestSpec with what an instance takes.
    numa_limits: NUMATopologyLimits that the filters left, or None.
    group: what its server group is known by, or None.
    at: when it was placed, seconds since the epoch.
    """

    key: object
    host: str
    nodename: str
    demand: object
    numa_limits: object
    group: str | None
    at: float

    @property
    def place(self):
        return self.host, self.nodename

    def instance(self):
        """What is known of its instance: objects.Instance."""
        flavor = self.demand.flavor
        return objects.Instance.on_host({
            'uuid': self.key, 'host': self.host, 'node': self.nodename,
            'instance_type_id': flavor.id, 'memory_mb': flavor.memory_mb,
            'vcpus': flavor.vcpus, 'root_gb': flavor.root_gb,
            'ephemeral_gb': flavor.ephemeral_gb, 'flavor': flavor})


#: In place of the host of an instance that was not looked for yet.
UNSEEN = object()


@dataclasses.dataclass(slots=True)
class Watched:
    """A pick, and what reads have shown of its instance.

    shown: when it was first seen on its host.  elsewhere: where else it was
    when it was first looked for, None for nowhere; UNSEEN before that.
    counts: whether the host lacks it yet.
    """

    pick: InFlight
    shown: float | None = None
    elsewhere: object = UNSEEN
    counts: bool = True

    def since(self):
        """By which those come first that hosts report first, most likely."""
        return self.shown is None, self.shown or 0.0, self.pick.at


def is_uuid(key):
    """Whether a database can be asked for it: not for what callers made up."""
    return (isinstance(key, str) and len(key) <= 36 and key.isascii()
            and key.isprintable())
