"""Services that move to another endpoint in Keystone's catalog."""

import concurrent.futures
import contextlib
import logging
import os
import threading

import pytest

from nova_sched import service_adapter
from nova_sched.placement.adapter import Response
from nova_sched.service_adapter import FailureReason
from nova_sched.service_adapter import ServiceAdapter
from nova_sched.service_adapter import ServiceUnreachable
from tests.builders import http_keystone
from tests.builders import http_placement
from tests.builders import http_server
from tests.builders.http_keystone import TOKENS
from tests.builders.http_keystone import an_endpoint
from tests.builders.http_keystone import set_catalog
from tests.builders.http_server import DROP
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer

#: An address that refuses connections.
NOWHERE = 'http://127.0.0.1:9'
#: Seconds to wait for events of other threads.
PATIENCE = 30
HTML = '<html>Something else</html>'
#: Possible responses at the old address.
LEFTOVERS = (
    DROP, Answer(404, HTML), Answer(404, {'message': 'no Route matched'}),
    Answer(405, HTML), Answer(502, HTML), Answer(503, HTML), Answer(503),
    Answer(200, HTML))
HERE, THERE = Answer(body={'at': 'old'}), Answer(body={'at': 'new'})


@pytest.fixture
def servers():
    """The Servers at the old and the new address of a service."""
    with (http_server.Server().running() as old,
          http_server.Server().running() as new):
        for server, answer in ((old, HERE), (new, THERE)):
            for method in ('GET', 'PUT', 'POST', 'DELETE'):
                server.on(method, '/', answer)
        yield old, new


@pytest.fixture
def old(servers):
    return servers[0]


@pytest.fixture
def new(servers):
    return servers[1]


@pytest.fixture
def keystone(old):
    """A Keystone with the old address in its catalog."""
    with http_keystone.keystone(an_endpoint(old.url)) as server:
        yield server


@pytest.fixture
def adapter(keystone, tmp_path):
    """A ServiceAdapter that has logged in and sent a request."""
    made = adapter_of(keystone, tmp_path)
    assert where(made) == 'old'
    return made
def adapter_of(keystone, directory, **options):
    return ServiceAdapter(http_placement.a_conf(directory, **{
        'auth_type': 'password', 'auth_url': f'{keystone.url}/v3',
        **http_keystone.USER, **options}), 'placement', Response)


def where(adapter, method='GET'):
    """Return the responding address: 'old' or 'new'."""
    return adapter.request(method, '/thing').document()['at']


def failure(adapter, method='GET', **kwargs):
    """Return the ServiceUnreachable that a request raises."""
    with pytest.raises(ServiceUnreachable) as caught:
        adapter.request(method, '/thing', **kwargs)
    return caught.value


def logins(keystone):
    return len(keystone.to('POST', TOKENS))


