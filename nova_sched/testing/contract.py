"""The contract of filters and weighers.

A rule is checked with ``ROUNDS`` generated cases, the same in every run:

1. No hosts give an empty answer.
2. There is an answer for each host, and no exception.
3. Hosts and request are not changed; only attributes of a host state may be
   set, such as its ``limits``.
4. Equal arguments give equal answers: a rule keeps no state of a request.
5. A host gets the same answer alone and among others, in any order.
6. None is neither an answer nor a weight.
7. A filter's text for callers contains nothing about hosts.
"""

import copy
import math

import numpy as np

from nova_sched import nova_compat
from nova_sched.hosts import columns as host_columns
from nova_sched.plugins import loading as plugins
from nova_sched.testing import fuzz
from nova_sched.testing import host_builders
from nova_sched.testing import request_builders
from nova_sched.testing import rules

ROUNDS = 60


def check_filter(cls, hosts=(), requests=(), together=False, **options):
    """Assert that a filter class keeps the contract.

    hosts, requests: results of ``a_host`` and of ``a_request`` for which the
        filter matters; they are mixed with generated hosts and requests.
    together: whether the filter judges a host by the other hosts, so that
        (5) does not apply.
    options: of the configuration, see ``a_conf``.
    Raises AssertionError that names the case, and ConfigurationError for a
    class that the service does not load.
    """
    made = plugins.make_filter(cls, rules.a_conf(**options))
    if not getattr(made, '_is_column', False):
        made._filter_one = _answering(made._filter_one)
    [rule] = nova_compat.loaded().adapted_filters([made])

    def ask(block, spec_obj):
        passing = rule.keep(block, spec_obj)
        answer = [False] * len(block) if passing is None else passing.tolist()
        assert len(answer) == len(block), (
            f'{len(answer)} answers for {len(block)} hosts')
        return answer

    cases = [fuzz.case(number, hosts, requests) for number in range(ROUNDS)]
    _check(ask, cases, together)
    for case in cases:
        hosts = case.hosts()
        passing = np.array(ask(hosts, case.request()), np.bool_)
        if not passing.all():
            text = getattr(rule.reason(hosts.where(~passing), case.request()),
                           'request', '')
            assert fuzz.PRIVATE not in text, (
                f'a caller is told more than was asked for: {text}')


def _answering(judge):
    """Return a filter's method for one host, which must not return None."""
    def judged(host_state, spec_obj):
        answer = judge(host_state, spec_obj)
        assert answer is not None, (
            f'None is returned for host {host_state.host}, and must be True '
            'or False')
        return answer
    return judged


def check_weigher(cls, hosts=(), requests=(), together=False, **options):
    """Assert that a weigher class keeps the contract.

    For arguments and errors see ``check_filter``. An answer is the
    weight before normalizing, and the multiplier; neither may be NaN.
    """
    [rule] = nova_compat.loaded().adapted_weighers(
        [plugins.make_weigher(cls, rules.a_conf(**options))])

    def ask(block, spec_obj):
        raw = rule.raw(block, spec_obj).tolist()
        assert len(raw) == len(block), (
            f'{len(raw)} weights for {len(block)} hosts')
        factors = np.broadcast_to(rule.multipliers(block), len(block))
        answer = list(zip(raw, factors.tolist(), strict=True))
        assert not any(map(math.isnan, np.ravel(answer))), f'NaN in {answer}'
        return answer

    _check(ask, [fuzz.case(number, hosts, requests)
                 for number in range(ROUNDS)], together)


def _check(ask, cases, together):
    answer = ask(host_builders.hosts(), request_builders.a_request())
    assert answer == [], f'no hosts, but an answer: {answer}'
    for case in cases:
        try:
            _check_case(ask, case, together)
        except Exception as exc:
            names = [state.host for state in case.hosts().states()]
            raise AssertionError(
                f'{exc if isinstance(exc, AssertionError) else repr(exc)}\n'
                f'Request: {case.spec_obj!r}\nHosts {names}: '
                f'{case.records}\nInstances: {case.running}') from exc


def _check_case(ask, case, together):
    block, spec_obj = case.hosts(), case.request()
    before = _fingerprint(block, spec_obj)
    answer = ask(block, spec_obj)
    assert _fingerprint(block, spec_obj) == before, (
        'the hosts or the request were changed')
    again = ask(case.hosts(), case.request())
    assert again == answer, f'the answer was {answer}, and then {again}'
    if together:
        return
    reversed_ = case.hosts()
    reversed_ = reversed_.snapshot.block(reversed_.rows[::-1])
    assert ask(reversed_, case.request())[::-1] == answer, (
        'the order of the hosts makes a difference')
    for row, expected in enumerate(answer):
        alone, = ask(host_builders.one(case.hosts(), row), case.request())
        assert alone == expected, (
            f'the answer for host {row} is {expected}, but {alone} when it '
            'is alone')


def _fingerprint(block, spec_obj):
    """Return all that a rule could change in its arguments."""
    columns = {name: copy.deepcopy(block.objects(name))
               for name in host_columns.NAMES if name != 'aggregates'}
    aggregates = [[dict(aggregate.metadata) for aggregate in of_host]
                  for of_host in block.objects('aggregates')]
    return columns, aggregates, block.rows.tolist(), repr(spec_obj)
