"""Requests to the services behind Keystone."""

import threading
import types

from keystoneauth1 import exceptions as ks_exceptions
from oslo_config import cfg
import pytest

from nova_sched import service_adapter
from nova_sched.service_adapter import FailureReason
from tests.builders import http_placement


def a_session(directory, **options):
    return service_adapter.Session(http_placement.a_conf(directory, **{
        'auth_type': 'none', 'endpoint': 'http://127.0.0.1:9', **options}),
        'placement')


class TestResponse:
    def test_has_a_document_of_json(self):
        assert service_adapter.Response(200, '{"a": 1}').document() == {'a': 1}

    @pytest.mark.parametrize(('text', 'words'), [
        ('[]', 'it is a list, not an object'),
        ('null', 'it is a NoneType, not an object'),
        ('[' * 10 ** 5, 'it is nested too deeply'), ('', 'Expecting value')])
    def test_has_none_of_anything_else(self, text, words):
        with pytest.raises(ValueError, match=words):
            service_adapter.Response(200, text).document()


def test_the_same_options_are_one_identity_before_and_after_a_request(
        tmp_path):
    def made(**options):
        return service_adapter.ServiceAdapter(http_placement.a_conf(
            tmp_path, auth_type='none', **options), 'placement')

    one, other = made(endpoint='http://a'), made(endpoint='http://a')
    assert one.timeout
    assert one.identity == other.identity
    assert made(endpoint='http://b').identity != one.identity


class TestSession:
    def test_are_one_a_process(self, tmp_path, monkeypatch):
        made = service_adapter.ServiceAdapter(http_placement.a_conf(
            tmp_path, auth_type='none', endpoint='http://127.0.0.1:9'),
            'placement')
        mine = made._session()
        assert made._session() is mine
        monkeypatch.setattr(service_adapter.os, 'getpid', lambda: -1)
        assert made._session() is not mine
        monkeypatch.undo()
        assert made._session() is mine

    @pytest.mark.parametrize(('option', 'seconds'), [
        (7, 7), (0, 30), (-1, 30)])
    def test_wait_for_an_answer_as_long_as_the_section_says(
            self, tmp_path, option, seconds):
        session = a_session(tmp_path, timeout=option)
        assert session.timeout == seconds
        assert session._session.timeout == seconds

    def test_wait_for_30_seconds_where_it_does_not_say(self, tmp_path):
        assert a_session(tmp_path).timeout == 30

    def test_have_a_connection_for_each_thread(self, tmp_path):
        session = a_session(tmp_path)
        for scheme in ('http://h/', 'https://h/'):
            pool = session._session.session.get_adapter(scheme).poolmanager
            assert pool.connection_pool_kw['maxsize'] == 64
            assert pool.pools._maxsize == 2

    @pytest.mark.parametrize('kind', ['nosuch', 'password'])
    def test_whose_options_cannot_be_used_are_none(self, tmp_path, kind):
        with pytest.raises(service_adapter.ServiceUnreachable) as caught:
            a_session(tmp_path, auth_type=kind).log_in()
        assert caught.value.reason is FailureReason.AUTH_OPTIONS
        assert not caught.value.transient


