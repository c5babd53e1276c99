"""A burst of requests on few hosts, from the view of compute services.

    tools/with-services.sh python -m benchmarks.burst [--workers 1x1,1x4]
        [--placement] [--groups 8x8]

32 callers send 190 requests for one instance each to hosts with 160 slots.
Three of four instances are members of anti-affinity groups of four.  Like
Nova's, a simulated compute service accepts an instance if it fits and writes
it to the database 50 ms after the answer.  One of six members is migrated live
0.3 seconds later, if there is room.  The table has for each number of workers
and daemons how many first choices a compute service refused, and how many
members of groups run on the host of another member.

--placement: with a real Placement and the databases of a Nova, which
tools/nova-venv.sh installs.  A migration takes over the allocations of its
instance before its call.  Two more columns have the number of requests with
claims, and how many of them Placement answered with 409.

--groups: a number of anti-affinity groups x members instead.  All requests
start at once, on as many hosts as a group has members.  Each host has room for
twice as many instances as there are groups.  There are no other instances and
no migrations.
"""

import argparse
import collections
import contextlib
import dataclasses
import functools
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

import oslo_messaging as messaging
from oslo_utils import uuidutils
import sqlalchemy as sa

from benchmarks import bed as test_bed
from benchmarks import mixed_cloud
from benchmarks import placement_bed
from benchmarks import providers
from benchmarks import tables as output
from nova_sched import rpc
from nova_sched.db import engine as db_engine
from nova_sched.db import tables
from tests.functional import stage

#: One in this many members is migrated.
MOVES = 6
#: Number of requests that each daemon refuses before the burst, to warm up.
WARM_UP = 20
#: MB of one instance, seconds until it shows in the database, and seconds from
#: then until its migration.  A request may have read the hosts before the
#: instance showed, and its decision may take that long.
SIZE, SHOWS_AFTER, MOVES_AFTER = 1000, 0.05, 0.3
#: Microversion of migrations; the scheduler uses other ones.
MIGRATIONS = '1.37'

_HEAD = ('daemons', 'workers each', 'placed', 'refused by the scheduler',
         'first choices refused', 'moved', 'members beside another', 'seconds')
_CLAIM = re.compile(r'"(?:PUT|POST) /allocations\S*" status: (\d+) .*'
                    rf'microversion: (?!{re.escape(MIGRATIONS)}\b)')


@dataclasses.dataclass(frozen=True)
class Load:
    """The requests and the hosts; slots: instances that fit on a host.

    groups, members: number of groups, and members of each.
    alone: number of instances without a group.
    """

    hosts: int = 40
    slots: int = 4
    groups: int = 30
    members: int = 4
    alone: int = 70
    callers: int = 32
    moves: bool = True

    @classmethod
    def of(cls, text):
        """Return the Load of a --groups value; the default Load if empty."""
        if not text:
            return cls()
        groups, members = map(int, text.split('x'))
        return cls(members, 2 * groups, groups, members, alone=0,
                   callers=groups * members, moves=False)


def main():
    parser = argparse.ArgumentParser(prog='burst', description=__doc__)
    parser.add_argument('--workers', default='1x1,1x2,1x4', help=(
        'numbers of daemons and of workers of each, separated by commas'))
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--spread', default='', help=(
        '[nova_sched] spread_near_equal'))
    parser.add_argument('--placement', action='store_true')
    parser.add_argument('--groups', default='',
                        help='numbers of groups and members, like 8x8')
    args = parser.parse_args()
    load = Load.of(args.groups)
    output.head(*_HEAD, *['claims', 'answered 409'] * args.placement)
    with tempfile.TemporaryDirectory() as shared:
        # The folder of tests/functional/shared.py.
        os.environ['NOVA_SCHED_TEST_SHARED'] = shared
        for shape in args.workers.split(','):
            daemons, workers = map(int, shape.split('x'))
            for _ in range(args.runs):
                with _bed(load, args.placement) as (bed, placement):
                    output.row(daemons, workers, *_burst(
                        load, bed, placement, (daemons, workers, args.spread)))


@contextlib.contextmanager
def _bed(load, behind_placement):
    """Yield a BurstBed and its Placement, or None."""
    broker = os.environ['NOVA_SCHED_TEST_RABBIT_URL']
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory()))
        if behind_placement:
            cloud = stack.enter_context(placement_bed.Cloud(
                directory, load.hosts, functools.partial(_provider, load)))
            bed = BurstBed(broker, cloud.url, directory)
            bed.options = cloud.options() | cloud.placement.settings
        else:
            bed = BurstBed(broker, os.environ['NOVA_SCHED_TEST_MYSQL_URL'],
                           directory)
            bed.make_cloud(load.hosts)
        bed.empty(load.slots)
        yield bed, cloud.placement if behind_placement else None


