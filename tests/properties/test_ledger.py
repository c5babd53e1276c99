"""The ledger of a service compared with a model, for any order of events.

Two workers share it; news of another daemon come late, repeatedly, and in any
order; Placement grants claims or does not; the database shows instances late,
elsewhere or never; workers are restarted, reloaded, and killed at any line.

Each instance counts once: in the row of the host that runs it, or on its
picked host, until that host runs it, and for its lifetime at most.  There it
counts with all its resources; once it is claimed, with its hardware only.
"""

import collections
import json

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from nova_sched.inventory import picks_on_wire
from nova_sched.inventory import shared_picks
from nova_sched.inventory.in_flight import News
from nova_sched.inventory.in_flight import PlacedInstance
from nova_sched.inventory.ledger import GRACE
from nova_sched.inventory.peers import OLD
from nova_sched.inventory.state import SchedulingState
from tests.builders import pci
from tests.builders.forks import is_killed_at
from tests.builders.hosts import a_host
from tests.builders.hosts import table
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.requests import a_request

LIFETIME, HOSTS, GROUP = 100, 'ab', 'g'
#: Resources of which each instance takes one unit; a host has ROOM units.
AMOUNTS, ROOM = ('memory', 'disk', 'vcpus'), 8
#: More lines than sharing a pick and its claim takes.
LINES = 100
#: Hardware of which instances of a kind take one unit, and its request.
KINDS = [
    ((), {}),
    (('cpus', 'pages'), {'numa_topology': a_guest(
        guest_cell(pinned=1, pagesize=2048))}),
    (('devices',), {'pci_requests': pci.pci_requests(pci.a_pci_request())})]
KEYS = {f'8d3f2c1e-0000-4000-8000-00000000000{number}': (
    hardware, a_request(memory_mb=1000, root_gb=1, ephemeral_gb=0, vcpus=1,
                        **wanted).demand())
        for number, (hardware, wanted) in enumerate(KINDS)}


def a_row(host, taken):
    """A host with used units: Counter of (host, resource)."""
    left = {what: ROOM - taken[host, what] for what in (*AMOUNTS, 'devices')}
    return a_host(
        host, free_ram_mb=1000 * left['memory'],
        free_disk_mb=1024 * left['disk'], vcpus_used=taken[host, 'vcpus'],
        numa_topology=cells_text(a_cell(
            cpus=range(ROOM), pinned_cpus=range(taken[host, 'cpus']),
            pages=[(4, 1 << 20), (2048, 256 * ROOM,
                                  256 * taken[host, 'pages'])])),
        pci_stats=pci.pci_stats(pci.a_pool(count=left['devices'])))


def taken_of(hosts):
    """The used units of the hosts of a HostTable, as of ``a_row``."""
    hosts, taken = hosts.snapshot(None), collections.Counter()
    for row, host in enumerate(HOSTS):
        def left(name, row=row):
            return hosts.value(name, row)
        [cell] = left('numa_topology').cells
        for what, number in {
                'memory': ROOM - left('free_ram_mb') / 1000,
                'disk': ROOM - left('free_disk_mb') / 1024,
                'vcpus': left('vcpus_used'), 'cpus': len(cell.pinned_cpus),
                'pages': cell.pages[1].used / 256,
                'devices': ROOM - left(
                    'pci_stats').free_by_node.total()}.items():
            taken[host, what] = number
    return taken


class Worker:
    """A worker of the service.

    state: the current state; first: the state before any reload.
    next: the state of a reload that has begun.
    running: instance -> host, as of its last read.
    over: picks that have ended by a read of the database.
    """

    def __init__(self, state):
        self.state, self.first, self.next = state, state, None
        self.running, self.over = {}, set()


