"""What a caller is told of a request that finds no host.

Everything that hosts, aggregates and options hold here is called secret
something, or has a seven in it; nothing that is asked for is or has.
"""

import dataclasses
import json
import traceback

import oslo_messaging as messaging
import pytest

from nova_sched import context
from nova_sched import exception
from nova_sched.hosts import budget
from nova_sched.plugins import loading as plugins
from nova_sched.rules import phrases
from nova_sched.scheduler import filters
from nova_sched.scheduler import manager
from nova_sched.scheduler import weights
from nova_sched.scheduler.filters.ram_filter import RamFilter
from tests.builders import drivers
from tests.builders.hosts import a_host
from tests.builders.numa import a_cell
from tests.builders.numa import a_guest
from tests.builders.numa import cells_text
from tests.builders.numa import guest_cell
from tests.builders.requests import a_destination
from tests.builders.requests import a_flavor
from tests.builders.requests import a_request
from tests.builders.requests import an_image
from tests.unit.test_docs_reasons import devices

NOVA = 'No valid host was found. There are not enough hosts available.'
SECRETS = ('secret', '7')
#: Filters that have no secret to tell of the host below.
SILENT = ('ComputeFilter', 'SameHostFilter', 'TrustedFilter')
METADATA = {
    'availability_zone': 'secret-zone', 'filter_tenant_id': 'secret-project',
    'instance_type': 'secret-flavor', 'os_distro': 'secret-distro',
    'asked': 'secret-value', 'max_io_ops_per_host': '7',
    'max_instances_per_host': '7', 'ram_allocation_ratio': '0.7',
    'cpu_allocation_ratio': '0.7', 'disk_allocation_ratio': '0.7'}
HOST = a_host(
    'secret-host', nodename='secret-node', host_ip='203.0.113.77',
    hypervisor_type='secret-type', hypervisor_version=7007007,
    cpu_info='{"features": ["secret-feature"]}', stats={'asked': 'secret'},
    supported_instances='[["secret-arch", "secret-type", "secret-mode"]]',
    aggregates=[METADATA], metrics='[{"name": "secret-one", "value": 7}]',
    pci_stats=json.dumps([
        {'vendor_id': '7777', 'product_id': '7777', 'numa_node': 0,
         'count': 7, 'dev_type': 'type-VF'}]),
    numa_topology=cells_text(a_cell(0, cpus=range(77))),
    service_up=False, disabled_reason='secret-reason', total_usable_ram_mb=777,
    free_ram_mb=77, total_usable_disk_gb=77, free_disk_mb=777, vcpus_total=77,
    vcpus_used=7, num_io_ops=77, num_instances=777)
OPTIONS = {
    'isolated_images': ['secret-image'], 'isolated_hosts': ['secret-host'],
    'image_properties_default_architecture': 'armv7l',
    'max_io_ops_per_host': 7, 'max_instances_per_host': 7,
    'DEFAULT__default_availability_zone': 'secret-zone',
    'metrics__weight_setting': ['secret-metric=7']}


DEMAND = {
    'flavor': a_flavor(
        name='asked', memory_mb=9000, vcpus=900, root_gb=900, extra_specs={
            'aggregate_instance_extra_specs:asked': 'this',
            'capabilities:hypervisor_type': 'asked-type',
            'trust:trusted_host': 'asked-trust'}),
    'availability_zone': 'asked-zone', 'project_id': 'asked-project',
    'image': an_image({'os_distro': 'asked-distro', 'img_hv_type': 'xen'},
                      id='asked-image'),
    'hints': {'same_host': ['other'], 'different_host': ['running'],
              'build_near_host_ip': '192.0.2.5',
              'query': ['["=", "$host", "asked"]']},
    'retry': [('secret-host', 'secret-node')],
    'ignore_hosts': ['secret-other'],
    'numa_topology': a_guest(guest_cell(pinned=80)),
    **devices((9, {'vendor_id': '7778'}))}
GROUPS = [{'policy': policy, 'members': ['running'],
           'hosts': ['secret-elsewhere']}
          for policy in ('anti-affinity', 'affinity')]


class NosyFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        return False

    def why_not(self, host_state, spec_obj):
        return f'{host_state.host} is secret'


