"""Properties of decisions of the filter scheduler, on any hosts.

Some built-in filters are enabled in any order, and all weighers.
"""

import collections
import functools
import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from nova_sched import exception
from nova_sched.compat.nova.host_manager import NovaHostManager
from nova_sched.compat.row_api import attempt as row_api
from nova_sched.compat.row_api.nova_scheduler import NovaSchedulerMixin
from nova_sched.hosts.decision import Decision
from nova_sched.plugins import loading as plugins
from nova_sched.scheduler import ranking
from tests.builders.drivers import MemoryScheduler
from tests.builders.drivers import select
from tests.builders.examples import examples
from tests.builders.requests import INSTANCE_UUID
from tests.properties.built_ins import OPTIONS
from tests.properties.built_ins import attested
from tests.properties.built_ins import named
from tests.properties.built_ins import outcome
from tests.properties.clouds import clouds
from tests.properties.requests import in_groups
from tests.properties.requests import requests

ANY = examples(120)
FILTERS = [cls.__name__ for cls in plugins.all_filters()]
CAPACITY = ['RamFilter', 'CoreFilter', 'DiskFilter']
ONE = [None, [INSTANCE_UUID], ['n1']]
SOME = [[INSTANCE_UUID, 'n1', 'm1'], ['n1', 'n2'], ['n1', 'n2', 'n3', 'n4']]
MANY = [[f'n{number}' for number in range(1, count)] for count in (6, 12)]
GROUPS = ['ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter']

Case = collections.namedtuple('Case', 'cloud spec uuids filters')


class _Asked(Decision):
    """A record that has the filters run again on each pick."""

    def __init__(self, scheduler):
        super().__init__()
        self._scheduler = scheduler

    def picked(self, pick, *weighed):
        super().picked(pick, *weighed)
        self._scheduler.ask_again(pick)


class CloudScheduler(MemoryScheduler):
    """The filter scheduler on the hosts of a case, with its filters.

    options: of the configuration, see rules.a_conf.
    """

    def __init__(self, **options):
        super().__init__(enabled_filters=FILTERS, **options)
        self._built_ins = named(attested(self.ranker.filters))
        self._cloud, self.doubted = None, []

    def decide(self, case, seed=1):
        """The Selections of a case; None if it is refused."""
        self._cloud, self.seed, self.doubted = case.cloud, seed, []
        self.ranker.filters = [self._built_ins[name] for name in case.filters]
        self.ranker.ranked = self._ranked
        try:
            return select(self, case.spec, case.uuids, return_alternates=True,
                          offer=self._cloud.offer(), record=_Asked(self))
        except exception.NoValidHost:
            return None

    def hosts(self, wanted, found, record):
        self._hosts = self._cloud.table
        view, _ = super().hosts(wanted, found, record)
        return view, self._cloud.snapshot(record.offer)

    def _ranked(self, hosts, spec_obj, *args):
        self._asked = hosts.snapshot, spec_obj
        return ranking.Ranker.ranked(self.ranker, hosts, spec_obj, *args)

    def ask_again(self, pick):
        """Run the filters again on the picked host only."""
        snapshot, spec_obj = self._asked
        index, row = pick.index, snapshot.table.row(pick.host, pick.nodename)
        block = (snapshot.state(row).block() if index
                 else self._cloud.block([row]))
        self.doubted += [
            (index, type(rule).__name__) for rule in self.ranker.filters
            if rule.run_filter_for_index(index)
            and not rule.keep(block, spec_obj).all()]

    def errors_of_rules(self, case):
        """The classes of all errors that rules raise for single hosts."""
        found = []
        for uuid, row in itertools.product(
                case.uuids or [case.spec.instance_uuid],
                range(len(case.cloud.records))):
            case.spec.instance_uuid = uuid
            found += [
                outcome(ask, case.cloud.block([row]), case.spec)
                for ask in (*(rule.keep for rule in self.ranker.filters),
                            *(rule.raw for rule in self.ranker.weighers))]
        return [one for one in found if isinstance(one, type)]


class PlainScheduler(CloudScheduler):
    """A CloudScheduler that does not run filters again."""

    def ask_again(self, pick):
        pass


