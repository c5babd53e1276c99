"""Fixtures for tests of plug-ins that use Nova's names."""

import sys
import types

import oslo_messaging as messaging
import pytest

from nova_sched import conf as config
from nova_sched.compat import nova_names
from nova_sched.compat.nova import conf as nova_conf
from nova_sched.context import RequestContext
from nova_sched.observe import notifications
from nova_sched.scheduler import loading
from tests.builders import http_placement
from tests.builders import requests
from tests.builders import rules
from tests.builders import wild
from tests.builders.clouds import a_compute_node
from tests.builders.clouds import a_uuid
from tests.builders.drivers import door
from tests.builders.http_server import Answer

#: Uuids of the compute nodes of ``manager``'s hosts a, b and c.
A, B, C = a_uuid(1), a_uuid(2), a_uuid(3)
#: Free memory of ``a_driver``'s hosts, in MB.
FREE = {'a': 8192, 'b': 16384, 'c': 4096}


@pytest.fixture(autouse=True)
def data_modules(monkeypatch):
    """Modules of tests/data can be imported; each test imports them itself."""
    monkeypatch.syspath_prepend(wild.DATA)
    yield
    for path in wild.DATA.glob('*.py'):
        sys.modules.pop(path.stem, None)
    if getattr(nova_conf.CONF, 'default_config_files', None):
        nova_conf.follow(rules.a_conf())


@pytest.fixture
def provide(tmp_path):
    """Function: make a text the configuration of Nova's names; return it."""
    def provide(text=''):
        path = tmp_path / 'nova.conf'
        path.write_text('[DEFAULT]\nhost = here\ntransport_url = fake://\n'
                        f'control_exchange = {tmp_path}\n{text}')
        conf = config.new_conf([], [str(path)])
        nova_names.provide(conf)
        return conf
    return provide


@pytest.fixture
def cinderclient(monkeypatch):
    """A module of that name; its Client is a dict of the arguments."""
    client = types.ModuleType('cinderclient.client')
    client.Client = lambda version, **kwargs: {'version': version, **kwargs}
    for name, module in (('cinderclient', types.ModuleType('cinderclient')),
                         ('cinderclient.client', client)):
        monkeypatch.setitem(sys.modules, name, module)
    yield client
    sys.modules.pop('nova_sched.compat.nova.cinder', None)


@pytest.fixture
def fresh_nova_names(cinderclient):
    """Nova's names can be imported, and none is imported yet."""
    with wild.fresh_nova_names():
        yield


@pytest.fixture
def plug_ins(cloud):
    """The module row_plug_ins, on a cloud of three hosts."""
    cloud.load_nodes(*(a_compute_node(
        host, free_ram_mb=free, cpu_allocation_ratio=1.0)
        for host, free in FREE.items()))
    nova_names.provide(rules.a_conf())
    import row_plug_ins
    return row_plug_ins


@pytest.fixture
def a_driver(cloud, plug_ins):
    """Function: return a started driver.

    driver, manager: names of classes in row_plug_ins.
    """
    def a_driver(driver=None, manager=None, **options):
        if manager:
            options['scheduler__host_manager'] = f'row_plug_ins.{manager}'
        options.setdefault('filter_scheduler__enabled_filters', [
            'RamFilter', 'ComputeFilter'])
        options['filter_scheduler__weight_classes'] = [
            'nova.scheduler.weights.ram.RAMWeigher']
        made = loading.load_driver(cloud.conf(
            scheduler__driver=(f'row_plug_ins.{driver}' if driver
                               else 'filter_scheduler'), **options))
        made.start()
        return made
    return a_driver


@pytest.fixture
def placement():
    """A Placement that offers the hosts a and b; a is used more."""
    candidates = http_placement.candidates(
        *map(http_placement.a_candidate, (A, B)))
    candidates.body['provider_summaries'][A]['resources']['VCPU']['used'] = 1
    with http_placement.placement() as server:
        server.on('GET', '/allocation_candidates', candidates)
        server.on('GET', '/resource_providers/',
                  Answer(body={'traits': ['HW_CPU_X86_AVX']}))
        yield server


@pytest.fixture
def memory_mb():
    """Memory of the hosts a, b and c, all of it free."""
    return 32768, 32768, 32768


@pytest.fixture
def manager(cloud, placement, provide, memory_mb, request):
    """Function: return the RPC endpoint of a driver.

    name: that of the driver.  has_placement: whether the configuration has
    a [placement].  sends: whether the service sends notifications.
    """
    cloud.load_nodes(*(
        a_compute_node(host, uuid=uuid, memory_mb=size, free_ram_mb=size)
        for host, uuid, size in zip('abc', (A, B, C), memory_mb,
                                    strict=True)))

    def manager(name, has_placement=True, host_manager='host_manager',
                sends=False, **options):
        conf = provide(''.join(
            f'{option} = {value}\n' for option, value in options.items())
            + f'[database]\nconnection = {cloud.url}\n'
            '[oslo_messaging_notifications]\ndriver = messagingv2\n'
            f'[scheduler]\ndriver = {name}\nhost_manager = {host_manager}\n'
            + ('[placement]\nauth_type = none\n'
               f'endpoint_override = {placement.url}\n'
               if has_placement else ''))
        driver = loading.load_driver(conf)
        driver.start()
        if not sends:
            return door(driver, conf=conf)
        notifier = notifications.Notifications(conf)
        notifier.configure()
        request.addfinalizer(notifier.stop)
        return door(driver, conf=conf, notifications=notifier)
    return manager


def ask(manager, count=1):
    """Call as of RPC 4.5: host names, one list an instance."""
    try:
        selections = manager.select_destinations(
            RequestContext(user_id='u'), return_objects=True,
            spec_obj=requests.a_request(num_instances=count)
            .obj_to_primitive(), return_alternates=True,
            instance_uuids=[a_uuid() for _ in range(count)])
    except messaging.ExpectedException as error:
        raise error.exc_info[1] from None
    return [[chosen['nova_object.data']['service_host'] for chosen in hosts]
            for hosts in selections]


def claimed(server):
    """The providers of the claims, in order."""
    return [next(iter(call.body['allocations'])) for call in server.asked
            if call.method == 'PUT' and call.body['allocations']]