class NosyRamFilter(RamFilter):
    def reason(self, hosts, spec_obj):
        return phrases.Reason('secret')


class NosyInputFilter(NosyFilter):
    def host_passes(self, host_state, spec_obj):
        raise exception.InvalidInput(reason=f'{host_state.host} has no rack')


class NosyInputWeigher(weights.BaseHostWeigher):
    def _weigh_object(self, host_state, weight_properties):
        raise exception.InvalidInput(reason=f'{host_state.host} has no rack')


def refused(driver, spec, text='counts'):
    """What a caller gets, and what is on record: two texts."""
    door = drivers.door(driver, conf=driver.conf, text=text)
    with pytest.raises(messaging.ExpectedException) as ended:
        door.select_destinations(context.RequestContext(), spec_obj=spec)
    record, = door.recorder.decisions
    error = ended.value.exc_info[1]
    assert isinstance(error, exception.NoValidHost)
    # oslo.messaging sends the traceback, too.
    if text != 'full':
        assert 'secret' not in ''.join(traceback.format_exception(error))
    return str(error), record.reason


def scheduler(*names, **options):
    return drivers.MemoryScheduler(
        HOST, enabled_filters=list(names),
        running={'running': {'host': 'secret-host', 'uuid': 'running',
                             'instance_type_id': 777}},
        **OPTIONS | options)


@pytest.mark.parametrize('name', [
    cls.__name__ for cls in plugins.all_filters()
    if cls.__name__ != 'AllHostsFilter'])
def test_of_a_built_in_filter_says_what_its_reader_may_know(name):
    driver, tried = scheduler(name), 0
    for group in GROUPS:
        spec = a_request(**DEMAND, group=group)
        try:
            told, reason = refused(driver, spec)
        except pytest.fail.Exception:
            continue    # the filter looks at the group, and takes it
        tried += 1
        assert f'{NOVA} 0 of 1 hosts: 1 {name}' in told
        assert not [word for word in SECRETS if word in told]
        assert name in SILENT or any(word in reason for word in SECRETS)
        assert refused(driver, spec, 'nova') == (NOVA, reason)
        assert refused(driver, spec, 'filters') == (NOVA, reason)
        assert refused(driver, spec, 'full') == (f'{NOVA} {reason}', reason)
    assert tried, 'the requests above do not try this filter'


def test_says_what_was_asked_for():
    told, reason = refused(scheduler('RamFilter', 'DiskFilter'),
                           a_request(memory_mb=9000))

    assert told == f'{NOVA} 0 of 1 hosts: 1 RamFilter (need 9000 MB)'
    assert reason == ('0 of 1 hosts: 1 RamFilter (need 9000 MB, largest host '
                      '777 MB)')


@pytest.mark.parametrize('name', ['NosyFilter', 'NosyRamFilter'])
def test_has_no_words_of_a_plug_in(name):
    driver = scheduler(name, available_filters=[f'{__name__}.{name}'])

    told, reason = refused(driver, a_request(memory_mb=9000))

    assert told == f'{NOVA} 0 of 1 hosts: 1 {name}'
    assert 'secret' in reason


class HintedFilter(filters.BaseHostFilter):
    """Of somebody else: nobody knows what it looks at."""

    def host_passes(self, host_state, spec_obj):
        return False


#: A host that RamFilter rejects.
SMALL = {'free_ram_mb': 1, 'total_usable_ram_mb': 1}


