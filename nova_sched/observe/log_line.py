"""The one line about a request in the log at INFO."""

from oslo_log import log as logging

from nova_sched.hosts import decision
from nova_sched.observe import logs

LOG = logging.getLogger(__name__)

#: Instances that are named in a line; the others are counted.
SHOWN = 100

#: Characters of a reason.
LONGEST = 4000


def write(record):
    """Write the line of a request that has ended: a closed Decision."""
    age = getattr(record.offer, 'age', None)
    LOG.info('Request for %(count)d instance(s)%(what)s; %(alternates)d '
             'alternate(s), %(hosts)d hosts%(lost)s%(copy)s%(times)s, '
             'seed %(seed)d', {
                 'count': record.instances, 'what': _what(record),
                 'alternates': record.alternates, 'hosts': record.state.hosts,
                 'lost': ''.join(f', without cell {shown(cell)} ({why})'
                                 for cell, why in record.state.lost),
                 'copy': '' if age is None else (
                     f', candidates from a copy {age:.1f} s old'),
                 'times': ''.join(f', {name} {ms:.1f} ms' for name, ms
                                  in record.milliseconds.items()),
                 'seed': record.seed})


def _what(record):
    """Return where each instance is, or why it was not placed: text."""
    if record.outcome == decision.PLACED:
        return ' placed: ' + _listed(
            [f'{shown(pick.instance_uuid or "one")} on {shown(pick.host)}'
             for pick in record.picks[:SHOWN]], len(record.picks))
    asked = record.asked_uuids()
    names = list(map(shown, asked[:SHOWN]))
    named = f' ({_listed(names, len(asked))})' if asked else ''
    reason = shown(record.reason or '', LONGEST)
    return f'{named} {record.outcome}: {reason}{_codes(record)}'


def _codes(record):
    """Return by which codes a request was not placed: text."""
    refusal = record.refusal
    if refusal.code is None:
        return ''
    kind = f', kind {refusal.kind}' if refusal.kind else ''
    hosts = ', '.join(f'{count} {code}' for code, count in refusal.codes)
    return f'; code {refusal.code}{kind}' + (f' ({hosts})' if hosts else '')


def shown(text, longest=80):
    """Return a text from outside, cut; ``logs`` escapes it."""
    return logs.cut(str(text), longest)


def _listed(texts, count):
    more = count - len(texts)
    return ', '.join(texts) + (f' and {more} more' if more > 0 else '')
