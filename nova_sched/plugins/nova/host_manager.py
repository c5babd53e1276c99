"""As ``nova.scheduler.host_manager``, of which plug-ins know HostState.

``HostManager`` is for one's own, which override none of Nova's methods
(plugins.nova_methods).  ``Lent`` is what a driver of one's own has as
``host_manager``.
"""

from nova_sched.hosts import state as host_state
from nova_sched.plugins import nova_form
from nova_sched.scheduler import host_manager

HostState = host_state.HostState


class HostManager(host_manager.HostManager):
    """This service's, made without arguments; ``conf`` is there by then."""

    #: See plugins.nova_form.
    MADE_ALONE = True

    def __init__(self):
        super().__init__(self.conf)


class Lent:
    """Hands out the states of hosts; in all else it is the service's own.

    manager: scheduler.host_manager.HostManager.
    """

    def __init__(self, manager):
        self._manager = manager

    def __getattr__(self, name):
        return getattr(self._manager, name)

    def get_all_host_states(self, context):
        """The states of all hosts; as of ``get_host_states_by_uuids``."""
        return self.get_host_states_by_uuids(context, None, None)

    def get_host_states_by_uuids(self, context, compute_uuids, spec_obj=None):
        """The states of hosts as they are at this moment: iterator.

        compute_uuids: of their compute nodes; None for all.
        spec_obj: RequestSpec whose requested destination may name a cell;
            None for those of any cell.
        Hosts of disabled cells are left out.  The states are the caller's:
        what is set on them nobody else sees.
        Raises DatabaseUnavailable when the hosts cannot be read.
        """
        self.refresh()
        hosts = self.snapshot(
            self.view().table, self.instances(),
            offer=nova_form.current().offer).block()
        hosts = hosts.where(~hosts.named(
            'cell_uuid', hosts.snapshot.cells.disabled))
        if compute_uuids is not None:
            hosts = hosts.where(hosts.named('uuid', compute_uuids))
        wanted = spec_obj and spec_obj.requested_destination
        if wanted and wanted.cell:
            hosts = hosts.where(hosts.named('cell_uuid', [wanted.cell.uuid]))
        return iter(hosts.states())
