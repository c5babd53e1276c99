"""Failures of Placement."""

import time

import pytest

from nova_sched import exception
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.placement import adapter
from tests.builders import http_placement
from tests.builders.http_placement import Query
from tests.builders.http_placement import a_candidate
from tests.builders.http_placement import candidates
from tests.builders.http_server import DROP
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer

CANDIDATES = '/allocation_candidates'
SILENT = 'Placement API service is not responding. '
WHERE = (". Check that it runs, and its endpoint in Keystone's catalog or "
         '[placement] endpoint_override')
NOT_PLACEMENT = (
    ". The server there is not Placement: check its endpoint in Keystone's "
    'catalog, or [placement] endpoint_override')
HTML = '<html>\n <body>It works!</body>\n</html>'

#: Response to the query for candidates, and the text in the log.
ANSWERS = [
    (http_placement.error(400, 'No such trait(s): CUSTOM_X.'),
     'Got 400: The request did not work. No such trait(s): CUSTOM_X. '
     'Correct the flavor, image or request accordingly'),
    (Answer(400, 'The plain HTTP request was sent to HTTPS port'),
     'The server expects https instead of http: correct its endpoint'),
    (http_placement.error(403, 'Not allowed.'),
     'Got 403: The request did not work. Not allowed. Give the user of '
     '[placement] the role that the policy of Placement asks for'),
    (Answer(404, HTML), 'Got 404: <html> <body>It works!</body> </html>. '
     'Check that the endpoint of Placement'),
    (http_placement.error(406), 'upgrade Placement'),
    (http_placement.error(409), 'Got 409: '),
    (Answer(500, 'Oops'), 'Got 500: Oops. See the log of Placement'),
    (Answer(503, ''), 'Got 503: nothing. See the log of Placement'),
    (Answer(204), 'The server there is not Placement'),
    (Answer(200, HTML), 'The server there is not Placement'),
    (Answer(200, '{"allocation_requests": ['), NOT_PLACEMENT),
    (Answer(200, '[' * 100000), 'it is nested too deeply' + NOT_PLACEMENT),
    (Answer(200, '[]'), 'it is a list, not an object' + NOT_PLACEMENT),
    *((Answer(200, body), 'it lists no allocation candidates' + NOT_PLACEMENT)
      for body in (
          {}, {'allocation_requests': None, 'provider_summaries': {}},
          {'allocation_requests': [], 'provider_summaries': []},
          {'allocation_requests': ['a'], 'provider_summaries': {}},
          {'allocation_requests': [{}], 'provider_summaries': {}},
          {'allocation_requests': [{'allocations': []}],
           'provider_summaries': {}},
          {'allocation_requests': [{'allocations': {'a': {}}}],
           'provider_summaries': {}},
          *({'allocation_requests': [{'allocations': {
              'a': {'resources': resources}}}], 'provider_summaries': {}}
            for resources in ({'VCPU': '1'}, {'VCPU': 0}, {'VCPU': -1},
                              {'VCPU': True}, [['VCPU', 1]])),
          *({'allocation_requests': [a_candidate('a')
                                     | {'mappings': mappings}],
             'provider_summaries': {}}
            for mappings in (None, [], 'a', {'': 'a'}, {'': None},
                             {'': [1]})))),
]


def ask(client, **query):
    return client.candidates([Query(**query)], http_placement.CONTEXT)


@pytest.mark.parametrize(('answer', 'said'), ANSWERS)
def test_useless_response_is_logged(client, placement, caplog, answer, said):
    placement.on('GET', CANDIDATES, answer)

    found = ask(client)

    assert isinstance(found, NoCandidates)
    assert found.reason.startswith(
        'Failed to retrieve allocation candidates from placement API for '
        'filters: resources=VCPU:1&limit=1000. Got ')
    assert said in found.reason
    assert [(record.levelname, record.getMessage())
            for record in caplog.records
            if record.name.startswith('nova_sched')] == [
        ('ERROR', found.reason)]


def test_long_response_is_cut(client, placement):
    placement.on('GET', CANDIDATES, Answer(500, 'words ' * 10000))

    assert len(ask(client).reason) < 1000


@pytest.mark.parametrize('body', [
    HTML, '{', {}, {'versions': []}, {'versions': {}}, {'versions': [1]},
    {'versions': [{'min_version': None, 'max_version': '1.39'}]},
    {'versions': [{'min_version': '1.0', 'max_version': 'v'}]},
    {'versions': [{'id': 'v3', 'status': 'stable'}]}])
