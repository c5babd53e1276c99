"""Codes of refusals: a closed catalogue (codes.toml), for programs and docs.

A code says what takes a host out, or ends a request; its stage says where on
a request's way.  Each built-in filter names its own (``BaseFilter.code``), and
so may plug-ins, for which any other name is free.  ``doc/source/codes.rst``
has a section on each.
"""

import importlib.resources
import re
import tomllib
import typing

from nova_sched.rules import narrowing

#: Where on its way a request loses hosts, or ends.
STAGES = REQUEST, PLACEMENT, STATE, FILTERS, CLAIMS, LATE, DRIVER = (
    'request', 'placement', 'state', 'filters', 'claims', 'late', 'driver')

#: What kind of a no it is, see ``rules.refusals``.
KINDS = (NO_CAPACITY, FILTERED_OUT, TOO_LARGE, FRAGMENTED, RACED, STATE_STALE,
         CONTRADICTION) = (
    'no_capacity', 'filtered_out', 'too_large', 'fragmented', 'raced',
    'state_stale', 'contradiction')

#: What hosts are out by that have no room.
OF_AMOUNTS = frozenset(('placement_resource', 'vcpus', 'ram', 'disk', 'numa',
                        'pci'))

#: What the other steps are called in the record of a request.
OFFERED, CLAIMED, SERVICE_UP, EARLIER, TOGETHER = (
    'allocation candidates', 'claims refused', 'service up',
    'earlier instances', 'filters together')

#: Characters of a plug-in's code.
_LONGEST = 60


class Code(typing.NamedTuple):
    """One code, its stage, and what it means, in words."""

    name: str
    stage: str
    meaning: str


CATALOGUE = {
    name: Code(name, stage, meaning) for stage, meanings in tomllib.loads(
        importlib.resources.files(__package__).joinpath('codes.toml')
        .read_text()).items() for name, meaning in meanings.items()}

_OF_STEPS = {
    narrowing.CELL: 'other_cell', narrowing.DESTINATION: 'other_destination',
    narrowing.IGNORED: 'ignored', narrowing.FORCED_HOSTS: 'not_forced',
    narrowing.FORCED_NODES: 'not_forced', OFFERED: 'placement_not_offered',
    CLAIMED: 'claim_refused', SERVICE_UP: 'service_down'}


def stage(code):
    """Return the stage of a code; of a plug-in's that of filters."""
    known = CATALOGUE.get(code)
    return FILTERS if known is None else known.stage


def of_rule(name, filter_=None):
    """Return the code of a rule.

    name: of a filter, or of a step that is none.
    filter_: the filter, if there is one.
    """
    code = getattr(filter_, 'code', None)
    if not isinstance(code, str) or not code:
        code = _OF_STEPS.get(name) or _named_by(name)
    return re.sub('[^a-z0-9_]', '_', code[:_LONGEST].lower())


def _named_by(name):
    """Return a code made of a class's name: 'gpu_model' of GpuModelFilter."""
    return re.sub('(?<=[a-z0-9])(?=[A-Z])', '_',
                  name.removesuffix('Filter') or name)
