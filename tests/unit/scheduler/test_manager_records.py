"""Every request ends with one closed record and one line of ours at INFO."""

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
RULED = DRIVERS[:2]
CONTEXT = context.RequestContext()


class BreakingFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        raise ZeroDivisionError('of the rule')


class ForeignDriver(driver.Scheduler):
    """Another author's: keeps no record, and takes none."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        if spec_obj.memory_mb > 1000:
            raise exception.NoValidHost(reason='of their own')
        if spec_obj.memory_mb < 0:
            raise KeyError('of their own')
        return [[objects.Selection(service_host=f'h{index}', nodename='n',
                                   compute_node_uuid='', cell_uuid='')]
                for index in range(self.count(spec_obj, instance_uuids))]


class Door:
    """A driver's endpoint; ``ask`` returns the record and the lines."""

    def __init__(self, made, caplog):
        self.door, self._caplog = drivers.door(made), caplog

    def ask(self, uuids=UUIDS, raises=None, **args):
        if not args:
            args = {'spec_obj': requests.a_request().obj_to_primitive()}
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
        lines = [each.getMessage() for each in self._caplog.records
                 if each.name == 'nova_sched.observe.log_line']
        assert len(lines) == 1
        assert record.request_id == CONTEXT.request_id
        return record, lines[0]


@pytest.fixture
def door(cloud, caplog):
    """Function: the Door of a driver by name, on hosts a and b."""
    def made(name, **options):
        cloud.load(['a', 'b'])
        return Door(cloud.driver(name, **options), caplog)
    return made


@pytest.mark.parametrize('name', DRIVERS)
class TestPlaced:
    def test_request_names_each_instance_with_its_host(self, door, name):
        asked = door(name)
        record, line = asked.ask()

        assert record.outcome == 'placed'
        assert [(pick.instance_uuid, pick.host) for pick in record.picks] == [
            (uuid, chosen['host']) for uuid, chosen
            in zip(UUIDS, asked.answer, strict=True)]
        for pick in record.picks:
            assert f'{pick.instance_uuid} on {pick.host}' in line

    def test_request_is_kept_as_it_came(self, door, name):
        spec = requests.a_request().obj_to_primitive()
        before = copy.deepcopy(spec)
        record, _ = door(name).ask(spec_obj=spec)

        assert record.request['spec_obj'] == before
        assert record.request['instance_uuids'] == UUIDS
        assert record.generation == 1


    def test_request_is_told_of_when_its_answer_is_sent(self, door, name):
        """Its caller does not wait for that."""
        made = door(name).door
        with call_scope.entered():
            answer = made.select_destinations(
                CONTEXT, instance_uuids=UUIDS,
                spec_obj=requests.a_request().obj_to_primitive())
            before = [*made.recorder.decisions]
        [record] = made.recorder.decisions
        assert (len(answer), before, record.outcome) == (2, [], 'placed')


class TestRefused:
    @pytest.mark.parametrize('name', RULED)
    def test_request_says_why(self, door, name):
        record, line = door(name).ask(
            raises=exception.NoValidHost,
            spec_obj=requests.a_request(memory_mb=10 ** 6)
            .obj_to_primitive())

        assert record.outcome == 'refused'
        assert record.reason.startswith('0 of 2 hosts: 2 RamFilter')
        assert f'({UUIDS[0]}, {UUIDS[1]}) refused: 0 of 2 hosts' in line
        assert record.picks == []

    @pytest.mark.parametrize('name', DRIVERS)
    @pytest.mark.parametrize('args, raises', [
        ({'spec_obj': None}, exception.InvalidInput),
        ({'spec_obj': 'junk', 'uuids': 5}, exception.InvalidInput),
        ({'spec_obj': requests.a_request().obj_to_primitive() | {
            'nova_object.version': '2.0'}},
         ovo_exception.IncompatibleObjectVersion)])
    def test_request_that_is_wrong_is_one_too(self, door, name, args, raises):
        record, line = door(name).ask(raises=raises, **args)

        assert record.outcome == 'refused'
        assert record.reason in line

    def test_request_of_the_chance_driver_says_why(self, cloud, caplog):
        cloud.load([])
        record, _ = Door(cloud.driver('chance_scheduler'), caplog).ask(
            raises=exception.NoValidHost)

        assert (record.outcome, record.reason) == (
            'refused', 'Is the appropriate service running?')