@pytest.mark.parametrize('status', [200, 300, 404, 500])
def test_address_without_microversions_is_refused(client, placement, caplog,
                                                  status, body):
    placement.on('GET', '/', Answer(status, body))

    found = ask(client)

    assert found.reason.startswith(
        f'Discovering suitable URL for placement API failed. Got {status}: ')
    assert found.reason in caplog.text
    with pytest.raises(adapter.RequestFailed):
        client._adapter.microversions()


class TestUnreachable:
    def test_refused_connection(self, client_of, caplog):
        client = client_of(auth_type='none', endpoint='http://127.0.0.1:9')

        found = ask(client)

        assert found == NoCandidates(
            f'{SILENT}Unable to establish connection to '
            f'http://127.0.0.1:9/: [Errno 111] Connection refused{WHERE}')
        assert found.reason in caplog.text
        with pytest.raises(adapter.PlacementUnreachable):
            client._adapter.microversions()

    def test_dropped_connection(self, client, placement):
        placement.on('GET', CANDIDATES, DROP)

        assert ask(client).reason == (
            f'{SILENT}Unable to establish connection to {placement.url}'
            f'{CANDIDATES}: Remote end closed connection without response'
            f'{WHERE}')

    def test_timeout_raises(self, client_of, placement, caplog):
        placement.on('GET', CANDIDATES, HANG)
        client = client_of(auth_type='none', endpoint=placement.url, timeout=1)
        begin = time.monotonic()

        with pytest.raises(exception.PlacementUnavailable) as late:
            ask(client)

        assert time.monotonic() - begin < 10
        assert str(late.value) == (
            'Placement API service does not respond in time. Request to '
            f'{placement.url}{CANDIDATES} timed out after 1 seconds. Find the '
            'cause of its load, run it in more processes, or raise '
            '[placement] timeout')
        assert str(late.value) in caplog.text

    def test_each_failure_is_logged(self, client_of, caplog):
        client = client_of(auth_type='none', endpoint='http://127.0.0.1:9')
        for _ in range(3):
            ask(client)

        assert caplog.text.count(SILENT) == 3


@pytest.mark.parametrize('answers, option', [
    ([DROP, DROP], 'connect'), ([Answer(503)], 'status_code')])
def test_retries_apply(client_of, placement, answers, option):
    placement.on('GET', CANDIDATES, *answers, candidates(a_candidate('a')))

    assert ask(client_of(**{
        'auth_type': 'none', 'endpoint': placement.url,
        f'{option}_retries': len(answers),
        f'{option}_retry_delay': 0.01})).providers == {'a'}


@pytest.mark.parametrize('answer, error', [
    (candidates(a_candidate('a')), None), (Answer(400), None),
    (Answer(503), 'It responds with 503'), (DROP, 'is not responding')])
def test_contact_is_recorded(client, placement, answer, error):
    placement.on('GET', CANDIDATES, answer)
    ask(client)
    assert (client.contact.failures > 0) == (error is not None)
    assert error is None or error in client.contact.error


class TestAggregates:
    SEGMENT = '/resource_providers/s/aggregates'

    def test_aggregates_of_provider_are_returned(self, client, placement):
        placement.on('GET', self.SEGMENT, Answer(body={
            'aggregates': ['a', 'b'], 'resource_provider_generation': 3}))

        assert client.aggregates_of('s', http_placement.CONTEXT) == ['a', 'b']
        [asked] = placement.asked
        assert asked.version == 'placement 1.19'
        assert asked.headers['X-Openstack-Request-Id'] == (
            http_placement.CONTEXT.global_request_id)

    def test_unreachable_placement_gives_none(self, client_of):
        client = client_of(auth_type='none', endpoint='http://127.0.0.1:9')

        assert client.aggregates_of('s', http_placement.CONTEXT) is None

    @pytest.mark.parametrize('answer', [
        http_placement.error(404, 'No resource provider with uuid s found'),
        http_placement.error(406), Answer(body={}), Answer(body=HTML)])
    def test_refused_aggregates_raise(self, client, placement, caplog, answer):
        placement.on('GET', self.SEGMENT, answer)

        with pytest.raises(
                exception.ResourceProviderAggregateRetrievalFailed,
                match='Failed to get aggregates for resource provider with '
                      'UUID s'):
            client.aggregates_of('s', http_placement.CONTEXT)
        [record] = caplog.records
        assert record.levelname == 'ERROR'
        assert (f'[{answer.headers.get("x-openstack-request-id")}] Failed to '
                f'retrieve aggregates from placement API for resource '
                f'provider with UUID s. Got {answer.status}: '
                ) in record.getMessage()
