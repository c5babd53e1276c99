"""A Neutron that refuses, fails or is silent, and what callers get then."""

import time

import pytest

from nova_sched import exception
from tests.builders import http_keystone
from tests.builders import http_neutron
from tests.builders.http_keystone import an_endpoint
from tests.builders.http_neutron import a_context
from tests.builders.http_neutron import a_port
from tests.builders.http_neutron import error
from tests.builders.http_server import DROP
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer

PORT = '11111111-0000-4000-8000-000000000001'
ADMIN_TOKEN = 'was not able to generate a valid admin token'


def failure(function, *args):
    """What a function raises."""
    with pytest.raises(exception.RemoteNovaException) as caught:
        function(*args)
    return caught.value


def of_port(reader):
    return failure(reader.port, PORT)


class TestPort:
    def test_that_is_not_there(self, reader):
        """As Nova's callers catch it."""
        found = of_port(reader())

        assert type(found) is exception.PortNotFound
        assert str(found) == f'Port id {PORT} could not be found.'
        assert found.kwargs == {'port_id': PORT, 'code': 404}

    @pytest.mark.parametrize(('answer', 'reason'), [
        (error(404, 'HTTPNotFound', 'No such page.'), 'No such page.'),
        (Answer(404, 'no such\npage'), 'no such page'),
        (error(500, message='Oops.'), 'Oops.'),
        (error(409, message='In use.'), 'In use.'),
        (Answer(503), 'HTTP 503'),
        (Answer(500, {'NeutronError': 'Oops'}), '{"NeutronError": "Oops"}'),
        (Answer(500, ['Oops']), '["Oops"]'),
        (Answer(500, '[' * 100000), '[' * 500)])
    def test_that_neutron_does_not_tell(self, neutron, reader, answer,
                                        reason):
        neutron.on('GET', '/v2.0/ports/', answer)

        found = of_port(reader())

        assert type(found) is exception.NovaException
        assert str(found) == f'Failed to access port {PORT}: {reason}'

    @pytest.mark.parametrize('answer', [
        Answer(200, '<html>It works!</html>'), Answer(200, '[]'),
        Answer(200, '[' * 100000), Answer(200, {}), Answer(200, {'port': 1}),
        a_port(fixed_ips=[{}]), a_port(fixed_ips=['10.1.0.5'])])
    def test_that_is_none(self, neutron, reader, answer):
        neutron.on('GET', '/v2.0/ports/', answer)

        assert str(of_port(reader())).startswith(
            f'Failed to access port {PORT}: what answers there is not '
            'Neutron: ')


class TestToken:
    def test_of_a_user_that_is_refused(self, neutron, reader, caplog):
        neutron.on('GET', '/v2.0/ports/', Answer(401))

        found = of_port(reader())

        assert type(found) is exception.Unauthorized
        assert str(found) == 'Not authorized.'
        assert found.kwargs['code'] == 401
        assert ADMIN_TOKEN not in caplog.text

    def test_that_a_user_does_not_have(self, neutron, reader):
        found = of_port(reader(a_context(auth_token=None)))

        assert type(found) is exception.Unauthorized
        assert str(found) == 'Not authorized.'
        assert not neutron.asked

    def test_of_an_administrator_that_is_refused(self, neutron, reader,
                                                 caplog):
        neutron.on('GET', '/v2.0/ports/', Answer(401))

        found = of_port(reader(a_context(neutron.url, is_admin=True)))

        assert type(found) is (
            exception.NeutronAdminCredentialConfigurationInvalid)
        assert ADMIN_TOKEN in caplog.text

    @pytest.mark.parametrize('path', ['/v2.0/extensions', '/v2.0/subnets'])
    def test_of_the_service_that_is_refused(self, neutron, reader, caplog,
                                            path):
        for known in (path, path + '?', path + '/'):
            neutron.on('GET', known, Answer(401))
        for method in ('segments_of_network', 'segments_of_subnet'):
            found = failure(getattr(reader(), method), 'id')

            assert type(found) is (
                exception.NeutronAdminCredentialConfigurationInvalid)
        assert ADMIN_TOKEN in caplog.text

    def test_that_the_service_does_not_get(self, reader, keystone, caplog):
        server = keystone()
        server.on('POST', '/v3/auth/tokens', http_keystone.REFUSED)

        found = failure(reader(options={
            'auth_type': 'password', 'auth_url': server.url,
            **http_keystone.USER}).segments_of_network, 'net')

        assert type(found) is (
            exception.NeutronAdminCredentialConfigurationInvalid)
        assert ADMIN_TOKEN in caplog.text


