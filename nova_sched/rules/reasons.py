"""Why no host was left, in words: '0 of 20 hosts: 12 RamFilter (...), ...'.

In two texts: operators read what was asked for and what there was, a caller
what was asked for alone (``[nova_sched] no_valid_host_text``).
"""

import dataclasses

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Counted:
    """Hosts counted by the rule that rejected them.

    full: text with the rules' reasons.  asked: text with what was asked for.
    """

    full: str
    asked: str


def counted(record, filters, snapshot, spec_obj):
    """Return why hosts were rejected: Counted.

    record: the Decision of the request.  filters: those that ran.
    Most hosts first; equal counts in the order the rules ran.
    """
    by_name = {type(filter_).__name__: filter_ for filter_ in filters}
    rejected = sorted(record.rejected(), key=lambda item: -len(item[1]))

    def text(words):
        if not record.hosts:
            return 'there are no hosts'
        if not rejected:
            return f'none of {record.hosts} hosts was rejected'
        left = record.hosts - sum(len(rows) for _, rows in rejected)
        return f'{left} of {record.hosts} hosts: ' + ', '.join(
            f'{len(rows)} {name}'
            + _bracketed(words, by_name.get(name), rows)
            for name, rows in rejected)

    return Counted(
        full=text(lambda filter_, rows: filter_.reason(
            snapshot.block(rows), spec_obj)),
        asked=text(
            lambda filter_, rows: filter_.describe_request(spec_obj)))


def lost_cells(record):
    """Return which cells could not be read, as the end of a reason."""
    return ''.join(f'; cell {cell} cannot be read' for cell, _ in record.lost)


def _bracketed(words, filter_, rows):
    """Return a filter's words for the hosts it rejected, as ' (...)'."""
    if filter_ is None:
        return ''
    try:
        text = words(filter_, rows)
    except Exception:
        # An answer must not fail over the words for it.
        LOG.exception('%s cannot say why it rejected %d host(s)',
                      type(filter_).__name__, len(rows))
        return ''
    return f' ({text})' if text else ''
