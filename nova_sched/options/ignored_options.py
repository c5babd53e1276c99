"""The options that are accepted but not acted on.

Operators' files name them, for Nova's own scheduler. The help of ours says
that they do nothing, and ``warnings`` names those that a file sets, but for
FOR_OTHERS. Whoever makes one work takes it out of the table.
"""

SENTENCE = 'This release accepts this option but does not act on it.'

_DATABASE = (
    'backend', 'slave_connection', 'asyncio_connection',
    'asyncio_slave_connection', 'synchronous_reader', 'use_db_reconnect')

#: How use_db_reconnect tries again; without it they do nothing in Nova either.
_RECONNECT = ('db_retry_interval', 'db_inc_retry_interval',
              'db_max_retry_interval', 'db_max_retries')

#: Section -> options. [database] is oslo.db's own, and so is its help; some
#: of its options are not in every release of it.
OPTIONS = {
    'DEFAULT': (
        'periodic_fuzzy_delay', 'internal_service_availability_zone',
        'cell_worker_thread_pool_size'),
    'scheduler': (
        'query_placement_for_availability_zone',),
    'filter_scheduler': (
        'track_instance_changes', 'pci_in_placement'),
    'database': (*_DATABASE, *_RECONNECT),
    'api_database': (
        *_DATABASE, *_RECONNECT, 'max_retries', 'retry_interval'),
    'notifications': ('default_level',),
    'upgrade_levels': ('baseapi',),
    'workarounds': (
        'disable_compute_service_check_for_ffu',),
}


#: Those that nobody has to take out: another service of Nova reads them in the
#: same file, or hosts are the same with them as without.
FOR_OTHERS = frozenset({
    ('scheduler', 'query_placement_for_availability_zone'),
    ('filter_scheduler', 'track_instance_changes'),
    ('filter_scheduler', 'pci_in_placement'),
    ('api_database', 'max_retries'),
    *((section, name) for section in ('database', 'api_database')
      for name in _RECONNECT)})


def options():
    """Yield the options that are ignored: (section, name)."""
    for section, names in OPTIONS.items():
        for name in names:
            yield section, name


def explain(section, opt):
    """Append SENTENCE to the help of an option that is ignored."""
    if opt.dest in OPTIONS.get(section, ()):
        opt.help = f'{opt.help.strip()} {SENTENCE}'
