"""[DEFAULT]: the service itself, its liveness rules and fallback ratios."""

import socket

from oslo_config import cfg

from nova_sched.conf import types

GROUP = None
HELP = None


OPTS = [
    cfg.StrOpt(
        'host', default=socket.gethostname(), sample_default='<host name>',
        help="""
Name of this machine in the message queues and in the services table. Set it
when the host name may change, or to let one machine take over from another.
"""),
    cfg.StrOpt(
        'state_path', default='/var/lib/nova-sched', help="""
Directory of the stored decisions, and of the embedded database, which is used
if [database] connection is unset. It must exist and be writable for the
service's user.
"""),
    cfg.IntOpt(
        'report_interval', default=10, help="""
Seconds between two heartbeats of this service in the services table. Must be
well below service_down_time. 0: no heartbeats; listings then show the service
as down. A change requires a restart.
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
Where heartbeats are read from. Must be the same as on the compute hosts.
"""),
    cfg.BoolOpt(
        'periodic_enable', default=True, help="""
Whether periodic tasks run at all. Turn it off only to find the cause of a
load; the caching driver then never refreshes, and new hosts are not
discovered. Heartbeats continue.
"""),
    cfg.IntOpt(
        'periodic_fuzzy_delay', default=60, min=0, help="""
Periodic tasks start after a random delay of up to this many seconds, so that
services that start together do not run them at the same time. 0: at once.
"""),
    cfg.StrOpt(
        'default_availability_zone', default='nova', help="""
Availability zone of a host that is in no aggregate with a zone. Must be the
same in all services.
"""),
    cfg.StrOpt(
        'internal_service_availability_zone', default='internal', help="""
Availability zone of services other than compute in listings.
"""),
    cfg.IntOpt(
        'manager_shutdown_timeout', default=160, help="""
Seconds of graceful_shutdown_timeout for the calls in flight when the service
stops.
"""),
    cfg.StrOpt(
        'concurrency_backend', default='auto',
        choices=[
            ('auto', 'native threads'),
            ('threading', 'native threads'),
            ('eventlet', 'native threads, with a warning')], help="""
Accepted for compatibility with Nova: this service always uses native threads.
"""),
    types.at_least(1, 'cell_worker_thread_pool_size', 5, """
How many cell databases are read at the same time. Raise it to the number of
cells when there are more.
"""),
    cfg.IntOpt(
        'long_rpc_timeout', default=1800, help="""
Seconds that a caller of select_destinations waits while the scheduler sends
RPC heartbeats.
"""),
    cfg.StrOpt(
        'rpc_backend', deprecated_for_removal=True,
        deprecated_reason='Replaced by [DEFAULT] transport_url.',
        help="""
Kind of message broker up to Newton: rabbit. Read only if transport_url is
unset; use transport_url instead.
"""),
    cfg.StrOpt(
        'scheduler_topic', default='scheduler', help="""
RPC topic on which requests arrive. Must be the same as in the callers'
configuration. A change requires a restart.
"""),
    cfg.StrOpt(
        'scheduler_manager', help="""
Class of the process's manager in Nova up to Newton. A manager class of your
own is not used, and the service warns at the start; write a driver instead.
"""),
    cfg.StrOpt(
        'scheduler_json_config_location', default='', help="""
Path of a JSON file that filters and weighers receive as config_options; it is
read again when it changes. For plug-ins that were written for Nova up to
Newton; built-in rules do not read it.
"""),
    types.at_least(0.0, 'cpu_allocation_ratio', None, """
Virtual CPUs offered per CPU on hosts that report no ratio of their own
(compute services before Stein). Unset or 0: initial_cpu_allocation_ratio.
"""),
    types.at_least(0.0, 'ram_allocation_ratio', None, """
RAM offered per RAM on hosts that report no ratio of their own. Unset or 0:
initial_ram_allocation_ratio.
"""),
    types.at_least(0.0, 'disk_allocation_ratio', None, """
Disk offered per disk on hosts that report no ratio of their own. Unset or 0:
initial_disk_allocation_ratio.
"""),
    types.at_least(0.0, 'initial_cpu_allocation_ratio', 16.0, """
Virtual CPUs offered per CPU if neither the host nor cpu_allocation_ratio sets
a ratio.
"""),
    types.at_least(0.0, 'initial_ram_allocation_ratio', 1.5, """
RAM offered per RAM if neither the host nor ram_allocation_ratio sets a ratio.
"""),
    types.at_least(0.0, 'initial_disk_allocation_ratio', 1.0, """
Disk offered per disk if neither the host nor disk_allocation_ratio sets a
ratio. Values above 1 risk full disks.
"""),
]
