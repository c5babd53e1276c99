"""A stored decision is complete: it can be repeated."""

import dataclasses

from hypothesis import assume
from hypothesis import given
from hypothesis import strategies as st

from nova_sched.hosts import decision
from nova_sched.observe.decision_store import DecisionStore
from nova_sched.scheduler.offer import Offer
from tests.builders import rules
from tests.builders.examples import examples
from tests.builders.placement import Placement
from tests.properties.built_ins import outcome
from tests.properties.test_decisions import ONE
from tests.properties.test_decisions import PLAIN_RANK_ALL_AND_ROWS
from tests.properties.test_decisions import SOME
from tests.properties.test_decisions import cases
from tests.properties.test_decisions import recorded

#: Rules that read instances of all hosts, which are not stored.
LOOKING_AROUND = frozenset(('TypeAffinityFilter', 'JsonFilter'))


@dataclasses.dataclass(frozen=True)
class PastCloud:
    """The cloud of a past decision.

    past: PastDecision.  up: whether each service was up, a list.
    """

    past: object
    up: list

    @property
    def table(self):
        return self.past.table.with_columns(service_up=self.up)

    def offer(self):
        return Offer(self.past._offer(), *[Placement(())] * 2)

    def snapshot(self, offer):
        return self.table.snapshot(self.past._instances(), offer)


def keep(store, driver, case):
    """Store the last decision of a driver; return its PastDecision."""
    record, cloud = driver.decision, case.cloud
    record.state = decision.State.of(
        cloud.table, record.state.in_flight, record.state.clock,
        driver.known)
    record.request = {'spec_obj': case.spec.obj_to_primitive(),
                      'instance_uuids': case.uuids}
    if cloud.offers is not None:
        record.spec_obj = case.spec
    record.close(decision.PLACED if record.picks else decision.REFUSED)
    store.add([record])
    return store.past(store.summaries(1)[0].number)


class _Knowing:
    """A driver that remembers the Instances of its last decision."""

    def hosts(self, wanted, found, record):
        view, snapshot = super().hosts(wanted, found, record)
        self.known = snapshot.instances
        return view, snapshot


DRIVERS = [type('Knowing', (_Knowing, type(plain)), {})(
    metrics__required=False) for plain, *_ in PLAIN_RANK_ALL_AND_ROWS[:1]]


@given(driver=st.sampled_from(DRIVERS),
       case=cases([*ONE, *SOME], narrowing=True), seed=st.integers(0, 99))
@examples(100)
def test_repeated_decision_equals_the_stored_one(driver, case, seed):
    """In its steps, weights and picks, on the stored state."""
    assume(not LOOKING_AROUND & {*case.filters})
    _, *before = recorded(driver, case, seed)
    # The weigher of image properties reads all instances, too.
    assume(all(claim.taken for claim in driver.decision.claims))
    store = DecisionStore.in_memory(rules.a_conf())
    past = keep(store, driver, case)
    store.close()

    request = outcome(past.request)
    # The RPC endpoint has refused such a request.
    assume(not isinstance(request, type))
    up = case.cloud.table.columns['service_up'].tolist()
    again = case._replace(cloud=PastCloud(past, up), spec=request.spec_obj)

    assert request.instance_uuids == case.uuids
    # The answers differ in allocation requests, which are not stored.
    _, *after = recorded(driver, again, seed)
    assert after == before