def _provider(load, node, aggregates, _disabled):
    """Return the Provider of a compute node with little memory."""
    found = providers.of_node(node, aggregates)
    return found._replace(inventories={
        name: inventory | {'total': total, 'max_unit': total, 'reserved': 0,
                           'allocation_ratio': 1.0}
        for (name, inventory), total in zip(
            found.inventories.items(), (1000, SIZE * load.slots, 10000),
            strict=True)})


def _burst(load, bed, placement, shape):
    """Return the figures of one burst, in the order of the head.

    shape: arguments of BurstBed.daemons.
    """
    _group_of.clear()
    computes = Computes(bed.database_url, load.slots)
    with bed.daemons(*shape) as call:
        callers = Callers(load, call, computes, placement)
        began = time.monotonic()
        callers.run()
        took = time.monotonic() - began
        computes.finish()
    beside = sum(
        len(members) - len({computes.where[uuid] for uuid in members})
        for members in _placed_members(computes))
    return (len(computes.where), len(callers.refused), computes.refused,
            callers.moved, beside, f'{took:.1f}',
            *(_claims(placement.log) if placement else ()))


def _claims(log):
    """Count the claims in a log of Placement, and the answers 409 to them."""
    statuses = _CLAIM.findall(log)
    return len(statuses), statuses.count('409')


