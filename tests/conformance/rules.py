"""Cases of single filters, filter chains and weighers."""

import functools
import math

import numpy as np

from nova_sched import filters as base_filters
from nova_sched import loadables
from nova_sched import weights as base_weights
from nova_sched.objects import request
from nova_sched.scheduler import decision
from nova_sched.scheduler import plugins
from nova_sched.scheduler import ranking
from tests.conformance import waivers
from tests.conformance.vectors import Outcome

FILTERS = {cls.__name__ for cls in plugins.all_filters()}
WEIGHERS = {cls.__name__ for cls in plugins.all_weighers()}

_WEIGHER_PATHS = {
    name: f'nova.scheduler.weights.{module}.{name}'
    for module, names in loadables.WEIGHER_MODULES.items() for name in names}


class Recorder(decision.Decision):
    """A Decision that keeps the rows after each step."""

    @functools.cached_property
    def after(self):
        return []

    def step(self, index, rule, before, after):
        super().step(index, rule, before, after)
        self.after.append((rule, after))

    @classmethod
    def of(cls, snapshot):
        return cls(None, None, 1, 0, hosts=snapshot.size)


def needs_ironic(case, stage):
    """Whether a case is of the host manager for bare metal."""
    return (case['config'].get('scheduler', {}).get('host_manager')
            == 'ironic_host_manager' and any(
                node['hypervisor_type'] == 'ironic'
                for node in stage.cloud['compute_nodes']))


def check_filters(case, stage, asked):
    """Outcomes of a case of kind ``filters``: an iterator.

    asked: function of a question's name; whether it is wanted.
    """
    for name, expected in case['expected'].items():
        if not asked(name):
            continue
        if needs_ironic(case, stage):
            yield Outcome(case, name, 'not built', 'ironic_host_manager')
            continue
        if name == 'chain':
            chain = case['config'].get('filter_scheduler', {}).get(
                'enabled_filters')
            missing = set(chain or ()) - FILTERS
            answer = _chain
        else:
            missing, answer = {name} - FILTERS, _single
        if missing:
            yield Outcome(case, name, 'not built', ', '.join(sorted(missing)))
        else:
            yield judged(case, name, stage, expected, answer)


def judged(case, name, stage, expected, answer):
    """The outcome of one question, waived if a rule says so."""
    def ask(case):
        try:
            return answer(case, name, stage, expected)
        except Exception as exc:
            # What Nova answers with an exception, we may too; whatever else
            # goes wrong in here is a difference to report.
            return {'error': type(exc).__name__, 'text': str(exc)}

    got = ask(case)
    if same(expected, got):
        return Outcome(case, name, 'passed')
    reason = waivers.reason(case, name, stage, expected, got,
                            lambda case: same(expected, ask(case)))
    if reason:
        return Outcome(case, name, 'waived', reason)
    return Outcome(case, name, 'failed', difference(expected, got), got)


def is_error(answer):
    return isinstance(answer, dict) and 'error' in answer