class RankAllScheduler(PlainScheduler):
    """A PlainScheduler that ranks all hosts again after each pick."""

    def __init__(self, **options):
        super().__init__(**options)
        self.ranker.reranker = lambda spec_obj: None


class RowScheduler(PlainScheduler):
    """A PlainScheduler that works on host states, by Nova's steps."""

    def __init__(self, **options):
        super().__init__(**options)
        self._steps = NovaSchedulerMixin()
        self._steps.conf = self.conf
        self._steps.host_manager = NovaHostManager(
            self.conf, self.host_manager)

    def _attempt(self, request, offer, record):
        return super()._attempt(request, offer, record, functools.partial(
            row_api.RowApiAttempt, self._steps))

    def decide(self, case, seed=1):
        manager = self._steps.host_manager
        manager.enabled_filters = [self._built_ins[name]
                                   for name in case.filters]
        manager.weighers = self.ranker.weighers
        return super().decide(case, seed)


# A required metric is missing too often for many answers.
DRIVERS = [CloudScheduler(**{**options, 'metrics__required': False})
           for options in OPTIONS]
PLAIN_RANK_ALL_AND_ROWS = [
    tuple(cls(**{**options, 'metrics__required': False})
          for cls in (PlainScheduler, RankAllScheduler, RowScheduler))
    for options in OPTIONS]
ANY_DRIVER = st.sampled_from(DRIVERS)
STEADY_DRIVER = st.sampled_from([DRIVERS[0], DRIVERS[2]])


def cases(uuids=(*ONE, *SOME), least=2, always=(), **kwargs):
    """A Case.

    least: least number of filters; there are at most 4 more.
    always: filters that are enabled in each case.
    kwargs: of ``requests``.
    """
    others = st.permutations([name for name in FILTERS if name not in always])
    filters = st.tuples(others, st.integers(least, least + 4)).map(
        lambda drawn: [*drawn[0][:drawn[1]], *always])
    return st.builds(Case, clouds(1, 6), requests(**kwargs),
                     st.sampled_from(uuids), filters.flatmap(st.permutations))


def group_cases():
    """A Case of many instances in a server group."""
    return st.builds(Case, clouds(3, 6), in_groups(MANY[-1]),
                     st.sampled_from([*SOME, *MANY]), st.just(GROUPS))


def is_forced(spec):
    return bool(spec.force_hosts or spec.force_nodes)


@given(driver=ANY_DRIVER, case=cases(narrowing=True))
@ANY
def test_picked_host_alone_passes_all_filters(driver, case):
    """For later instances of a request, with earlier picks consumed, all
    filters that run again.  Forced hosts are not filtered.
    """
    outcome(driver.decide, case)

    assert is_forced(case.spec) or driver.doubted == []


@given(driver=ANY_DRIVER, case=cases(ONE, narrowing=True))
@ANY
def test_alternates_alone_pass_all_filters(driver, case):
    answer = outcome(driver.decide, case)

    if isinstance(answer, list) and not is_forced(case.spec):
        case.spec.instance_uuid = (case.uuids or [INSTANCE_UUID])[0]
        nodes = [record['nodename'] for record in case.cloud.records]
        for selection in answer[0]:
            host = case.cloud.block([nodes.index(selection.nodename)])
            for rule in driver.ranker.filters:
                assert rule.keep(host, case.spec).all()


@given(driver=ANY_DRIVER, case=cases(narrowing=True))
@ANY
def test_request_raises_only_errors_of_rules(driver, case):
    answer = outcome(driver.decide, case)

    if isinstance(answer, type):
        assert answer in driver.errors_of_rules(case)


def recorded(driver, case, seed):
    """The answer, and its whole decision record."""
    answer = outcome(driver.decide, case, seed)
    record = driver.decision
    return (repr(answer), record.funnel.steps, record.reason,
            repr(record.picks),
            [(name, sorted(rows.tolist()))
             for name, rows in record.funnel.rejected()],
            [(kept.rows.tolist(), kept.weights.tobytes(),
              kept.parts.tobytes()) for kept in record.weighing.kept])


@given(drivers=st.sampled_from(PLAIN_RANK_ALL_AND_ROWS),
       case=group_cases() | cases([*SOME, *MANY], 0, narrowing=True),
       seed=st.integers(0, 99))
