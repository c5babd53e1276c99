"""Codes of refusals, for programs: a closed catalogue (codes.toml).

A code names the cause that rejects a host or ends a request; its stage names
the part of the scheduling in which that happens.  Each built-in filter has a
code (``BaseFilter.code``).  Plug-ins may have codes that are not in the
catalogue.  ``doc/source/codes.rst`` describes the catalogue.
"""

import re

from nova_sched import toml_files
from nova_sched.rules import narrowing

#: Steps of a request in which hosts are rejected, or the request ends.
STAGES = REQUEST, PLACEMENT, STATE, FILTERS, CLAIMS, LATE, DRIVER = (
    'request', 'placement', 'state', 'filters', 'claims', 'late', 'driver')

#: Kinds of refusals, see ``scheduler.refusals``.
KINDS = (NO_CAPACITY, FILTERED_OUT, TOO_LARGE, FRAGMENTED, RACED, STATE_STALE,
         CONTRADICTION) = (
    'no_capacity', 'filtered_out', 'too_large', 'fragmented', 'raced',
    'state_stale', 'contradiction')

#: Codes of hosts that are rejected by an amount.
OF_AMOUNTS = frozenset(('placement_resource', 'vcpus', 'ram', 'disk', 'numa',
                        'pci'))

#: Names of steps in records that are neither filters nor ``narrowing``.
OFFERED, CLAIMED, SERVICE_UP, TOGETHER = (
    'allocation candidates', 'claims refused', 'service up',
    'filters together')

#: Maximum number of characters of a plug-in's code.
_LONGEST = 60


#: Code -> its stage.
CATALOGUE = {name: stage for stage, meanings in toml_files.read(
    'codes.toml', __package__).items() for name in meanings}

_OF_STEPS = {
    narrowing.CELL: 'other_cell', narrowing.DESTINATION: 'other_destination',
    narrowing.IGNORED: 'ignored', narrowing.FORCED_HOSTS: 'not_forced',
    narrowing.FORCED_NODES: 'not_forced', OFFERED: 'placement_not_offered',
    CLAIMED: 'claim_refused', SERVICE_UP: 'service_down'}


def stage(code):
    """Return the stage of a code; FILTERS for the code of a plug-in."""
    return CATALOGUE.get(code, FILTERS)


def of_rule(name, filter_=None):
    """Return the code of a rule.

    name: class name of a filter, or name of another step.
    filter_: the filter, if it is a filter.
    """
    code = getattr(filter_, 'code', None)
    if not isinstance(code, str) or not code:
        # GpuModelFilter has the code gpu_model.
        code = _OF_STEPS.get(name) or re.sub(
            '(?<=[a-z0-9])(?=[A-Z])', '_', name.removesuffix('Filter') or name)
    return re.sub('[^a-z0-9_]', '_', code[:_LONGEST].lower())
