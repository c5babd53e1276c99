"""Responses, error texts and options of services behind Keystone."""

from keystoneauth1 import exceptions as ks_exceptions
import pytest

from nova_sched import service_adapter
from nova_sched.service_adapter import FailureReason
from tests.builders import http_placement


def an_adapter(directory, **options):
    return service_adapter.ServiceAdapter(http_placement.a_conf(
        directory, auth_type='none', **options), 'placement')


def test_document_is_json_object():
    assert service_adapter.Response(200, '{"a": 1}').document() == {'a': 1}


@pytest.mark.parametrize(('text', 'words'), [
    ('[]', 'it is a list, not an object'),
    ('null', 'it is a NoneType, not an object'),
    ('[' * 10 ** 5, 'it is nested too deeply'), ('', 'Expecting value')])
def test_other_document_is_rejected(text, words):
    with pytest.raises(ValueError, match=words):
        service_adapter.Response(200, text).document()


def test_identity_depends_on_options_only(tmp_path):
    one = an_adapter(tmp_path, endpoint='http://a')
    other = an_adapter(tmp_path, endpoint='http://a')
    # Opens a session, which registers further options.
    assert one.timeout

    assert one.config_fingerprint == other.config_fingerprint
    assert (an_adapter(tmp_path, endpoint='http://b').config_fingerprint
            != one.config_fingerprint)


@pytest.mark.parametrize(('option', 'seconds'), [
    ({'timeout': 7}, 7), ({'timeout': 0}, 30), ({'timeout': -1}, 30),
    ({}, 30)])
def test_timeout_is_option_or_30_seconds(tmp_path, option, seconds):
    assert an_adapter(tmp_path, endpoint='http://a',
                      **option).timeout == seconds


@pytest.mark.parametrize(('error', 'detail'), [
    (ValueError('a  b.'), 'a b'), (ValueError(), 'ValueError'),
    (ValueError('http://u:pw@h/v3?token=x is odd'), 'http://***@h/v3 is odd'),
    (ValueError('see https://h/?a=b: no'), 'see https://h/: no')])
def test_error_text_has_no_secret_query_or_full_stop(error, detail):
    unreachable = service_adapter._unreachable(
        error, FailureReason.NO_ANSWER, 2.5)

    assert unreachable.reason is FailureReason.NO_ANSWER
    assert str(unreachable) == f'the service does not answer: {detail}'


@pytest.mark.parametrize(('error', 'transient'), [
    (ks_exceptions.ConnectFailure(), True),
    (ks_exceptions.ConnectTimeout(), True),
    (ks_exceptions.SSLError(), False),
    (ks_exceptions.Unauthorized(), False), (OSError(), False)])
def test_connection_failures_are_transient(error, transient):
    assert service_adapter._unreachable(
        error, FailureReason.NO_ANSWER, 5).transient is transient
