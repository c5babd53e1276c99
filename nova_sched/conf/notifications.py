"""[notifications]: notifications about decisions."""

from oslo_config import cfg

GROUP = 'notifications'
HELP = """
Notifications about decisions. [oslo_messaging_notifications] driver turns them
on.
"""

OPTS = [
    cfg.StrOpt(
        'notification_format', default='unversioned', choices=[
            ('unversioned', 'the older form only'),
            ('versioned', 'the versioned form only'),
            ('both', 'both forms')], help="""
Which form of notifications is sent. Change it to the form that the consumers
read.
"""),
    cfg.ListOpt(
        'versioned_notifications_topics',
        default=['versioned_notifications'], help="""
Topics of versioned notifications; each gets a copy. Give every consumer that
needs all notifications a topic of its own.
"""),
    cfg.StrOpt(
        'default_level', default='INFO',
        choices=[(level, f'priority {level.lower()}') for level in (
            'DEBUG', 'INFO', 'WARN', 'ERROR', 'CRITICAL')], help="""
Priority of notifications without a priority of their own.
"""),
]
