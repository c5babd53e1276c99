"""ComputeCapabilitiesFilter: hosts that can do what the flavor asks for.

1. ``requirements`` turns the flavor's extra specs into paths to what a host
   reports and what must be there.
2. For each, in their order, the hosts still passing are judged once a
   distinct value (``_meets``).
3. ``_found`` follows the rest of a path into JSON texts and dicts.
"""

import json

import numpy as np
from oslo_log import log as logging

from nova_sched.rules import attributes
from nova_sched.rules import phrases
from nova_sched.scheduler import filters
from nova_sched.scheduler.filters import extra_specs_ops

LOG = logging.getLogger(__name__)

_SCOPE = 'capabilities'

#: Names that are there but lead nowhere: methods, and what is no plain dict.
_OPAQUE = frozenset(('update', 'consume_from_request', 'service'))


class ComputeCapabilitiesFilter(filters.ColumnFilter):
    """Hosts whose capabilities meet the flavor's extra specs.

    ``capabilities:cpu_info:topology:cores`` = ``>= 8`` looks at what the host
    reports as cpu_info, topology, cores; extra specs of another scope are
    somebody else's, and those without a scope count where the host knows the
    name.  Operators: extra_specs_ops.  A capability that is missing does not
    meet any requirement.

    Raises InvalidInput when a numeric operator meets no number, or ``<or>``
    has no alternative, on a host that the extra specs before it have not
    rejected.
    """

    code = 'capabilities'
    logs_rejected = True
    run_filter_once_per_request = True

    # Any attribute of a host.
    inputs = tuple(attributes.NAMES - {*_OPAQUE, 'instances'})

    def inputs_for(self, spec_obj):
        return () if next(requirements(spec_obj), None) is None else (
            self.inputs)

    def mask(self, hosts, spec_obj):
        passes = np.ones(len(hosts), dtype=np.bool_)
        for path, required, scoped in requirements(spec_obj):
            if not passes.any():
                break
            left = hosts.where(passes)
            meets = _meets(left, path, required, scoped)
            if LOG.isEnabledFor(logging.DEBUG):
                _log(left.where(~meets), path, required)
            passes[passes] = meets
        return passes

    def reason(self, hosts, spec_obj):
        request = phrases.some((
            _needed(path, required)
            for path, required, _ in requirements(spec_obj)), '; ')
        texts = []
        for path, required, scoped in requirements(spec_obj):
            if not len(hosts):
                break
            meets = _meets(hosts, path, required, scoped)
            failing, hosts = hosts.where(~meets), hosts.where(meets)
            if len(failing):
                offered = _offered(failing, path)
                texts.append(f'{_needed(path, required)}, hosts have '
                             f'{phrases.listed(offered)}')
        return phrases.Reason(request, text='; '.join(texts))


def requirements(spec_obj):
    """Yield what a request asks of capabilities: (path, requirement, scoped).

    path: list of names, the first one of a host's attributes.
    scoped: False if hosts that do not know the name pass.
    """
    specs = dict(spec_obj.flavor.extra_specs or {})
    bits = specs.pop('hw:maxphysaddr_bits', None)
    if bits is not None:
        specs['capabilities:cpu_info:maxphysaddr:bits'] = f'>= {bits}'
    for key, required in specs.items():
        scope, *path = key.split(':')
        if not path:
            yield [key], required, False
        elif scope == _SCOPE:
            yield path, required, True


def _needed(path, required):
    return (f"{phrases.shortened(':'.join(path))} "
            f"'{phrases.shortened(required)}' needed")


def _meets(hosts, path, required, scoped):
    """Return which hosts meet one requirement: bool (n,)."""
    name, *rest = path
    if name in _OPAQUE:
        return np.zeros(len(hosts), dtype=np.bool_)

    def verdict(value):
        found = _found(value, rest)
        return found is not None and extra_specs_ops.match_key(
            ':'.join(path), str(found), required)

    column = attributes.column(hosts, name)
    if column is not None:
        meets = column.judge(verdict, hosts)
        absent = column.judge(lambda value: value is None, hosts)
        if absent.any():
            others = hosts.where(absent)
            meets[absent] = _stats(others, name).judge(verdict, others)
        return meets
    meets = _stats(hosts, name).judge(verdict, hosts)
    if scoped:
        return meets
    return meets | ~np.fromiter(
        (name in (stats or ()) for stats in hosts.objects('stats')),
        dtype=np.bool_, count=len(hosts))


def _stats(hosts, name):
    """Return one of the statistics of the hosts, None where it is absent:
    Column.
    """
    return attributes.Column.of([
        stats.get(name) if stats else None
        for stats in hosts.objects('stats')])


def _found(value, path):
    """Return what a path leads to from a value, or None.

    On the way, text is read as JSON.
    """
    for name in path:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as exc:
                LOG.debug("The capabilities '%(value).200s' couldn't be "
                          'loaded from JSON: %(error)s',
                          {'value': value, 'error': exc})
                return None
        if not isinstance(value, dict):
            return None
        value = value.get(name)
        if value is None:
            return None
    return value


def _offered(hosts, path):
    """Return the distinct values that hosts have at a path: set of texts."""
    name, *rest = path
    column = attributes.column(hosts, name) or _stats(hosts, name)
    return {str(_found(value, rest)) for value in column.in_use()}


def _log(rejected, path, required):
    for state in rejected.states():
        LOG.debug("%(host)s fails extra_spec requirements. '%(required)s' "
                  "does not match '%(path)s'",
                  {'host': state, 'required': required,
                   'path': ':'.join(path)})
        LOG.debug('%s fails flavor extra_specs requirements%s', state,
                  phrases.IN_QUEENS)
