"""ComputeCapabilitiesFilter: hosts with the capabilities of the flavor.

1. ``requirements`` turns the flavor's extra specs into paths to attributes of
   a host, with the required values.
2. For each requirement, in order, ``_meets`` judges the hosts that still pass,
   each distinct value once.
3. ``_value_at`` follows the rest of a path into JSON texts and dicts.
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

#: Attributes that no requirement can meet: methods, and ``service``, which is
#: no plain dict.
_OPAQUE = frozenset(('update', 'consume_from_request', 'service'))


class ComputeCapabilitiesFilter(filters.ColumnFilter):
    """Hosts with capabilities that meet the flavor's extra specs.

    ``capabilities:cpu_info:topology:cores`` = ``>= 8`` requires a value of
    cpu_info, topology, cores that the host reports.  Extra specs of other
    scopes are ignored.  Extra specs without a scope count if the host has an
    attribute of that name.  A missing capability meets no requirement.  For
    operators see extra_specs_ops.

    Raises InvalidInput if a numeric operator is applied to a value that is not
    a number, or ``<or>`` has no alternative, on a host that earlier extra
    specs have not rejected.
    """

    code = 'capabilities'
    logs_rejected = True
    run_filter_once_per_request = True

    # Any attribute of a host.
    inputs = tuple(attributes.NAMES - {*_OPAQUE, 'instances'})

    def inputs_for(self, spec_obj):
        names = {path[0] for path, *_ in requirements(spec_obj)}
        # Filters set ``limits``, by any of their inputs.
        if names & {'instances', 'limits'}:
            return self.inputs
        # ``stats`` have the values of hosts without the attribute.
        return tuple(names.intersection(self.inputs) | {'stats'}
                     if names else ())

    def mask(self, hosts, spec_obj):
        passes = np.ones(len(hosts), dtype=np.bool_)
        for path, required, scoped in requirements(spec_obj):
            if not passes.any():
                break
            passing = hosts.where(passes)
            meets = _meets(passing, path, required, scoped)
            _log(passing, meets, path, required)
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
    """Yield a request's requirements: (path, requirement, scoped).

    path: list of names; the first is an attribute of a host.
    scoped: False if hosts without the attribute pass.
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
        value = _value_at(value, rest)
        return value is not None and extra_specs_ops.match_key(
            ':'.join(path), str(value), required)

    column = attributes.column(hosts, name)
    if column is not None:
        meets = column.evaluate(verdict, hosts)
        absent = column.evaluate(lambda value: value is None, hosts)
        if absent.any():
            lacking = hosts.where(absent)
            meets[absent] = _stats(lacking, name).evaluate(verdict, lacking)
        return meets
    meets = _stats(hosts, name).evaluate(verdict, hosts)
    if scoped:
        return meets
    return meets | ~np.fromiter(
        (name in (stats or ()) for stats in hosts.objects('stats')),
        dtype=np.bool_, count=len(hosts))


def _stats(hosts, name):
    """Return one of the hosts' statistics: Column, with None where absent."""
    return attributes.Column.of([
        stats.get(name) if stats else None
        for stats in hosts.objects('stats')])


def _value_at(value, path):
    """Return the value at a path below a value, or None.

    Text on the path is read as JSON.
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
    return {str(_value_at(value, rest)) for value in column.in_use()}


def _log(hosts, meets, path, required):
    for state in filters.rejected(LOG, hosts, meets):
        LOG.debug("%(host)s fails extra_spec requirements. '%(required)s' "
                  "does not match '%(path)s'",
                  {'host': state, 'required': required,
                   'path': ':'.join(path)})
        LOG.debug('%s fails flavor extra_specs requirements%s', state,
                  phrases.IN_QUEENS)
