"""The request context keeps the keys of all releases, and hides secrets."""

import datetime

from oslo_context import context as oslo_context
import pytest

from nova_sched import context
from tests.unit.objects import captures

NAMES = captures.names_where(lambda m: True)
KILO = {
    'user': 'u', 'tenant': 't', 'user_id': 'u', 'project_id': 't',
    'user_name': 'demo', 'project_name': 'demo', 'is_admin': False,
    'roles': ['member'], 'auth_token': 'secret', 'request_id': 'req-1',
    'read_deleted': 'no', 'remote_address': '198.51.100.7',
    'quota_class': None, 'service_catalog': [],
    'timestamp': '2015-05-01T10:00:00.000000', 'instance_lock_checked': True,
    'user_identity': 'u t - - -', 'show_deleted': False, 'read_only': False,
    'resource_uuid': None, 'domain': None, 'user_domain': None,
    'project_domain': None}


def sent(name):
    """The context of a captured message."""
    return {key.removeprefix('_context_'): value
            for key, value in captures.message(name).items()
            if key.startswith('_context_')}


@pytest.mark.parametrize('values', [
    pytest.param(KILO, id='kilo'),
    *[pytest.param(sent(name), id=name) for name in NAMES]])
def test_each_key_is_passed_on(values):
    made = context.RequestContext.from_dict(values)

    written = made.to_dict()

    assert {key: written.get(key) for key in values} == values


@pytest.mark.parametrize('values, user, project', [
    ({'user_id': 'u', 'project_id': 'p'}, 'u', 'p'),
    ({'user': 'u', 'project': 'p'}, 'u', 'p'),
    ({'user': 'u', 'tenant': 'p'}, 'u', 'p'),
    ({'user_id': 'u', 'user': 'x', 'project_id': 'p', 'tenant': 'x'},
     'u', 'p'),
    ({}, None, None)])
def test_ids_have_several_names(values, user, project):
    """user_id or user; project_id, project or tenant."""
    made = context.RequestContext.from_dict(values)

    assert (made.user_id, made.project_id) == (user, project)


@pytest.mark.parametrize('values', [
    None, {}, {'roles': None}, {'roles': 'admin'}, {'timestamp': 'soon'},
    {'timestamp': 5}, {'trace_info': {}}, {'anything': [1]}])
def test_missing_unknown_and_invalid_keys_are_no_errors(values):
    made = context.RequestContext.from_dict(values)

    assert made.roles == []
    assert made.request_id.startswith('req-')
    assert made.to_dict()['timestamp']


def test_trace_info_is_not_passed_on():
    """It belongs to one hop of the profiler."""
    made = context.RequestContext.from_dict({'trace_info': {'a': 1}})

    assert 'trace_info' not in made.to_dict()


def test_elevation_returns_a_copy_with_admin_rights():
    made = context.RequestContext.from_dict(KILO)

    admin = made.elevated(read_deleted='yes')

    assert admin.is_admin and admin.roles == ['member', 'admin']
    assert (admin.read_deleted, admin.request_id) == ('yes', made.request_id)
    assert not made.is_admin and made.roles == ['member']
    assert admin.elevated().roles == ['member', 'admin']
    assert admin.elevated().read_deleted == 'yes'


def test_global_request_id_is_kept():
    made = context.RequestContext.from_dict({'global_request_id': 'req-9'})

    assert made.global_id == made.global_request_id == 'req-9'


def test_token_is_never_shown():
    """Neither in the text of the context nor in log lines."""
    made = context.RequestContext.from_dict(
        {**KILO, 'new_key': 'secret', 'service_catalog': ['secret']})

    logged = made.get_logging_values()

    assert 'secret' not in f'{made} {made!r} {logged}'
    assert logged['request_id'] == 'req-1'
    assert 'req-1' in repr(made)


def test_only_contexts_of_requests_become_the_thread_s_context():
    """The thread's context is that of its log lines."""
    made = context.RequestContext.from_dict(KILO)

    admin, other = context.get_admin_context(), context.get_context()

    assert (admin.is_admin, admin.user_id, admin.roles) == (
        True, None, ['admin'])
    assert (other.is_admin, other.user_id, other.project_id) == (
        False, None, None)
    assert other.elevated().is_admin
    assert oslo_context.get_current() is made
    for _ in range(2):
        context.forget()
        assert oslo_context.get_current() is None


@pytest.mark.parametrize('text', [
    '2015-05-01T10:00:00.250000', '2015-05-01T12:00:00.25+02:00',
    '2015-05-01T10:00:00.25Z'])
def test_timestamp_is_naive_utc(text):
    made = context.RequestContext.from_dict({'timestamp': text})

    assert made.timestamp == datetime.datetime(2015, 5, 1, 10, 0, 0, 250000)
    assert made.to_dict()['timestamp'] == '2015-05-01T10:00:00.250000'
    assert made.get_logging_values()['timestamp'] == (
        '2015-05-01 10:00:00.250000')


@pytest.mark.parametrize('text', [
    'soon', 5, None, '0001-01-01T00:00:00+23:00'])
def test_missing_timestamp_is_now(text):
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    made = context.RequestContext.from_dict({'timestamp': text})

    assert before <= made.timestamp <= datetime.datetime.now(
        datetime.UTC).replace(tzinfo=None)


def test_empty_context_has_no_rights():
    made = context.RequestContext.from_dict({})

    assert (made.is_admin, made.read_only, made.show_deleted) == (
        False, False, False)
    assert made.is_admin_project is True
    assert (made.read_deleted, made.service_catalog) == ('no', [])


def test_arguments_take_precedence():
    made = context.RequestContext.from_dict(
        {'user_id': 'u', 'is_admin': True}, user_id='other')

    assert (made.user_id, made.is_admin) == ('other', True)