class TestToATenant:
    """``filters``, the default: nothing to find a host out by."""

    @staticmethod
    def told(hosts, spec, *names, **options):
        driver = drivers.MemoryScheduler(
            *hosts, enabled_filters=list(names), **options)
        text = refused(driver, spec, 'filters')[0]
        assert text.startswith(NOVA)
        return text.removeprefix(NOVA).strip()

    def test_most_some_and_few_stand_for_numbers_in_the_filters_order(self):
        hosts = [a_host(f'h{number}', **(
            {'service_up': False} if number < 10 else
            SMALL if number < 40 else
            {'free_disk_mb': 1, 'total_usable_disk_gb': 0}))
            for number in range(200)]

        assert self.told(
            hosts, a_request(memory_mb=512, root_gb=1), 'ComputeFilter',
            'RamFilter', 'DiskFilter') == (
            'hosts rejected: few ComputeFilter, some RamFilter (need 512 MB), '
            'most DiskFilter (need 1024 MB)')

    @pytest.mark.parametrize(('count', 'told'), [
        (9, ''), (10, 'hosts rejected: most RamFilter (need 9000 MB)')])
    def test_fewer_than_ten_hosts_are_not_spoken_of(self, count, told):
        assert self.told([a_host(f'h{number}', **SMALL)
                          for number in range(count)],
                         a_request(memory_mb=9000), 'RamFilter') == told

    @pytest.mark.parametrize('name, hints', [
        ('JsonFilter', {'query': ['["=", "$host", "no"]']}),
        ('SameHostFilter', {'same_host': 'gone'}),
        ('SimpleCIDRAffinityFilter', {'build_near_host_ip': '192.0.2.5'})])
    def test_nor_are_filters_that_judge_by_hints(self, name, hints):
        """One refusal after the other would tell what they are not told."""
        assert self.told([a_host(f'h{number}', host_ip='203.0.113.7')
                          for number in range(20)],
                         a_request(hints=hints), name) == ''

    @pytest.mark.parametrize('number', range(8, 13))
    def test_nor_what_comes_after_a_filter_that_judges_by_hints(self, number):
        """Who chooses the hosts that are left would know of each host whether
        it is the tenth.
        """
        hosts = [a_host(f'h{number:02}', **SMALL) for number in range(20)]

        for names, told in (
                (['JsonFilter', 'RamFilter', 'DiskFilter'], ''),
                (['ComputeFilter', 'JsonFilter', 'RamFilter'], '')):
            assert self.told(hosts, a_request(
                memory_mb=9000, hints={
                    'query': [f'["<", "$host", "h{number:02}"]']}),
                *names) == told

    def test_what_comes_before_it_is_told_of_as_ever(self):
        hosts = [a_host(f'h{number:02}', **(SMALL if number < 12 else {}))
                 for number in range(20)]

        assert self.told(hosts, a_request(
            memory_mb=512, hints={'query': ['["=", "$host", "gone"]']}),
            'RamFilter', 'JsonFilter') == (
                'hosts rejected: most RamFilter (need 512 MB)')

    @pytest.mark.parametrize('asked', ['h10', 'h11', 'h19'])
    def test_of_instances_after_the_first_nothing_is_told_then(self, asked):
        """The filters before see only what the query has left."""
        hosts = [a_host(f'h{number:02}', **(SMALL if number < 9 else {
            'free_ram_mb': 512, 'total_usable_ram_mb': 512}))
            for number in range(20)]

        assert self.told(hosts, a_request(
            memory_mb=512, num_instances=3,
            hints={'query': [f'["=", "$host", "{asked}"]']}),
            'RamFilter', 'JsonFilter') == ''

    @pytest.mark.parametrize('free', [1024, 2048, 4096])
    def test_how_many_of_a_request_s_instances_fit_is_not_told(self, free):
        """It is what is free on the host that a query names."""
        hosts = [a_host(f'h{number}', free_ram_mb=free,
                        total_usable_ram_mb=8192) for number in range(3)]

        assert self.told(hosts, a_request(
            memory_mb=1024, num_instances=9,
            hints={'query': ['["=", "$host", "h1"]']}),
            'JsonFilter', 'RamFilter') == ''

    @pytest.mark.parametrize('names, wrong', [
        (['JsonFilter', 'SimpleCIDRAffinityFilter'],
         {'build_near_host_ip': 'x'}),
        (['SameHostFilter', 'JsonFilter'], {'query': ['["bogus"]']})])
    def test_a_wrong_hint_is_not_told_of_behind_one_that_chooses_hosts(
            self, names, wrong):
        """Else it tells whether the first one has left any."""
        for host, uuid in ('h1', 'running'), ('gone', 'gone'):
            assert self.told(
                [a_host(f'h{number}') for number in range(3)],
                a_request(hints=({'query': [f'["=", "$host", "{host}"]']}
                                 | {'same_host': uuid} | wrong)), *names,
                running={'running': {'uuid': 'running', 'host': 'h1',
                                     'instance_type_id': 1}}) == ''

    @pytest.mark.parametrize('query', [
        ['<', '$instances.running', 1], ['<', 1, '$instances.running'],
        ['=', '$instances.running.host', 'h1'],
        ['<', ['not', '$host'], '$instances.running'],
        ['in', 'x', '$instances.running.memory_mb.x'],
        ['>', '$free_ram_mb', '$instances.running', 1]])
    def test_nor_whether_an_instance_exists_that_a_query_names(self, query):
        told = [self.told([a_host(f'h{number}', **SMALL)
                           for number in range(3)],
                          a_request(memory_mb=9000, hints={
                              'query': [json.dumps(query)]}),
                          'JsonFilter', 'RamFilter', running=running)
                for running in ({}, {'running': {
                    'uuid': 'running', 'host': 'h1', 'instance_type_id': 1}})]

        assert told == ['', '']

    @pytest.mark.parametrize('hints, told', [
        ({}, 'hosts rejected: most HintedFilter'), ({'rack': '7'}, '')])
    def test_nor_are_plug_ins_where_there_are_hints(self, hints, told):
        assert self.told(
            [a_host(f'h{number}') for number in range(20)],
            a_request(hints=hints), 'HintedFilter',
            available_filters=[f'{__name__}.HintedFilter']) == told


