"""Why a request got its hosts, or none, on one state: all in one object.

``explain`` depends on its arguments only, so a past decision is explained like
a present one, on the hosts as they were.
"""

import contextlib
import dataclasses
import datetime
import logging
import typing

from nova_sched import exception
from nova_sched.dry_run import trial as trials
from nova_sched.explain.changes import Changes
from nova_sched.explain.changes import smallest_changes
from nova_sched.explain.host import verdicts
from nova_sched.explain.host import why_not
from nova_sched.explain.matrix import judge
from nova_sched.explain.pick import why_pick
from nova_sched.options import nearest

#: The note on an incomplete search for changes.
NOT_ALL = ('There was no time to try all changes that might help; flavors of '
           '--or-flavor are tried first')


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why an instance of a request got its host, or none.

    instance: number of the explained instance, from 0; for a refused request
        the instance without a host.
    matrix: its Matrix, on the hosts that the instances before it left.
    pick: WhyPick; None without a host.
    why_not: list of WhyNot, of the hosts of --host.
    changes: Changes by which a refused request is placed.
    error: why the pick cannot be explained, or ''.
    schedule_info: list of dicts, the verdict on every host; None unless
        wanted.
    """

    instance: int
    matrix: object
    pick: object
    why_not: list
    changes: Changes
    error: str = ''
    schedule_info: list | None = None

    def kind(self, kind):
        """Return the kind of a refusal; see Matrix.kind."""
        return self.matrix.kind(kind)

    def to_dict(self):
        """Return it as plain JSON."""
        return {
            'why': {
                'instance': self.instance,
                'matrix': self.matrix.to_dict() | {'instance': self.instance},
                'pick': None if self.pick is None else self.pick.to_dict(),
                'error': self.error},
            'why_not': [part.to_dict() for part in self.why_not],
            'changes': [part.to_dict() for part in self.changes.found],
            'changes_complete': self.changes.complete,
            'schedule_info': self.schedule_info}

    def sentences(self):
        """Return it in a few lines: list."""
        lines = ([f'of instance {self.instance + 1}:'] if self.instance
                 else [])
        lines += [self.error] if self.error else []
        if self.pick is not None:
            lines += self.pick.sentences()
        lines += (self.matrix.sentences() if self.pick is None
                  else [self.matrix.summary()])
        lines += map(str, self.changes.found)
        lines += [] if self.changes.complete else [NOT_ALL]
        for host in self.why_not:
            first, *details = host.sentences()
            lines += [first, *(f'  {line}' for line in details)]
        return lines


class NoExplanation(typing.NamedTuple):
    """In place of an Explanation, where there is none.  reason: why, text."""

    reason: str

    def kind(self, kind):
        """Return the kind of a refusal as it is."""
        return kind

    def to_dict(self):
        """See Explanation."""
        return {'why': None, 'why_not': [], 'changes': [],
                'changes_complete': True, 'schedule_info': None}

    def sentences(self):
        """See Explanation."""
        return [self.reason]


def explain(hosts, request, ranker, *, placed, picked=(), instance=0,
            selector=None, default_zone=None, named=(), flavors=(),
            ask_others=False, every_host=False, placement=(),
            refused=()):
    """Return why a request was decided as it was: Explanation.

    hosts: HostSnapshot of the state it was decided on; not changed.
    request: scheduler.attempt.SchedulingRequest.
    ranker: scheduler.ranking.Ranker.
    placed: whether all instances have a host.
    picked: (host, node) of the instances that have one, in their order.
    instance: number of the explained instance of a placed request.
    selector: scheduler.attempt.HostSelector that drew among the best.
    default_zone: availability zone of hosts without a zone.
    named: rows of the hosts to explain why they are not picked.
    flavors: list of Flavor to choose a smaller one from.
    ask_others: whether filters that query other services run.
    every_host: whether to return the verdict on every host.
    placement: list of offer.PlacementRule, to explain why hosts are not
        offered.
    refused: rows of the hosts that Placement did not grant the instance
        without a host.

    Nothing is logged.  Errors of rules are part of the explanation.
    """
    rows = [hosts.table.row(*names) for names in picked]
    with _log_disabled():
        # The hosts that the instances before the explained one leave.
        trial = trials.Trial(
            request, ranker if ask_others else trials.asking_nobody(
                ranker, request.spec_obj), hosts,
            rows[:instance] if placed else rows)
        matrix = judge(trial.hosts, trial.spec_obj, ranker,
                       ask_others=ask_others, placement=placement,
                       refused=() if placed else refused)
        row = (rows[trial.count] if placed and trial.count < len(rows)
               else None)
        pick, error = _pick(matrix, row, selector)
        return Explanation(
            trial.count, matrix, pick,
            [why_not(matrix, named_row, row)
             for named_row in dict.fromkeys(named)],
            Changes([], True) if placed else smallest_changes(
                hosts, request, ranker, flavors, default_zone, ask_others),
            error, schedule_info(matrix) if every_host else None)


@contextlib.contextmanager
def _log_disabled():
    """Disable the log in a block: the decision is logged already."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def rows_named(hosts, name):
    """Return the rows of a host: list, one for each node.

    hosts: HostSnapshot.  name: of a host or node.
    Raises InvalidInput if there is none.
    """
    block = hosts.block()
    rows = block.where(block.named('host', [name])
                       | block.named('nodename', [name])).rows.tolist()
    if not rows:
        raise exception.InvalidInput(reason=f'there is no host {name}'
                                            f'{_nearest(hosts, name)}')
    return rows


def _nearest(hosts, name):
    keys = hosts.table.keys()
    near = nearest.nearest(name, {
        name for names in keys for name in names if name})
    return (f' among {hosts.size}' if near is None
            else f'; did you mean {near}?')


def _pick(matrix, row, selector):
    """Return why a host is picked: WhyPick or None, and an error or ''."""
    if row is None:
        return None, ''
    if row not in matrix.fitting:
        return None, f'{matrix.name(row)} does not fit on this state'
    try:
        return why_pick(matrix, row, selector), ''
    except Exception as error:
        return None, f'the hosts cannot be weighed: {error!r}'


def schedule_info(matrix):
    """Return the verdict on every host of a Matrix: list of dicts.

    Keys of Nova's blueprint internal-scheduler: host, result ('failed' or
    'passed'), reason (None if it passed) and created_at, in UTC; in addition
    node, and filters: the verdict of each rule that rejects the host.
    """
    moment = matrix.hosts.moment
    created_at = None if moment is None else datetime.datetime.fromtimestamp(
        moment, datetime.UTC).strftime('%Y-%m-%d %H:%M:%S.%f')[:-3]
    infos = []
    for row in range(matrix.hosts.size):
        rejecting = verdicts(matrix, row)
        host, node = matrix.hosts.names(row)
        infos.append({
            'host': host, 'node': node,
            'result': 'failed' if rejecting else 'passed',
            'reason': '; '.join(f'{verdict.rule}: {verdict.words}'.rstrip(': ')
                                for verdict in rejecting) or None,
            'created_at': created_at,
            'filters': [verdict.to_dict() for verdict in rejecting]})
    return infos
