"""Asking everything that the service would depend on, at the same time."""

from nova_sched import conf as config
from nova_sched.preflight.databases import Databases
from nova_sched.preflight.http_services import Neutron
from nova_sched.preflight.http_services import Placement
from nova_sched.preflight.message_broker import Bus
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row
from nova_sched.preflight.rows import as_written


def connected(setup):
    """What answers, and what there is behind it: list of Row.

    setup: setup.Setup.  Changes nothing anywhere.  What is down costs its
    own rows alone; how long it is waited for is bounded.
    """
    databases, bus = Databases(setup.conf), Bus(setup.conf)
    placement = Placement(setup.conf) if setup.placement else None
    neutron = Neutron(setup.conf) if setup.placement else None
    found = [*databases.rows(), *bus.rows()]
    if placement is None:
        found.append(_not_asked(setup))
    else:
        found += [*placement.rows(databases.computes()), *neutron.rows()]
    return as_written(setup.conf, found)


def _not_asked(setup):
    if config.placement_configured(setup.conf):
        return Row('Placement', OK,
                   f'{setup.driver} does not ask it')
    return Row('Placement', WARNING, '[placement] is not configured: the '
               'hosts are judged by what the databases say alone',
               'From Pike on a cloud has a Placement: set [placement] '
               'auth_type and the options that it needs')
