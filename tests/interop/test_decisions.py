"""Stored decisions with claims in the real Placement.

NOVA_SCHED_TEST_DECISIONS: numbers of requests and of hosts; then each
request is compared.  500,1000 take some minutes.
"""

import os
import signal

import pytest
import sqlalchemy as sa

from tests.builders.examples import so_many
from tests.functional.test_decisions import HOSTS
from tests.functional.test_decisions import KINDS
from tests.functional.test_decisions import REQUESTS
from tests.functional.test_decisions import ask_all
from tests.functional.test_decisions import check
from tests.functional.test_decisions import logged
from tests.functional.test_decisions import numbers_in
from tests.functional.test_decisions import until_kept

pytestmark = pytest.mark.real

#: Requests that are under way or just answered at the kill.
LAST = 5
#: Number of requests whose whole decision is compared.
SOME = REQUESTS if 'NOVA_SCHED_TEST_DECISIONS' in os.environ else len(KINDS)


@pytest.fixture
def hosts(stage, placement):
    """HOSTS hosts with providers in Placement: {name: uuid}."""
    stage.cloud(HOSTS)
    with stage.engine().connect() as connection:
        nodes = connection.execute(sa.text(
            'SELECT uuid, hypervisor_hostname, vcpus, memory_mb, local_gb '
            'FROM compute_nodes')).all()
    for uuid, name, vcpus, memory_mb, local_gb in nodes:
        placement.provider(name, uuid, {
            'VCPU': {'total': vcpus, 'allocation_ratio': 16.0},
            'MEMORY_MB': memory_mb, 'DISK_GB': local_gb},
            ['COMPUTE_NODE', 'OWNER_NOVA'])
    return {name: uuid for uuid, name, *_ in nodes}


@pytest.mark.parametrize('candidates', ['list', 'mirror'][:so_many(2, 1)])
def test_stored_decisions_equal_answers_and_claims(
        stage, placement, hosts, candidates):
    """They survive a kill of both workers and the master amid requests."""
    daemon = stage.daemon(2, nova_sched__candidates=candidates,
                          **placement.settings)
    caller = stage.client()
    answered = ask_all(caller)
    until_kept(stage, answered)
    ask_all(caller, first=REQUESTS, number=LAST)
    for worker in daemon.workers:
        os.kill(worker, signal.SIGKILL)
    daemon.signal(signal.SIGKILL)
    daemon.wait()

    by_log = logged(daemon)
    for found in check(stage, answered, [*answered][:SOME]):
        uuids, answer = answered[found['request_id']]
        assert numbers_in(found) == by_log[found['request_id']]
        assert found['candidates']['providers'] <= HOSTS
        taken = {claim['instance']: hosts[claim['node']]
                 for claim in found['claims'] if claim['taken']}
        # A refused request has no claims.
        assert taken == {pick['instance']: hosts[pick['node']]
                         for pick in found['picks']}
        assert [[*placement.allocations(uuid)] for uuid in uuids] == [
            [taken[uuid]] if answer else [] for uuid in uuids]