class LedgerMachine(stateful.RuleBasedStateMachine):
    """Workers, another daemon, a database, and a model of instances."""

    def __init__(self):
        super().__init__()
        self.now, self.shared = 1000.0, shared_picks.SharedPicks(
            2, size=1 << 20)
        self.elsewhere, self.heard = self.shared.exchange(), []
        # Instance -> its latest known pick, and the host that runs it.
        self.latest, self.running = {}, {}
        self.claimed, self.forgotten, self.deleted = set(), set(), set()
        # Pick -> the worker of its request.
        self.asking = {}
        self.workers = [self.started(), self.started()]

    # The model.

    def note(self, pick):
        """Make a pick known; the latest pick of an instance counts."""
        if pick.at >= self.latest.get(pick.key, pick).at:
            self.latest[pick.key] = pick

    def is_known(self, pick, worker):
        return (pick not in self.forgotten | worker.over
                and self.now - pick.at < LIFETIME)

    def taken(self, worker, at_most=False):
        """The expected used units of the hosts for a worker.

        at_most: including picks whose lifetime has ended.
        """
        taken = [(host, what) for key, host in worker.running.items()
                 for what in (*AMOUNTS, *KEYS[key][0])]
        for key, pick in self.latest.items():
            if (pick not in self.forgotten | worker.over if at_most else
                    self.is_known(pick, worker)
                    and worker.running.get(key) != pick.host):
                amounts = () if pick in self.claimed else AMOUNTS
                taken += [(pick.host, what)
                          for what in (*amounts, *KEYS[key][0])]
        return collections.Counter(taken)

    @stateful.invariant()
    def nothing_is_missing_or_counts_twice(self):
        for worker in self.workers:
            assert (self.taken(worker)
                    <= taken_of(worker.state.view().table)
                    <= self.taken(worker, at_most=True))

    @stateful.rule()
    def once_all_is_read_each_counts_once(self):
        self.settle()
        for worker in self.workers:
            assert taken_of(worker.state.view().table) == self.taken(worker)
            assert {pick.key for pick in worker.state.of_group(GROUP, ())} == {
                key for key, pick in self.latest.items()
                if pick.group and self.is_known(pick, worker)}

    def teardown(self):
        self.all_news_come_again()
        self.once_all_is_read_each_counts_once()
        self.now += LIFETIME
        self.once_all_is_read_each_counts_once()
        assert [worker.state.pending() for worker in self.workers] == [{}, {}]

    # Workers.

    def started(self, **kwargs):
        state = SchedulingState(LIFETIME, lambda: self.now,
                                monotonic=lambda: self.now)
        state.sharing = self.shared.sharing(**kwargs)
        worker = Worker(state)
        self.read(worker)
        return worker

    def read(self, worker):
        worker.running = dict(self.running)
        taken = collections.Counter(
            (host, what) for key, host in self.running.items()
            for what in (*AMOUNTS, *KEYS[key][0]))
        asked = worker.state.uuids_to_look_up({*HOSTS})
        worker.state.rebase(table(*(a_row(host, taken) for host in HOSTS)), {
            key: self.running.get(key) for key in asked})

    def settle(self):
        """Have all workers read until any grace period is over."""
        for _ in range(4):
            for worker in self.workers:
                self.read(worker)
            self.now += GRACE + 0.1
        for worker in self.workers:
            self.read(worker)

    def pick(self, key, host, claiming, group):
        self.now += 0.01
        return PlacedInstance(
            key, host, host, KEYS[key][1], None, group, self.now,
            {} if claiming else None)

    def assume(self, worker, pick):
        view = worker.state.view([pick.key])
        snapshot = view.table.snapshot(None)
        snapshot.consume(view.table.row(*pick.place), pick.demand.demand(),
                         self.now)
        assert worker.state.assume(view, [pick], snapshot)

    number, key = st.integers(0, 1), st.sampled_from([*KEYS])
    a_pick = st.tuples(key, st.sampled_from(HOSTS), st.booleans(),
                       st.sampled_from([None, GROUP]))
    picks, said = stateful.Bundle('picks'), stateful.Bundle('said')

    @stateful.rule(target=picks, number=number, a_pick=a_pick)
    def a_worker_assumes(self, number, a_pick):
        pick, worker = self.pick(*a_pick), self.workers[number]
        self.assume(worker, pick)
        self.note(pick)
        self.asking[pick] = worker
        return pick

    def is_asking(self, pick):
        """Whether the request of a pick is in progress."""
        return self.asking.get(pick) in self.workers

    @stateful.rule(pick=picks)
    def placement_grants(self, pick):
        """For a request that may have begun before a reload."""
        if self.is_asking(pick) and pick.claiming:
            self.asking[pick].first.claimed([pick], {})
            self.claimed.add(pick)

    @stateful.rule(pick=picks)
    def a_request_fails(self, pick):
        """Placement refuses or does not answer, or the request times out."""
        if self.is_asking(pick):
            self.asking.pop(pick).first.forget([pick])
            self.forgotten.add(pick)

    @stateful.rule(number=number)
    def a_worker_is_restarted(self, number):
        """It loses all that it has read."""
        self.workers[number] = self.started()

    @stateful.rule(number=number, a_pick=a_pick, line=st.integers(0, LINES))
    def a_worker_is_killed(self, number, a_pick, line):
        """At any line that shares picks; others see all of it, or nothing."""
        pick, worker = self.pick(*a_pick), self.workers[number]

        def work():
            self.assume(worker, pick)
            if pick.claiming:
                worker.state.claimed([pick], {})

        is_killed_at(line, work, shared_picks.__file__)
        for news in self.shared.exchange().news():
            if pick.at in [told.at for told in news.assumed]:
                self.note(pick)
            if pick.at in [at for _, _, at in news.claimed]:
                self.claimed.add(pick)
        self.a_worker_is_restarted(number)

    @stateful.rule(number=number)
    def a_worker_begins_to_reload(self, number):
        self.workers[number].next = self.started(from_now=True).state

    @stateful.rule(number=number)
    def a_worker_has_reloaded(self, number):
        worker = self.workers[number]
        if worker.next is None:
            self.a_worker_begins_to_reload(number)
        worker.next.take_over(worker.state)
        worker.state, worker.next = worker.next, None
        self.read(worker)

    # Another daemon.

    @stateful.rule(target=said, a_pick=a_pick, late=st.booleans())
    def another_daemon_assumes(self, a_pick, late):
        return self.told((self.pick(*a_pick), 'assumed'), late)

    @stateful.rule(target=said, said=said, late=st.booleans())
    def another_daemon_forgets(self, said, late):
        return self.told((said[0], 'forgotten'), late)

    def told(self, said, late):
        if not late:
            self.news_come(said)
        return said

    @stateful.rule(said=said)
    def news_come(self, said):
        """Late, repeatedly, or after newer news."""
        pick, what = said
        self.heard.append(said)
        if self.now - pick.at >= OLD:
            return
        text = json.dumps(picks_on_wire.written([
            News([pick]) if what == 'assumed' else
            News(forgotten=[(pick.key, pick.place, pick.at)])]))
        [news] = picks_on_wire.read(json.loads(text))
        self.elsewhere.tell(news)
        self.note(pick)
        if what == 'forgotten':
            self.forgotten.add(pick)
        elif pick.claiming:
            self.claimed.add(pick)

    @stateful.rule()
    def all_news_come_again(self):
        """As after a replacement of the daemon's messenger."""
        heard, self.heard = self.heard[::-1], []
        for said in heard:
            self.news_come(said)

    # The database, which shows instances after their requests' answers.

    def is_answered(self, pick):
        return (pick not in {None} | self.forgotten | self.deleted
                and (pick in self.claimed or not pick.claiming
                     or not self.is_asking(pick)))

    @stateful.rule(key=key)
    def the_database_shows(self, key):
        pick = self.latest.get(key)
        if self.is_answered(pick):
            self.asking.pop(pick, None)
            self.running[key] = pick.host

    @stateful.rule(key=key)
    def the_database_shows_elsewhere(self, key):
        """An instance that moves is on another host from the first."""
        pick = self.latest.get(key)
        if self.is_answered(pick):
            [other] = {*HOSTS} - {pick.host}
            if self.running.get(key) != other:
                self.is_over(pick, lambda: self.running.update({key: other}))

    @stateful.rule(key=key)
    def an_instance_is_deleted(self, key):
        pick = self.latest.get(key)
        if self.is_answered(pick) and key in self.running:
            self.deleted.add(pick)
            if self.running[key] == pick.host:
                self.is_over(pick, lambda: self.running.pop(key))
            else:
                del self.running[key]

    def is_over(self, pick, change):
        """Have all workers read before and after a change of the database."""
        self.settle()
        change()
        self.settle()
        self.asking.pop(pick, None)
        for worker in self.workers:
            worker.over.add(pick)

    @stateful.rule(number=number)
    def a_worker_reads(self, number):
        self.read(self.workers[number])

    @stateful.rule(seconds=st.sampled_from([0.5, 1, 30, LIFETIME]))
    def time_passes(self, seconds):
        self.now += seconds


TestLedger = LedgerMachine.TestCase
# Random orders of events with --everything, else the same each time.
TestLedger.settings = hypothesis.settings(
    max_examples=150, stateful_step_count=40, deadline=None)
