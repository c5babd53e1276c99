"""Placement moves to another endpoint in the catalog."""

import pytest

from nova_sched.dry_run.read_only_placement import ReadOnlyReportClient
from nova_sched.scheduler.client.report import SchedulerReportClient
from tests.builders import http_keystone
from tests.builders import http_placement
from tests.builders.clouds import a_uuid
from tests.builders.http_claims import SPEC
from tests.builders.http_placement import CONTEXT
from tests.builders.http_placement import Query
from tests.builders.http_server import DROP
from tests.builders.http_server import Answer

HTML = '<html>Something else</html>'
#: Possible responses at the old endpoint.
LEFTOVERS = (DROP, Answer(404, HTML), Answer(503, HTML))
PATHS = ('/', '/allocation_candidates', '/allocations', '/allocations/',
         '/resource_providers')

FIRST, SECOND = a_uuid(1), a_uuid(2)


@pytest.fixture
def old():
    """A Placement that offers host ``a``."""
    with http_placement.offering('a') as server:
        yield server


@pytest.fixture
def new():
    """A Placement that offers host ``b``, without version 1.36."""
    with http_placement.offering('b') as server:
        server.on('GET', '/', http_placement.versions('1.34'))
        yield server


@pytest.fixture
def keystone(old):
    """A Keystone with the old endpoint in its catalog."""
    with http_keystone.keystone(http_keystone.an_endpoint(old.url)) as server:
        yield server


@pytest.fixture
def conf(keystone, tmp_path):
    return http_placement.a_conf(
        tmp_path, auth_type='password', auth_url=f'{keystone.url}/v3',
        **http_keystone.USER)


@pytest.fixture(params=LEFTOVERS)
def move(request, keystone, old, new):
    """Function that moves Placement."""
    def move():
        http_keystone.set_catalog(keystone, http_keystone.an_endpoint(new.url))
        for method in ('GET', 'PUT', 'POST', 'DELETE'):
            for path in PATHS:
                old.on(method, path, request.param)
    return move


@pytest.mark.parametrize('kind', [SchedulerReportClient, ReadOnlyReportClient])
def test_candidates_are_listed_at_the_new_endpoint(kind, conf, move):
    client = kind(conf)
    assert client.candidates([Query()], CONTEXT).providers == {'a'}

    move()

    assert client.candidates([Query()], CONTEXT).providers == {'b'}


def test_claim_at_old_endpoint_is_not_repeated(conf, move, old, new):
    """The next claim goes to the new endpoint."""
    client = SchedulerReportClient(conf)
    offer = http_placement.ask(client)
    move()

    assert not offer.claim('one', offer.of('a')[0], SPEC)
    assert len(old.to('PUT')) == 1
    assert not new.to('PUT')
    assert offer.claim('two', offer.of('a')[0], SPEC)
    assert [asked.path for asked in new.to('PUT')] == ['/allocations/two']


def test_claim_is_released_at_new_endpoint(conf, move, new):
    client = SchedulerReportClient(conf)
    offer = http_placement.ask(client)
    assert offer.claim('one', offer.of('a')[0], SPEC)
    move()
    # A first request finds the new endpoint.
    client.candidates([Query()], CONTEXT)

    offer.release('one')

    assert http_placement.written(new, claims=False) == ['/allocations/one']
