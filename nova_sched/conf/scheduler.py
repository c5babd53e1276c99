"""[scheduler]: the driver, the process and what is asked of Placement."""

from oslo_config import cfg

from nova_sched.conf import types

GROUP = 'scheduler'
HELP = 'The scheduler driver, its process, and what it asks of Placement.'

OPTS = [
    cfg.StrOpt(
        'driver', default='filter_scheduler',
        deprecated_name='scheduler_driver', deprecated_group='DEFAULT',
        help="""
How hosts are chosen.

* filter_scheduler: the enabled filters and weighers, on state that is read
  from the database after each request arrives. The right choice unless a
  measurement says otherwise.
* caching_scheduler: the same, on state that is refreshed every
  periodic_task_interval seconds. For bursts of requests on many hosts when
  the database is what limits; decisions may be a refresh behind.
* chance_scheduler: any host that is up, at random. For tests.

Other names are looked up among the entry points nova_sched.scheduler.driver;
a dotted class path and Nova's own class paths work too.
"""),
    cfg.StrOpt(
        'host_manager', default='host_manager',
        deprecated_name='scheduler_host_manager', deprecated_group='DEFAULT',
        help="""
What keeps the state of the hosts.

* host_manager: every compute node is a host that instances share.
* ironic_host_manager: compute nodes of the hypervisor type ironic are whole
  machines, each taken by one instance. For clouds whose flavors ask for a
  node's CPUs, memory and disk rather than for its resource class. Nova has
  removed it in 18.0.0 (Rocky).

Other names are looked up among the entry points
nova_sched.scheduler.host_manager; a dotted class path and Nova's own class
paths work too.
"""),
    cfg.IntOpt(
        'periodic_task_interval', default=60,
        deprecated_name='scheduler_driver_task_period',
        deprecated_group='DEFAULT',
        help="""
Seconds between two runs of the driver's periodic work. With the caching
driver this is how old its state may get: lower it when decisions fail
because hosts have filled up meanwhile, raise it when the reads are too heavy
for the database. Zero means every 60 seconds; a negative value means never.
"""),
    cfg.Opt(
        'max_attempts', default=3,
        type=types.ClampedInteger(min=1),
        deprecated_name='scheduler_max_attempts', deprecated_group='DEFAULT',
        help="""
How many hosts may be tried for one instance. A request that asks for
alternates gets up to max_attempts - 1 of them. Raise it when builds often
fail on their first hosts for reasons that the scheduler cannot see; 1 turns
retries off.
"""),
    cfg.IntOpt(
        'discover_hosts_in_cells_interval', default=-1, min=-1,
        help="""
Seconds between two searches for compute hosts that no cell mapping knows
yet, so that instances find their way to them. -1 never searches (map new
hosts by command); 0 searches every 60 seconds. Turn it on where compute
hosts come and go by themselves, in all schedulers alike: of those that are
up and not disabled only that on the first host by name searches. Needs
[api_database]. A change takes a restart.
"""),
    cfg.Opt(
        'max_placement_results', default=1000,
        type=types.ClampedInteger(min=1),
        help="""
How many allocation candidates Placement may answer with. With more hosts
than this, requests see only a part of them: raise it, or let Placement
answer in random order. Lower it when the answers are too big to be quick.
"""),
    cfg.Opt(
        'workers', type=types.ClampedInteger(min=0),
        help="""
Worker processes. Unset or 0: one per CPU with the filter driver, one with any
other, whose state each worker has to itself. Lower it on a machine that is
shared with other services.
"""),
    cfg.BoolOpt(
        'limit_tenants_to_placement_aggregate', default=False,
        help="""
Ask Placement only for hosts in the aggregates whose metadata name the
project: its id is the value of a key that starts with filter_tenant_id.
Replaces AggregateMultiTenancyIsolation for that direction. Aggregates must
be mirrored to Placement.
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
With Placement, hosts of the requested availability zone are always asked of
it, as in Nova from 2023.2 on, whatever this says. A zone that no aggregate
names is left to AvailabilityZoneFilter.
"""),
    cfg.BoolOpt(
        'query_placement_for_image_type_support', default=False,
        help="""
Ask Placement only for hosts that support the image's disk format. Turn it
on where hosts differ in the formats they can boot.
"""),
    cfg.BoolOpt(
        'enable_isolated_aggregate_filtering', default=False,
        help="""
Keep requests away from aggregates whose metadata require traits (keys of the
form trait:NAME with the value required) that neither flavor nor image ask
for; sets special hosts aside for special guests. Aggregates must be mirrored
to Placement.
"""),
    cfg.BoolOpt(
        'image_metadata_prefilter', default=False,
        help="""
Turn properties of the image into required traits: its buses, its video and
network models and its architectures. Hosts that cannot run the image are then
not even considered.
"""),
    cfg.BoolOpt(
        'query_placement_for_routed_network_aggregates', default=False,
        help="""
Ask Placement only for hosts that reach the segments of the requested routed
networks. Turn it on where Neutron uses routed provider networks; needs
[neutron] auth_type and the options that it needs.
"""),
]
