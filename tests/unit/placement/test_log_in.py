"""Log-in to Keystone and endpoint look-up by [placement] options."""

import concurrent.futures
import contextlib
import logging
import time

import pytest

from nova_sched import exception
from tests.builders import http_keystone
from tests.builders import http_placement
from tests.builders.http_keystone import PASSWORD
from tests.builders.http_keystone import USER
from tests.builders.http_keystone import an_endpoint
from tests.builders.http_placement import CONTEXT
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer

TOKENS = '/v3/auth/tokens'


@pytest.fixture
def keystone():
    """Function that starts a Keystone with endpoints in its catalog."""
    with contextlib.ExitStack() as stack:
        yield lambda *endpoints, **kwargs: stack.enter_context(
            http_keystone.keystone(*endpoints, **kwargs))


@pytest.fixture
def server(keystone, placement):
    """A Keystone with the endpoint of the Placement."""
    return keystone(an_endpoint(placement.url))


@pytest.fixture
def by_password(client_of):
    """Function that makes a client with a password for a Keystone."""
    return lambda server, **options: client_of(
        auth_type='password', auth_url=server.url, **USER | options)


def ask(client):
    return client.candidates([http_placement.Query()], CONTEXT)


def reason(client):
    return ask(client).reason


def late(client):
    """Return the text of a timeout."""
    with pytest.raises(exception.PlacementUnavailable) as raised:
        ask(client)
    return str(raised.value)


class TestLogIn:
    def test_log_in_by_password(self, server, by_password, placement):
        ask(by_password(server))

        [asked] = server.to('POST', TOKENS)
        identity = asked.body['auth']['identity']
        assert identity['password']['user'] == {
            'name': 'nova-sched', 'password': PASSWORD,
            'domain': {'name': 'Default'}}
        assert asked.body['auth']['scope']['project']['name'] == 'service'
        assert {asked.headers['X-Auth-Token'] for asked in placement.asked
                } == {http_keystone.TOKEN}

    def test_log_in_by_other_section(self, server, tmp_path, placement):
        conf = http_placement.a_conf(tmp_path, auth_section='service_login')
        path = tmp_path / 'placement-client.conf'
        path.write_text(path.read_text() + '[service_login]\n' + ''.join(
            f'{name} = {value}\n' for name, value in {
                'auth_type': 'password', 'auth_url': server.url, **USER
            }.items()))
        conf.reload_config_files()

        ask(http_placement.report.SchedulerReportClient(conf))

        assert placement.to('GET', '/allocation_candidates')

    @pytest.mark.parametrize('options', [
        {'auth_type': 'none', 'endpoint': '{url}'},
        {'auth_type': 'none', 'endpoint_override': '{url}'},
        {'endpoint_override': '{url}'}])
    def test_no_keystone_needs_no_log_in(self, client_of, placement, options):
        ask(client_of(**{name: value.format(url=placement.url)
                         for name, value in options.items()}))

        assert placement.to('GET', '/allocation_candidates')

    def test_refused_token_is_renewed(self, server, by_password, placement):
        placement.on('GET', '/allocation_candidates', Answer(401),
                     http_placement.candidates(
                         http_placement.a_candidate('a')))

        assert ask(by_password(server)).providers == {'a'}
        assert len(server.to('POST', TOKENS)) == 2


class TestEndpoint:
    @pytest.mark.parametrize(('other', 'endpoint', 'options'), [
        ({'interface': 'public'}, {'interface': 'internal'}, {}),
        ({'interface': 'internal'}, {'interface': 'admin'},
         {'valid_interfaces': 'admin'}),
        ({'region': 'One'}, {'region': 'Two'}, {'region_name': 'Two'})])
    def test_matches_interface_and_region(self, keystone, by_password,
                                          placement, other, endpoint, options):
        server = keystone(an_endpoint('http://127.0.0.1:9', **other),
                          an_endpoint(placement.url, **endpoint))
        ask(by_password(server, **options))

        assert placement.asked

    def test_service_type_is_matched(self, keystone, by_password, placement):
        server = keystone(
            an_endpoint('http://127.0.0.1:9'),
            an_endpoint(placement.url, service_type='placement-next'))
        ask(by_password(server, service_type='placement-next'))

        assert placement.asked[0].version is None
        assert placement.asked[1].version == 'placement 1.36'

    def test_endpoint_override_counts(self, keystone, by_password, placement):
        server = keystone(an_endpoint('http://127.0.0.1:9'))
        ask(by_password(server, endpoint_override=placement.url))

        assert placement.asked[0].headers['X-Auth-Token'] == (
            http_keystone.TOKEN)

    @pytest.mark.parametrize('path', ['/placement', '/placement/',
                                      '/placement/v1.0'])
    def test_endpoint_may_have_path(self, keystone, by_password, placement,
                                    path):
        placement.on('GET', '/placement', http_placement.versions('1.36'))
        ask(by_password(keystone(an_endpoint(placement.url + path))))

        top, asked = placement.asked
        assert top.path == path.rstrip('/') + '/'
        assert asked.path.startswith(
            path.rstrip('/') + '/allocation_candidates?')

    def test_missing_endpoint_is_named(self, keystone, by_password, placement):
        server = keystone(an_endpoint(placement.url, region='One'))

        assert reason(by_password(server, region_name='Two')) == (
            "The placement API endpoint was not found. ['internal', 'public'] "
            'endpoint for placement service in Two region not found. Add an '
            "endpoint of service type placement to Keystone's catalog for "
            'the region and interfaces of [placement], or set its '
            'endpoint_override')

    def test_new_endpoint_is_found(self, keystone, by_password, placement):
        server = keystone()
        client = by_password(server)
        ask(client)
        server.on('POST', TOKENS,
                  http_keystone.a_token(an_endpoint(placement.url)))

        ask(client)

        assert placement.to('GET', '/allocation_candidates')


