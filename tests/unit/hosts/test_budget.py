"""A request's work has an end; its waiting is not work."""

from concurrent import futures
import time

import pytest

from nova_sched import exception
from nova_sched.hardware.pci.requests import DeviceRequests
from nova_sched.hosts import budget
from nova_sched.hosts import decision
from nova_sched.rules import attributes
from nova_sched.rules import offered
from nova_sched.scheduler import filters
from nova_sched.scheduler import weights
from nova_sched.scheduler.filters import num_instances_filter
from tests.builders.hosts import a_host
from tests.builders.hosts import hosts
from tests.builders.requests import a_request
from tests.builders.rules import a_conf


class Clocks:
    """Seconds of work and of the wall, set by hand."""

    def __init__(self, monkeypatch):
        self.work = self.wall = 0.0
        monkeypatch.setattr(time, 'thread_time', lambda: self.work)
        monkeypatch.setattr(time, 'monotonic', lambda: self.wall)

    def works(self, seconds):
        self.work += seconds
        self.wall += seconds


@pytest.fixture
def clocks(monkeypatch):
    return Clocks(monkeypatch)


def spent(spending):
    """What is said of a budget that is spent in step 'weigh'."""
    with pytest.raises(exception.InvalidInput) as caught:
        spending.check('weigh', 2)
    return caught.value.kwargs['reason']


def test_what_is_over_is_said_with_step_instance_and_option(clocks):
    spending = budget.Budget(10)
    clocks.works(9.9)
    spending.check('weigh')
    clocks.works(0.2)

    assert spent(spending) == (
        'the request took more than the 10 s of [nova_sched] '
        'request_time_budget, in step weigh of instance 3; request less at '
        'a time, or have the option raised')


class TestSlowSteps:
    """Whatever a plug-in waits for, it is named after seconds."""

    @pytest.fixture(autouse=True)
    def none_was_named(self, monkeypatch):
        monkeypatch.setattr(budget, '_named', {})

    @staticmethod
    def run(clocks, hosts=100, seconds=0.05, name='SiteFilter'):
        with budget.charged(budget.Budget(10)), budget.Step(name):
            for _ in budget.checked(range(hosts)):
                clocks.wall += seconds

    def test_are_named_while_they_run(self, clocks, caplog):
        self.run(clocks)

        assert [record.getMessage() for record in caplog.records] == [
            'SiteFilter takes long: 3 s so far for one request, by the clock']

    def test_are_named_once_a_minute(self, clocks, caplog):
        self.run(clocks)
        self.run(clocks)
        self.run(clocks, name='OtherFilter')
        clocks.wall += budget.SILENCE
        self.run(clocks)

        assert [record.getMessage().split()[0] for record in caplog.records
                ] == ['SiteFilter', 'OtherFilter', 'SiteFilter']

    def test_are_named_at_their_end_without_a_check(self, clocks, caplog):
        with budget.charged(budget.Budget(10)), budget.Step('SiteWeigher'):
            clocks.wall += 5

        assert 'SiteWeigher takes long: 5 s' in caplog.text

    def test_are_none_of_steps_that_are_quick(self, clocks, caplog):
        for _ in range(100):
            self.run(clocks, hosts=10)

        assert not caplog.records


def test_waiting_costs_nothing(clocks):
    spending = budget.Budget(10)
    clocks.wall += 3600
    clocks.works(9)
    spending.check('weigh')
    clocks.works(2)

    spent(spending)


def test_what_is_the_services_own_work_costs_nothing(clocks):
    spending = budget.Budget(10)
    with budget.charged(spending), budget.not_charged():
        clocks.works(100)
    clocks.works(9)
    spending.check('weigh')
    clocks.works(2)

    spent(spending)


def test_of_zero_is_without_end(clocks):
    spending = budget.Budget(0)
    clocks.works(10 ** 9)

    spending.check('weigh')


def test_another_thread_is_not_charged():
    """A plug-in may have its rule run wherever it likes."""
    spending = budget.Budget(1e-9)
    spent(spending)
    with budget.charged(spending), futures.ThreadPoolExecutor() as others:
        others.submit(budget.check, 'weigh').result()


def test_the_clock_of_work_is_asked_only_when_enough_time_has_passed(
        monkeypatch):
    """It costs ten times as much as the other."""
    asked = []
    monkeypatch.setattr(time, 'thread_time', lambda: asked.append(1) or 0.0)
    spending = budget.Budget(1000)
    for _ in range(1000):
        spending.check('weigh')

    assert len(asked) == 1


