"""Why no host was left, in words: '0 of 20 hosts: 12 RamFilter (...), ...'.

In three texts (``[nova_sched] no_valid_host_text``): operators read what was
asked for and what there was.  A caller reads what was asked for alone, with
counts, or with nothing that a tenant could find hosts out by.
"""

import collections
import dataclasses

from oslo_log import log as logging

from nova_sched.filters import may_look_at_hints
from nova_sched.hosts import budget
from nova_sched.rules import phrases
from nova_sched.rules import rule_inputs

LOG = logging.getLogger(__name__)


#: A rule that has rejected fewer hosts is not named to tenants: who can vary a
#: request would learn something of each host.
FEWEST = 10

#: What share of all hosts is called what, at least.
_SHARES = ((0.5, 'most'), (0.1, 'some'), (0, 'few'))


@dataclasses.dataclass(frozen=True)
class Counted:
    """Hosts counted by the rule that rejected them.

    full: text with the reasons of the rules that reject most.
    asked: text with what was asked for.
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
    rejected = sorted(record.funnel.rejected(), key=lambda item: -len(item[1]))
    said = {name: _reason(by_name[name], snapshot.block(rows), spec_obj,
                          record)
            for name, rows in rejected if name in by_name}
    asked = {name: getattr(reason, 'request', '')
             for name, reason in said.items()}

    def text(words, most):
        if not record.state.hosts:
            return 'there are no hosts'
        if not rejected:
            return f'none of {record.state.hosts} hosts was rejected'
        left = record.state.hosts - sum(len(rows) for _, rows in rejected)
        return f'{left} of {record.state.hosts} hosts: ' + ', '.join(
            phrases.groups([
                f'{len(rows)} {name}{_bracketed(words.get(name))}'
                for name, rows in rejected[:most]],
                [len(rows) for _, rows in rejected[most:]]))

    return Counted(full=text(said, phrases.GROUPS),
                   asked=text(asked, len(rejected)),
                   named=_named(record, filters, spec_obj, asked))


def _named(record, filters, spec_obj, asked):
    """Return the filters that rejected many hosts, in their order, or ''.

    asked: name of a filter -> what it was asked for.
    """
    told, counts = [], _counts(record, filters, spec_obj)
    for filter_ in filters:
        name = type(filter_).__name__
        count = counts.pop(name, 0)
        if may_look_at_hints(filter_, spec_obj):
            # What filters reject after it, too, tells of the hosts left.
            break
        if count >= FEWEST and not rule_inputs.judges_by_hints(filter_):
            told.append(f'{_share(count / record.state.hosts)} {name}'
                        f'{_bracketed(asked.get(name))}')
    return f'hosts rejected: {", ".join(told)}' if told else ''


def _counts(record, filters, spec_obj):
    """Return how many hosts each rule rejected: {name: number}.

    Where hints may play a part, for the first instance alone: all filters see
    for the next ones what hints have left.
    """
    by_hints = any(may_look_at_hints(filter_, spec_obj)
                   for filter_ in filters)
    counts = collections.Counter()
    for step in record.funnel.steps:
        if not (by_hints and step.index):
            counts[step.name] += step.before - step.after
    return counts


def _share(part):
    return next(word for least, word in _SHARES if part >= least)


def lost_cells(record):
    """Return which cells could not be read, as the end of a reason."""
    return ''.join(f'; cell {cell} cannot be read'
                   for cell, _ in record.state.lost)


def late_claims(record):
    """Return, as the end of a reason, that a claim was not answered in time.

    '' if all were.
    """
    return ('; Placement did not answer in time' if any(
        claim.taken is None for claim in record.claims) else '')


def _bracketed(text):
    return f' ({text})' if text else ''


def _reason(filter_, hosts, spec_obj, record):
    """Return why a filter rejected a HostBlock, in its words.

    '' if the request has no time left for them.
    """
    try:
        with budget.Step('reason'):
            return filter_.reason(hosts, spec_obj)
    except Exception as error:
        # An answer must not fail over the words for it.
        if not getattr(error, 'is_budget_spent', False):
            LOG.exception('%s cannot say why it rejected %d host(s)',
                          type(filter_).__name__, len(hosts))
        return ''
