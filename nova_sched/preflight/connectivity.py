"""Asking all that the service depends on, at the same time."""

from nova_sched import conf as config
from nova_sched.preflight.databases import Databases
from nova_sched.preflight.http_services import Neutron
from nova_sched.preflight.http_services import Placement
from nova_sched.preflight.message_broker import MessageBroker
from nova_sched.preflight.rows import OK
from nova_sched.preflight.rows import WARNING
from nova_sched.preflight.rows import Row
from nova_sched.preflight.rows import as_written


def check(setup):
    """Ask each service, and return the rows about it: list of Row.

    setup: setup.Setup.  Changes nothing anywhere.  A service that is down
    costs its own rows alone; the time to wait is bounded.
    """
    databases, broker = Databases(setup.conf), MessageBroker(setup.conf)
    placement = Placement(setup.conf) if setup.placement else None
    neutron = Neutron(setup.conf) if setup.placement else None
    found = [*databases.rows(), *broker.rows()]
    if placement is None:
        found.append(_placement_not_used(setup))
    else:
        found += [*placement.rows(databases.computes()), *neutron.rows()]
    return as_written(setup.conf, found)


def _placement_not_used(setup):
    if config.placement_configured(setup.conf):
        return Row('Placement', OK,
                   f'{setup.driver} does not ask it')
    return Row('Placement', WARNING, '[placement] is not configured: the '
               'hosts are judged by what the databases say alone',
               'From Pike on a cloud has a Placement: set [placement] '
               'auth_type and the options that it needs')
