"""A scripted Placement over HTTP, with texts of a real Placement 16.0.0."""

import contextlib
import dataclasses
import functools
import math
import pathlib

from nova_sched import conf as config
from nova_sched import context
from nova_sched.scheduler.client import report
from nova_sched.scheduler.offer import Offer
from tests.builders import http_server
from tests.builders.http_server import Answer

TAKEN = Answer(204)
#: The context of the tests' requests.
CONTEXT = context.RequestContext(
    request_id='req-0af04c2f-6a2b-4a57-9d0e-2f3c6f0d7c11',
    global_request_id='req-91d6d1a4-51d5-4c68-8a5c-7d2a0f1b9e02',
    user_id='u-caller', project_id='p', auth_token='token-of-the-caller',
    overwrite=False)


@contextlib.contextmanager
def placement(version='1.39', tls=False, server=None):
    """A Server without candidates that grants each claim.

    server: a Server that does not run yet, in place of a new one.
    """
    with (server or http_server.Server(tls)).running() as server:
        server.on('GET', '/', versions(version))
        server.on('GET', '/allocation_candidates', candidates())
        server.on('GET', '/allocations/', held())
        server.on('PUT', '/allocations/', functools.partial(take, server))
        server.on('POST', '/allocations', TAKEN)
        server.on('DELETE', '/allocations/', TAKEN)
        yield server


@contextlib.contextmanager
def offering(*uuids, others=()):
    """A Server that offers these providers and grants each claim.

    others: providers without a candidate.
    """
    with placement() as server:
        server.on('GET', '/allocation_candidates', candidates(
            *map(a_candidate, uuids), others=others))
        yield server


def written(server, claims):
    """Paths of the consumers of all claims, or of all releases: list.

    Both of single requests and of requests for many consumers.
    """
    alone = [asked.path for asked in server.to('PUT')
             if bool(asked.body['allocations']) is claims]
    if not claims:
        alone += [asked.path for asked in server.to('DELETE')]
    return alone + [
        f'/allocations/{uuid}' for asked in server.to('POST', '/allocations')
        for uuid, body in asked.body.items()
        if bool(body['allocations']) is claims]


def providers(server):
    """Uuids of the providers in all claims: list."""
    bodies = [asked.body for asked in server.to('PUT')] + [
        body for asked in server.to('POST', '/allocations')
        for body in asked.body.values()]
    return [uuid for body in bodies for uuid in body['allocations']]


def take(server, asked):
    """Grant a claim unless it is for a new consumer that has allocations.

    The Server's next answer to GET has the consumer's allocations.
    """
    known = asked.body.get('consumer_generation', 0)
    current = server.next_answer('GET', asked.path)
    holds = isinstance(current, Answer) and isinstance(
        current.body, dict) and current.body.get('allocations')
    return CONSUMER if known is None and holds else TAKEN


def remembering(server, most=math.inf):
    """Make a Server keep its consumers' allocations and generations.

    most: number of consumers that it has room for.
    As Placement from microversion 1.28 on.  Returns uuid -> allocations.
    """
    holding, generations = {}, {}

    def put(asked):
        return post(dataclasses.replace(
            asked, body={_consumer(asked): asked.body}))

    def generation(uuid):
        return generations.get(uuid, 1) if uuid in holding else None

    def post(asked):
        refusal = _refusal(asked.body, generation, holding, most)
        if refusal:
            return refusal
        for uuid, body in asked.body.items():
            generations[uuid] = (generation(uuid) or 0) + 1
            holding[uuid] = body['allocations']
            if not holding[uuid]:
                del holding[uuid]
        return TAKEN

    def get(asked):
        uuid = _consumer(asked)
        return held({provider: found['resources'] for provider, found
                     in holding.get(uuid, {}).items()}, generation(uuid))

    def delete(asked):
        holding.pop(_consumer(asked), None)
        return TAKEN

    for method, answer in (('PUT', put), ('GET', get), ('DELETE', delete)):
        server.on(method, '/allocations/', answer)
    server.on('POST', '/allocations', post)
    return holding