@examples(200)
def test_reranking_of_the_pick_equals_a_ranking_of_all_hosts(
        drivers, case, seed):
    """The records are equal, including each weight."""
    plain, rank_all, _ = drivers
    assert recorded(plain, case, seed) == recorded(rank_all, case, seed)


@given(drivers=st.sampled_from(PLAIN_RANK_ALL_AND_ROWS),
       case=cases(narrowing=True), seed=st.integers(0, 99))
@ANY
def test_decision_on_host_states_is_the_same(drivers, case, seed):
    """The records are equal, except for filters without any host."""
    def record(driver):
        answer = outcome(driver.decide, case, seed)
        steps = [step for step in driver.decision.funnel.steps if step.before]
        return (repr(answer), steps, repr(driver.decision.picks),
                driver.decision.weighing.weighers, driver.decision.reason)

    plain, _, rows = drivers
    assert record(rows) == record(plain)


@given(driver=ANY_DRIVER, case=cases(narrowing=True), seed=st.integers(0, 99))
@ANY
def test_the_same_seed_gives_the_same_answer(driver, case, seed):
    assert repr(outcome(driver.decide, case, seed)) == repr(
        outcome(driver.decide, case, seed))


@given(driver=STEADY_DRIVER, case=cases(ONE, narrowing=True), data=st.data())
@ANY
def test_order_of_hosts_changes_only_ties(driver, case, data):
    """Each filter passes as many hosts, and the pick has the same weight."""
    def record(case):
        answer = outcome(driver.decide, case)
        if isinstance(answer, type):
            return 'raised'
        weights = [pick.weight for pick in driver.decision.picks]
        return driver.decision.funnel.steps, [
            None if math.isnan(weight) else weight for weight in weights]

    turned = data.draw(st.permutations(range(len(case.cloud.records))))
    assert record(case) == record(case._replace(cloud=case.cloud.of(turned)))


@given(driver=ANY_DRIVER, case=cases(SOME, 0, CAPACITY))
@ANY
def test_consumed_resources_stay_within_the_limits(driver, case):
    """Except for rebuilds, and on bare metal, which has one instance."""
    answer = outcome(driver.decide, case)

    if isinstance(answer, list) and not case.spec.is_rebuild:
        counts = collections.Counter(chosen[0].nodename for chosen in answer)
        for host in case.cloud.records:
            if counts[host['nodename']] and not host['bare_metal']:
                assert_within_limits(host, case.spec, counts[host['nodename']])


def assert_within_limits(host, spec, count):
    ram, disk = host['total_usable_ram_mb'], host['total_usable_disk_gb']
    assert (ram - host['free_ram_mb'] + count * spec.memory_mb
            <= ram * host['ram_allocation_ratio'])
    assert (disk * 1024 - host['free_disk_mb']
            + count * (spec.root_gb + spec.ephemeral_gb) * 1024
            <= disk * 1024 * host['disk_allocation_ratio'])
    # Hosts with 0 VCPUs cannot count them.
    assert not host['vcpus_total'] or (
        host['vcpus_used'] + count * spec.vcpus
        <= host['vcpus_total'] * host['cpu_allocation_ratio'])


@given(driver=ANY_DRIVER, case=cases(narrowing=True))
@ANY
def test_the_counts_of_a_decision_add_up(driver, case):
    """Each step starts with the hosts that passed the previous step.

    An instance that is claimed separately starts with all hosts again.
    """
    answer, decision = outcome(driver.decide, case), driver.decision

    assert decision.state.hosts == len(case.cloud.records)
    left, index = decision.state.hosts, 0
    for step in decision.funnel.steps:
        if step.index != index and step.before == decision.state.hosts:
            left = decision.state.hosts
        assert step.before == left >= step.after
        left, index = step.after, step.index
    if answer is None and decision.funnel.steps:
        assert f'{left} of {decision.state.hosts} hosts: ' in decision.reason
    elif isinstance(answer, list):
        assert [(pick.host, pick.nodename) for pick in decision.picks] == [
            (chosen[0].service_host, chosen[0].nodename) for chosen in answer]
        assert len(answer) == decision.instances
        assert decision.alternates == sum(map(len, answer)) - len(answer)
