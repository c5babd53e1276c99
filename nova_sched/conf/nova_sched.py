"""[nova_sched]: what only this service has."""

from oslo_config import cfg

GROUP = 'nova_sched'
HELP = "What this service has beyond Nova's."

OPTS = [
    cfg.IntOpt(
        'pick_lifetime', default=300, min=0, help="""
How many seconds the host of an instance counts as taken when nothing was
claimed in Placement and the instance does not show on that host in the
database. Raise it when compute services take longer than this to begin a
build, or hosts are filled twice; lower it when many builds fail before they
begin, or hosts look fuller than they are. With a claim it is how long a member
of a server group counts as one, for the group alone.
"""),
    cfg.BoolOpt(
        'tell_picks', default=True, help="""
Whether daemons of one deployment, on the same message broker, control_exchange
and [DEFAULT] scheduler_topic, tell each other what they have picked, so that
they do not send two instances to the same room, nor members of a server group
to the same host. It takes a fanout exchange, nova_sched.nova.scheduler_fanout
by default, and next to nothing where one daemon is alone. Read at the start;
not with --no-fork.
"""),
    cfg.StrOpt(
        'picks_key', secret=True, help="""
Secret text by which daemons sign what they tell each other of picks, the same
on all scheduler hosts and on no compute host; at least 16 random characters.
Unset: a key is made of the row of cell0 in cell_mappings of the API database
and the password in it. Where that has none either, nothing is told. Both are
read again, within a minute, the option after a SIGHUP; the key before holds
for five minutes.
"""),
    cfg.FloatOpt(
        'spread_near_equal', min=0, help="""
Hosts that weigh at most so much less than the best one are put in random
order: 0 for those that weigh the same. Set it, to 0.1 or so, where several
daemons often choose the same host at the same moment; a weigher with the
multiplier 1 gives 1 to the host that it likes best. Unset: as
[filter_scheduler] shuffle_best_same_weighed_hosts says.
"""),
    cfg.IntOpt(
        'cell_timeout', default=60, min=1, help="""
How many seconds a request waits for what it reads of a database. After that
the hosts of this cell are left out, and nobody waits for it again until it
answers. In place of the API database, what was last read of it serves.
"""),
    cfg.IntOpt(
        'decisions_kept', default=604800, min=60, help="""
How many seconds decisions are kept, for "nova-sched-manage decision" to
explain them, in a file of SQLite in [DEFAULT] state_path. It holds those of
all workers, outlives restarts, and may be read while they serve. Where no file
can be written, each worker keeps its own in memory.
"""),
    cfg.IntOpt(
        'decisions_max_mb', default=512, min=0, help="""
How many MB the file of decisions may take, about: of more, the oldest are
forgotten, and first of all the hosts that they rested on. A decision takes
some 600 bytes where hundreds are made a second, and up to 4 KB where one is
now and then; a host some 300 bytes for each worker and every few thousand
decisions. In memory it is 32 MB at most. 0: none are kept.
"""),
    cfg.StrOpt(
        'candidates', default='mirror',
        choices=[
            ('list', 'Placement lists them for each request, as Nova asks for '
                     'them.'),
            ('mirror', 'A copy of what Placement knows, which each worker '
                       'keeps up in the background. Placement is asked where '
                       'only it can tell, and before a request is refused.'),
        ], help="""
Where the allocation candidates of a request come from, if there is a
Placement: its listing is nearly all that a request takes. A copy knows nothing
of [scheduler] max_placement_results: all that fit are candidates. It takes
microversion 1.36, and some percent of the time of one of Placement's
processes. For drivers that look at Placement's summaries it lists in any case.
"""),
    cfg.StrOpt(
        'no_valid_host_text', default='filters',
        choices=[
            ('nova', "Nova's own words, and nothing else."),
            ('filters', 'With the filters that rejected hosts, in their '
                        'order: most of the hosts, some or few, and what was '
                        'asked for. Filters that rejected fewer than 10 '
                        'hosts, or that judge by hints or queries, and '
                        'those behind such ones, are not named.'),
            ('counts', 'With hosts counted by filter, and what was asked '
                       'for.'),
            ('full', 'Also with what there was: free amounts, names of '
                     'hosts, what aggregates, other projects and options '
                     'say.')],
        help="""
What callers are told of a request that finds no host. It becomes the fault of
the server that was asked for, which its owner reads. The log and the records
of decisions have the full text whatever is chosen. With "counts", somebody
who varies hints or queries can find out names of hosts and what is free on
them. Of plug-ins, "filters" and "counts" have the name alone, or with the
number of hosts. A request that a plug-in refuses as wrong has its words with
"full" only, and so does what names a database or an address of Placement
that does not answer.
"""),
    cfg.IntOpt(
        'max_instances_per_request', default=1000, min=1,
        max=10000, help="""
How many instances one request may ask for. Raise it if somebody boots more at
once: each takes up to 1 ms of a processor's time with 1,000 hosts, and other
requests wait for turns of 0.1 seconds meanwhile.
"""),
    cfg.FloatOpt(
        'request_time_budget', default=10, min=0, help="""
How many seconds of a processor's time one request may take; 0 for any number.
A request that takes more is refused between two of its steps, and what was
claimed for it is given back. What it waits for does not count: its turn, the
database, Placement or Neutron, which have time-outs of their own. Raise it if
the log names this option for a request that should find a host.
"""),
    cfg.BoolOpt(
        'nova_logger_names', default=False, help="""
Whether loggers bear the names of Nova's, such as nova.scheduler.manager, so
that default_log_levels, a file of log_config_append and scripts that were
written for nova-scheduler go on working. Levels and handlers of nova_sched and
of what is below it then count for nothing. A file of log_config_append that
names loggers of nova and none of nova_sched is the same as true, as is the
name nova-scheduler for the program, unless such a file names loggers of
nova_sched alone.
"""),
    cfg.ListOpt(
        'metrics_uri', default=[], help="""
Where Prometheus finds the metrics of the service, of all its workers, at
/metrics: tcp://host:port or unix:///absolute/path, several with commas
between, as [healthcheck] uri, which may be the same. Nobody has to log in, so
keep it to this machine or a network for monitoring. Unset: nothing is counted.
Read at the start.
"""),
    cfg.ListOpt(
        'plugin_path', default=[], help="""
Directories with plug-ins, absolute paths, which are searched for modules after
all others. A plug-in that lay in Nova's tree keeps its path: nova.scheduler.
filters.my_filter.MyFilter is found in nova/scheduler/filters/my_filter.py of
one of them, my_filter.MyFilter in my_filter.py. A directory that is taken out
is forgotten at the next start.
"""),
    cfg.StrOpt(
        'shadow_report', help="""
File to which "nova-sched --shadow" adds a line of JSON for each request that
it has compared; "nova-sched-manage shadow report" reads it. Unset: the log
alone tells. It grows for ever, and may be moved away at any time.
"""),
    cfg.IntOpt(
        'shadow_patience', default=60, min=1, help="""
How many seconds "nova-sched --shadow" looks for what the live scheduler has
decided. A request of which nothing shows by then counts as refused there.
Raise it when requests wait longer than this for a live scheduler.
"""),
    cfg.IntOpt(
        'shadow_queue', default=1000, min=1, help="""
How many requests the broker holds for "nova-sched --shadow" at most. Of more
the oldest are dropped, and not compared.
"""),
]