@pytest.mark.parametrize(('path', 'method'), [
    ('/v2.0/ports/', 'port'),
    ('/v2.0/extensions', 'segments_of_network'),
    ('/v2.0/extensions', 'segments_of_subnet'),
    ('/v2.0/subnets?', 'segments_of_network'),
    ('/v2.0/subnets/', 'segments_of_subnet')])
def test_what_policy_forbids_is_forbidden_in_neutrons_words(
        neutron, reader, path, method):
    neutron.on('GET', path, error(403, 'PolicyNotAuthorized',
                                  'rule:get_it is disallowed by policy'))

    found = failure(getattr(reader(), method), 'id')

    assert type(found) is exception.Forbidden
    assert str(found) == 'rule:get_it is disallowed by policy'
    assert found.kwargs['code'] == 403


@pytest.mark.parametrize('status', [400, 404, 409, 500, 503])
def test_segments_that_neutron_refuses_to_tell_are_unknown(
        neutron, reader, caplog, status):
    """The log says why."""
    for path in ('/v2.0/subnets?', '/v2.0/subnets/'):
        neutron.on('GET', path, error(status, message='Not that.'))
    asking = reader()

    assert asking.segments_of_network('net') is None
    assert asking.segments_of_subnet('sub') is None
    for where in ('network net', 'subnet sub'):
        assert (f'Cannot read the segments of {where} from Neutron. Got '
                f'{status}: Not that.') in caplog.text


@pytest.mark.parametrize(('method', 'where'), [
    ('segments_of_network', 'network id'),
    ('segments_of_subnet', 'subnet id')])
class TestSegments:
    def test_extensions_that_neutron_does_not_tell(self, neutron, reader,
                                                   method, where):
        neutron.on('GET', '/v2.0/extensions', error(500, message='Oops.'))

        found = failure(getattr(reader(), method), 'id')

        assert str(found) == (f'Failed to access {where}: the extensions of '
                              'Neutron cannot be read: Oops.')

    @pytest.mark.parametrize('path', ['/v2.0/extensions', '/v2.0/subnets'])
    @pytest.mark.parametrize('answer', [
        Answer(200, 'Hello'), Answer(200, {}), Answer(200, {
            'extensions': 1, 'subnets': 1, 'subnet': 1}),
        Answer(200, {'extensions': [1], 'subnets': [1], 'subnet': [1]}),
        Answer(200, {'extensions': [{}], 'subnets_links': [{}],
                     'subnets': []})])
    def test_an_answer_that_makes_no_sense(self, neutron, reader, method,
                                           where, path, answer):
        for known in (path, path + '?', path + '/'):
            neutron.on('GET', known, answer)

        assert str(failure(getattr(reader(), method), 'id')).startswith(
            f'Failed to access {where}: what answers there is not Neutron: ')

    @pytest.mark.parametrize('options', [{}, {'http_retries': 3}])
    def test_need_a_log_in_of_the_service(self, neutron, reader, caplog,
                                          method, where, options):
        found = failure(getattr(reader(options=options), method), 'id')

        assert type(found) is exception.Unauthorized
        assert str(found).startswith('Unknown auth type: None. ')
        assert 'The [neutron] section of the configuration file must be ' \
            'configured' in caplog.text
        assert not neutron.asked


