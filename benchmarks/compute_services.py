"""Fake compute services that report at Nova's default intervals.

Each service sends a heartbeat every 10 seconds. Each compute node looks at its
usage every 60, and saves it if it has changed, as one in ten has. Runs as a
process of its own:
``python -m benchmarks.compute_services DATABASE_URL``.
"""

import itertools
import sys
import time

from nova_sched.cloud import file as cloud_file
from nova_sched.db import engine as db_engine
from nova_sched.db import tables

HEARTBEAT, AUDIT = 10, 60    # seconds
CHANGED = 10                 # of so many audits one finds a change


def main(url):
    """Report until killed: each second an equal share of the hosts."""
    database = db_engine.Database(url)
    for second in itertools.count():
        start = time.monotonic()
        with database.writing() as connection:
            for statement in _reports(second):
                connection.execute(statement)
        time.sleep(max(0, 1 - (time.monotonic() - start)))


def _reports(second):
    now = cloud_file.utcnow()
    services, nodes = tables.services, tables.compute_nodes
    yield services.update().where(
        services.c.id % HEARTBEAT == second % HEARTBEAT).values(
            report_count=services.c.report_count + 1, last_seen_up=now,
            updated_at=now)
    period = AUDIT * CHANGED
    yield nodes.update().where(nodes.c.id % period == second % period).values(
        running_vms=second % 100, updated_at=now)


if __name__ == '__main__':
    main(sys.argv[1])
