"""Many callers fill a cloud with claims in the real Placement."""

from concurrent import futures

import pytest

from nova_sched import exception
from tests.builders import clouds
from tests.builders import requests

pytestmark = pytest.mark.real

HOSTS, SLOTS, CALLERS = 30, 2, 60
#: Seconds that a caller waits.
PATIENCE = 300
FLAVOR = {'vcpus': 4, 'memory_mb': 1024, 'root_gb': 10, 'ephemeral_gb': 0,
          'swap': 0}


@pytest.fixture
def providers(stage, placement):
    """{host: provider uuid}: compute nodes with room for SLOTS instances."""
    made = {f'cn{number:02}': clouds.a_uuid() for number in range(HOSTS)}
    stage.load(clouds.a_cloud(made))
    for host, uuid in made.items():
        placement.provider(
            host, uuid, {'VCPU': SLOTS * FLAVOR['vcpus'],
                         'MEMORY_MB': 10 ** 6, 'DISK_GB': 10 ** 5},
            traits=['COMPUTE_NODE', 'OWNER_NOVA'])
    return made


@pytest.fixture(params=[('list', [4]), ('mirror', [2, 2])],
                ids=['one daemon that lists', 'two daemons with a mirror'])
def daemons(request, stage, placement, providers):
    candidates, workers_of_each = request.param
    return [stage.daemon(
        name=f'daemon{number}', workers=workers, **placement.settings,
        # On a busy machine Placement is slow.
        placement__timeout=PATIENCE,
        DEFAULT__host=f'daemon{number}', nova_sched__candidates=candidates,
        DEFAULT__service_down_time=10 ** 9)
        for number, workers in enumerate(workers_of_each)]


class Crowd:
    """Concurrent callers.

    placed: {instance uuid: host}.  refused: uuids.
    """

    def __init__(self, stage):
        self._stage, self.placed, self.refused = stage, {}, []

    def ask(self, calls, count=1):
        """Send ``calls`` concurrent calls for ``count`` instances each."""
        client = self._stage.client(DEFAULT__long_rpc_timeout=PATIENCE,
                                    DEFAULT__rpc_response_timeout=PATIENCE)
        wanted = [[clouds.a_uuid() for _ in range(count)]
                  for _ in range(calls)]
        specs = [requests.a_request(
            num_instances=count, instance_uuid=uuids[0],
            flavor=requests.a_flavor(**FLAVOR)) for uuids in wanted]
        with futures.ThreadPoolExecutor(CALLERS) as pool:
            answers = [pool.submit(client.place, spec, uuids)
                       for spec, uuids in zip(specs, wanted, strict=True)]
        for uuids, answer in zip(wanted, answers, strict=True):
            try:
                chosen = answer.result()
            except exception.NoValidHost:
                self.refused += uuids
            else:
                self.placed |= {
                    uuid: selected.service_host for uuid, (selected, *_)
                    in zip(uuids, chosen, strict=True)}


def test_each_placed_instance_has_one_claim_and_no_other_has(
        stage, daemons, placement, providers):
    crowd = Crowd(stage)
    crowd.ask(24)
    crowd.ask(12, count=3)
    crowd.ask(60)

    assert len(crowd.placed) == HOSTS * SLOTS
    assert len(crowd.refused) == 24 + 36 + 60 - HOSTS * SLOTS
    held = {uuid: host for host, provider in providers.items()
            for uuid in placement.consumers(provider)}
    assert held == crowd.placed
    for provider in providers.values():
        assert placement.usages(provider)['VCPU'] == (
            SLOTS * FLAVOR['vcpus'])