class TestNoAnswer:
    def test_of_a_neutron_that_is_not_there(self, reader, naps):
        """Four attempts are made, in growing intervals."""
        found = of_port(reader(a_context('http://127.0.0.1:9')))

        assert type(found) is exception.NovaException
        assert str(found).startswith(
            f'Failed to access port {PORT}: the service does not answer: '
            'Unable to establish connection to ')
        assert 'Connection refused. Check that Neutron runs' in str(found)
        assert naps == [0.5, 1, 2]

    def test_of_a_neutron_that_comes_back_in_time(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', DROP, DROP, DROP, a_port())

        assert reader().port(PORT)

    @pytest.mark.parametrize(('retries', 'asked'), [(0, 1), (1, 2)])
    def test_is_tried_again_as_often_as_configured(
            self, neutron, reader, retries, asked):
        neutron.on('GET', '/v2.0/ports/', DROP)

        of_port(reader(options={'http_retries': retries}))

        assert len(neutron.asked) == asked

    def test_an_error_is_not_tried_again(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', error(503))

        of_port(reader(options={'status_code_retries': 3}))

        assert len(neutron.asked) == 1

    def test_is_waited_for_as_long_as_configured(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', HANG)

        found = of_port(reader(options={'timeout': 1, 'http_retries': 0}))

        assert 'timed out after 1 seconds' in str(found)

    @pytest.mark.parametrize('path', ['/v2.0/ports/', '/v2.0/extensions',
                                      '/v2.0/subnets'])
    def test_of_a_neutron_that_hangs_is_bounded_for_all_reads_together(
            self, neutron, reader, path):
        for known in (path, path + '?', path + '/'):
            neutron.on('GET', known, HANG)
        asking, begin = reader(limit=1), time.monotonic()
        for _ in range(5):
            for method in (asking.port, asking.segments_of_network,
                           asking.segments_of_subnet):
                failure(method, 'id')

        assert time.monotonic() - begin < 10
        assert 'took too long' in str(failure(asking.port, 'other'))

    def test_of_a_keystone_that_hangs_is_bounded(self, reader, keystone):
        server, begin = keystone(), time.monotonic()
        server.on('POST', '/v3/auth/tokens', HANG)

        found = failure(reader(options={
            'auth_type': 'password', 'auth_url': server.url, 'timeout': 1,
            **http_keystone.USER}).segments_of_network, 'net')

        assert time.monotonic() - begin < 20
        assert str(found).startswith(
            'Failed to access network net: Keystone gives no token in time: ')

    @pytest.mark.parametrize('catalog', [
        [], [{}], [1], None, [{'type': 'network', 'endpoints': [{}]}],
        [{'type': 'volume', 'name': 'v', 'endpoints': []}]])
    def test_of_a_catalog_without_neutron_says_so(self, reader, catalog):
        found = of_port(reader(a_context(service_catalog=catalog)))

        assert str(found).startswith(f'Failed to access port {PORT}: the '
                                     'catalog has no endpoint: ')
        assert 'endpoint of service type network' in str(found)

    def test_of_options_that_are_wrong_says_so(self, reader):
        found = of_port(reader(options={'auth_type': 'passwort'}))

        assert str(found) == (
            f'Failed to access port {PORT}: the options of the log-in are '
            'missing or wrong: The plugin passwort could not be found. Check '
            '[neutron] auth_type and the options that it needs')


def test_an_endpoint_that_is_added_to_the_catalog_is_found(
        neutron, reader, keystone):
    server = keystone()
    asking = reader(options={'auth_type': 'password', 'auth_url': server.url,
                             **http_keystone.USER})
    assert 'endpoint' in str(failure(asking.segments_of_network, 'net'))
    server.on('POST', '/v3/auth/tokens', http_keystone.a_token(
        an_endpoint(neutron.url, service_type='network')))

    assert asking.segments_of_network('net') == []


def test_an_error_shows_neither_a_password_nor_a_query(reader):
    found = str(of_port(reader(
        a_context(), {'endpoint_override': 'http://me:sesame@127.0.0.1:9'})))

    assert 'http://***@127.0.0.1:9' in found
    assert 'sesame' not in found
    assert http_neutron.TOKEN not in found