class TestMoved:
    @pytest.mark.parametrize('answer', LEFTOVERS)
    def test_service_answers_the_read_that_failed_at_the_old_address(
            self, adapter, keystone, old, new, answer):
        set_catalog(keystone, an_endpoint(new.url))
        old.on('GET', '/', answer)

        assert where(adapter) == 'new'
        assert where(adapter) == 'new'
        assert logins(keystone) == 2

    def test_service_is_reached_where_the_old_address_refuses_connections(
            self, keystone, new, tmp_path):
        set_catalog(keystone, an_endpoint(NOWHERE))
        adapter = adapter_of(keystone, tmp_path)
        assert failure(adapter).reason is FailureReason.NO_ANSWER
        set_catalog(keystone, an_endpoint(new.url))

        assert where(adapter) == 'new'

    def test_service_answers_the_next_request_after_a_timeout(
            self, keystone, old, new, tmp_path):
        adapter = adapter_of(keystone, tmp_path, timeout=1)
        assert where(adapter) == 'old'
        set_catalog(keystone, an_endpoint(new.url))
        old.on('GET', '/', HANG)

        assert failure(adapter).reason is FailureReason.TOO_LATE
        assert where(adapter) == 'new'

    @pytest.mark.parametrize('method', ['PUT', 'POST', 'DELETE'])
    def test_service_is_not_sent_the_same_write_again(self, adapter, keystone,
                                                      old, new, method):
        set_catalog(keystone, an_endpoint(new.url))
        old.on(method, '/', DROP)

        failure(adapter, method)

        assert len(old.to(method)) == 1
        assert not new.asked
        assert where(adapter, method) == 'new'

    def test_service_is_found_in_another_version_document(self, keystone, old,
                                                          new, tmp_path):
        """keystoneauth1 caches the version document by address."""
        for server, answer in ((old, HERE), (new, THERE)):
            server.on('GET', '/', http_placement.versions('1.39'))
            server.on('GET', '/thing', answer)
        adapter = adapter_of(keystone, tmp_path, min_version='1')
        assert where(adapter) == 'old'
        set_catalog(keystone, an_endpoint(new.url))
        old.on('GET', '/thing', Answer(404, HTML))

        assert where(adapter) == 'new'

    def test_service_is_logged_once_and_without_passwords(
            self, keystone, old, new, tmp_path, caplog):
        caplog.set_level(logging.INFO)
        old_url, new_url = (server.url.replace('://', '://me:sesame@')
                            for server in (old, new))
        set_catalog(keystone, an_endpoint(old_url))
        adapter = adapter_of(keystone, tmp_path)
        assert where(adapter) == 'old'
        set_catalog(keystone, an_endpoint(new_url))
        old.on('GET', '/', DROP)

        for _ in range(3):
            assert where(adapter) == 'new'

        [line] = [record for record in caplog.records
                  if record.name == service_adapter.__name__]
        assert line.getMessage() == (
            'The endpoint of [placement] in the catalog of Keystone has '
            f'changed from {old_url.replace("me:sesame", "***")} to '
            f'{new_url.replace("me:sesame", "***")}; using the new endpoint')

    def test_service_is_found_once_for_all_threads(self, adapter, keystone,
                                                   old, new, monkeypatch):
        monkeypatch.setattr(service_adapter, 'CATALOG_WAIT', PATIENCE)
        set_catalog(keystone, an_endpoint(new.url))
        together = threading.Barrier(8)

        def fail(asked):
            together.wait(PATIENCE)
            return Answer(503, HTML)
        old.on('GET', '/', fail)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: where(adapter), range(8)))

        assert found == ['new'] * 8
        assert logins(keystone) == 2

    def test_service_is_found_by_process_forked_during_read(
            self, adapter, keystone, old, new):
        """While another thread of the parent reads the catalog."""
        keystone.on('POST', TOKENS, *(
            http_keystone.a_token(an_endpoint(server.url))
            for server in (old, new)))
        old.on('GET', '/', HERE, DROP)
        with adapter._session().reading():
            child = os.fork()
            if not child:
                found = 1
                try:
                    found = [where(adapter) for _ in 'ab'] != ['old', 'new']
                finally:
                    os._exit(found)
            _, status = os.waitpid(child, 0)

        assert status == 0

    def test_service_is_found_with_a_log_in_by_the_same_trust(
            self, keystone, old, new, tmp_path):
        adapter = adapter_of(
            keystone, tmp_path, trust_id='a-trust', project_name='',
            project_domain_name='')
        assert where(adapter) == 'old'
        set_catalog(keystone, an_endpoint(new.url))
        old.on('GET', '/', DROP)

        assert where(adapter) == 'new'
        first, second = keystone.to('POST', TOKENS)
        assert first.body['auth']['scope'] == {'OS-TRUST:trust': {
            'id': 'a-trust'}}
        assert second.body == first.body


