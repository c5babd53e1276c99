"""Instances after they were placed: hosts report them, and they end again.

``Guests`` sends placed instances to a separate process. Once a second that
process writes the changes of each host to its compute node's row, like the
compute services. It deletes the allocations of the oldest instances as soon as
there are more than ROOM. So a load can run for any time, with as many
deletions as claims, and the cloud never fills up.

    python -m benchmarks.guests DATABASE_URL PLACEMENT_URL TOKEN

It reads lines of JSON, lists of [instance, compute node], all uuids. After an
empty list it writes a line, {"ended": ..., "lost": ...}, as soon as there are
no more than ROOM.
"""

import collections
import json
import os
import subprocess
import sys
import threading
import time
import traceback

import requests
import sqlalchemy as sa

from benchmarks import bed
from nova_sched.cloud import fake_hardware
from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine as db_engine
from nova_sched.db import tables

ROOM = 300
#: Size of each instance.
SIZE = {'memory_mb': 512, 'vcpus': 1, 'root_gb': 1, 'ephemeral_gb': 0}
#: Its allocations in Placement.
RESOURCES = {'VCPU': SIZE['vcpus'], 'MEMORY_MB': SIZE['memory_mb'],
             'DISK_GB': SIZE['root_gb']}
_INSTANCE = {**SIZE, 'vm_state': 'active', 'task_state': None,
             'project_id': 'project', 'os_type': 'linux'}
_ENDERS = 2        # deletions at a time
_ATTEMPTS = 10    # while others write to the same hosts
_INTERVAL = 1      # seconds between reports


class Guests:
    """The process, during a block.

    database_url: of the compute nodes.  placement: the tests' Placement.
    log: file for the standard error of the process.
    """

    def __init__(self, database_url, placement, log):
        self._command = [sys.executable, '-m', 'benchmarks.guests',
                         database_url, placement.url,
                         placement.options['token']]
        self._log, self._lock = log, threading.Lock()

    def __enter__(self):
        with open(self._log, 'w') as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, start_new_session=True)
        self.settle()
        return self

    def __exit__(self, *error):
        bed.end(self._process)
        self._process.stdin.close()
        self._process.stdout.close()

    def placed(self, pairs):
        """Take over instances: list of (instance, compute node)."""
        with self._lock:
            self._process.stdin.write(json.dumps(pairs) + '\n')
            self._process.stdin.flush()

    def settle(self):
        """Wait until there are no more than ROOM.

        Returns how many have ended so far, and how many of them were lost:
        they had no allocation.
        """
        self.placed([])
        answer = self._process.stdout.readline()
        assert answer, f'the guests have ended; see {self._log}'
        found = json.loads(answer)
        return found['ended'], found['lost']


class _Life:
    """All instances, the oldest first, and threads that change them."""

    def __init__(self, database_url, placement_url, token):
        self._database = db_engine.Database(database_url)
        self._url = placement_url
        self._headers = {'X-Auth-Token': token}
        self._alive, self._counts = collections.deque(), collections.Counter()
        self._ended = self._lost = 0
        self._changed, self._ending = set(), 0
        self._condition = threading.Condition()
        self._nodes = self._read_nodes()

    def _read_nodes(self):
        c = tables.compute_nodes.c
        with self._database.reading() as connection:
            return {row['uuid']: row for row in connection.execute(
                sa.select(c.uuid, c.vcpus, c.memory_mb, c.local_gb)
            ).mappings()}

    def serve(self):
        """Process the lines of standard input."""
        for work in (*[self._end_oldest] * _ENDERS, self._report):
            threading.Thread(target=_or_end, args=(work,),
                             daemon=True).start()
        for line in sys.stdin:
            pairs = json.loads(line)
            if pairs:
                self._begin(pairs)
            else:
                self._answer()

    def _begin(self, pairs):
        with self._condition:
            for instance, node in pairs:
                self._alive.append((instance, node))
                self._count(node, 1)
            self._condition.notify_all()

    def _count(self, node, more):
        self._counts[node] += more
        self._changed.add(node)

    def _answer(self):
        with self._condition:
            self._condition.wait_for(
                lambda: len(self._alive) <= ROOM and not self._ending)
            print(json.dumps({'ended': self._ended, 'lost': self._lost}),
                  flush=True)

    def _end_oldest(self):
        with requests.Session() as session:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: len(self._alive) > ROOM)
                    instance, node = self._alive.popleft()
                    self._ending += 1
                gone = self._delete(session, instance)
                with self._condition:
                    self._ending -= 1
                    self._ended += 1
                    self._lost += not gone
                    self._count(node, -1)
                    self._condition.notify_all()

    def _delete(self, session, instance):
        """Delete allocations; return whether there were any."""
        for _ in range(_ATTEMPTS):
            answer = session.delete(f'{self._url}/allocations/{instance}',
                                    headers=self._headers, timeout=120)
            if answer.status_code != 409:
                break
        if not answer.ok:
            print(f'{instance}: {answer.status_code} {answer.text}',
                  file=sys.stderr, flush=True)
        return answer.ok

    def _report(self):
        c = tables.compute_nodes.c
        while True:
            time.sleep(_INTERVAL)
            with self._condition:
                counts = {node: self._counts[node] for node in self._changed}
                self._changed.clear()
            if not counts:
                continue
            now = cloud_file.utcnow()
            for node, count in counts.items():
                # One transaction per row, like the compute services. One for
                # several rows would collide with
                # benchmarks.compute_services.
                with self._database.writing() as connection:
                    connection.execute(
                        tables.compute_nodes.update().where(c.uuid == node)
                        .values(updated_at=now, **fake_hardware.usage(
                            self._nodes[node], [_INSTANCE] * count)))


def _or_end(work):
    """End the process if ``work`` fails: the writer of its input notices."""
    try:
        work()
    except Exception:
        traceback.print_exc()
        os._exit(1)


if __name__ == '__main__':
    _Life(*sys.argv[1:]).serve()