class TestLogIn:
    @pytest.fixture
    def session(self, tmp_path):
        session = a_session(tmp_path)
        session.auth = object()
        return session

    def test_is_not_needed_without_one(self, session):
        session.auth = None
        session._session = None
        session.log_in()

    def test_that_works_says_nothing_and_is_asked_of_the_session(
            self, session):
        asked = []
        session._session = types.SimpleNamespace(
            get_auth_headers=lambda: asked.append(1))
        for _ in range(2):
            session.log_in()
        assert len(asked) == 2

    @pytest.mark.parametrize(('error', 'why'), [
        (ks_exceptions.Unauthorized('no'), FailureReason.CREDENTIALS),
        (ks_exceptions.EndpointNotFound('no'), FailureReason.NO_ENDPOINT),
        (ks_exceptions.MissingRequiredOptions([]), FailureReason.AUTH_OPTIONS),
        (ks_exceptions.DiscoveryFailure('no'), FailureReason.DISCOVERY),
        (ks_exceptions.InternalServerError('no'), FailureReason.KEYSTONE),
        (ZeroDivisionError('no'), FailureReason.KEYSTONE)])
    def test_that_fails_says_why_and_is_tried_the_next_time(
            self, session, error, why):
        errors = [error, error, None]

        def get():
            if (each := errors.pop(0)):
                raise each
        session._session = types.SimpleNamespace(get_auth_headers=get)
        for _ in range(2):
            with pytest.raises(service_adapter.ServiceUnreachable) as caught:
                session.log_in()
            assert caught.value.reason is why
        session.log_in()

    def test_that_fails_fails_for_all_who_wait_for_it(self, session):
        """They would wait for a Keystone that hangs one after the other."""
        begun, go_on, tries, failed = (
            threading.Event(), threading.Event(), [], [])

        def hang():
            tries.append(1)
            begun.set()
            assert go_on.wait(20)
            raise ks_exceptions.ConnectTimeout('it hangs')
        session._session = types.SimpleNamespace(get_auth_headers=hang)
        entered = threading.Semaphore(0)

        class Lock:
            def __init__(self, lock):
                self._lock = lock

            def __enter__(self):
                entered.release()
                return self._lock.__enter__()

            def __exit__(self, *args):
                return self._lock.__exit__(*args)
        session._lock = Lock(session._lock)

        def log_in():
            with pytest.raises(service_adapter.ServiceUnreachable) as caught:
                session.log_in()
            failed.append(caught.value)
        threads = [threading.Thread(target=log_in) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert entered.acquire(timeout=20)
        assert begun.wait(20)
        go_on.set()
        for thread in threads:
            thread.join(20)
        assert len(failed) == 4
        assert len(tries) == 1
        assert all(error.transient for error in failed)


class TestWords:
    """What is said of a failure: no secrets, no queries, no full stop."""

    @pytest.mark.parametrize(('error', 'detail'), [
        (ValueError('a  b.'), 'a b'), (ValueError(), 'ValueError'),
        (ValueError('http://u:pw@h/v3?token=x is odd'),
         'http://***@h/v3 is odd'),
        (ValueError('see https://h/?a=b: no'), 'see https://h/: no')])
    def test_are_one_line(self, error, detail):
        found = service_adapter._unreachable(
            error, FailureReason.NO_ANSWER, 2.5)
        assert found.reason is FailureReason.NO_ANSWER
        assert found.detail == detail
        assert str(found) == f'the service does not answer: {detail}'

    @pytest.mark.parametrize(('default', 'reason'), [
        (FailureReason.NO_ANSWER, FailureReason.TOO_LATE),
        (FailureReason.KEYSTONE, FailureReason.KEYSTONE_TOO_LATE),
        (FailureReason.OPTIONS, FailureReason.OPTIONS)])
    def test_of_a_time_out_have_the_seconds(self, default, reason):
        found = service_adapter._unreachable(
            ks_exceptions.ConnectTimeout('http://h is slow'), default, 2.5)
        assert found.reason is reason
        assert found.detail == 'http://h is slow after 2.5 seconds'

    def test_of_a_connection_end_with_what_the_system_says(self):
        error = ks_exceptions.ConnectFailure('Unable to connect: (a, b, c)')
        error.__cause__ = ValueError('a wrapper')
        error.__cause__.__context__ = OSError('refused')
        found = service_adapter._unreachable(error, FailureReason.NO_ANSWER, 5)
        assert found.detail == 'Unable to connect: refused'

    @pytest.mark.parametrize(('error', 'transient'), [
        (ks_exceptions.ConnectFailure(), True),
        (ks_exceptions.ConnectTimeout(), True),
        (ks_exceptions.SSLError(), False),
        (ks_exceptions.Unauthorized(), False), (OSError(), False)])
    def test_say_whether_another_try_may_work(self, error, transient):
        found = service_adapter._unreachable(error, FailureReason.NO_ANSWER, 5)
        assert found.transient is transient

    def test_are_of_the_options_where_these_are_wrong(self):
        error = cfg.DuplicateOptError('token')
        found = service_adapter._unreachable(error, FailureReason.OPTIONS, 5)
        assert found.reason is FailureReason.OPTIONS
