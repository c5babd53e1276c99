"""Error texts for the callers of refused requests.

All values of hosts, aggregates and options here contain "secret" or a seven;
values of requests contain neither.
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
#: Filters without values of the host below in their reason.
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


class PlugInFilter(filters.BaseHostFilter):
    def host_passes(self, host_state, spec_obj):
        return False

    def why_not(self, host_state, spec_obj):
        return f'{host_state.host} is secret'


class PlugInRamFilter(RamFilter):
    def reason(self, hosts, spec_obj):
        return phrases.Reason('secret')


class RefusingFilter(PlugInFilter):
    def host_passes(self, host_state, spec_obj):
        raise exception.InvalidInput(reason=f'{host_state.host} has no rack')


class RefusingWeigher(weights.BaseHostWeigher):
    def _weigh_object(self, host_state, weight_properties):
        raise exception.InvalidInput(reason=f'{host_state.host} has no rack')


class SlowFilter(PlugInFilter):
    def host_passes(self, host_state, spec_obj):
        while True:
            budget.check()


class SlowReasonFilter(PlugInFilter):
    def reason(self, hosts, spec_obj):
        while True:
            budget.check()


PLUG_INS = [f'{__name__}.{cls.__name__}' for cls in (
    PlugInFilter, PlugInRamFilter, RefusingFilter, SlowFilter,
    SlowReasonFilter)]


def error_of(driver, spec, text='counts', **kwargs):
    """The error of a request, its traceback, and the recorded reason."""
    door = drivers.door(driver, conf=driver.conf, text=text, **kwargs)
    with pytest.raises(Exception) as ended:
        door.select_destinations(context.RequestContext(), spec_obj=spec)
    error, (record,) = ended.value, door.recorder.decisions
    if isinstance(error, messaging.ExpectedException):
        error = error.exc_info[1]
    return error, ''.join(traceback.format_exception(error)), record.reason


def refused(driver, spec, text='counts'):
    """The texts of a NoValidHost and of the record."""
    error, trace, reason = error_of(driver, spec, text)
    assert type(error) is exception.NoValidHost
    # oslo.messaging sends the traceback, too.
    assert text == 'full' or 'secret' not in trace
    return str(error), reason


def raising(error, cause=None):
    """A driver that raises an error."""
    class Driver(drivers.MemoryScheduler):
        def select_destinations(self, *args, **kwargs):
            raise error from cause
    return Driver(HOST)


def scheduler(*names, **options):
    return drivers.MemoryScheduler(
        HOST, enabled_filters=list(names),
        running={'running': {'host': 'secret-host', 'uuid': 'running',
                             'instance_type_id': 777}},
        available_filters=['nova.scheduler.filters.all_filters', *PLUG_INS],
        **OPTIONS | options)


@pytest.mark.parametrize('name', [
    cls.__name__ for cls in plugins.all_filters()
    if cls.__name__ != 'AllHostsFilter'])
def test_callers_see_the_name_of_a_filter_but_no_values_of_hosts(name):
    driver, tried = scheduler(name), 0
    for group in GROUPS:
        spec = a_request(**DEMAND, group=group)
        try:
            told, reason = refused(driver, spec)
        except pytest.fail.Exception:
            continue    # The filter accepts this policy.
        tried += 1
        assert f'{NOVA} 0 of 1 hosts: 1 {name}' in told
        assert not [word for word in SECRETS if word in told]
        assert name in SILENT or any(word in reason for word in SECRETS)
        assert refused(driver, spec, 'nova') == (NOVA, reason)
        assert refused(driver, spec, 'filters') == (NOVA, reason)
        assert refused(driver, spec, 'full') == (f'{NOVA} {reason}', reason)
    assert tried, 'no request above reaches this filter'


@pytest.mark.parametrize(('names', 'request_', 'told', 'reason'), [
    (['RamFilter', 'DiskFilter'], {}, '1 RamFilter (need 9000 MB)',
     '0 of 1 hosts: 1 RamFilter (need 9000 MB, largest host 777 MB)'),
    # Reasons of plug-ins may contain anything.
    (['PlugInFilter'], {}, '1 PlugInFilter', 'secret'),
    (['PlugInRamFilter'], {}, '1 PlugInRamFilter', 'secret'),
    # The conductor knows where a server runs; its owner may not.
    ([], {'requested_destination': a_destination(cell='secret-cell')},
     '1 cell', '1 cell'),
    ([], {'ignore_hosts': ['secret-host']}, '1 ignore_hosts', 'ignore_hosts'),
])
def test_callers_see_their_needs_alone(names, request_, told, reason):
    text, recorded = refused(scheduler(*names),
                             a_request(memory_mb=9000, **request_))

    assert text == f'{NOVA} 0 of 1 hosts: {told}'
    assert reason in recorded


#: A host that RamFilter rejects.
SMALL = {'free_ram_mb': 1, 'total_usable_ram_mb': 1}
RUNNING = {'running': {'uuid': 'running', 'host': 'h01',
                       'instance_type_id': 1}}


def query(*expression):
    return {'query': [json.dumps(expression)]}


def some_hosts(count, small=0, **values):
    """Hosts h00, h01 ..., of which the first are small."""
    return [a_host(f'h{number:02}', **(SMALL if number < small else values))
            for number in range(count)]


#: Hosts, filters, request, and the text that the tenant sees.
TENANTS = [
    # Words stand for numbers, in the order of the filters.
    ([*some_hosts(40, 40)[:30], *(
        a_host(f'down{number}', service_up=False) for number in range(10)),
      *(a_host(f'full{number}', free_disk_mb=1, total_usable_disk_gb=0)
        for number in range(160))],
     ['ComputeFilter', 'RamFilter', 'DiskFilter'], {'root_gb': 1},
     'hosts rejected: few ComputeFilter, some RamFilter (need 512 MB), '
     'most DiskFilter (need 1024 MB)'),
    # Fewer than ten hosts are not mentioned.
    (some_hosts(9, 9), ['RamFilter'], {}, ''),
    (some_hosts(10, 10), ['RamFilter'], {},
     'hosts rejected: most RamFilter (need 512 MB)'),
    # Nor are filters that judge by hints: a series of refusals would reveal
    # the hosts.
    *((some_hosts(20), [name], {'hints': hints}, '') for name, hints in (
        ('JsonFilter', query('=', '$host', 'no')),
        ('SameHostFilter', {'same_host': 'gone'}),
        ('SimpleCIDRAffinityFilter', {'build_near_host_ip': '203.0.113.5'}))),
    # Nor are filters after them.
    *((some_hosts(20, 20), names, {
        'hints': query('<', '$host', f'h{number:02}')}, '')
      for number in range(9, 12)
      for names in (['JsonFilter', 'RamFilter', 'DiskFilter'],
                    ['ComputeFilter', 'JsonFilter', 'RamFilter'])),
    (some_hosts(20, 12), ['RamFilter', 'JsonFilter'],
     {'hints': query('=', '$host', 'gone')},
     'hosts rejected: most RamFilter (need 512 MB)'),
    # For later instances, earlier filters see only the chosen hosts.
    *((some_hosts(20, 9, free_ram_mb=512, total_usable_ram_mb=512),
       ['RamFilter', 'JsonFilter'],
       {'num_instances': 3, 'hints': query('=', '$host', host)}, '')
      for host in ('h10', 'h19')),
    # The number of placed instances would reveal the room of the chosen host.
    *((some_hosts(3, free_ram_mb=free, total_usable_ram_mb=8192),
       ['JsonFilter', 'RamFilter'],
       {'memory_mb': 1024, 'num_instances': 9,
        'hints': query('=', '$host', 'h01')}, '') for free in (1024, 4096)),
    # An invalid hint behind one that chooses hosts is not reported.
    *((some_hosts(3), names, {'hints': query(
        '=', '$host', host) | {'same_host': uuid} | wrong}, '')
      for host, uuid in (('h01', 'running'), ('gone', 'gone'))
      for names, wrong in (
        (['JsonFilter', 'SimpleCIDRAffinityFilter'],
         {'build_near_host_ip': 'x'}),
        (['SameHostFilter', 'JsonFilter'], {'query': ['["bogus"]']}))),
    # Plug-ins are not mentioned where there are hints.
    (some_hosts(20), ['PlugInFilter'], {}, 'hosts rejected: most '
     'PlugInFilter'),
    (some_hosts(20), ['PlugInFilter'], {'hints': {'rack': '7'}}, '')]


def to_tenant(hosts, names, running=RUNNING, **request):
    driver = drivers.MemoryScheduler(
        *hosts, enabled_filters=names, running=running,
        available_filters=['nova.scheduler.filters.all_filters', *PLUG_INS])
    text = refused(driver, a_request(**request), 'filters')[0]
    assert text.startswith(NOVA)
    return text.removeprefix(NOVA).strip()


@pytest.mark.parametrize(('hosts', 'names', 'request_', 'told'), TENANTS)
def test_tenants_cannot_locate_hosts(hosts, names, request_, told):
    """With the default, ``filters``."""
    assert to_tenant(hosts, names, **request_) == told


@pytest.mark.parametrize('expression', [
    ['<', '$instances.running', 1], ['<', 1, '$instances.running'],
    ['=', '$instances.running.host', 'h01'],
    ['<', ['not', '$host'], '$instances.running'],
    ['in', 'x', '$instances.running.memory_mb.x'],
    ['>', '$free_ram_mb', '$instances.running', 1]])
def test_tenants_cannot_find_instances_by_a_query(expression):
    assert [to_tenant(some_hosts(3, 3), ['JsonFilter', 'RamFilter'], running,
                      hints=query(*expression))
            for running in ({}, RUNNING)] == ['', '']


@pytest.mark.parametrize('text', ['nova', 'filters', 'counts'])
@pytest.mark.parametrize('wanted', [
    {'force_hosts': ['gone']},
    {'requested_destination': a_destination(host='gone')}])
def test_an_unknown_host_is_reported_in_novas_words(wanted, text):
    assert refused(scheduler(), a_request(**wanted), text)[0] == (
        'No valid host was found. No such host - host: gone node: None ')


def test_a_cell_that_cannot_be_read_is_not_named():
    class Lost(drivers.MemoryScheduler):
        def hosts(self, *args):
            found, record = super().hosts(*args), args[-1]
            record.state = dataclasses.replace(
                record.state, lost=(('secret-cell', 'hung'),))
            return found

    told, reason = refused(Lost(HOST), a_request(memory_mb=9000))

    assert told == f'{NOVA} 0 of 1 hosts: 1 RamFilter (need 9000 MB)'
    assert reason.endswith('; cell secret-cell cannot be read')


def test_notes_of_errors_are_removed():
    error = exception.InvalidInput(reason='cidr = 7')
    error.add_note('on host secret-host')

    found, trace, _ = error_of(raising(error, ValueError('secret')),
                               a_request())
    assert str(found) == 'Invalid input received: cidr = 7'
    assert 'secret' not in trace


def test_reasons_of_drivers_that_are_plug_ins_are_removed():
    assert refused(raising(exception.NoValidHost(reason='secret')),
                   a_request()) == (NOVA, 'secret')


@pytest.mark.parametrize(('name', 'options'), [
    ('RefusingFilter', {'available_filters': PLUG_INS,
                        'enabled_filters': ['RefusingFilter']}),
    ('RefusingWeigher', {'weight_classes': [f'{__name__}.RefusingWeigher']})])
def test_refusals_of_plug_ins_have_their_name_alone(name, options, caplog):
    """The log and the record have their text."""
    driver = drivers.MemoryScheduler(a_host('secret-host'), a_host('b'),
                                     **options)

    for text in 'filters', 'counts', 'nova':
        error, trace, reason = error_of(driver, a_request(), text)
        assert type(error) is exception.InvalidInput
        assert error.kwargs['reason'] == f'{name} refuses the request'
        assert 'secret' not in trace
        assert 'secret-host has no rack' in reason
    assert 'secret-host has no rack' in caplog.text
    assert 'secret-host has no rack' in str(
        error_of(driver, a_request(), 'full')[0])


def test_a_missing_metric_and_its_host_are_not_named():
    """Except in Nova's text."""
    driver = drivers.MemoryScheduler(
        a_host('secret-host'), a_host('secret-other'),
        weight_classes=['nova.scheduler.weights.metrics.MetricsWeigher'],
        metrics__weight_setting=['secret.metric=1.0'])

    error, trace, reason = error_of(driver, a_request(), 'filters')
    assert type(error) is exception.ComputeHostMetricNotFound
    assert str(error) == ('Metric that is weighed could not be found on the '
                          'compute host node (not shown).(not shown).')
    assert 'secret' not in trace
    assert 'secret.metric' in reason
    for text in 'nova', 'full':
        assert str(error_of(driver, a_request(), text)[0]).endswith(
            'secret-host.secret-host.')


