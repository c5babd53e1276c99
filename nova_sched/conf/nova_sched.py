"""[nova_sched]: options that only this service has."""

from oslo_config import cfg

GROUP = 'nova_sched'
HELP = 'Options that only this service has.'

OPTS = [
    cfg.IntOpt(
        'pick_lifetime', default=300, min=0, help="""
How many seconds an instance counts on the host that was picked for it, if it
has no claim in Placement and does not show on that host in the database. Raise
it if compute services take longer to begin a build and hosts are filled twice;
lower it if many builds fail before they begin and hosts look fuller than they
are. With a claim it is how long the instance counts as a member of its server
group.
"""),
    cfg.StrOpt(
        'picks_key', secret=True, help="""
Secret text that signs the messages about picks between daemons. Set the same
text on all scheduler hosts and on no compute host; at least 16 random
characters. Unset: the key is derived from the row of cell0 in cell_mappings of
the API database and the password in it. Without either, picks are not
published. Both are read again, the row within a minute and the option after a
SIGHUP; the previous key stays valid for five minutes.
"""),
    cfg.FloatOpt(
        'spread_near_equal', min=0, help="""
Hosts that weigh at most this much less than the best host are put in random
order; 0 for hosts of equal weight. Set it, to 0.1 or so, if several daemons
often pick the same host at the same time; a weigher with the multiplier 1
gives its best host 1. Unset: [filter_scheduler]
shuffle_best_same_weighed_hosts decides.
"""),
    cfg.IntOpt(
        'cell_timeout', default=60, min=1, help="""
How many seconds a request waits for a database. After that the hosts of the
cell are left out, and later requests do not wait for the database until it
answers. For the API database, the rows that were read last are used.
"""),
    cfg.IntOpt(
        'decisions_kept', default=604800, min=60, help="""
How many seconds decisions are stored, for "nova-sched-manage decision", in a
SQLite file in [DEFAULT] state_path. The file has the decisions of all workers,
outlives restarts, and can be read while the service runs. If the file cannot
be written, each worker stores its own decisions in memory.
"""),
    cfg.IntOpt(
        'decisions_max_mb', default=512, min=0, help="""
How many MB the file of decisions takes at most, about. Beyond that the oldest
decisions are deleted, and their host data first. A decision takes some 600
bytes at hundreds of decisions a second and up to 4 KB at a few; a host takes
some 300 bytes for each worker and every few thousand decisions. In memory the
limit is 32 MB. 0: no decisions are stored.
"""),
    cfg.StrOpt(
        'candidates', default='mirror',
        choices=[
            ('list', 'Placement lists them for each request, as for Nova.'),
            ('mirror', "Each worker keeps a mirror of Placement's providers "
                       'up to date in the background. Placement lists '
                       'candidates for requests that the mirror cannot '
                       'judge, and before a request is refused.'),
        ], help="""
Where the allocation candidates of a request come from, with Placement. A
listing takes nearly all of a request's time. A mirror is not limited by
[scheduler] max_placement_results: all hosts that fit are candidates. It needs
microversion 1.36, and takes some percent of the time of one of Placement's
processes. Drivers that use Placement's provider summaries always get a
listing.
"""),
    cfg.StrOpt(
        'no_valid_host_text', default='filters',
        choices=[
            ('nova', "Nova's own text, and nothing else."),
            ('filters', 'With the filters that rejected hosts, in their '
                        'order, each with most, some or few, and the '
                        'requested amounts. Filters that rejected fewer than '
                        '10 hosts, or that judge by hints or queries, and '
                        'the filters after these, are not named.'),
            ('counts', 'With the number of hosts by filter, and the '
                       'requested amounts.'),
            ('full', 'Also with free amounts, names of hosts, and values of '
                     'aggregates, other projects and options.')],
        help="""
The text for callers about a request without a host. It becomes the fault of
the server, which its owner can read. The log and the decision records have the
full text in any case. With "counts", a user who varies hints or queries can
find out names of hosts and their free amounts. Plug-ins appear by name in
"filters", and with the number of hosts in "counts". If a plug-in refuses a
request as invalid, or a database or Placement does not answer, its text or
address appears in "full" only.
"""),
    cfg.IntOpt(
        'max_instances_per_request', default=1000, min=1,
        max=10000, help="""
How many instances one request may ask for. Raise it for users who boot more at
once: each instance takes up to 1 ms of CPU time with 1,000 hosts, and other
requests wait for slices of 0.1 seconds.
"""),
    cfg.FloatOpt(
        'request_time_budget', default=10, min=0, help="""
How many seconds of CPU time one request may take; 0 for no limit. A request
that takes more is refused between two of its steps, and its claims are
released. Waiting does not count: for its turn, the database, Placement or
Neutron, which have timeouts of their own. Raise it if the log names this
option for a request that should find a host.
"""),
    cfg.ListOpt(
        'metrics_uri', default=[], help="""
Where the metrics of all workers are served for Prometheus, at /metrics:
tcp://host:port or unix:///absolute/path, several separated by commas, as in
[healthcheck] uri, which may be the same. There is no log-in, so use this
machine or a monitoring network. Unset: no metrics are collected. A change
requires a restart.
"""),
    cfg.ListOpt(
        'plugin_path', default=[], help="""
Directories with plug-ins, as absolute paths, which are searched for modules
after all others. A plug-in that was in Nova's tree keeps its path:
nova.scheduler.filters.my_filter.MyFilter is found in
nova/scheduler/filters/my_filter.py of one of them, my_filter.MyFilter in
my_filter.py. Removing a directory requires a restart.
"""),
    cfg.StrOpt(
        'shadow_report', help="""
File to which "nova-sched --shadow" appends a line of JSON for each request
that it has compared; "nova-sched-manage shadow report" reads it. Unset: only
the log has the results. The file grows without limit, and may be moved away at
any time.
"""),
]
