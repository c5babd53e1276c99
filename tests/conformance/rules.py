"""Cases of single filters, filter chains and weighers."""

import functools

import numpy as np

from nova_sched import exception
from nova_sched import filters as base_filters
from nova_sched import objects
from nova_sched.hosts import decision
from nova_sched.objects import arguments
from nova_sched.plugins import loading as plugins
from nova_sched.rules import narrowing
from tests.conformance import offers
from tests.conformance import waivers
from tests.conformance import weighing
from tests.conformance.vectors import Outcome
from tests.conformance.waivers import facts
from tests.conformance.waivers.facts import same

FILTERS = {cls.__name__ for cls in plugins.all_filters()}
WEIGHERS = {cls.__name__ for cls in plugins.all_weighers()}


class RowFunnel(decision.Funnel):
    """A Funnel that keeps the rows after each step."""

    @functools.cached_property
    def after(self):
        return []

    def step(self, index, rule, before, after):
        super().step(index, rule, before, after)
        self.after.append((rule, after))


def a_record(snapshot):
    """A Decision on a HostSnapshot, which has a RowFunnel."""
    return decision.Decision(state=decision.State(hosts=snapshot.size),
                             funnel=RowFunnel())


def check_filters(case, stage, asked):
    """Yield the outcomes of a case of kind ``filters``.

    asked: predicate of a question's name.
    """
    for name, expected in case['expected'].items():
        if not asked(name):
            continue
        yield judged(case, name, stage, expected,
                     _chain if name == 'chain' else _single)


def judged(case, name, stage, expected, answer):
    """The outcome of a question, which a rule may waive."""
    def ask(case):
        try:
            return answer(case, name, stage, expected)
        except exception.ConfigurationError as exc:
            return {'refused': str(exc)}
        except Exception as exc:
            # A recorded exception of Nova explains an exception here; any
            # other error is reported as a difference.
            return _error(exc)

    got = ask(case)
    if same(expected, got):
        return Outcome(case, name, 'passed')
    reason = waivers.reason(facts.Difference(
        case, name, stage, expected, got, ask))
    if reason:
        return Outcome(case, name, 'waived', reason)
    return Outcome(case, name, 'failed', difference(expected, got), got)


def difference(expected, got):
    """The difference of two answers, in a line."""
    if isinstance(expected, dict) and isinstance(got, dict) and not (
            facts.is_error(expected) or facts.is_error(got)):
        return '; '.join(
            f'{key}: {difference(expected.get(key), got.get(key))}'
            for key in sorted({*expected, *got}, key=str)
            if not same(expected.get(key), got.get(key)))[:1000]
    if isinstance(expected, list) and isinstance(got, list):
        missing = [item for item in expected if item not in got]
        extra = [item for item in got if item not in expected]
        return f'missing {missing}, extra {extra}'[:500]
    return f'expected {expected!r}, got {got!r}'[:500]


def named(snapshot, rows):
    """[host, nodename] of rows, sorted."""
    return sorted([snapshot.value('host', row),
                   snapshot.value('nodename', row)]
                  for row in np.asarray(rows).tolist())


def _single(case, name, stage, expected):
    """Hosts that pass a filter, with limits and candidates if recorded."""
    conf = stage.conf(case, enabled_filters=[name])
    rule, = plugins.load_filters(conf)
    snapshot = stage.hosts(case, conf)
    spec = arguments.from_wire(case['request_spec'])
    left = base_filters.run(
        [rule], snapshot.block(), spec, 0, a_record(snapshot))
    survivors = named(snapshot, left.rows)
    states = {f'{state.host}|{state.nodename}': state
              for state in left.states()}
    wrong = {'limits': _limits_differ(case, rule, states, spec),
             'candidates_left': _candidates_differ(case, rule, states)}
    if any(wrong.values()):
        return {'survivors': survivors, **wrong}
    return survivors


def _limits_differ(case, rule, states, spec):
    wanted = case.get('limits', {}).get(type(rule).__name__)
    if wanted is None:
        return ''
    limits = {host: flat(rule.limits(state.block(), spec))
              for host, state in states.items()}
    return difference(
        {host: whole(given) for host, given in wanted.items()},
        {host: given for host, given in limits.items() if given})


def _candidates_differ(case, rule, states):
    wanted = case.get('candidates_left', {}).get(type(rule).__name__)
    if wanted is None:
        return ''
    return difference(wanted, {host: offers.left(state)
                               for host, state in states.items()})


def flat(limits):
    """Limits in the recorded form: NUMA limits as a dict of the ratios."""
    return {name: {key: amount for key, amount in value.flat().items()
                   if key != 'network_metadata'}
            if isinstance(value, objects.NUMATopologyLimits) else value
            for name, value in limits.items()}


def whole(limits):
    """Limits in the sent form: integers."""
    return {name: int(value) if isinstance(value, float) else value
            for name, value in limits.items()}


def _chain(case, name, stage, expected):
    """Run all filters; return the recorded parts: start, steps, final."""
    conf = stage.conf(case, weight_classes=[])
    snapshot = stage.hosts(case, conf)
    recorder = a_record(snapshot)
    spec = arguments.from_wire(case['request_spec'])
    ranker = plugins.load_ranker(conf)
    try:
        ranked = ranker.ranked(snapshot.block(), spec, 0, recorder)
    except Exception as exc:
        return _error(exc) | _taken(snapshot, recorder)
    answer = {'final': named(snapshot, ranked.hosts.rows)} | {
        name: value for name, value in _taken(snapshot, recorder).items()
        if name in expected}
    if expected.get('filters_skipped'):
        answer['filters_skipped'] = not _taken(snapshot, recorder)['steps']
    return answer


def _taken(snapshot, recorder):
    """Hosts before the filters, and after each filter that ran."""
    start, steps = np.arange(snapshot.size), []
    for rule, rows in recorder.funnel.after:
        if rule in narrowing.NAMES:
            start = rows
        else:
            steps.append([rule, named(snapshot, rows)])
    return {'start': named(snapshot, start), 'steps': steps}


def _error(exc):
    return {'error': type(exc).__name__, 'text': str(exc)}


def check_weighers(case, stage, asked):
    """Yield the outcomes of a case of kind ``weighers``."""
    expected = case['expected']
    for name in expected:
        if name in ('total', 'order') or not asked(name):
            continue
        yield judged(case, name, stage, expected[name], weighing.weigher)
    if asked('total'):
        both = {key: expected[key] for key in ('total', 'order')}
        if all(map(facts.is_error, both.values())):
            both = both['total']
        yield judged(case, 'total', stage, both, weighing.total)