class TestTLS:
    @pytest.fixture
    def secure(self):
        with http_placement.placement(tls=True) as server:
            yield server

    def test_unknown_authority_is_reported(self, secure, client_of):
        said = reason(client_of(auth_type='none', endpoint=secure.url))

        assert said.startswith(
            'There is no TLS connection for placement API. SSL exception '
            f'connecting to {secure.url}/: [SSL: CERTIFICATE_VERIFY_FAILED]')
        assert said.endswith(
            'If the endpoint is right, and the server expects https, set '
            '[placement] cafile to the authority that signed its '
            'certificate; insecure = true disables the verification')

    def test_http_server_at_https_address_is_reported(self, client_of):
        with http_placement.placement() as server:
            said = reason(client_of(
                auth_type='none',
                endpoint=server.url.replace('http:', 'https:')))

        assert said.startswith('There is no TLS connection for placement API')
        assert 'the server expects https' in said

    def test_tls_failure_of_keystone_is_reported(self, by_password, secure):
        """Keystone is contacted first."""
        assert reason(by_password(secure)).startswith(
            'There is no TLS connection for placement API. ')


class TestFailure:
    @pytest.mark.parametrize(('options', 'said'), [
        ({}, 'No authentication information found for placement API. '),
        ({'auth_url': 'http://127.0.0.1:9'},
         'No authentication information found for placement API. '),
        ({'auth_type': 'passwort'}, 'The plugin passwort could not be found. '
         'Set [placement] auth_type and the options that it needs'),
        ({'auth_type': 'password'}, 'Auth plugin requires parameters which '
         'were not given: auth_url. Set [placement] auth_type'),
        ({'auth_type': 'none', 'endpoint': 'http://127.0.0.1:9',
          'valid_interfaces': 'inside'},
         "'inside' is not a valid value for valid_interfaces"),
        ({'auth_type': 'none', 'endpoint': 'http://127.0.0.1:9',
          'timeout': 'long'}, 'The options of [placement] cannot be used. '),
        ({'auth_type': 'none', 'endpoint': '127.0.0.1:9'},
         'Placement API service is not responding. '),
        ({'auth_type': 'none', 'endpoint': 'http://[::1'},
         'Placement API service is not responding. '),
        ({'auth_type': 'none', 'endpoint_override': 'http://a:b@:8778'},
         'Placement API service is not responding. ')])
    def test_wrong_option_is_named(self, client_of, caplog, options, said):
        found = reason(client_of(**options))

        assert said in found
        assert found in caplog.text

    def test_wrong_password_is_named(self, server, by_password, placement):
        server.on('POST', TOKENS, http_keystone.REFUSED,
                  http_keystone.a_token(an_endpoint(placement.url)))
        client = by_password(server)

        assert reason(client) == (
            'Placement service credentials do not work. The request you have '
            'made requires authentication. (HTTP 401). Check user, password '
            'and project in [placement]')
        ask(client)
        assert placement.to('GET', '/allocation_candidates')

    def test_refused_token_is_reported(self, server, by_password, placement):
        placement.on('GET', '/', Answer(401, 'Authentication required'))

        assert reason(by_password(server)) == (
            'Placement service credentials do not work. It responded with '
            '401: '
            'Authentication required. Check user, password and project in '
            '[placement]')

    def test_unreachable_keystone_is_reported(self, client_of):
        found = reason(client_of(
            auth_type='password', auth_url='http://127.0.0.1:9', **USER))

        assert found.startswith(
            'Discovering suitable URL for placement API failed. ')
        assert 'Connection refused' in found

    @pytest.mark.parametrize('answer', [
        Answer(500, 'Oops'), Answer(404), Answer(200, '<html>'),
        Answer(201, '[]'), Answer(201, {}), Answer(201, {'token': 1}),
        Answer(503)])
    def test_malformed_keystone_response_is_reported(
            self, server, by_password, placement, answer):
        server.on('POST', TOKENS, answer)

        assert reason(by_password(server))
        assert not placement.asked

    def test_threads_share_a_keystone_timeout(self, server, by_password):
        server.on('POST', TOKENS, HANG)
        client = by_password(server, timeout=1)
        begin = time.monotonic()

        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            found = set(pool.map(lambda _: late(client), range(32)))

        assert time.monotonic() - begin < 16
        assert {text.partition(' Request')[0] for text in found} == {
            'Keystone gives no token for placement API in time.'}
        assert all('timed out after 1 seconds' in text for text in found)

    def test_lasting_failure_is_logged_every_eleventh_time(
            self, keystone, by_password, caplog):
        client = by_password(keystone())
        for _ in range(23):
            ask(client)

        assert caplog.text.count(
            'The placement API endpoint was not found.') == 3


@pytest.mark.parametrize('failing', [False, True])
def test_no_secret_is_logged(server, by_password, placement, caplog, failing):
    caplog.set_level(logging.DEBUG)
    if failing:
        server.on('POST', TOKENS, http_keystone.REFUSED)
    ask(by_password(server))

    for secret in (PASSWORD, http_keystone.TOKEN, CONTEXT.auth_token):
        assert secret not in caplog.text
