"""Conductors that boot, delete and move instances without long pauses."""

import collections
import dataclasses
import random
import threading
import time

import oslo_messaging as messaging

from benchmarks import mixed_bed
from benchmarks import mixed_cloud
from nova_sched import context
from tests.builders import clouds
from tests.builders import requests

#: Outcome of a call, besides names of exceptions.
ANSWERED, TIMEOUT = 'answered', 'MessagingTimeout'
#: Members of a group; one in this many boots is for a member.
MEMBERS, GROUPS = 6, 30
#: Longest pause of a caller between two actions, and duration of a move, in
#: seconds.
PAUSE, MOVES_FOR = 0.5, 0.3
#: Seconds until a caller counts as stuck.
PATIENCE = 240
#: Share of the hosts' VCPUs that is in use in the long run.
SHARE = 0.8


@dataclasses.dataclass
class Call:
    """One call; began, ended: time.monotonic().

    what: 'boot', 'live migration' or 'resize'.  request: id, also in logs.
    outcome: ANSWERED, or the exception's class name; None without an end yet.
    """

    what: str
    request: str
    uuids: list
    began: float
    ended: float | None = None
    outcome: str | None = None


class Callers:
    """Threads that act as conductors, during a block.

    calls: list of Call.  deeds: counts of actions on instances, by name.
    """

    def __init__(self, bed, world, computes, ledger, clients):
        self._bed, self._world = bed, world
        self._computes, self._ledger = computes, ledger
        self._most = SHARE * mixed_bed.SLOTS * len(bed.hosts)
        self.calls, self._over = [], threading.Event()
        self.deeds = collections.Counter()
        self._threads = [threading.Thread(target=self._work, args=(client,),
                                          daemon=True)
                         for client in clients]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, error, *_):
        self._over.set()
        end = time.monotonic() + (PATIENCE if error is None else 0)
        for thread in self._threads:
            thread.join(max(0, end - time.monotonic()))
            self._world.broken += thread.is_alive()

    def _work(self, client):
        while not self._over.wait(random.uniform(0, PAUSE)):
            full = self._world.vcpus() >= self._most
            deed = random.choices(
                (self._boot, self._delete_any, self._move),
                (2, 5, 3) if full else (7, 1, 2))[0]
            try:
                deed(client)
            except Exception:
                self._world.note_error()

    @property
    def broken(self):
        """Number of errors of the benchmark itself."""
        return self._world.broken

    def _ask(self, client, what, spec, uuids):
        """Make a call; return the names of hosts, or None, and its outcome."""
        ctxt = context.RequestContext(user_id='user', project_id='project')
        call = Call(what, ctxt.request_id, uuids, time.monotonic())
        self.calls.append(call)
        hosts = None
        try:
            answer = client.select_destinations(
                ctxt, spec, uuids, return_objects=True,
                return_alternates=what == 'boot')
            hosts = [chosen[0].service_host for chosen in answer]
            outcome = ANSWERED
        except messaging.RemoteError as exc:
            outcome = exc.exc_type
        except Exception as exc:
            # A server's built-in Python exceptions arrive as these types.
            outcome = type(exc).__name__
        call.ended, call.outcome = time.monotonic(), outcome
        if hosts is None:
            self._world.note(mixed_cloud.TIMED_OUT if outcome == TIMEOUT
                             else mixed_cloud.FAILED, *uuids)
        return hosts, outcome

    def _spec(self, instance, vcpus, **fields):
        """Return the RequestSpec for an instance with ``vcpus`` VCPUs."""
        if instance.group:
            members, hosts = self._world.group_hosts(instance.group)
            fields['group'] = {'members': members, 'hosts': hosts,
                               'uuid': instance.group.uuid}
        return requests.a_request(
            instance_uuid=instance.uuid, vcpus=vcpus, project_id='project',
            user_id='user', memory_mb=vcpus * mixed_bed.MEMORY, **fields)

    def _boot(self, client):
        count = random.choice((1, 1, 1, 2, 3))
        group = (self._world.group(MEMBERS - count)
                 if random.random() < .4 else None)
        vcpus = random.choice((1, 1, 2))
        made = [mixed_cloud.Instance(clouds.a_uuid(), vcpus, group)
                for _ in range(count)]
        uuids = [each.uuid for each in made]
        with self._world.lock:
            self._world.busy.update(uuids)
            if group:
                group.members.update(uuids)
        hosts, outcome = self._ask(client, 'boot', self._spec(
            made[0], vcpus, num_instances=count), uuids)
        for instance, host in zip(made, hosts or [None] * count, strict=True):
            self._build(instance, host, outcome)
        self._world.release(*uuids)

    def _build(self, instance, host, outcome):
        if host and self._computes.take(instance, host, instance.vcpus):
            with self._world.lock:
                instance.host = host
                self._world.live[instance.uuid] = instance
            self._computes.show(instance, host)
            self._count('built')
            if instance.group:
                self._count('members of groups built')
            return
        self._world.forget(instance)
        # The auditor finds what an error leaves behind.
        if host or outcome == TIMEOUT:
            self._ledger.delete(instance.uuid)

    def _delete_any(self, client):
        instance = self._world.take_any()
        if instance:
            self.delete(instance)

    def delete(self, instance):
        """Delete a busy instance."""
        host = instance.host
        self._computes.leave(instance, host, instance.vcpus)
        self._computes.show(instance, host, gone=True)
        self._world.forget(instance)
        self._ledger.delete(instance.uuid)
        self._world.release(instance.uuid)
        self._count('deleted')

    def _count(self, what):
        with self._world.lock:
            self.deeds[what] += 1

    def _move(self, client):
        """Move one; its migration holds the allocations on the source."""
        instance = self._world.take_any()
        if not instance:
            return
        migration = clouds.a_uuid()
        self._world.take(migration)
        try:
            if self._ledger.move(instance.uuid, migration):
                self._moved(client, instance, migration)
        finally:
            self._world.release(instance.uuid, migration)

    def _moved(self, client, instance, migration):
        source, old = instance.host, instance.vcpus
        what, vcpus = random.choice((('live migration', old),
                                     ('resize', 3 - old)))
        hosts, _ = self._ask(client, what, self._spec(
            instance, vcpus, ignore_hosts=[source],
            requested_destination=self._bed.destination(source)),
            [instance.uuid])
        if not hosts or not self._computes.take(instance, hosts[0], vcpus):
            self._ledger.move(migration, instance.uuid)
            return
        time.sleep(MOVES_FOR)
        self._computes.leave(instance, source, old)
        with self._world.lock:
            instance.host, instance.vcpus = hosts[0], vcpus
        self._computes.show(instance, hosts[0], source)
        self._ledger.delete(migration)
        self._count('moved by a ' + what)