class TestFailed:
    @pytest.mark.parametrize('name', RULED)
    def test_request_in_which_a_rule_raises(self, door, name):
        record, line = door(
            name, enabled_filters=['BreakingFilter'],
            available_filters=[f'{__name__}.BreakingFilter']).ask(
                raises=ZeroDivisionError)

        assert record.outcome == 'failed'
        assert record.reason == "ZeroDivisionError('of the rule')"
        assert line.startswith(
            f'Request for 2 instance(s) ({UUIDS[0]}, {UUIDS[1]}) failed: ')

    @pytest.mark.parametrize('name', ['filter_scheduler', 'chance_scheduler'])
    def test_request_without_a_database(self, door, cloud, name):
        asked = door(name)
        cloud.execute('ALTER TABLE services RENAME TO moved')

        record, line = asked.ask(raises=exception.DatabaseUnavailable)

        assert record.outcome == 'failed'
        assert 'has no table services' in line

    def test_request_of_which_the_rest_is_answered(self, door):
        """One that failed leaves nothing behind."""
        asked = door('filter_scheduler')
        asked.ask(raises=exception.InvalidInput, spec_obj=None)

        assert asked.ask()[0].outcome == 'placed'


class Mute(Exception):
    """Cannot be put into words."""

    def __repr__(self):
        raise ValueError('lost for words')


class TestOddEnds:
    """Of drivers that other people write, and of calls that are junk."""

    def odd(self, caplog, answer):
        class Odd(ForeignDriver):
            def select_destinations(self, context, spec_obj, instance_uuids,
                                    return_alternates=False, record=None):
                return answer(record)
        return Door(Odd(rules.a_conf()), caplog)

    @pytest.mark.parametrize('reason', [None, ['a', 'list'], 5])
    def test_a_refusal_may_have_any_reason(self, caplog, reason):
        def answer(record):
            raise exception.NoValidHost(reason=reason)
        record, _ = self.odd(caplog, answer).ask(
            raises=exception.NoValidHost)

        assert (record.outcome, record.reason) == ('refused', str(reason))

    def test_an_error_may_have_no_words(self, caplog):
        def answer(record):
            raise Mute
        record, _ = self.odd(caplog, answer).ask(raises=Mute)

        assert (record.outcome, record.reason) == ('failed', 'Mute')

    def test_the_answer_may_be_made_as_it_is_read(self, caplog):
        asked = self.odd(caplog, lambda record: (
            iter([objects.Selection(service_host='h', nodename='n',
                                    compute_node_uuid='', cell_uuid='')])
            for _ in UUIDS))
        record, _ = asked.ask()

        assert [each['host'] for each in asked.answer] == ['h', 'h']
        assert [pick.host for pick in record.picks] == ['h', 'h']

    @pytest.mark.parametrize('spoil', [
        {'seed': None}, {'reason': 5}, {'milliseconds': {'x': 'y'}},
        {'outcome': 'placed'}], ids=str)
    def test_a_driver_may_spoil_the_record_but_not_the_answer(self, caplog,
                                                              spoil):
        def answer(record):
            vars(record).update(spoil)
            return [[objects.Selection(service_host='h', nodename='n',
                                       compute_node_uuid='', cell_uuid='')]]
        door = self.odd(caplog, answer).door

        assert door.select_destinations(
            CONTEXT, spec_obj=requests.a_request().obj_to_primitive(),
            instance_uuids=UUIDS[:1]) == [
            {'host': 'h', 'nodename': 'n', 'limits': {}}]

    @pytest.mark.parametrize('uuid', ['a\nb', 'x' * 10 ** 6])
    def test_a_uuid_may_be_any_text_and_the_line_is_short(self, door, uuid):
        record, line = door('filter_scheduler').ask(uuids=[uuid])

        assert record.picks[0].instance_uuid == uuid
        assert len(line) < 1000


class TestForeignDriver:
    @pytest.fixture
    def foreign(self, caplog):
        return Door(ForeignDriver(rules.a_conf()), caplog)

    @pytest.mark.parametrize('memory_mb, raises, outcome', [
        (512, None, 'placed'), (2000, exception.NoValidHost, 'refused'),
        (10 ** 9, exception.NoValidHost, 'refused')])
    def test_has_a_record_of_each_request(self, foreign, memory_mb, raises,
                                          outcome):
        record, _ = foreign.ask(raises=raises, spec_obj=requests.a_request(
            memory_mb=memory_mb).obj_to_primitive())

        assert record.outcome == outcome

    def test_has_the_picks_of_its_answer_on_record(self, foreign):
        record, line = foreign.ask()

        assert [(pick.instance_uuid, pick.host, pick.nodename)
                for pick in record.picks] == [
            (UUIDS[0], 'h0', 'n'), (UUIDS[1], 'h1', 'n')]
        assert f'{UUIDS[1]} on h1' in line