class TestNotMoved:
    def test_service_that_is_down_causes_one_log_in_per_interval(
            self, adapter, keystone, old, monkeypatch):
        old.on('GET', '/', Answer(503, HTML))
        for _ in range(9):
            assert adapter.request('GET', '/thing').status == 503
        assert logins(keystone) == 2
        assert len(old.to('GET')) == 10

        monkeypatch.setattr(service_adapter, 'CATALOG_INTERVAL', 0)
        adapter._session().next_reading = 0
        for _ in range(3):
            adapter.request('GET', '/thing')
        # The first request of a session relies on the catalog of its log-in.
        assert logins(keystone) == 4

    def test_service_that_fails_right_after_a_log_in_causes_no_other(
            self, keystone, tmp_path):
        set_catalog(keystone, an_endpoint(NOWHERE))

        failure(adapter_of(keystone, tmp_path))

        assert logins(keystone) == 1

    @pytest.mark.parametrize(('status', 'answer'), [
        (404, http_placement.error(404, 'No resource provider with uuid x')),
        (409, http_placement.RACE), (400, http_placement.error(400)),
        (500, http_placement.error(500, code=None)),
        (503, http_placement.error(503)), (204, Answer(204))])
    def test_service_that_answers_itself_causes_no_log_in(
            self, adapter, keystone, old, status, answer):
        old.on('GET', '/', answer)

        assert adapter.request('GET', '/thing').status == status
        assert logins(keystone) == 1

    def test_service_that_refuses_the_token_causes_one_log_in(self, adapter,
                                                              keystone, old):
        old.on('GET', '/', Answer(401, HTML))

        assert adapter.request('GET', '/thing').status == 401
        assert logins(keystone) == 2

    def test_service_of_an_endpoint_override_causes_no_log_in(self, keystone,
                                                              old, tmp_path):
        adapter = adapter_of(keystone, tmp_path, endpoint_override=old.url)
        assert where(adapter) == 'old'
        old.on('GET', '/', DROP)
        for _ in range(3):
            failure(adapter)

        assert logins(keystone) == 1

    def test_service_without_keystone_keeps_its_session(self, old, tmp_path):
        adapter = ServiceAdapter(http_placement.a_conf(
            tmp_path, auth_type='none', endpoint=old.url), 'placement')
        assert where(adapter) == 'old'
        session = adapter._session()
        old.on('GET', '/', DROP)
        failure(adapter)

        assert adapter._session() is session

    def test_service_asked_with_the_token_of_a_caller_causes_no_log_in(
            self, adapter, keystone, old):
        """The caller's token has its own catalog."""
        old.on('GET', '/', DROP)
        failure(adapter, auth=adapter.auth)

        assert logins(keystone) == 1


class TestKeystoneFails:
    @pytest.fixture(params=[
        HANG, DROP, http_keystone.REFUSED, Answer(503), Answer(201, '[]'),
        http_keystone.a_token()])
    def failing(self, request, adapter, keystone, monkeypatch):
        """The adapter with a failing Keystone."""
        monkeypatch.setattr(service_adapter, 'CATALOG_TIMEOUT', 0.5)
        keystone.on('POST', TOKENS, request.param)
        return adapter

    def test_failure_of_the_service_is_reported(self, failing, keystone, old,
                                                caplog):
        old.on('GET', '/', DROP)
        for _ in range(3):
            assert failure(failing).reason is FailureReason.NO_ANSWER

        assert logins(keystone) == 2
        assert caplog.text.count(
            'A request to the service of [placement] failed, and the catalog '
            'could not be read again to check its endpoint: ') == 1

    def test_answer_at_the_old_address_is_reported(self, failing, old):
        old.on('GET', '/', Answer(503, HTML))

        assert failing.request('GET', '/thing').text == HTML

    def test_service_that_is_back_is_asked_with_the_old_token(self, failing,
                                                              keystone, old):
        old.on('GET', '/', DROP, HERE)
        failure(failing)

        assert where(failing) == 'old'
        assert logins(keystone) == 2

    def test_hung_keystone_delays_one_request(self, adapter, keystone, old,
                                              monkeypatch):
        monkeypatch.setattr(service_adapter, 'CATALOG_WAIT', 0.01)
        monkeypatch.setattr(service_adapter, 'CATALOG_TIMEOUT', PATIENCE)
        reached, go_on = threading.Event(), threading.Event()

        def hang(asked):
            reached.set()
            go_on.wait(PATIENCE)
            return Answer(503)
        keystone.on('POST', TOKENS, hang)
        old.on('GET', '/', DROP)
        with contextlib.ExitStack() as stack:
            pool = stack.enter_context(
                concurrent.futures.ThreadPoolExecutor(1))
            stack.callback(go_on.set)
            reader = pool.submit(failure, adapter)
            assert reached.wait(PATIENCE)

            assert failure(adapter).reason is FailureReason.NO_ANSWER
            assert not reader.done()
            old.on('GET', '/', HERE)
            assert where(adapter) == 'old'
            assert not reader.done()
        assert reader.result().reason is FailureReason.NO_ANSWER