@pytest.mark.parametrize('wanted, told', [
    ({'requested_destination': a_destination(cell='secret-cell')},
     'There are not enough hosts available. 0 of 1 hosts: 1 cell'),
    ({'ignore_hosts': ['secret-host']},
     'There are not enough hosts available. 0 of 1 hosts: 1 ignore_hosts'),
])
def test_has_no_names_that_the_owner_of_a_server_may_not_know(wanted, told):
    """A conductor puts them into a request: where the server is, and was."""
    assert refused(scheduler(), a_request(**wanted))[0] == (
        f'No valid host was found. {told}')


@pytest.mark.parametrize('text', ['nova', 'filters', 'counts'])
@pytest.mark.parametrize('wanted', [
    {'force_hosts': ['gone']},
    {'requested_destination': a_destination(host='gone')}])
def test_is_nova_s_about_a_host_that_does_not_exist(wanted, text):
    """It has the name that was asked for."""
    assert refused(scheduler(), a_request(**wanted), text)[0] == (
        'No valid host was found. No such host - host: gone node: None ')


def test_names_no_cell_that_cannot_be_read():
    class Lost(drivers.MemoryScheduler):
        def hosts(self, *args):
            found, record = super().hosts(*args), args[-1]
            record.state = dataclasses.replace(
                record.state, lost=(('secret-cell', 'hung'),))
            return found

    told, reason = refused(Lost(HOST), a_request(memory_mb=9000))

    assert told == f'{NOVA} 0 of 1 hosts: 1 RamFilter (need 9000 MB)'
    assert reason.endswith('; cell secret-cell cannot be read')


def test_of_a_wrong_request_has_no_notes_about_hosts():
    class Nosy(drivers.MemoryScheduler):
        def select_destinations(self, *args, **kwargs):
            error = exception.InvalidInput(reason='cidr = 7')
            error.add_note('on host secret-host')
            raise error from ValueError('secret')

    with pytest.raises(messaging.ExpectedException) as ended:
        drivers.door(Nosy(HOST)).select_destinations(
            context.RequestContext(), spec_obj=a_request())

    error = ended.value.exc_info[1]
    assert str(error) == 'Invalid input received: cidr = 7'
    assert 'secret' not in ''.join(traceback.format_exception(error))


def test_has_no_words_of_a_driver_that_is_a_plug_in():
    class Nosy(drivers.MemoryScheduler):
        def select_destinations(self, *args, **kwargs):
            raise exception.NoValidHost(reason='secret')

    assert refused(Nosy(HOST), a_request()) == (NOVA, 'secret')


def error_of(driver, text):
    """What a caller gets of a request that fails, and what is on record."""
    door = drivers.door(driver, conf=driver.conf, text=text)
    with pytest.raises(Exception) as ended:
        door.select_destinations(context.RequestContext(),
                                 spec_obj=a_request())
    error, (record,) = ended.value, door.recorder.decisions
    if isinstance(error, messaging.ExpectedException):
        error = error.exc_info[1]
    return error, ''.join(traceback.format_exception(error)), record.reason


