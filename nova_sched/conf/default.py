"""[DEFAULT]: the service itself, its liveness rules and fallback ratios."""

import socket

from oslo_config import cfg

from nova_sched.conf import types

GROUP = None
HELP = None


def _ratio(name, default, help_text):
    return cfg.Opt(
        name, default=default, help=help_text,
        type=types.ClampedFloat(min=0.0))


SERVICE_OPTS = [
    cfg.StrOpt(
        'host', default=socket.gethostname(), sample_default='<host name>',
        help="""
Name of this machine in the message queues and in the services table. Set it
when the host name may change, or to let one machine take over from another.
"""),
    cfg.StrOpt(
        'state_path', default='/var/lib/nova-sched', help="""
Directory of the decisions that are kept, and of the embedded database, which
is used when [database] connection is unset. It must exist and be writable for
the service's user.
"""),
    cfg.IntOpt(
        'report_interval', default=10, help="""
Seconds between two heartbeats, with which this service says in the services
table that it is up. Must be well below service_down_time. 0: no heartbeats;
listings then show the service as down. A change takes a restart.
"""),
    cfg.IntOpt(
        'service_down_time', default=60, help="""
Seconds without a heartbeat after which a compute service counts as down, and
its hosts get no instances. Raise it where heartbeats are late under load.
Must be above report_interval; a value that is not is replaced by 2.5 times
report_interval, with a warning.
"""),
    cfg.StrOpt(
        'servicegroup_driver', default='db', choices=[
            ('db', 'heartbeats in the services table'),
            ('mc', 'memcached')],
        help="""
Where heartbeats are read from. Must be what the compute hosts use.
"""),
    cfg.BoolOpt(
        'periodic_enable', default=True, help="""
Whether periodic work runs at all. Turn it off only to find out what causes
load; the caching driver then never refreshes, and no new hosts are searched
for. Heartbeats go on.
"""),
    cfg.IntOpt(
        'periodic_fuzzy_delay', default=60, min=0, help="""
Periodic work starts after a random delay of up to this many seconds, so that
services started together do not work in step. 0: at once.
"""),
    cfg.StrOpt(
        'default_availability_zone', default='nova', help="""
Availability zone of a host that is in no aggregate with a zone. Must be the
same in all services.
"""),
    cfg.StrOpt(
        'internal_service_availability_zone', default='internal', help="""
Availability zone that services other than compute are shown in.
"""),
    cfg.IntOpt(
        'manager_shutdown_timeout', default=160, help="""
Seconds of graceful_shutdown_timeout that calls being answered may take after
the service was told to stop.
"""),
    cfg.StrOpt(
        'concurrency_backend', default='auto',
        choices=[
            ('auto', 'native threads'),
            ('threading', 'native threads'),
            ('eventlet', 'native threads, with a warning')], help="""
Read for Nova's sake only: this service always uses native threads.
"""),
    cfg.Opt(
        'cell_worker_thread_pool_size', default=5,
        type=types.ClampedInteger(min=1),
        help="""
How many cell databases are read at the same time. Raise it to the number of
cells when there are more.
"""),
    cfg.IntOpt(
        'long_rpc_timeout', default=1800, help="""
Seconds that a caller of select_destinations waits as long as the scheduler
shows signs of life.
"""),
]

OLD_OPTS = [
    cfg.StrOpt(
        'rpc_backend', deprecated_for_removal=True,
        deprecated_reason='[DEFAULT] transport_url says it all.',
        help="""
Kind of message broker up to Newton: rabbit. Read only when transport_url is
unset; use that instead.
"""),
    cfg.StrOpt(
        'scheduler_topic', default='scheduler', help="""
Message queue topic on which requests arrive. Must be what the callers use:
change it only together with them. A change takes a restart.
"""),
    cfg.StrOpt(
        'scheduler_manager', help="""
Class of the process's manager in Nova up to Newton. One of one's own is
never asked, which the start says; a driver takes its place.
"""),
    cfg.StrOpt(
        'scheduler_json_config_location', default='', help="""
Path of a JSON file whose content is handed to filters and weighers as
config_options, and read again when it changes. For plug-ins written for Nova
up to Newton; nothing built in reads it.
"""),
]

RATIO_OPTS = [
    _ratio('cpu_allocation_ratio', None, """
Virtual CPUs offered per CPU on hosts that report no ratio of their own
(compute services before Stein). Unset or 0: initial_cpu_allocation_ratio.
"""),
    _ratio('ram_allocation_ratio', None, """
RAM offered per RAM on hosts that report no ratio of their own. Unset or 0:
initial_ram_allocation_ratio.
"""),
    _ratio('disk_allocation_ratio', None, """
Disk offered per disk on hosts that report no ratio of their own. Unset or 0:
initial_disk_allocation_ratio.
"""),
    _ratio('initial_cpu_allocation_ratio', 16.0, """
Virtual CPUs offered per CPU where neither the host nor cpu_allocation_ratio
says otherwise.
"""),
    _ratio('initial_ram_allocation_ratio', 1.5, """
RAM offered per RAM where neither the host nor ram_allocation_ratio says
otherwise.
"""),
    _ratio('initial_disk_allocation_ratio', 1.0, """
Disk offered per disk where neither the host nor disk_allocation_ratio says
otherwise. Values above 1 risk full disks.
"""),
]

OPTS = SERVICE_OPTS + OLD_OPTS + RATIO_OPTS
