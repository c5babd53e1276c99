"""Values of a compute node's row that can be right, and what else is there.

A database holds what was written, by whatever and however long ago, and
SQLite anything in any column.  What cannot be right counts as absent, with one
line in the log for the host, the column and the value; where there is no host
without it, the row is refused.
"""

import functools

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Nova's integers have 32 bits.
_WHOLE = 1 << 31
#: No host is overcommitted a million times; its resources times that, in MB,
#: are still an integer of 64 bits.
_MOST_RATIO = 1_000_000


class UnreadableError(ValueError):
    """A value without which a row is no host."""


def is_whole(value):
    """Return whether it is a whole number of 32 bits."""
    return (isinstance(value, (int, float)) and -_WHOLE <= value < _WHOLE
            and value == int(value))


def _is_ratio(value):
    # No comparison with NaN is true.
    return isinstance(value, (int, float)) and 0 <= value <= _MOST_RATIO


def _is_text(value):
    return isinstance(value, str)


#: Numbers that every host has that has reported.
_AMOUNTS = ('vcpus', 'memory_mb', 'local_gb', 'vcpus_used', 'local_gb_used',
            'free_disk_gb')
#: Columns without which no row is a host that could take anything.
REQUIRED = ('host', 'hypervisor_hostname', *_AMOUNTS, 'free_ram_mb')
#: Without a right value of these there is no host.
_NEEDED = frozenset(('uuid', 'host', 'hypervisor_hostname', *_AMOUNTS))

#: Column -> (function that says whether a value can be right, what it is not
#: otherwise).
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
         'numa_topology'), (_is_text, 'no text'))}


def checked(row):
    """Return the row of a compute node with what cannot be right as None.

    row: mapping of column name to value; with all that is right it is what is
        returned.
    Raises UnreadableError for what every host has, and for an amount that is
    missing where the host has reported.
    """
    if row['free_disk_gb'] is not None:
        for column in _AMOUNTS:
            if row[column] is None:
                raise UnreadableError(f'{column} = None, which is missing')
    wrong = [column for column, (can_be, _) in _KINDS.items()
             if row[column] is not None and not can_be(row[column])]
    for column in wrong:
        text = f'{column} = {shown(row[column])}, which is {_KINDS[column][1]}'
        if column in _NEEDED:
            raise UnreadableError(text)
        warn(row['host'], row['hypervisor_hostname'], text)
    return row | dict.fromkeys(wrong) if wrong else row


def shown(value):
    """Return a value in a few characters."""
    text = repr(value[:80] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= 80 else f'{text[:77]}...'


def warn(host, node, text):
    """Warn, once, of a value that counts as absent.

    text: column, value and what is wrong with it.
    """
    _warn(str(host), str(node), text)


@functools.lru_cache(maxsize=4096)
def _warn(host, node, text):
    LOG.warning('Compute node %(node)s of host %(host)s has %(text)s; it '
                'counts as absent', {'node': node, 'host': host, 'text': text})


@functools.lru_cache(maxsize=4096)
def warn_left_out(host, node, text):
    """Warn, once, of a row that is no host.  text: why."""
    LOG.warning('Compute node %(node)s of host %(host)s is left out: its row '
                'cannot be read: %(error)s',
                {'node': node, 'host': host, 'error': text})
