"""Every request has one closed record and one log line at INFO."""

import copy
import logging

import oslo_messaging as messaging
from oslo_versionedobjects import exception as ovo_exception
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched import objects
from nova_sched.rpc import call_scope
from nova_sched.scheduler import driver
from nova_sched.scheduler import filters
from tests.builders import clouds
from tests.builders import drivers
from tests.builders import requests
from tests.builders import rules

UUIDS = [clouds.a_uuid(1), clouds.a_uuid(2)]
DRIVERS = ['filter_scheduler', 'caching_scheduler', 'chance_scheduler']
CONTEXT = context.RequestContext()


class BreakingFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        raise ZeroDivisionError('of the rule')


class Door:
    """The endpoint of a driver; ``ask`` returns the record and the line."""

    def __init__(self, made, caplog):
        self.door, self._caplog = drivers.door(made), caplog

    def ask(self, uuids=UUIDS, raises=None, **args):
        if 'spec_obj' not in args:
            args = {'spec_obj': requests.a_request(**args).obj_to_primitive()}
        before = len(self.door.recorder.decisions)
        self._caplog.clear()
        with self._caplog.at_level(logging.INFO, 'nova_sched'):
            try:
                self.answer = self.door.select_destinations(
                    CONTEXT, instance_uuids=uuids, **args)
            except messaging.ExpectedException as expected:
                assert expected.exc_info[0] is raises
            except Exception as error:
                assert type(error) is raises
            else:
                assert raises is None
        [record] = self.door.recorder.decisions[before:]
        [line] = [each.getMessage() for each in self._caplog.records
                  if each.name == 'nova_sched.observe.log_line']
        assert record.request_id == CONTEXT.request_id
        return record, line


@pytest.fixture
def door(cloud, caplog):
    """Function: the Door of a driver by name, on hosts a and b."""
    def made(name, hosts='ab', **options):
        cloud.load(list(hosts))
        return Door(cloud.driver(name, **options), caplog)
    return made


@pytest.mark.parametrize('name', DRIVERS)
def test_a_placed_request_has_its_picks_and_arguments(door, name):
    spec = requests.a_request().obj_to_primitive()
    before, asked = copy.deepcopy(spec), door(name)
    record, line = asked.ask(spec_obj=spec)

    assert record.outcome == 'placed'
    assert [(pick.instance_uuid, pick.host) for pick in record.picks] == [
        (uuid, chosen['host']) for uuid, chosen
        in zip(UUIDS, asked.answer, strict=True)]
    for pick in record.picks:
        assert f'{pick.instance_uuid} on {pick.host}' in line
    assert record.request['spec_obj'] == before
    assert record.request['instance_uuids'] == UUIDS
    assert record.generation == 1


def test_the_record_is_added_after_the_reply(door):
    made = door('filter_scheduler').door
    with call_scope.entered():
        answer = made.select_destinations(
            CONTEXT, instance_uuids=UUIDS,
            spec_obj=requests.a_request().obj_to_primitive())
        before = [*made.recorder.decisions]
    [record] = made.recorder.decisions
    assert (len(answer), before, record.outcome) == (2, [], 'placed')


@pytest.mark.parametrize(('name', 'hosts', 'reason'), [
    *((name, 'ab', '0 of 2 hosts: 2 RamFilter') for name in DRIVERS[:2]),
    ('chance_scheduler', '', 'Is the appropriate service running?')])
def test_a_refused_request_has_its_reason(door, name, hosts, reason):
    record, line = door(name, hosts).ask(
        raises=exception.NoValidHost, memory_mb=10 ** 6)

    assert (record.outcome, record.picks) == ('refused', [])
    assert record.reason.startswith(reason)
    assert f'({UUIDS[0]}, {UUIDS[1]}) refused: {reason}' in line


@pytest.mark.parametrize('name', DRIVERS)
@pytest.mark.parametrize('args, raises', [
    ({'spec_obj': None}, exception.InvalidInput),
    ({'spec_obj': 'junk', 'uuids': 5}, exception.InvalidInput),
    ({'spec_obj': requests.a_request().obj_to_primitive() | {
        'nova_object.version': '2.0'}},
     ovo_exception.IncompatibleObjectVersion)])