@pytest.mark.parametrize(('error', 'told'), [
    (exception.DatabaseUnavailable('cell secret(one) cannot be read: Database '
                                   'mysql://secret'),
     'The scheduler cannot read a database; its log says which and why'),
    (exception.PlacementUnavailable('Request to http://secret timed out',
                                    'Placement did not respond in time'),
     'Placement did not respond in time')])
def test_addresses_of_databases_and_services_are_not_shown(error, told):
    """Before CVE-2019-14433 was fixed, Nova showed them to tenants."""
    driver = raising(error, ValueError('secret'))

    for text in 'filters', 'counts', 'nova':
        found, trace, reason = error_of(driver, a_request(), text)
        assert type(found) is type(error)
        assert str(found) == told
        assert 'secret' not in trace
        assert 'secret' in reason
    assert error_of(driver, a_request(), 'full')[0] is error


@pytest.mark.parametrize(('name', 'text', 'words'), [
    ('SlowFilter', 'filters', 'in step SlowFilter of instance 1'),
    ('SlowReasonFilter', 'full', f'{NOVA} 0 of 1 hosts: 1 SlowReasonFilter')])
def test_a_plug_in_that_spends_time_budget_is_named(name, text, words, caplog):
    error, *_ = error_of(scheduler(name), a_request(), text,
                         limits=manager.Limits(seconds=0.05))

    assert words in str(error)
    assert 'failed to give a reason' not in caplog.text
