"""The inputs that rules declare, and conclusions from them.

``inputs`` of a rule is a tuple of names: columns of hosts (``hosts.columns``),
the names below, and columns of instances such as
``instances.instance_type_id``.  ``inputs_for`` returns the inputs that count
for one request.  None means that the rule may read anything, as plug-ins do.
"""

from nova_sched.hosts import columns

#: All instances of all hosts.  They, and columns of instances, are read
#: before the decision lock is taken.
INSTANCES = 'instances'
#: The hosts of the instances that a request names.
LOCATED = 'located instances'
#: Image properties of instances; they do not change with a pick.
IMAGES = 'images of instances'
#: Hosts other than the judged host.
OTHER_HOSTS = 'other hosts'
#: The hints of the request, which a tenant sets.
HINTS = 'hints'
#: The column with the heartbeats of services.
HEARTBEATS = 'service'

_COLUMN = f'{INSTANCES}.'


def read(filters_, name, spec_obj=None):
    """Return whether one of the filters declares an input.

    spec_obj: the RequestSpec; None for any request.
    """
    return any(name in ((filter_.inputs if spec_obj is None
                         else filter_.inputs_for(spec_obj)) or ())
               for filter_ in filters_)


def instance_columns(filters_):
    """Return the names of instances' columns that filters read: tuple."""
    return tuple(dict.fromkeys(
        name.removeprefix(_COLUMN) for filter_ in filters_
        for name in filter_.inputs or () if name.startswith(_COLUMN)))


def changed_by_picks(rules, spec_obj):
    """Return the ids of the rules with a result that a pick may change: set.

    None if a pick may change a rule's result for other hosts than the picked
    host.
    """
    changed = set()
    for rule in rules:
        names = rule.inputs_for(spec_obj)
        if names is None or OTHER_HOSTS in names:
            return None
        if changed_inputs(rule, spec_obj):
            changed.add(id(rule))
    return changed


def changed_inputs(rule, spec_obj):
    """Return the inputs of a rule that a pick changes: set of names.

    The rule declares its inputs.
    """
    return {name for name in rule.inputs_for(spec_obj)
            if name in _CHANGED or name.startswith(_COLUMN)}


#: Inputs that a pick changes, besides columns of instances.
_CHANGED = {*columns.CONSUMED, INSTANCES, LOCATED}


def judges_by_hints(filter_):
    """Return whether a filter's verdict depends on hints; None if unknown.

    Plug-ins may declare it by an attribute ``judges_by_hints``.
    """
    declared = getattr(filter_, 'judges_by_hints', None)
    if declared is None and filter_.inputs is not None:
        return HINTS in filter_.inputs
    return declared


def asks_others(filter_, spec_obj):
    """Return whether a filter queries other services for a request."""
    return filter_.asks_others and filter_.inputs_for(spec_obj) != ()
