"""The text of a NoValidHost: '0 of 20 hosts: 12 RamFilter (...), ...'.

There are three texts (``[nova_sched] no_valid_host_text``).  The text for
operators has the requested and the available amounts.  The texts for callers
have the requested amounts only, either with numbers of hosts, or without
anything that reveals hosts to a tenant.
"""

import collections

from oslo_log import log as logging

from nova_sched.hosts import budget
from nova_sched.rules import phrases
from nova_sched.rules import rule_inputs

LOG = logging.getLogger(__name__)


#: Minimum number of rejected hosts of a rule that tenants see.  With fewer, a
#: tenant could vary a request and learn about single hosts.
FEWEST = 10

#: Minimum share of all hosts, and its name in texts for tenants.
_SHARES = ((0.5, 'most'), (0.1, 'some'), (0, 'few'))


#: Texts with the number of hosts that each rule rejected.
#: full: for operators, with the reasons of the rules that reject most.
#: amounts: for callers, with the requested amounts.
#: named: for tenants, without numbers and without anything that reveals
#:     hosts; may be ''.
Counted = collections.namedtuple('Counted', 'full amounts named')


def counted(record, filters, snapshot, spec_obj):
    """Return the texts of a refusal: Counted.

    record: the Decision of the request.  filters: the filters that ran.
    snapshot: HostSnapshot after the request.  spec_obj: its RequestSpec.
    Rules that reject most hosts come first, then in the order they ran.
    """
    by_name = {type(filter_).__name__: filter_ for filter_ in filters}
    rejected = sorted(record.funnel.rejected(), key=lambda item: -len(item[1]))
    by_rule = {name: _reason(by_name[name], snapshot.block(rows), spec_obj)
               for name, rows in rejected if name in by_name}
    amounts = {name: getattr(reason, 'request', '')
             for name, reason in by_rule.items()}

    def text(words, most):
        if not record.state.hosts:
            return 'there are no hosts'
        if not rejected:
            return f'none of {record.state.hosts} hosts was rejected'
        passing = record.state.hosts - sum(len(rows) for _, rows in rejected)
        return f'{passing} of {record.state.hosts} hosts: ' + ', '.join(
            phrases.groups([
                f'{len(rows)} {name}{_bracketed(words.get(name))}'
                for name, rows in rejected[:most]],
                [len(rows) for _, rows in rejected[most:]]))

    return Counted(full=text(by_rule, phrases.GROUPS),
                   amounts=text(amounts, len(rejected)),
                   named=_named(record, filters, spec_obj, amounts))


def _named(record, filters, spec_obj, amounts):
    """Return the text that names filters which rejected many hosts, or ''.

    amounts: name of a filter -> text with the requested amounts.
    """
    named, counts = [], _counts(record, filters, spec_obj)
    for filter_ in filters:
        name = type(filter_).__name__
        count = counts.pop(name, 0)
        if _may_look_at_hints(filter_, spec_obj):
            # Counts of later filters, too, reveal which hosts match hints.
            break
        if count >= FEWEST and not rule_inputs.judges_by_hints(filter_):
            named.append(f'{_share(count / record.state.hosts)} {name}'
                         f'{_bracketed(amounts.get(name))}')
    return f'hosts rejected: {", ".join(named)}' if named else ''


def _may_look_at_hints(filter_, spec_obj):
    """Return whether the verdict may depend on the request's hints."""
    return (bool(spec_obj.scheduler_hints)
            and rule_inputs.judges_by_hints(filter_) is not False)


def _counts(record, filters, spec_obj):
    """Return the number of hosts that each rule rejected: Counter.

    If a verdict may depend on hints, only rejections for the first instance
    count: for later instances all filters see only hosts that match the hints.
    """
    by_hints = any(_may_look_at_hints(filter_, spec_obj)
                   for filter_ in filters)
    counts = collections.Counter()
    for step in record.funnel.steps:
        if not (by_hints and step.index):
            counts[step.name] += step.before - step.after
    return counts


def _share(part):
    return next(word for least, word in _SHARES if part >= least)


def lost_cells(record):
    """Return the end of a reason that names the unavailable cells."""
    return ''.join(f'; cell {cell} cannot be read'
                   for cell, _ in record.state.lost)


def late_claims(record):
    """Return the end of a reason for an unanswered claim, or ''."""
    return ('; Placement did not respond in time' if any(
        claim.taken is None for claim in record.claims) else '')


def _bracketed(text):
    return f' ({text})' if text else ''


def _reason(filter_, hosts, spec_obj):
    """Return a filter's reason for rejecting a HostBlock.

    '' if the request has spent its budget.
    """
    try:
        with budget.Step('reason'):
            return filter_.reason(hosts, spec_obj)
    except Exception as error:
        # A failing reason must not fail the request.
        if not getattr(error, 'is_budget_spent', False):
            LOG.exception('%s failed to give a reason for rejecting %d '
                          'host(s)', type(filter_).__name__, len(hosts))
        return ''