class TestWithinAStep:
    """What loops over hosts ends as soon as the budget is spent."""

    HOSTS = 5

    def turns(self, clocks, loop):
        """At how many hosts a loop is that a budget of 2.5 hosts ends."""
        looked_at = []

        def look(*_):
            looked_at.append(1)
            clocks.works(1)
            return True

        spending = budget.Budget(2.5)
        block = hosts(*(a_host(hypervisor_type=f'kind {number}')
                        for number in range(self.HOSTS)))
        with (budget.charged(spending),
              pytest.raises(exception.InvalidInput, match='in step A filter'),
              budget.Step('A filter', 0)):
            loop(block, look)
        return len(looked_at)

    @pytest.mark.parametrize('loop', [
        lambda block, look: block.judge('hypervisor_type', look),
        lambda block, look: block.judge_together(
            ['hypervisor_type', 'host'], look),
        lambda block, look: block.derived('hypervisor_type', 'key', look),
        lambda block, look: offered.narrow(
            'A filter', block, ['hypervisor_type'],
            DeviceRequests([]), lambda *_: [look()])])
    def test_columns_are_judged_value_by_value(self, clocks, loop):
        assert self.turns(clocks, loop) == 3

    def test_a_filter_of_one_host_at_a_time(self, clocks):
        def loop(block, look):
            filter_ = filters.BaseHostFilter()
            filter_.host_passes = look
            filter_.keep(block, None)

        assert self.turns(clocks, loop) == 3

    def test_a_weigher_of_one_host_at_a_time(self, clocks):
        def loop(block, look):
            weigher = weights.BaseHostWeigher()
            weigher._weigh_object = look
            weigher.raw(block, None)

        assert self.turns(clocks, loop) == 3

    def test_a_filter_that_loops_by_itself(self, clocks):
        def loop(block, look):
            filter_ = filters.BaseHostFilter()
            filter_.filter_all = lambda states, spec_obj: [
                state for state in states if look(state)]
            filter_.keep(block, None)

        assert self.turns(clocks, loop) == 3

    def test_a_weigher_that_loops_by_itself(self, clocks):
        def loop(block, look):
            weigher = weights.BaseHostWeigher()
            weigher.weigh_objects = lambda weighed, properties: [
                look(each) for each in weighed]
            weigher.raw(block, None)

        assert self.turns(clocks, loop) == 3

    def test_what_queries_and_extra_specs_look_at(self, clocks):
        def loop(block, look):
            attributes.column(block, 'hypervisor_type').judge(look, block)

        assert self.turns(clocks, loop) == 3

    def test_an_amount_that_a_plug_in_looks_up(self, clocks):
        def loop(block, look):
            class Looking(num_instances_filter.NumInstancesFilter):
                def _get_max_instances_per_host(self, host_state, spec_obj):
                    return look()

            filter_ = Looking()
            filter_.configure(a_conf())
            filter_.mask(block, a_request())

        assert self.turns(clocks, loop) == 3

    def test_the_multipliers_of_a_weigher(self, clocks):
        def loop(block, look):
            weigher = weights.BaseHostWeigher()
            weigher.weight_multiplier = lambda host_state: look()
            weigher.multipliers(block)

        assert self.turns(clocks, loop) == 3

    def test_outside_of_a_request_nothing_is_charged(self, clocks):
        spending = budget.Budget(1)
        clocks.works(2)

        budget.check()
        spent(spending)

    def test_a_step_is_charged_at_its_end(self, clocks):
        spending = budget.Budget(1)
        with (budget.charged(spending),
              pytest.raises(exception.InvalidInput, match='in step weigh'),
              budget.Step('weigh')):
            clocks.works(2)


class TestRecord:
    @pytest.fixture
    def spent(self):
        with budget.charged(budget.Budget(1e-9)):
            yield

    def test_a_timed_block_is_a_step(self, spent):
        refused = pytest.raises(exception.InvalidInput, match='placement;')
        with refused, decision.Decision().timed('placement'):
            pass

    def test_a_block_that_fails_fails_by_its_own_error(self, spent):
        with (pytest.raises(KeyError),
              decision.Decision().timed('placement')):
            raise KeyError
