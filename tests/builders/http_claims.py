"""Claims in a scripted Placement over HTTP."""

import operator

from nova_sched.placement import adapter
from nova_sched.placement import claims
from tests.builders import http_placement
from tests.builders import requests
from tests.builders.http_placement import CONSUMER
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import TAKEN
from tests.builders.http_placement import a_candidate
from tests.builders.http_placement import error
from tests.builders.http_placement import held

UUID = '5b10167e-1355-4bf3-bb67-7d0d8513ae4b'
PATH = f'/allocations/{UUID}'
SPEC = requests.a_request(project_id='p', user_id='u')
WANTED = a_candidate('a', VCPU=2, MEMORY_MB=512)
#: Microversions of the eras whose rules differ.
QUEENS, ROCKY, STEIN, CURRENT = ERAS = ('1.17', '1.25', '1.29', '1.36')


class Scene:
    """Claims of one request; slept: their pauses in seconds."""

    def __init__(self, directory, placement):
        self._directory, self.placement = directory, placement
        self.slept = []

    def claims(self, version=CURRENT, identity=None, **options):
        return claims.AllocationClaims(
            adapter.PlacementAdapter(http_placement.a_conf(
                self._directory, **{'auth_type': 'none',
                                    'endpoint': self.placement.url,
                                    **options})),
            version, identity or claims.RequestIdentity.of(CONTEXT),
            sleep=self.slept.append, uniform=operator.add)

    def claim(self, version=CURRENT, spec=SPEC, request=WANTED, **kwargs):
        """Claim; return the last PUT request."""
        self.claims(version, **kwargs).claim(UUID, request, spec)
        return self.placement.to('PUT', PATH)[-1]


class Kept:
    """Allocations of UUID in Placement, from microversion 1.28 on.

    allocations: provider -> resource class -> amount.
    """

    def __init__(self, placement, allocations=None, generation=None):
        self.allocations = allocations or {}
        self._generation = generation
        placement.on('GET', PATH, lambda asked: held(
            self.allocations, self._generation))
        placement.on('PUT', PATH, self.put)
        placement.on('DELETE', PATH, self.delete)

    def put(self, asked):
        """Grant a claim unless the consumer has changed; return the answer.
        """
        if asked.body['consumer_generation'] != self._generation:
            return CONSUMER
        self.allocations = {
            provider: wanted['resources'] for provider, wanted
            in asked.body['allocations'].items()}
        self._generation = (self._generation or 0) + 1
        if not self.allocations:
            self._generation = None
        return TAKEN

    def delete(self, asked):
        """Remove all allocations."""
        answer = TAKEN if self.allocations else error(404)
        self.allocations, self._generation = {}, None
        return answer

    def taking(self, answer):
        """Function that grants a claim and returns ``answer`` instead."""
        def take(asked):
            self.put(asked)
            return answer
        return take
