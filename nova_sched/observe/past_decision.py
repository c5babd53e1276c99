"""A past decision with its inputs, to explain it or to decide again."""

import contextlib
import dataclasses

import numpy as np
from oslo_versionedobjects.exception import IncompatibleObjectVersion

from nova_sched import context
from nova_sched import exception
from nova_sched.hosts import instances
from nova_sched.hosts.allocation_candidates import PLACEMENT_NOT_USED
from nova_sched.hosts.allocation_candidates import AllocationCandidates
from nova_sched.hosts.allocation_candidates import NoCandidates
from nova_sched.hosts.allocation_candidates import SingleProviders
from nova_sched.hosts.table import Cells
from nova_sched.hosts.table import HostTable
from nova_sched.objects import arguments
from nova_sched.observe import decision_document
from nova_sched.observe import decision_view
from nova_sched.rules import codes
from nova_sched.scheduler.attempt import SchedulingRequest


@dataclasses.dataclass(frozen=True)
class PastDecision:
    """A decision and its inputs.

    view: DecisionView.
    call: the arguments of the call, a dict; None if they are not stored.
    table: HostTable that the request was decided on.
    inputs: result of decision_document.inputs.
    """

    view: decision_view.DecisionView
    call: dict | None
    table: HostTable
    inputs: dict

    def request(self, options=None):
        """Return the request as it was decided: SchedulingRequest.

        options: content of the operator's JSON file of options.
        Raises InvalidInput if it is not stored, or cannot be read.
        """
        if self.call is None:
            raise exception.InvalidInput(
                reason='the request was too large to be stored')
        uuids = self.call.get('instance_uuids')
        return SchedulingRequest(
            self._spec_obj(), uuids if isinstance(uuids, list) else None,
            self.view.fields['instances'],
            context=context.RequestContext(is_admin=True),
            options=options or {})

    def _spec_obj(self):
        edited = self.inputs.get('spec_obj')
        spec_obj = (arguments.from_wire(edited) if edited
                    else spec_obj_of(self.call))
        group, siblings = spec_obj.instance_group, self.inputs['siblings']
        if group is not None and siblings:
            group.members = [*(group.members or ()), *siblings]
            if group.hosts is not None:
                group.hosts = [*group.hosts, *siblings.values()]
        return spec_obj

    def hosts(self, host_manager):
        """Return the hosts as they were before the first instance was placed:
        HostSnapshot.

        host_manager: scheduler.host_manager.HostManager; its own hosts are not
            used.
        """
        cells = Cells(
            tuple(map(tuple, self.inputs['reads'])),
            tuple(map(tuple, self.inputs['lost'])),
            frozenset(self.inputs['disabled_cells']),
            frozenset(self.inputs.get('unmapped', ())))
        return host_manager.snapshot(
            self.table.of(self.table.columns, cells), self._instances(),
            self.inputs['clock'], self._offer())

    def _instances(self):
        running = self.inputs['running']
        known = instances.Instances(
            lambda uuids: {uuid: running[uuid] for uuid in uuids
                           if uuid in running},
            _not_stored, images=_not_stored, details=_not_stored)
        known.start_over({
            uuid: instances.Placed(uuid, host) for uuid, host in (
                self.inputs['in_flight'] | self.inputs['siblings']
            ).items()})
        return known

    def _offer(self):
        if 'spec_obj' not in self.inputs:
            return PLACEMENT_NOT_USED
        why_none = self.view.fields['candidates'].get('why_none')
        if why_none is not None:
            return NoCandidates(why_none)
        column = self.table.columns['uuid']
        uuids = [column.values[code] for code in column.codes[
            ~self.view.is_rejected_by(codes.OFFERED)].tolist()]
        return AllocationCandidates(
            self._by_provider(uuids), frozenset(uuids),
            self.inputs['version'])

    def _by_provider(self, uuids):
        """Return the allocation requests for each host: a mapping.

        uuids: of the hosts that Placement offered.
        """
        if 'by_provider' in self.inputs:
            return self.inputs['by_provider']
        if 'offers' not in self.inputs:
            # No rule reads the amounts.
            return SingleProviders(
                {uuid: row for row, uuid in enumerate(uuids)},
                [({}, np.ones(len(uuids), np.bool_))])
        return SingleProviders(
            {uuid: row for row, uuid
             in enumerate(self.table.columns['uuid'].items())},
            [(resources, np.unpackbits(
                np.frombuffer(bytes.fromhex(bits), np.uint8),
                count=self.table.size).view(np.bool_))
             for resources, bits in self.inputs['offers']])


def spec_obj_of(call):
    """Return the RequestSpec of the arguments of a call, a dict.

    Raises the errors of objects.arguments for malformed arguments.
    """
    if 'spec_obj' in call:
        return arguments.from_wire(call['spec_obj'])
    return arguments.from_legacy_dicts(
        call.get('request_spec'), call.get('filter_properties'))


def requested(call):
    """Return decision_document.requested for the arguments of a call.

    None for a call that is not stored, or cannot be read.
    """
    with contextlib.suppress(exception.InvalidInput,
                             IncompatibleObjectVersion):
        return call and decision_document.requested(spec_obj_of(call))


def _not_stored(*names):
    raise exception.InvalidInput(
        reason='the instances that ran on each host are not stored')
