"""Why no host was left, in words: '0 of 20 hosts: 12 RamFilter (...), ...'.

In three texts (``[nova_sched] no_valid_host_text``): operators read what was
asked for and what there was.  A caller reads what was asked for alone, with
counts, or with nothing that a tenant could find hosts out by.
"""

import dataclasses

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


#: A rule that has rejected fewer hosts is not named to tenants: who can vary a
#: request would learn something of each host.
FEWEST = 10

#: What share of all hosts is called what, at least.
_SHARES = ((0.5, 'most'), (0.1, 'some'), (0, 'few'))


@dataclasses.dataclass(frozen=True)
class Counted:
    """Hosts counted by the rule that rejected them.

    full: text with the rules' reasons.  asked: text with what was asked for.
    named: the same without numbers, and without what tenants could find hosts
        out by; '' if that is all.
    """

    full: str
    asked: str
    named: str


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
        asked=text(_asked_of(spec_obj)),
        named=_named(record, by_name, spec_obj))


def _asked_of(spec_obj):
    return lambda filter_, rows: filter_.describe_request(spec_obj)


def _named(record, by_name, spec_obj):
    """Return the filters that rejected many hosts, in their order, or ''."""
    told = [
        f'{_share(len(rows) / record.hosts)} {name}'
        + _bracketed(_asked_of(spec_obj), by_name[name], rows)
        for name, rows in record.rejected()
        if len(rows) >= FEWEST and name in by_name
        and not _judges_by_hints(by_name[name], spec_obj)]
    return f'hosts rejected: {", ".join(told)}' if told else ''


def _share(part):
    return next(word for least, word in _SHARES if part >= least)


def _judges_by_hints(filter_, spec_obj):
    """Return whether a filter may have looked at hints."""
    judges = filter_.judges_by_hints
    return bool(spec_obj.scheduler_hints) if judges is None else judges


def lost_cells(record):
    """Return which cells could not be read, as the end of a reason."""
    return ''.join(f'; cell {cell} cannot be read' for cell, _ in record.lost)


def late_claims(record):
    """Return, as the end of a reason, that a claim was not answered in time.

    '' if all were.
    """
    return ('; Placement did not answer in time' if any(
        claim.taken is None for claim in record.claims) else '')


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
