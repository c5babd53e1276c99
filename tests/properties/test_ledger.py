"""The ledger of a service against a model, whatever happens in which order.

Two workers share it; another daemon sends news; the database shows instances
late or never; workers are restarted, or killed between two writes.  Once all
is read, each instance counts once: on its host while the ledger has it, or in
the row of the host that runs it.
"""

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from nova_sched.inventory import shared_picks
from nova_sched.inventory.in_flight import InFlight
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.ledger import GRACE
from nova_sched.inventory.state import SchedulingState
from tests.builders.hosts import a_host
from tests.builders.hosts import table
from tests.builders.requests import a_request

LIFETIME, TOTAL, EACH = 100, 64_000, 1000
DEMAND = a_request(memory_mb=EACH).demand()
HOSTS, GROUP = 'ab', 'g'
KEYS = [f'8d3f2c1e-0000-4000-8000-00000000000{n}' for n in range(6)]


class LedgerMachine(stateful.RuleBasedStateMachine):
    """Workers, another daemon, a database, and what is true of instances."""

    def __init__(self):
        super().__init__()
        self.now = 1000.0
        self.shared = shared_picks.SharedPicks(2, size=1 << 20)
        self.elsewhere, self.said = self.shared.exchange(), []
        # By instance: what was assumed last, and the host that runs it.
        self.assumed, self.running = {}, {}
        self.claimed, self.forgotten = set(), set()
        self.shown, self.deleted, self.of_another = set(), set(), set()
        self.workers = [self.worker(), self.worker()]

    def worker(self):
        found = SchedulingState(LIFETIME, lambda: self.now,
                                monotonic=lambda: self.now)
        found.share(self.shared.sharing())
        self.read(found)
        return found

    def read(self, state):
        """Have a worker read the database."""
        rows = table(*(a_host(host, free_ram_mb=TOTAL - EACH * [
            *self.running.values()].count(host)) for host in HOSTS))
        asked = state.uuids_to_look_up({*HOSTS})
        state.rebase(rows, {key: self.running.get(key) for key in asked})

    def pick(self, key, host, claiming, group):
        self.now += 0.01
        self.assumed[key] = pick = InFlight(
            key, host, host, DEMAND, None, group, self.now,
            {} if claiming else None)
        self.shown.discard(key)
        return pick

    def counts(self, key):
        """Whether an instance counts on the host that was assumed."""
        pick = self.assumed[key]
        return (pick not in self.claimed | self.forgotten
                and key not in self.running
                and self.now - pick.at <= LIFETIME)

    waiting = st.sampled_from(KEYS)
    on_host = st.sampled_from(HOSTS)
    number = st.integers(0, 1)

    @stateful.rule(number=number, key=waiting, host=on_host,
                   claiming=st.booleans(),
                   group=st.sampled_from([None, GROUP]))
    def assume(self, number, key, host, claiming, group):
        if key in self.running:
            return
        state = self.workers[number]
        view = state.view([key])
        pick = self.pick(key, host, claiming, group)
        snapshot = view.table.snapshot(None)
        snapshot.consume(view.table.row(host, host), DEMAND, self.now)
        assert state.assume(view, [pick], snapshot, anyway=True)

    @stateful.rule(key=waiting, host=on_host)
    def a_worker_is_killed_once_it_has_written(self, key, host):
        if key not in self.running:
            pick = self.pick(key, host, True, None)
            self.shared.sharing().tell(News([pick]))

    @stateful.rule(number=number, key=waiting)
    def placement_grants(self, number, key):
        pick = self.assumed.get(key)
        if (pick is not None and pick.claiming
                and pick not in self.forgotten | self.of_another):
            self.workers[number].view()
            self.workers[number].claimed([pick], {})
            self.claimed.add(pick)

    @stateful.rule(number=number, key=waiting)
    def placement_refuses(self, number, key):
        pick = self.assumed.get(key)
        if pick is not None and pick not in self.claimed | self.of_another:
            self.workers[number].view()
            self.workers[number].forget([pick])
            self.forgotten.add(pick)

    @stateful.rule(key=waiting, host=on_host, group=st.sampled_from(
        [None, GROUP]))
    def another_daemon_assumes(self, key, host, group):
        if key not in self.running:
            pick = self.pick(key, host, False, group)
            self.of_another.add(pick)
            self.said.append(News([pick]))
            self.elsewhere.tell(self.said[-1])

    @stateful.rule(key=waiting)
    def another_daemon_forgets(self, key):
        pick = self.assumed.get(key)
        if pick in self.of_another:
            self.forgotten.add(pick)
            self.elsewhere.tell(News(forgotten=[(key, pick.place, pick.at)]))

    @stateful.rule(data=st.data())
    def news_come_again(self, data):
        if self.said:
            news = data.draw(st.sampled_from(self.said))
            if self.now - news[0][0].at < 60:
                self.elsewhere.tell(news)

    @stateful.rule(key=waiting)
    def the_database_shows(self, key):
        pick = self.assumed.get(key)
        if pick is not None and pick not in self.forgotten:
            self.running[key] = pick.host
            self.shown.add(key)
            for state in self.workers:
                self.read(state)

    @stateful.rule(key=waiting)
    def an_instance_is_deleted(self, key):
        if self.running.pop(key, None) is not None:
            self.settle()
            self.forgotten.add(self.assumed[key])
            self.deleted.add(self.assumed[key])
            for state in self.workers:
                self.read(state)

    @stateful.rule(number=number)
    def a_worker_is_restarted(self, number):
        """It cannot know of instances that were built and deleted since they
        were assumed: these count in it until their lifetime is over.
        """
        if not any(self.now - pick.at <= LIFETIME for pick in self.deleted):
            self.workers[number] = self.worker()

    @stateful.rule(seconds=st.sampled_from([0.5, 30, LIFETIME]))
    def time_passes(self, seconds):
        self.now += seconds

    def settle(self):
        """Have all read what there is, and once more after the grace."""
        for _ in range(3):
            for state in self.workers:
                self.read(state)
            self.now += GRACE + 0.1

    @stateful.rule()
    def each_instance_counts_once(self):
        self.settle()
        for state in self.workers:
            self.read(state)
        used = dict.fromkeys(HOSTS, 0)
        for host in self.running.values():
            used[host] += EACH
        for key, pick in self.assumed.items():
            used[pick.host] += EACH * self.counts(key)
        for state in self.workers:
            free = state.view().table.columns['free_ram_mb'].tolist()
            assert free == [TOTAL - used[host] for host in HOSTS]

    @stateful.rule()
    def a_group_has_its_members(self):
        self.settle()
        wanted = {
            key for key, pick in self.assumed.items()
            if pick.group == GROUP and pick not in self.forgotten
            and self.now - pick.at <= LIFETIME}
        for state in self.workers:
            self.read(state)
            assert {pick.key for pick in state.of_group(GROUP, ())} == wanted


TestLedger = LedgerMachine.TestCase
TestLedger.settings = hypothesis.settings(
    max_examples=60, stateful_step_count=30, deadline=None)
