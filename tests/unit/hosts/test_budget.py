"""The budget of processor time of a request; waiting is free."""

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
from tests.builders.rules import configured


class Clocks:
    """Processor time and wall time, set by tests."""

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
    """The refusal for a budget that is spent in step 'weigh'."""
    with pytest.raises(exception.InvalidInput) as caught:
        spending.check('weigh', 2)
    return caught.value.kwargs['reason']


def test_the_refusal_names_step_instance_and_option(clocks):
    spending = budget.Budget(10)
    clocks.works(9.9)
    spending.check('weigh')
    clocks.works(0.2)

    assert spent(spending) == (
        'the request took more than the 10 s of [nova_sched] '
        'request_time_budget, in step weigh of instance 3; request less at '
        'a time, or have the option raised')


class TestSlowSteps:
    """A step that takes seconds is named, even if it only waits."""

    @pytest.fixture(autouse=True)
    def forgotten_names(self, monkeypatch):
        monkeypatch.setattr(budget, '_named', {})

    @staticmethod
    def run(clocks, hosts=100, seconds=0.05, name='SiteFilter'):
        with budget.charged(budget.Budget(10)), budget.Step(name):
            for _ in budget.checked(range(hosts)):
                clocks.wall += seconds

    def test_are_named_while_they_run(self, clocks, caplog):
        self.run(clocks)

        assert [record.getMessage() for record in caplog.records] == [
            'SiteFilter is slow: 3 s of wall-clock time so far for one request'
        ]

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

        assert 'SiteWeigher is slow: 5 s' in caplog.text

    def test_do_not_include_quick_steps(self, clocks, caplog):
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


def test_work_of_the_service_costs_nothing(clocks):
    spending = budget.Budget(10)
    with budget.charged(spending), budget.not_charged():
        clocks.works(100)
    clocks.works(9)
    spending.check('weigh')
    clocks.works(2)

    spent(spending)


def test_zero_is_unlimited(clocks):
    spending = budget.Budget(0)
    clocks.works(10 ** 9)

    spending.check('weigh')


def test_another_thread_is_not_charged():
    """A plug-in may run its rule in another thread."""
    spending = budget.Budget(1e-9)
    spent(spending)
    with budget.charged(spending), futures.ThreadPoolExecutor() as others:
        others.submit(budget.check, 'weigh').result()


def test_processor_time_is_read_rarely(monkeypatch):
    """It costs ten times as much as the wall clock."""
    asked = []
    monkeypatch.setattr(time, 'thread_time', lambda: asked.append(1) or 0.0)
    spending = budget.Budget(1000)
    for _ in range(1000):
        spending.check('weigh')

    assert len(asked) == 1


#: Functions of a HostBlock and of one to be called for each host.
LOOPS = {
    'values': lambda block, look: block.evaluate('hypervisor_type', look),
    'combined values': lambda block, look: block.evaluate_together(
        ['hypervisor_type', 'host'], look),
    'derived values': lambda block, look: block.derived(
        'hypervisor_type', 'key', look),
    'candidates': lambda block, look: offered.narrow(
        'A filter', block, ['hypervisor_type'], DeviceRequests([]),
        lambda *_: [look()]),
    'columns of queries': lambda block, look: attributes.column(
        block, 'hypervisor_type').evaluate(look, block),
    'a filter of single hosts': lambda block, look: plug_in(
        filters.BaseHostFilter, host_passes=look).keep(block, None),
    'a filter of all hosts': lambda block, look: plug_in(
        filters.BaseHostFilter, filter_all=lambda states, spec_obj: [
            state for state in states if look(state)]).keep(block, None),
    'a weigher of single hosts': lambda block, look: plug_in(
        weights.BaseHostWeigher, _weigh_object=look).raw(block, None),
    'a weigher of all hosts': lambda block, look: plug_in(
        weights.BaseHostWeigher, weigh_objects=lambda weighed, properties: [
            look(each) for each in weighed]).raw(block, None),
    'multipliers': lambda block, look: plug_in(
        weights.BaseHostWeigher, weight_multiplier=lambda host_state: look()
        ).multipliers(block),
    'amounts': lambda block, look: configured(type('Looking', (
        num_instances_filter.NumInstancesFilter,), {
            '_get_max_instances_per_host': lambda *args: look()})).mask(
        block, a_request())}


def plug_in(cls, **attributes):
    made = cls()
    vars(made).update(attributes)
    return made


class TestWithinAStep:
    """Loops over hosts end as soon as the budget is spent."""

    HOSTS = 5

    def turns(self, clocks, loop):
        """The host at which a budget of 2.5 hosts ends a loop."""
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

    @pytest.mark.parametrize('name', LOOPS)
    def test_loops_end(self, clocks, name):
        assert self.turns(clocks, LOOPS[name]) == 3

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


def test_timed_blocks_of_records_are_steps():
    """Unless they fail by themselves."""
    with budget.charged(budget.Budget(1e-9)):
        refused = pytest.raises(exception.InvalidInput, match='placement;')
        with refused, decision.Decision().timed('placement'):
            pass
        with pytest.raises(KeyError), decision.Decision().timed('placement'):
            raise KeyError
