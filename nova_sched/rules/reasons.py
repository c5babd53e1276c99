"""Why no host was left, in words: '0 of 20 hosts: 12 RamFilter (...), ...'."""

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


def counted(record, filters, snapshot, spec_obj):
    """Why hosts were rejected, counted by the rule that rejected them: text.

    record: the Decision of the request.  filters: those that ran.
    Most hosts first; equal counts in the order the rules ran.
    """
    if not record.hosts:
        return 'there are no hosts'
    by_name = {type(filter_).__name__: filter_ for filter_ in filters}
    found = []
    for name, rows in record.rejected():
        words = _words(by_name.get(name), snapshot.block(rows), spec_obj)
        found.append((len(rows), f'{len(rows)} {name}'
                      + (f' ({words})' if words else '')))
    found.sort(key=lambda item: -item[0])
    if not found:
        return f'none of {record.hosts} hosts was rejected'
    left = record.hosts - sum(count for count, _ in found)
    return (f'{left} of {record.hosts} hosts: '
            + ', '.join(text for _, text in found))


def lost_cells(record):
    """Which cells could not be read, to go on with after a reason: text."""
    return ''.join(f'; cell {cell} cannot be read' for cell, _ in record.lost)


def _words(filter_, hosts, spec_obj):
    """A filter's reason for the hosts it rejected, or ''."""
    if filter_ is None:
        return ''
    try:
        return filter_.reason(hosts, spec_obj)
    except Exception:
        # An answer must not fail over the words for it.
        LOG.exception('%s cannot say why it rejected %d host(s)',
                      type(filter_).__name__, len(hosts))
        return ''
