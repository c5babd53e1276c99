"""Why a request got its hosts, or none, on one state: all in one object.

``explain`` depends on its arguments alone, so a decision of long ago is
explained as one of now, on the hosts as they were.
"""

import contextlib
import dataclasses
import datetime
import itertools
import logging

from nova_sched import exception
from nova_sched.dry_run import trial as trials
from nova_sched.explain.changes import Changes
from nova_sched.explain.changes import smallest_changes
from nova_sched.explain.host import verdicts
from nova_sched.explain.host import why_not
from nova_sched.explain.matrix import judge
from nova_sched.explain.pick import why_pick
from nova_sched.options import nearest

#: What stands in place of Explanation.to_dict where there is none.
NONE = {'why': None, 'why_not': [], 'changes': [], 'changes_complete': True,
        'schedule_info': None}

#: What is said where not all changes were tried.
NOT_ALL = ('Not all that might help was tried: there was no time; flavors of '
           '--or-flavor are tried first')


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why an instance of a request got its host, or none.

    instance: number of the instance it is about, from 0: of a refused request
        the one that got no host.
    matrix: Matrix of it, on what those before it left.
    pick: WhyPick; None without a host.
    why_not: list of WhyNot, of the hosts that were asked about.
    changes: Changes by which a refused request is placed.
    error: why the pick cannot be explained, or ''.
    schedule_info: list of dicts, the verdict on every host; None unless it
        was asked for.
    """

    instance: int
    matrix: object
    pick: object
    why_not: list
    changes: Changes
    error: str = ''
    schedule_info: list | None = None

    def kind(self, kind):
        """As of Matrix.kind."""
        return self.matrix.kind(kind)

    def to_dict(self):
        """Return it as plain JSON."""
        return {
            'why': {
                'instance': self.instance,
                'matrix': self.matrix.to_dict() | {'instance': self.instance},
                'pick': None if self.pick is None else self.pick.to_dict(),
                'error': self.error},
            'why_not': [each.to_dict() for each in self.why_not],
            'changes': [each.to_dict() for each in self.changes.found],
            'changes_complete': self.changes.complete,
            'schedule_info': self.schedule_info}

    def sentences(self):
        """Return it in a few lines: list."""
        found = ([f'of instance {self.instance + 1}:'] if self.instance
                 else [])
        found += [self.error] if self.error else []
        if self.pick is not None:
            found += self.pick.sentences()
        found += (self.matrix.sentences() if self.pick is None
                  else [self.matrix.summary()])
        found += map(str, self.changes.found)
        found += [] if self.changes.complete else [NOT_ALL]
        for each in self.why_not:
            first, *others = each.sentences()
            found += [first, *(f'  {line}' for line in others)]
        return found


def explain(hosts, request, ranker, *, placed, picked=(), instance=0,
            selector=None, default_zone=None, named=(), flavors=(),
            ask_others=False, every_host=False, placement=(),
            refused=()):
    """Return why a request was decided as it was: Explanation.

    hosts: HostSnapshot of the state it was decided on; not changed.
    request: scheduler.attempt.SchedulingRequest.
    ranker: rules.ranking.Ranker.
    placed: whether all instances have a host.
    picked: (host, node) of the instances that have one, in their order.
    instance: number of the instance of a placed request that it is about.
    selector: scheduler.attempt.HostSelector that drew among the best.
    default_zone: availability zone of hosts that are in none.
    named: hosts to tell why not they, as of ``rows_named``.
    flavors: list of Flavor to choose a smaller one from.
    ask_others: whether filters are asked that ask other services.
    every_host: whether the verdict on every host is wanted.
    placement: list of offer.PlacementRule, to tell why hosts are not offered.
    refused: rows of the hosts that Placement did not grant the instance
        without a host.

    Nothing is logged.  What a rule raises is part of the explanation.
    Raises InvalidInput for a host that is not there.
    """
    named = [rows_named(hosts, name) for name in named]
    with _log_disabled():
        trial = _before(instance if placed else None, hosts, request, ranker,
                        picked, ask_others)
        matrix = judge(trial.hosts, trial.spec_obj, ranker,
                       ask_others=ask_others, placement=placement,
                       refused=() if placed else refused)
        row = _row(hosts, picked, trial.count) if placed else None
        pick, error = _pick(matrix, row, selector)
        return Explanation(
            trial.count, matrix, pick,
            [why_not(matrix, each, row) for each
             in dict.fromkeys(itertools.chain(*named))],
            Changes([], True) if placed else smallest_changes(
                hosts, request, ranker, flavors, default_zone, ask_others),
            error, schedule_info(matrix) if every_host else None)


@contextlib.contextmanager
def _log_disabled():
    """Disable the log, which has the decision already, for a block."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def rows_named(hosts, name):
    """Return the rows of a host: list, one a node.

    hosts: HostSnapshot.  name: of a host or node, text, or a row, int.
    Raises InvalidInput if there is none.
    """
    if isinstance(name, int):
        return [name]
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


def _before(instance, hosts, request, ranker, picked, ask_others):
    """Return a Trial that has placed the instances before one.

    instance: its number; None for the first one without a host.
    """
    if not ask_others:
        ranker = trials.asking_nobody(ranker, request.spec_obj)
    rows = [_row(hosts, picked, index)
            for index, _ in enumerate(picked[:instance])]
    return trials.Trial(request, ranker, hosts, rows)


def _row(hosts, picked, index):
    """Return the row of the host of an instance; None if it has none."""
    if index >= len(picked):
        return None
    return hosts.table.row(*picked[index])


def _pick(matrix, row, selector):
    """Return why a host is picked: WhyPick or None, and why it is not known.
    """
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

    Keys as of Nova's blueprint internal-scheduler: host, result ('failed' or
    'passed'), reason (None if it passed) and created_at, in UTC; and beside
    them node, and filters: what each rule says that rejects it.
    """
    moment = matrix.hosts.moment
    created_at = None if moment is None else datetime.datetime.fromtimestamp(
        moment, datetime.UTC).strftime('%Y-%m-%d %H:%M:%S.%f')[:-3]
    found = []
    for row in range(matrix.hosts.size):
        said = verdicts(matrix, row)
        host, node = (matrix.hosts.cell(name, row)
                      for name in ('host', 'nodename'))
        found.append({
            'host': host, 'node': node,
            'result': 'failed' if said else 'passed',
            'reason': '; '.join(f'{each.rule}: {each.words}'.rstrip(': ')
                                for each in said) or None,
            'created_at': created_at,
            'filters': [each.to_dict() for each in said]})
    return found