def _refusal(bodies, generation, holding, most):
    if any(body['consumer_generation'] != generation(uuid)
           for uuid, body in bodies.items()):
        return CONSUMER
    claimed = {uuid for uuid, body in bodies.items() if body['allocations']}
    return FULL if len(holding.keys() | claimed) > most else None


def _consumer(asked):
    return asked.path.rpartition('/')[2]


def client(directory, **options):
    """A SchedulerReportClient; options: of [placement]."""
    return report.SchedulerReportClient(a_conf(directory, **options))


def a_conf(directory, **options):
    """A ConfigOpts of a file with these options in [placement]."""
    path = pathlib.Path(directory) / 'placement-client.conf'
    path.write_text('[placement]\n' + ''.join(
        f'{name} = {value}\n' for name, value in options.items()))
    return config.new_conf([], [str(path)])


def conf_of(server, directory, **options):
    """The ConfigOpts of a Placement without Keystone."""
    return a_conf(directory, auth_type='none', endpoint_override=server.url,
                  **options)


@dataclasses.dataclass(frozen=True)
class Query:
    """A query to Placement, for tests of its senders."""

    text: str = 'resources=VCPU%3A1'
    least: str = '1.17'
    limit: int = 1000

    def minimum_version(self):
        return self.least

    def query(self, version):
        return f'{self.text}&limit={self.limit}'


def versions(most, least='1.0'):
    """The document of versions at Placement's address."""
    return Answer(body={'versions': [{
        'id': 'v1.0', 'max_version': most, 'min_version': least,
        'status': 'CURRENT', 'links': [{'rel': 'self', 'href': ''}]}]})


def candidates(*requests, others=()):
    """A listing of candidates.

    requests: of a_candidate.  others: providers without a candidate.
    """
    uuids = [uuid for request in requests for uuid in request['allocations']]
    return Answer(body={
        'allocation_requests': list(requests),
        'provider_summaries': {
            uuid: {'resources': {'VCPU': {'capacity': 16, 'used': 0}},
                   'traits': []} for uuid in [*uuids, *others]}})


def a_candidate(provider, mappings=True, **resources):
    """An allocation request, by default for one VCPU of a provider."""
    request = {'allocations': {
        provider: {'resources': resources or {'VCPU': 1}}}}
    return request | ({'mappings': {'': [provider]}} if mappings else {})


def held(allocations=None, generation=1, owner=('p-owner', 'u-owner')):
    """A consumer's allocations: provider -> resource class -> amount."""
    if not allocations:
        return Answer(body={'allocations': {}})
    return Answer(body={
        'allocations': {
            provider: {'resources': resources, 'generation': 7}
            for provider, resources in allocations.items()},
        'project_id': owner[0], 'user_id': owner[1],
        'consumer_generation': generation})


def error(status, detail='', code='placement.undefined_code'):
    """An error; code: None for errors before microversion 1.23."""
    return Answer(status, {'errors': [{
        'status': status, 'title': 'Error', 'request_id': 'req-1',
        'detail': f'The request did not work.\n\n {detail}  ',
        **({'code': code} if code else {})}]},
        {'x-openstack-request-id': 'req-placement'})


#: A provider was changed during the claim.
RACE = error(409, 'Inventory and/or allocations changed while attempting to '
             'allocate: Another thread concurrently updated the data. Please '
             'retry your update', 'placement.concurrent_update')
#: The consumer was changed.
CONSUMER = error(409, 'consumer generation conflict - expected 1 but got '
                 'None', 'placement.concurrent_update')
FULL = error(409, "Unable to allocate inventory: Unable to create allocation "
             "for 'VCPU' on resource provider 'a'. The requested amount "
             "would exceed the capacity.")


class Offered(Offer):
    """An Offer of a client with the attributes of its parts."""

    def __getattr__(self, name):
        return getattr(self.candidates if hasattr(self.candidates, name)
                       else self.claims, name)


def ask(client, *queries):
    """List candidates by a client: Offered, or NoCandidates."""
    found = client.candidates(list(queries) or [Query()], CONTEXT)
    if not found.providers:
        return found
    return Offered(found, client.claims(found, CONTEXT), client)