def test_an_invalid_request_is_refused(door, name, args, raises):
    """The next one is placed."""
    asked = door(name)
    record, line = asked.ask(raises=raises, **args)

    assert record.outcome == 'refused'
    assert record.reason in line
    assert asked.ask()[0].outcome == 'placed'


@pytest.mark.parametrize('name', DRIVERS[:2])
def test_an_error_of_a_rule_is_a_failure(door, name):
    record, line = door(
        name, enabled_filters=['BreakingFilter'],
        available_filters=[f'{__name__}.BreakingFilter']).ask(
            raises=ZeroDivisionError)

    assert record.outcome == 'failed'
    assert record.reason == "ZeroDivisionError('of the rule')"
    assert line.startswith(
        f'Request for 2 instance(s) ({UUIDS[0]}, {UUIDS[1]}) failed: ')


@pytest.mark.parametrize('name', ['filter_scheduler', 'chance_scheduler'])
def test_a_database_that_cannot_be_read_is_a_failure(door, cloud, name):
    asked = door(name)
    cloud.execute('ALTER TABLE services RENAME TO moved')

    record, line = asked.ask(raises=exception.DatabaseUnavailable)

    assert record.outcome == 'failed'
    assert 'has no table services' in line


@pytest.mark.parametrize('uuid', ['a\nb', 'x' * 10 ** 6])
def test_a_uuid_may_be_any_text_and_the_line_is_short(door, uuid):
    record, line = door('filter_scheduler').ask(uuids=[uuid])

    assert record.picks[0].instance_uuid == uuid
    assert len(line) < 1000


class Unprintable(Exception):
    def __repr__(self):
        raise ValueError('no words')


def a_selection(host='h'):
    return objects.Selection(service_host=host, nodename='n',
                             compute_node_uuid='', cell_uuid='')


def raising(error):
    def answer(record):
        raise error
    return answer


class TestPlugIn:
    """A driver of another author."""

    @pytest.fixture
    def door_of(self, caplog):
        """Function: the Door of a driver that answers as a function does."""
        def door_of(answer):
            class PlugIn(driver.Scheduler):
                def select_destinations(
                        self, context, spec_obj, instance_uuids,
                        return_alternates=False, record=None):
                    return answer(record)
            return Door(PlugIn(rules.a_conf()), caplog)
        return door_of

    @pytest.mark.parametrize('error, outcome, reason', [
        *((exception.NoValidHost(reason=reason), 'refused', str(reason))
          for reason in ('their own', None, ['a', 'list'], 5)),
        (KeyError('x'), 'failed', "KeyError('x')"),
        (Unprintable(), 'failed', 'Unprintable')])
    def test_may_raise_anything(self, door_of, error, outcome, reason):
        record, _ = door_of(raising(error)).ask(raises=type(error))

        assert (record.outcome, record.reason) == (outcome, reason)

    def test_need_not_keep_the_record(self, caplog):
        class PlugIn(driver.Scheduler):
            def select_destinations(self, context, spec_obj, instance_uuids,
                                    return_alternates=False):
                # An iterator, made while it is read.
                return (iter([a_selection(f'h{index}')]) for index in range(2))
        asked = Door(PlugIn(rules.a_conf()), caplog)
        record, line = asked.ask()

        assert [each['host'] for each in asked.answer] == ['h0', 'h1']
        assert [(pick.instance_uuid, pick.host, pick.nodename)
                for pick in record.picks] == [
            (UUIDS[0], 'h0', 'n'), (UUIDS[1], 'h1', 'n')]
        assert f'{UUIDS[1]} on h1' in line

    @pytest.mark.parametrize('damage', [
        {'seed': None}, {'reason': 5}, {'milliseconds': {'x': 'y'}},
        {'outcome': 'placed'}], ids=str)
    def test_may_damage_the_record_but_not_the_answer(self, door_of, damage,
                                                      caplog):
        def answer(record):
            vars(record).update(damage)
            return [[a_selection()]]

        assert door_of(answer).door.select_destinations(
            CONTEXT, spec_obj=requests.a_request().obj_to_primitive(),
            instance_uuids=UUIDS[:1]) == [
            {'host': 'h', 'nodename': 'n', 'limits': {}}]
        assert ('milliseconds' in damage) == (
            'The record of request ' in caplog.text)
