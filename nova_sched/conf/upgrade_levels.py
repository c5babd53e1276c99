"""[upgrade_levels]: caps on message versions during an upgrade."""

from oslo_config import cfg

GROUP = 'upgrade_levels'
HELP = 'Caps on the versions of the messages that are sent.'

OPTS = [
    cfg.StrOpt('scheduler', help="""
Highest version of scheduler messages to send: a number (4.5) or a release
name. Set it while schedulers of an older release are running. Unset: the
newest version.
"""),
    cfg.StrOpt('baseapi', help="""
The same for the messages that every service understands.
"""),
]