def same(expected, got):
    """Whether two answers agree; any two errors do, floats to 1e-9."""
    if is_error(expected) or is_error(got):
        return is_error(expected) and is_error(got)
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(
            same(value, got[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(
            map(same, expected, got))
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        return math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-9)
    return expected == got


def difference(expected, got):
    """Where two answers differ, in a line."""
    if isinstance(expected, dict) and isinstance(got, dict) and not (
            is_error(expected) or is_error(got)):
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
    return sorted([snapshot.cell('host', row), snapshot.cell('nodename', row)]
                  for row in np.asarray(rows).tolist())


def _single(case, name, stage, expected):
    """Survivors of one filter; with limits where the case has them."""
    conf = stage.conf(case, enabled_filters=[name])
    rule, = plugins.load_filters(conf)
    snapshot = stage.hosts(case, conf)
    spec = request.from_wire(case['request_spec'])
    left = base_filters.FilterHandler().run(
        [rule], snapshot.block(), spec, 0, Recorder.of(snapshot))
    survivors = named(snapshot, left.rows)
    wanted = case.get('limits', {}).get(name)
    if wanted is not None:
        limits = {f'{state.host}|{state.nodename}':
                  rule.limits(state.block(), spec)
                  for state in left.states()}
        wrong = difference(
            {host: whole(given) for host, given in wanted.items()},
            {host: given for host, given in limits.items() if given})
        if wrong:
            return {'survivors': survivors, 'limits': wrong}
    return survivors


def whole(limits):
    """Limits as they are sent: fractions cut off."""
    return {name: int(value) if isinstance(value, float) else value
            for name, value in limits.items()}


def _chain(case, name, stage, expected):
    """get_filtered_hosts as recorded: start, steps, final."""
    conf = stage.conf(case, weight_classes=[])
    snapshot = stage.hosts(case, conf)
    recorder = Recorder.of(snapshot)
    spec = request.from_wire(case['request_spec'])
    ranked = ranking.Ranker(conf).ranked(snapshot.block(), spec, 0, recorder)
    start, steps = np.arange(snapshot.size), []
    for rule, rows in recorder.after:
        if isinstance(rule, str):
            start = rows
        else:
            steps.append([type(rule).__name__, named(snapshot, rows)])
    final = named(snapshot, ranked.hosts.rows)
    answer = {'final': final}
    if 'start' in expected:
        answer['start'] = named(snapshot, start)
    if expected.get('filters_skipped'):
        answer['filters_skipped'] = not ranked.filtered
    if 'steps' in expected:
        answer['steps'] = steps
    return answer


def check_weighers(case, stage, asked):
    """Outcomes of a case of kind ``weighers``: an iterator."""
    expected = case['expected']
    for name in expected:
        if name in ('total', 'order') or not asked(name):
            continue
        if name in WEIGHERS:
            yield judged(case, name, stage, expected[name], _weigher)
        else:
            yield Outcome(case, name, 'not built', name)
    if not asked('total'):
        return
    missing = set(case['configured_weighers']) - WEIGHERS
    if missing:
        yield Outcome(case, 'total', 'not built', ', '.join(sorted(missing)))
    else:
        yield judged(case, 'total', stage,
                     {key: expected[key] for key in ('total', 'order')},
                     _total)


def _weighed_block(case, stage, names):
    conf = stage.conf(case, weight_classes=[
        _WEIGHER_PATHS[name] for name in names])
    snapshot = stage.hosts(case, conf)
    hosts = snapshot.block()
    if 'hosts' in case:
        rows = {(state.host, state.nodename): row
                for row, state in enumerate(hosts.states())}
        hosts = snapshot.block(np.array(
            [rows[host, node] for host, node in case['hosts']], dtype=int))
    return (plugins.load_weighers(conf), hosts,
            request.from_wire(case['request_spec']))


def _by_host(hosts, values):
    return {f'{state.host}|{state.nodename}': float(value)
            for state, value in zip(
                hosts.states(), np.broadcast_to(values, len(hosts)),
                strict=True)}


def _weigher(case, name, stage, expected):
    (weigher,), hosts, spec = _weighed_block(case, stage, [name])
    raw = weigher.raw(hosts, spec)
    multipliers = _by_host(hosts, weigher.multipliers(hosts))
    if not isinstance(expected.get('multiplier'), dict) and len(
            set(multipliers.values())) == 1:
        multipliers = next(iter(multipliers.values()))
    return {'raw': _by_host(hosts, raw), 'multiplier': multipliers,
            'normalized': _by_host(hosts, base_weights.normalize(
                raw, weigher.minval, weigher.maxval))}


def _total(case, name, stage, expected):
    weighers, hosts, spec = _weighed_block(
        case, stage, case['configured_weighers'])
    weighed = base_weights.WeightHandler().weigh(weighers, hosts, spec)
    ordered = hosts.snapshot.block(weighed.rows)
    weights = weighed.weights.tolist()
    order, last = [], None
    for state, weight in zip(ordered.states(), weights, strict=True):
        if last is None or abs(weight - last) > 1e-9:
            order.append([])
        order[-1].append([state.host, state.nodename])
        last = weight
    return {'total': _by_host(ordered, weighed.weights),
            'order': [sorted(group) for group in order]}
