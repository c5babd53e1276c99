"""A method of Nova's is called, or refused with what takes its place."""


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

#: Heading on the page -> the class that one's own derives from.
BASES = {
    'Drivers': nova_driver.Scheduler,
    'FilterScheduler': nova_filter_scheduler.FilterScheduler,
    'ChanceScheduler': chance.ChanceScheduler,
    'Host managers': nova_host_manager.HostManager,
}
TABLES = {
    'Drivers': nova_methods.DRIVER,
    'FilterScheduler': nova_methods.FILTER_SCHEDULER,
    'ChanceScheduler': nova_methods.CHANCE_SCHEDULER,
    'Host managers': nova_methods.HOST_MANAGER,
}

CASES = [(base, name, method.instead)
         for base in (*BASES.values(), filter_scheduler.FilterScheduler,
                      host_manager.HostManager)
         for name, method in nova_methods.methods_of(base).items()]


@pytest.mark.parametrize(('base', 'name', 'instead'), CASES)
def test_an_override_is_asked_or_refused(base, name, instead):
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


class Mixed:
    """Brings a method along."""

    def populate_filter_properties(self, request_spec, filter_properties):
        """As of Kilo."""


class Mixing(Mixed, filter_scheduler.FilterScheduler):
    """Has it from elsewhere."""


class Plain(nova_host_manager.HostManager):
    """Written for Nova; made without arguments."""

    def __init__(self):
        super().__init__()
        self.racks = 7


class Choosing(host_manager.HostManager):
    """With Nova's way to filter, but of this service's class."""

    def get_filtered_hosts(self, hosts, spec_obj, index=0):
        """Never called by anybody."""


class Misprinting(host_manager.HostManager):
    """Written after a document with a misprint."""

    def get_filters_hosts(self, hosts, spec_obj, index):
        """Never called by anybody."""


def test_one_that_comes_from_elsewhere_is_refused_at_start(cloud):
    with pytest.raises(exception.ConfigurationError,
                       match='populate_filter_properties would never'):
        loading.load_driver(cloud.conf(
            scheduler__driver=f'{__name__}.Mixing'))


def test_a_host_manager_written_for_nova_is_made_without_arguments(cloud):
    conf = cloud.conf(scheduler__host_manager=f'{__name__}.Plain')
    made = loading.load_driver(conf).host_manager
    made.refresh()

    assert (made.racks, made.conf) == (7, conf)


def test_the_class_to_derive_from_is_named(cloud):
    with pytest.raises(exception.ConfigurationError,
                       match=r'get_filtered_hosts would never .*derive from '
                             r'nova\.scheduler\.host_manager\.HostManager'):
        loading.load_driver(cloud.conf(
            scheduler__host_manager=f'{__name__}.Choosing'))


def test_a_misprinted_name_is_answered_with_the_right_one(cloud):
    with pytest.raises(exception.ConfigurationError,
                       match='misprint of get_filtered_hosts'):
        host_manager.load_host_manager(cloud.conf(
            scheduler__host_manager=f'{__name__}.Misprinting'))


@pytest.mark.parametrize('heading', TABLES)
def test_what_is_said_to_be_called_is(heading):
    assert [name for name, method in TABLES[heading].items()
            if method.called] == [
        name for name in TABLES[heading]
        if nova_methods.is_called(BASES[heading], name)]


class Busy(driver.Scheduler):
    """Of this service's, with work to do now and then."""

    def select_destinations(self, context, spec_obj, instance_uuids,
                            return_alternates=False):
        """Nothing."""

    def run_periodic_tasks(self, context):
        """Something."""


def test_periodic_work_is_done_of_any_driver():
    assert loading.driver_class(f'{__name__}.Busy').PERIODIC
