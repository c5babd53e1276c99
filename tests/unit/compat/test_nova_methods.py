"""An override of Nova's method is called, or refused with an alternative."""

import pytest

from nova_sched import exception
from nova_sched.compat import nova_methods
from nova_sched.compat.nova import driver as nova_driver
from nova_sched.compat.nova import filter_scheduler as nova_filter_scheduler
from nova_sched.compat.nova import host_manager as nova_host_manager
from nova_sched.scheduler import chance
from nova_sched.scheduler import driver
from nova_sched.scheduler import filter_scheduler
from nova_sched.scheduler import host_manager
from nova_sched.scheduler import loading

#: Base class of a plug-in's class -> table of its methods.
TABLES = {
    nova_driver.Scheduler: nova_methods.DRIVER,
    nova_filter_scheduler.FilterScheduler: nova_methods.FILTER_SCHEDULER,
    chance.ChanceScheduler: nova_methods.CHANCE_SCHEDULER,
    nova_host_manager.HostManager: nova_methods.HOST_MANAGER,
}


@pytest.mark.parametrize(('base', 'name', 'instead'), [
    (base, name, method.instead)
    for base in (*TABLES, filter_scheduler.FilterScheduler,
                 host_manager.HostManager)
    for name, method in nova_methods.methods_of(base).items()])
def test_override_is_called_or_refused(base, name, instead):
    own = type('Own', (base,), {name: lambda self, *args: None,
                                '__module__': 'theirs'})

    if nova_methods.is_called(base, name):
        nova_methods.check(own, 'x')
    else:
        with pytest.raises(exception.ConfigurationError) as refused:
            nova_methods.check(own, '[scheduler] driver')
        assert str(refused.value) == (
            f"[scheduler] driver = 'theirs.Own': its {name} would never be "
            f'called: {instead}; if it is your own, give it another name; see '
            'doc/source/nova-methods.rst')


@pytest.mark.parametrize('base', TABLES)
def test_table_knows_which_methods_are_called(base):
    assert [name for name, method in TABLES[base].items()
            if method.called] == [
        name for name in TABLES[base] if nova_methods.is_called(base, name)]


class Mixed:
    def populate_filter_properties(self, request_spec, filter_properties):
        """As in Kilo."""


class Mixing(Mixed, filter_scheduler.FilterScheduler):
    """Inherits an override from another class."""


class Choosing(host_manager.HostManager):
    """A class of this service with Nova's method."""

    def get_filtered_hosts(self, hosts, spec_obj, index=0):
        """Never called."""


class Misprinting(host_manager.HostManager):
    """Written after a document with a misprint."""

    def get_filters_hosts(self, hosts, spec_obj, index):
        """Never called."""


@pytest.mark.parametrize(('option', 'cls', 'match'), [
    ('driver', Mixing, 'populate_filter_properties would never'),
    ('host_manager', Choosing, r'get_filtered_hosts would never .*derive from '
     r'nova\.scheduler\.host_manager\.HostManager'),
    ('host_manager', Misprinting, 'misprint of get_filtered_hosts')])
def test_class_is_refused_at_start(cloud, option, cls, match):
    with pytest.raises(exception.ConfigurationError, match=match):
        loading.load_driver(cloud.conf(
            **{f'scheduler__{option}': f'{__name__}.{cls.__name__}'}))


class Plain(nova_host_manager.HostManager):
    def __init__(self):
        super().__init__()
        self.racks = 7


def test_nova_s_host_manager_is_made_without_arguments(cloud):
    conf = cloud.conf(scheduler__host_manager=f'{__name__}.Plain')
    made = loading.load_driver(conf).host_manager
    made.refresh()

    assert (made.racks, made.conf) == (7, conf)


class Busy(driver.Scheduler):
    """A driver of this service with periodic work."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        """Never called."""

    def run_periodic_tasks(self, context):
        """Do nothing."""


def test_driver_of_this_service_may_have_periodic_work():
    assert loading.driver_class(f'{__name__}.Busy').PERIODIC