class Callers:
    """Conductors that build instances and move some of them.

    call: function that makes a call with its arguments.
    computes: Computes.  placement: of tests.interop, or None.
    refused: uuids of instances that the scheduler refused.
    moved: number of moved instances.
    """

    def __init__(self, load, call, computes, placement):
        self._call, self._computes = call, computes
        self._ledger = placement and mixed_cloud.Ledger(
            placement.url, MIGRATIONS)
        self._calls, self._lock = iter(_calls(load)), threading.Lock()
        self._callers = load.callers
        self._to_move = set(list(_group_of)[::MOVES] if load.moves else ())
        self.refused, self.moved = [], 0

    def run(self):
        """Make all calls."""
        threads = [threading.Thread(target=self._work)
                   for _ in range(self._callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _next(self):
        with self._lock:
            return next(self._calls, None)

    def _work(self):
        while wanted := self._next():
            [uuid], host = wanted['instance_uuids'], self._chosen(wanted)
            if host is None:
                self.refused.append(uuid)
            elif self._computes.build(uuid, host) and uuid in self._to_move:
                self._move(uuid, wanted, host)

    def _move(self, uuid, wanted, host):
        """Migrate an instance a while after it shows, if there is room."""
        self._computes.wait_until_shown(uuid, host)
        time.sleep(MOVES_AFTER)
        migration = uuidutils.generate_uuid()
        if self._ledger:
            self._ledger.move(uuid, migration)
        target = self._chosen(_move(wanted, host))
        if target is not None:
            self.moved += 1
            if self._computes.move(uuid, host, target) and self._ledger:
                self._computes.wait_until_shown(uuid, target)
                self._ledger.delete(migration)
        elif self._ledger:
            self._ledger.move(migration, uuid)

    def _chosen(self, wanted):
        """Return the host that the scheduler chooses; None for a refusal."""
        try:
            [[chosen, *_]] = self._call(wanted)
        except messaging.RemoteError:
            return None
        return chosen['nova_object.data']['service_host']


def _placed_members(computes):
    """Return the uuids of the placed members of each group."""
    by_group = collections.defaultdict(list)
    for uuid in computes.where:
        if uuid in _group_of:
            by_group[_group_of[uuid]].append(uuid)
    return by_group.values()


_group_of = {}


def _calls(load):
    """Return the arguments of all calls, in any order: list of dicts."""
    groups = [[uuidutils.generate_uuid() for _ in range(load.members)]
              for _ in range(load.groups)]
    calls = [_call(uuid, members) for members in groups for uuid in members]
    calls += [_call(uuidutils.generate_uuid()) for _ in range(load.alone)]
    random.shuffle(calls)
    return calls


def _call(uuid, members=None, size=SIZE):
    call = test_bed.request(1) | {'instance_uuids': [uuid]}
    data = call['spec_obj']['nova_object.data']
    flavor = data['flavor']['nova_object.data'] | {'memory_mb': size}
    data |= {'instance_uuid': uuid,
             'flavor': data['flavor'] | {'nova_object.data': flavor}}
    if members:
        group = members[0]
        _group_of[uuid] = group
        data['instance_group'] = {
            'nova_object.name': 'InstanceGroup',
            'nova_object.namespace': 'nova', 'nova_object.version': '1.11',
            'nova_object.data': {
                'uuid': group, 'name': 'g', 'policy': 'anti-affinity',
                '_rules': {}, 'members': members, 'hosts': []}}
    return call


def _move(wanted, host):
    """Return the arguments of a call that moves an instance from a host."""
    envelope = wanted['spec_obj']
    data = envelope['nova_object.data'] | {'ignore_hosts': [host]}
    return wanted | {'spec_obj': envelope | {'nova_object.data': data}}


class BurstBed(test_bed.Bed):
    """A Bed with hosts of few slots and daemons of several workers.

    options: more of the configuration, as ``group__option``.
    """

    options = {}

    def empty(self, slots):
        """Make all hosts up and empty, with ``slots`` slots each."""
        nodes = tables.compute_nodes
        with db_engine.Database(self.database_url).writing() as connection:
            connection.execute(tables.instances.delete())
            connection.execute(tables.services.update().values(
                disabled=False, forced_down=False,
                last_seen_up=sa.func.utc_timestamp()))
            connection.execute(nodes.update().values(
                memory_mb=SIZE * slots, memory_mb_used=0,
                free_ram_mb=SIZE * slots, ram_allocation_ratio=1.0))

    @contextlib.contextmanager
    def daemons(self, count, workers, spread):
        """Run daemons; yield a function that makes a call with its arguments.

        spread: text of the option spread_near_equal, or empty.
        """
        target = messaging.Target(topic=rpc.TOPIC, version='4.5')
        client = messaging.get_rpc_client(self.transport, target)
        more = stage.write_config(self.directory / 'more.conf', **self.options)
        with contextlib.ExitStack() as running:
            for number in range(count):
                file = self._config_file('filter_scheduler')
                text = file.read_text().replace(
                    'workers = 1', f'workers = {workers}').replace(
                        'host = benchmark', f'host = benchmark{number}')
                text += '\n[nova_sched]\npicks_key = of the benchmark\n'
                if spread:
                    text += f'spread_near_equal = {spread}\n'
                own = self.directory / f'burst{number}.conf'
                own.write_text(text)
                running.enter_context(self._module(
                    f'burst{number}', 'nova_sched.cmd.scheduler',
                    '--config-file', str(own), '--config-file', str(more)))
                ping = client.prepare(
                    namespace='baseapi', version='1.0', timeout=2,
                    server=f'benchmark{number}')
                test_bed.until(lambda ping=ping: ping.call(
                    {}, 'ping', arg=None))
            # Wait until all workers serve and the daemons are connected.
            time.sleep(3)
            for number in range(count * WARM_UP):
                with contextlib.suppress(messaging.RemoteError):
                    client.prepare(server=f'benchmark{number % count}').call(
                        {}, 'select_destinations', **_call(
                            uuidutils.generate_uuid(), size=SIZE * 100))
            yield lambda wanted: client.call(
                {}, 'select_destinations', **wanted)


class Computes:
    """Compute services that accept instances that fit, and show them later.

    url: of the database.  slots: instances that fit on a host.
    where: uuid -> host to which the instance was sent.
    shown: uuid -> its host in the database, or its last one.
    """

    def __init__(self, url, slots):
        self._database, self._slots = db_engine.Database(url), slots
        self._lock, self._due = threading.Lock(), collections.deque()
        self._full = threading.Event()
        self._taken = collections.Counter()
        self.where, self.shown, self.refused = {}, {}, 0
        self._thread = threading.Thread(target=self._show_all)
        self._thread.start()

    def build(self, uuid, host):
        """Put an instance on a host; return False if it does not fit."""
        return self.move(uuid, None, host)

    def move(self, uuid, source, host):
        """Like ``build``, and remove the instance from ``source`` or None."""
        with self._lock:
            self.where[uuid] = host
            if self._taken[host] >= self._slots:
                self.refused += 1
                return False
            self._taken[host] += 1
            self._due.append((time.monotonic() + SHOWS_AFTER, uuid, source,
                              host))
            return True

    def wait_until_shown(self, uuid, host):
        """Wait until the database has an instance on a host."""
        while self.shown.get(uuid) != host:
            assert self._thread.is_alive(), 'nothing is shown any more'
            time.sleep(SHOWS_AFTER)

    def _show_all(self):
        """Write due instances to the database, a few milliseconds late."""
        while self._due or not self._full.is_set():
            while self._due and self._due[0][0] <= time.monotonic():
                self._show(*self._due.popleft()[1:])
            time.sleep(0.005)

    def _show(self, uuid, source, host):
        instances = tables.instances
        with self._lock:
            self._taken[source] -= 1
        with self._database.writing() as connection:
            if source is None:
                connection.execute(instances.insert().values(
                    uuid=uuid, host=host, node=host, deleted=0))
            else:
                connection.execute(instances.update().where(
                    instances.c.uuid == uuid).values(host=host, node=host))
                connection.execute(_used(source, -1))
            connection.execute(_used(host, 1))
        self.shown[uuid] = host

    def finish(self):
        """Wait until all instances show in the database."""
        self._full.set()
        self._thread.join()


def _used(host, change):
    """Return the statement that reports a change in a host's instances."""
    nodes = tables.compute_nodes
    return nodes.update().where(nodes.c.host == host).values(
        free_ram_mb=nodes.c.free_ram_mb - change * SIZE,
        memory_mb_used=nodes.c.memory_mb_used + change * SIZE,
        running_vms=sa.func.coalesce(nodes.c.running_vms, 0) + change,
        updated_at=sa.func.utc_timestamp())


if __name__ == '__main__':
    sys.exit(main())
