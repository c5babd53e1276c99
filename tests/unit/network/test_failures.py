"""Errors for callers if Neutron refuses, fails or is silent."""

import time

import pytest

from nova_sched import exception
from nova_sched.network import neutron
from nova_sched.service_adapter import FailureReason
from tests.builders import http_keystone
from tests.builders.http_neutron import a_context
from tests.builders.http_neutron import a_port
from tests.builders.http_neutron import error
from tests.builders.http_server import DROP
from tests.builders.http_server import HANG
from tests.builders.http_server import Answer

PORT = '11111111-0000-4000-8000-000000000001'
ADMIN_TOKEN = 'was not able to generate a valid admin token'


def failure(function, *args):
    """The exception of a function."""
    with pytest.raises(exception.RemoteNovaException) as caught:
        function(*args)
    return caught.value


def of_port(reader):
    return failure(reader.port, PORT)


class TestPort:
    def test_missing_port_raises_novas_port_not_found(self, reader):
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
    def test_error_has_neutrons_text(self, neutron, reader, answer, reason):
        neutron.on('GET', '/v2.0/ports/', answer)

        found = of_port(reader())

        assert type(found) is exception.NovaException
        assert str(found) == f'Failed to access port {PORT}: {reason}'

    @pytest.mark.parametrize('answer', [
        Answer(200, '<html>It works!</html>'), Answer(200, '[' * 100000),
        a_port(fixed_ips=['10.1.0.5'])])
    def test_other_answer_is_an_error(self, neutron, reader, answer):
        neutron.on('GET', '/v2.0/ports/', answer)

        assert str(of_port(reader())).startswith(
            f'Failed to access port {PORT}: what answers there is not '
            'Neutron: ')


class TestToken:
    @pytest.mark.parametrize(('context', 'requests'), [
        (None, 1), (a_context(auth_token=None), 0)])
    def test_refused_or_missing_user_token_is_unauthorized(
            self, neutron, reader, caplog, context, requests):
        neutron.on('GET', '/v2.0/ports/', Answer(401))

        found = of_port(reader(context))

        assert type(found) is exception.Unauthorized
        assert (str(found), found.kwargs['code']) == ('Not authorized.', 401)
        assert len(neutron.asked) == requests
        assert ADMIN_TOKEN not in caplog.text

    def test_refused_administrator_token_is_a_configuration_error(
            self, neutron, reader, caplog):
        neutron.on('GET', '/v2.0/ports/', Answer(401))

        found = of_port(reader(a_context(neutron.url, is_admin=True)))

        assert type(found) is (
            exception.NeutronAdminCredentialConfigurationInvalid)
        assert ADMIN_TOKEN in caplog.text

    @pytest.mark.parametrize('path', ['/v2.0/extensions', '/v2.0/subnets'])
    def test_refused_service_token_is_a_configuration_error(
            self, neutron, reader, caplog, path):
        for known in (path, path + '?', path + '/'):
            neutron.on('GET', known, Answer(401))
        for method in ('segments_of_network', 'segments_of_subnet'):
            found = failure(getattr(reader(), method), 'id')

            assert type(found) is (
                exception.NeutronAdminCredentialConfigurationInvalid)
        assert ADMIN_TOKEN in caplog.text

    def test_refused_log_in_is_a_configuration_error(
            self, reader, keystone, caplog):
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
def test_forbidden_read_has_neutrons_text(neutron, reader, path, method):
    neutron.on('GET', path, error(403, 'PolicyNotAuthorized',
                                  'rule:get_it is disallowed by policy'))

    found = failure(getattr(reader(), method), 'id')

    assert type(found) is exception.Forbidden
    assert str(found) == 'rule:get_it is disallowed by policy'
    assert found.kwargs['code'] == 403


@pytest.mark.parametrize('status', [400, 404, 503])
def test_failed_query_for_segments_is_logged(
        neutron, reader, caplog, status):
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
    def test_unreadable_extensions_are_an_error(self, neutron, reader, method,
                                             where):
        neutron.on('GET', '/v2.0/extensions', error(500, message='Oops.'))

        found = failure(getattr(reader(), method), 'id')

        assert str(found) == (f'Failed to access {where}: the extensions of '
                              'Neutron cannot be read: Oops.')

    @pytest.mark.parametrize('path', ['/v2.0/extensions', '/v2.0/subnets'])
    @pytest.mark.parametrize('answer', [Answer(200, 'Hello'), Answer(200, {})])
    def test_other_answer_is_an_error(self, neutron, reader, method, where,
                                      path, answer):
        for known in (path, path + '?', path + '/'):
            neutron.on('GET', known, answer)

        assert str(failure(getattr(reader(), method), 'id')).startswith(
            f'Failed to access {where}: what answers there is not Neutron: ')

    @pytest.mark.parametrize('options', [{}, {'http_retries': 3}])
    def test_need_credentials_of_the_service(self, neutron, reader, caplog,
                                          method, where, options):
        found = failure(getattr(reader(options=options), method), 'id')

        assert type(found) is exception.Unauthorized
        assert str(found).startswith('Unknown auth type: None. ')
        assert 'The [neutron] section of the configuration file must be ' \
            'configured' in caplog.text
        assert not neutron.asked


def test_each_reason_has_advice():
    assert {reason.name for reason in FailureReason} <= neutron._ADVICE.keys()


class TestNoAnswer:
    def test_stopped_neutron_is_tried_four_times(self, reader, naps):
        found = of_port(reader(a_context('http://127.0.0.1:9')))

        assert type(found) is exception.NovaException
        assert str(found).startswith(
            f'Failed to access port {PORT}: the service does not answer: '
            'Unable to establish connection to ')
        assert 'Connection refused. Check that Neutron runs' in str(found)
        assert naps == [0.5, 1, 2]

    def test_neutron_may_return_during_the_retries(self, neutron, reader):
        neutron.on('GET', '/v2.0/ports/', DROP, DROP, DROP, a_port())

        assert reader().port(PORT)

    @pytest.mark.parametrize(('options', 'answer', 'requests'), [
        ({'http_retries': 0}, DROP, 1), ({'http_retries': 1}, DROP, 2),
        ({'status_code_retries': 3}, error(503), 1)])
    def test_lost_connection_is_retried_but_no_error_status(
            self, neutron, reader, options, answer, requests):
        neutron.on('GET', '/v2.0/ports/', answer)

        of_port(reader(options=options))

        assert len(neutron.asked) == requests

    @pytest.mark.parametrize('path', ['/v2.0/ports/', '/v2.0/extensions',
                                      '/v2.0/subnets'])
    def test_deadline_bounds_all_reads_together(self, neutron, reader, path):
        for known in (path, path + '?', path + '/'):
            neutron.on('GET', known, HANG)
        asking, begin = reader(limit=1), time.monotonic()
        for _ in range(5):
            for method in (asking.port, asking.segments_of_network,
                           asking.segments_of_subnet):
                failure(method, 'id')

        assert time.monotonic() - begin < 10
        assert 'took too long' in str(failure(asking.port, 'other'))

    @pytest.mark.parametrize('catalog', [
        [], [{}], [1], None, [{'type': 'network', 'endpoints': [{}]}],
        [{'type': 'volume', 'name': 'v', 'endpoints': []}]])
    def test_catalog_without_neutron_is_reported(self, reader, catalog):
        found = of_port(reader(a_context(service_catalog=catalog)))

        assert str(found).startswith(f'Failed to access port {PORT}: the '
                                     'catalog has no endpoint: ')
        assert 'endpoint of service type network' in str(found)
