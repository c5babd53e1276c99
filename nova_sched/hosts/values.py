"""Checks of the values in a compute node's row.

A database may have invalid values, and SQLite has values of any type in any
column.  An invalid value counts as absent, with one log line for the host, the
column and the value.  A row with an invalid value of a needed column is
refused.
"""

import functools

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Nova's integers have 32 bits.
_WHOLE = 1 << 31
#: Maximum allocation ratio.  Amounts in MB multiplied by it still fit 64 bits.
_MOST_RATIO = 1_000_000


class UnreadableError(ValueError):
    """A needed column of a row has an invalid value."""


def is_whole(value):
    """Return whether a value is an integer of 32 bits."""
    return (isinstance(value, (int, float)) and -_WHOLE <= value < _WHOLE
            and value == int(value))


def _is_ratio(value):
    # No comparison with NaN is true.
    return isinstance(value, (int, float)) and 0 <= value <= _MOST_RATIO


#: Amounts that every host has after its first report.
_AMOUNTS = ('vcpus', 'memory_mb', 'local_gb', 'vcpus_used', 'local_gb_used',
            'free_disk_gb')
#: Columns that a host needs to take instances.
REQUIRED = ('host', 'hypervisor_hostname', *_AMOUNTS, 'free_ram_mb')
#: Columns that must not have invalid values.
_NEEDED = frozenset(('uuid', 'host', 'hypervisor_hostname', *_AMOUNTS))

#: Column -> function that returns whether a value is valid, and text for an
#: invalid value.
_KINDS = {
    **dict.fromkeys(
        (*_AMOUNTS, 'free_ram_mb', 'disk_available_least',
         'hypervisor_version'), (is_whole, 'no whole number of 32 bits')),
    **dict.fromkeys(
        ('cpu_allocation_ratio', 'ram_allocation_ratio',
         'disk_allocation_ratio'),
        (_is_ratio, f'no number from 0 to {_MOST_RATIO}')),
    **dict.fromkeys(
        ('uuid', 'host', 'hypervisor_hostname', 'hypervisor_type', 'host_ip',
         'cpu_info', 'supported_instances', 'stats', 'metrics', 'pci_stats',
         'numa_topology'), (lambda value: isinstance(value, str), 'no text'))}


def checked(row):
    """Return the row of a compute node with invalid values replaced by None.

    row: mapping of column name to value; it is returned itself if all values
        are valid.
    Raises UnreadableError for an invalid value of a needed column, and for a
    missing amount of a host that has reported.
    """
    if row['free_disk_gb'] is not None:
        for column in _AMOUNTS:
            if row[column] is None:
                raise UnreadableError(f'{column} = None, which is missing')
    invalid = [column for column, (is_valid, _) in _KINDS.items()
               if row[column] is not None and not is_valid(row[column])]
    for column in invalid:
        text = f'{column} = {shown(row[column])}, which is {_KINDS[column][1]}'
        if column in _NEEDED:
            raise UnreadableError(text)
        warn(row['host'], row['hypervisor_hostname'], text)
    return row | dict.fromkeys(invalid) if invalid else row


def depth(value):
    """Return how deep lists and dicts are nested."""
    levels, level = 0, [value]
    while level := [item for item in level if isinstance(item, (list, dict))]:
        levels += 1
        level = [inner for item in level for inner in (
            item.values() if isinstance(item, dict) else item)]
    return levels


def shown(value):
    """Return the repr of a value in at most 80 characters."""
    text = repr(value[:80] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= 80 else f'{text[:77]}...'


@functools.lru_cache(maxsize=4096)
def warn(host, node, text):
    """Warn once that an invalid value counts as absent.

    text: column, value and error.
    """
    LOG.warning('Compute node %(node)s of host %(host)s has %(text)s; it '
                'counts as absent', {'node': node, 'host': host, 'text': text})


@functools.lru_cache(maxsize=4096)
def warn_left_out(host, node, text):
    """Warn once that a row is ignored.  text: the error."""
    LOG.warning('Compute node %(node)s of host %(host)s is left out: its row '
                'cannot be read: %(error)s',
                {'node': node, 'host': host, 'error': text})
