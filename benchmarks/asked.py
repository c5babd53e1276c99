"""A request of a workload, and its answer."""

import dataclasses

#: A policy of requests; Nova's server groups have no such policy.
FAULT_DOMAIN = 'fault_domain'


@dataclasses.dataclass(frozen=True)
class Asked:
    """One request; the sizes are per instance.

    memory_mb in MiB, root_gb in GiB.  count: number of instances.
    policy: policy of its server group, or FAULT_DOMAIN; None without a group.
    group: any value, the same for all members.  domain: fault domain.
    outcome: the result it must have: placed, refused or either.
    reason: part of the text of a refusal.
    """

    number: int
    project: str
    vcpus: int = 1
    memory_mb: int = 16
    root_gb: int = 0
    numa_nodes: int = 0
    count: int = 1
    policy: str | None = None
    group: object = None
    domain: str | None = None
    zone: str | None = None
    extra_specs: dict = dataclasses.field(default_factory=dict)
    properties: dict = dataclasses.field(default_factory=dict)
    outcome: str = 'placed'
    reason: str = ''


@dataclasses.dataclass(frozen=True)
class Answer:
    """The result of a request.

    hosts: a name per instance; () for a refusal, which has a ``reason``.
    ms: milliseconds of select_destinations.  cpu_ms: processor time of the
        process.  look_up_ms: time to look up the hosts of instances.
    """

    asked: Asked
    hosts: tuple
    reason: str
    ms: float = 0.0
    cpu_ms: float = 0.0
    look_up_ms: float = 0.0
