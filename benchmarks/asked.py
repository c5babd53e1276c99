"""What a request of a workload asks for, and what it is answered."""

import dataclasses

#: A policy of the requests that Nova's server groups do not know.
FAULT_DOMAIN = 'fault_domain'


@dataclasses.dataclass(frozen=True)
class Asked:
    """One request; the sizes are those of one instance.

    memory_mb in MiB, root_gb in GiB.  count: instances.
    policy: of its server group, or FAULT_DOMAIN; None without a group.
    group: any value, the same for all members.  domain: fault domain.
    outcome: what it must come to: placed, refused or either.
    reason: what the text of a refusal must have in it.
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
    """What came of a request.

    hosts: names, one an instance; () of a refusal, which has a ``reason``.
    ms: milliseconds of select_destinations.  cpu_ms: those that the process
        had a core.  look_up_ms: those in which it read where instances run.
    """

    asked: Asked
    hosts: tuple
    reason: str
    ms: float = 0.0
    cpu_ms: float = 0.0
    look_up_ms: float = 0.0