@pytest.mark.parametrize('name, options', [
    ('NosyInputFilter', {
        'available_filters': [f'{__name__}.NosyInputFilter'],
        'enabled_filters': ['NosyInputFilter']}),
    ('NosyInputWeigher', {
        'weight_classes': [f'{__name__}.NosyInputWeigher']})])
def test_has_no_words_of_a_plug_in_that_refuses_the_request(
        name, options, caplog):
    """The log and the record have them."""
    driver = drivers.MemoryScheduler(a_host('secret-host'), a_host('b'),
                                     **options)

    for text in 'filters', 'counts', 'nova':
        error, told, reason = error_of(driver, text)
        assert type(error) is exception.InvalidInput
        assert error.kwargs['reason'] == f'{name} refuses the request'
        assert 'secret' not in told
        assert 'secret-host has no rack' in reason
    assert 'secret-host has no rack' in caplog.text
    assert 'secret-host has no rack' in str(error_of(driver, 'full')[0])


def test_names_no_host_and_no_metric_that_it_must_report():
    """Nova's words do."""
    driver = drivers.MemoryScheduler(
        a_host('secret-host'), a_host('secret-other'),
        weight_classes=['nova.scheduler.weights.metrics.MetricsWeigher'],
        metrics__weight_setting=['secret.metric=1.0'])

    error, told, reason = error_of(driver, 'filters')
    assert type(error) is exception.ComputeHostMetricNotFound
    assert str(error) == ('Metric that is weighed could not be found on the '
                          'compute host node (not shown).(not shown).')
    assert 'secret' not in told
    assert 'secret.metric' in reason
    for text in 'nova', 'full':
        error, told, _ = error_of(driver, text)
        assert type(error) is exception.ComputeHostMetricNotFound
        assert str(error).endswith('secret-host.secret-host.')


@pytest.mark.parametrize('text', ['filters', 'counts', 'nova'])
@pytest.mark.parametrize('error, told', [
    (exception.DatabaseUnavailable('cell secret(one) cannot be read: Database '
                                   'mysql://secret'),
     'The scheduler cannot read a database; its log says which and why'),
    (exception.PlacementUnavailable('Request to http://secret timed out',
                                    'Placement did not answer in time'),
     'Placement did not answer in time')])
def test_names_no_cell_and_no_address_of_what_does_not_answer(
        error, told, text):
    """Before CVE-2019-14433 was mended, Nova showed tenants such a text."""
    class Broken(drivers.MemoryScheduler):
        def select_destinations(self, *args, **kwargs):
            raise error from ValueError('secret')

    driver = Broken(HOST)

    found, trace, reason = error_of(driver, text)
    assert type(found) is type(error)
    assert str(found) == told
    assert 'secret' not in trace
    assert 'secret' in reason
    assert error_of(driver, 'full')[0] is error


class SlowFilter(NosyFilter):
    def host_passes(self, host_state, spec_obj):
        while True:
            budget.check()


class WordyFilter(NosyFilter):
    def reason(self, hosts, spec_obj):
        while True:
            budget.check()


def told_by_slow(name, text):
    """What a caller is told where a filter takes longer than it may."""
    driver = drivers.MemoryScheduler(
        HOST, available_filters=[f'{__name__}.{name}'],
        enabled_filters=[name])
    door = drivers.door(driver, conf=driver.conf, text=text,
                        limits=manager.Limits(seconds=0.05))
    with pytest.raises(messaging.ExpectedException) as ended:
        door.select_destinations(context.RequestContext(),
                                 spec_obj=a_request())
    return str(ended.value.exc_info[1])


def test_says_that_the_time_was_spent_also_of_a_plug_in():
    """It does not refuse the request."""
    assert 'in step SlowFilter of instance 1' in told_by_slow(
        'SlowFilter', 'filters')


def test_words_end_with_the_time_of_the_request(caplog):
    assert told_by_slow('WordyFilter', 'full') == (
        f'{NOVA} 0 of 1 hosts: 1 WordyFilter')
    assert 'failed to give a reason' not in caplog.text
