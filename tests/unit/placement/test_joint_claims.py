"""Joint claims of many instances, and their release."""

import pytest

from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.http_claims import CURRENT
from tests.builders.http_claims import QUEENS
from tests.builders.http_claims import ROCKY
from tests.builders.http_claims import SPEC
from tests.builders.http_claims import STEIN
from tests.builders.http_placement import CONSUMER
from tests.builders.http_placement import FULL
from tests.builders.http_placement import RACE
from tests.builders.http_placement import error
from tests.builders.http_server import DROP
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer

UUIDS = A, B, C = [a_uuid(number) for number in (1, 2, 3)]
#: Each instance on its own host.
WANTED = {uuid: http_placement.a_candidate(host, VCPU=2)
          for uuid, host in zip(UUIDS, 'abc', strict=True)}


@pytest.fixture
def holding(placement):
    """The allocations of consumers: uuid -> allocations."""
    return http_placement.remembering(placement)


def methods(placement):
    return [asked.method for asked in placement.asked]


class TestClaim:
    def test_many_instances_need_one_request(self, scene, placement, holding):
        assert scene.claims().claim_all(WANTED, SPEC)

        [asked] = placement.asked
        assert (asked.method, asked.path) == ('POST', '/allocations')
        assert asked.version == f'placement {CURRENT}'
        assert asked.body == {uuid: {
            'allocations': request['allocations'],
            'mappings': request['mappings'], 'project_id': 'p',
            'user_id': 'u', 'consumer_generation': None}
            for uuid, request in WANTED.items()}
        assert holding.keys() == set(UUIDS)

    @pytest.mark.parametrize('version', [QUEENS, ROCKY])
    def test_old_version_claims_singly(self, scene, placement, version):
        made = scene.claims(version)

        assert not made.has_generations
        assert not made.claim_all(WANTED, SPEC)
        assert placement.asked == []

    @pytest.mark.parametrize('answer', [FULL, CONSUMER, error(400)])
    def test_refused_joint_claim_leaves_nothing(self, scene, placement,
                                                answer):
        placement.on('POST', '/allocations', answer)
        made = scene.claims()

        assert not made.claim_all(WANTED, SPEC)
        for uuid in UUIDS:
            made.release(uuid)
        assert methods(placement) == ['POST']

    def test_race_is_retried(self, scene, placement):
        placement.on('POST', '/allocations', RACE, RACE, http_placement.TAKEN)

        assert scene.claims(STEIN).claim_all(WANTED, SPEC)
        assert scene.slept == [0, 0, 2]

    @pytest.mark.parametrize('answer', [DROP, HANG, Answer(503)])
    def test_unanswered_joint_claim_is_released(self, scene, placement,
                                                holding, answer):
        """Placement may have accepted it."""
        [take] = placement.routes('POST', '/allocations')

        def lose(asked):
            take(asked)
            return answer
        placement.on('POST', '/allocations', lose)
        made = scene.claims(timeout=1)

        assert not made.claim_all(WANTED, SPEC)
        assert holding.keys() == set(UUIDS)
        for uuid in UUIDS:
            made.release(uuid)
        assert holding == {}


class TestRelease:
    def test_many_instances_need_one_request(self, scene, placement, holding,
                                             caplog):
        caplog.set_level('INFO')
        made = scene.claims()
        made.claim_all(WANTED, SPEC)

        assert sorted(made.release_all(UUIDS)) == sorted(UUIDS)

        assert methods(placement) == ['POST', 'POST']
        assert placement.asked[-1].body[A] == {
            'allocations': {}, 'project_id': 'p', 'user_id': 'u',
            'consumer_generation': 1}
        assert holding == {}
        assert f'Deleted allocations for instance {B}' in caplog.text

    def test_single_claims_are_released_together(self, scene, holding):
        made = scene.claims()
        for uuid in (A, B):
            made.claim(uuid, WANTED[uuid], SPEC)

        assert sorted(made.release_all([A, B, C])) == sorted([A, B])
        assert holding == {}

    def test_single_claim_is_released_singly(self, scene, placement):
        made = scene.claims()
        made.claim(A, WANTED[A], SPEC)

        assert made.release_all([A]) == []

    def test_release_happens_once(self, scene, placement):
        made = scene.claims()
        made.claim_all(WANTED, SPEC)
        made.release_all(UUIDS)
        for uuid in UUIDS:
            made.release(uuid)

        assert methods(placement) == ['POST', 'POST']

    @pytest.mark.parametrize('answer', [CONSUMER, DROP, Answer(500)])
    def test_refused_joint_release_is_made_singly(self, scene, placement,
                                                  holding, answer):
        made = scene.claims()
        made.claim_all(WANTED, SPEC)
        placement.on('POST', '/allocations', answer)

        assert made.release_all(UUIDS) == []
        for uuid in UUIDS:
            made.release(uuid)
        assert holding == {}

    def test_earlier_allocations_are_restored(self, scene, placement, holding):
        """Each instance separately."""
        holding[C] = {'z': {'resources': {'VCPU': 1}}}
        made = scene.claims()
        for uuid in UUIDS:
            assert made.claim(uuid, WANTED[uuid], SPEC)

        assert sorted(made.release_all(UUIDS)) == sorted([A, B])
        made.release(C)
        assert holding == {C: {'z': {'resources': {'VCPU': 1}}}}
