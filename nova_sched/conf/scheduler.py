"""[scheduler]: the driver, the process and the queries to Placement."""

from oslo_config import cfg

from nova_sched.conf import types

GROUP = 'scheduler'
HELP = 'The scheduler driver, its process, and its queries to Placement.'

OPTS = [
    cfg.StrOpt(
        'driver', default='filter_scheduler', help="""
How hosts are chosen.

* filter_scheduler: the enabled filters and weighers, on state that is read
  from the database after each request arrives. The right choice in nearly
  all clouds.
* caching_scheduler: the same, on state that is refreshed every
  periodic_task_interval seconds. For bursts of requests on many hosts if the
  database limits the throughput; decisions may be a refresh behind.
* chance_scheduler: any host that is up, at random. For tests.

Other names are looked up among the entry points nova_sched.scheduler.driver;
a dotted class path and Nova's own class paths work too.
"""),
    cfg.StrOpt(
        'host_manager', default='host_manager', help="""
The class that keeps the state of the hosts.

* host_manager: every compute node is a host that instances share.
* ironic_host_manager: compute nodes of the hypervisor type ironic are whole
  machines, each taken by one instance. For clouds whose flavors request a
  node's CPUs, memory and disk rather than its resource class. Nova removed it
  in 18.0.0 (Rocky).

Other names are looked up among the entry points
nova_sched.scheduler.host_manager; a dotted class path and Nova's own class
paths work too.
"""),
    cfg.IntOpt(
        'periodic_task_interval', default=60, help="""
Seconds between two runs of the driver's periodic tasks. With the caching
driver this is the maximum age of its state: lower it if decisions fail because
hosts have filled up since the last read, raise it if the reads are too heavy
for the database. Zero means every 60 seconds; a negative value means never.
"""),
    types.at_least(1, 'max_attempts', 3, """
How many hosts may be tried for one instance. A request with alternates gets up
to max_attempts - 1 alternates. Raise it if builds often fail on their first
hosts for reasons that the scheduler cannot see; 1 turns retries off.
"""),
    cfg.IntOpt(
        'discover_hosts_in_cells_interval', default=-1, min=-1,
        help="""
Seconds between two searches for compute hosts without a host mapping, which
maps them to their cells. -1 never searches (map new hosts by command); 0
searches every 60 seconds. Turn it on if compute hosts are added automatically,
in all schedulers alike: the first scheduler by host name that is up and not
disabled searches. Needs [api_database]. A change requires a restart.
"""),
    types.at_least(1, 'max_placement_results', 1000, """
How many allocation candidates Placement may return. With more hosts than this,
requests see only some of the hosts: raise it, or let Placement return them in
random order. Lower it if the answers are too large to be quick.
"""),
    types.at_least(0, 'workers', None, """
Number of worker processes. Unset or 0: one per CPU with the filter driver, and
one with other drivers, whose state is not shared between workers. Lower it on
a machine that is shared with other services.
"""),
    cfg.BoolOpt(
        'limit_tenants_to_placement_aggregate', default=False,
        help="""
Request only hosts in the aggregates of the project from Placement: aggregates
with the project id as the value of a metadata key that starts with
filter_tenant_id. Replaces AggregateMultiTenancyIsolation for that direction.
Aggregates must be mirrored to Placement.
"""),
    cfg.BoolOpt(
        'placement_aggregate_required_for_tenants', default=False,
        help="""
With limit_tenants_to_placement_aggregate: whether a project for which there
is no such aggregate is refused (true) or may use every host (false).
"""),
    cfg.BoolOpt(
        'query_placement_for_availability_zone', default=False,
        help="""
With Placement, its query always has the requested availability zone, as in
Nova from 2023.2 on, also if this is off. AvailabilityZoneFilter judges a zone
that no aggregate names.
"""),
    cfg.BoolOpt(
        'query_placement_for_image_type_support', default=False,
        help="""
Request only hosts that support the image's disk format from Placement. Turn it
on if hosts differ in the formats that they can boot.
"""),
    cfg.BoolOpt(
        'enable_isolated_aggregate_filtering', default=False,
        help="""
Exclude aggregates whose metadata require traits (keys of the form trait:NAME
with the value required) that neither the flavor nor the image requires. It
reserves special hosts for special guests. Aggregates must be mirrored to
Placement.
"""),
    cfg.BoolOpt(
        'image_metadata_prefilter', default=False,
        help="""
Turn properties of the image into required traits: its buses, its video and
network models and its architectures. Placement then leaves out hosts that
cannot run the image.
"""),
    cfg.BoolOpt(
        'query_placement_for_routed_network_aggregates', default=False,
        help="""
Request only hosts that reach the segments of the requested routed networks
from Placement. Turn it on if Neutron uses routed provider networks. It needs
[neutron] auth_type and the options of that log-in.
"""),
]
