"""What rules read, and what follows from it.

A rule declares it once, as ``inputs``: a tuple of names of columns of hosts
(``hosts.columns``), of INSTANCES and the like below, and of columns of
instances, as ``instances.instance_type_id``.  ``inputs_for`` returns those
that count for one request.  None stands for anything: nothing is known of the
rules of third parties.
"""

from nova_sched.hosts import columns

#: All instances of all hosts.  They, and columns of instances, are read
#: before the request's turn.
INSTANCES = 'instances'
#: Where the instances are that a request names.
LOCATED = 'located instances'
#: Properties of the images of instances, which do not change with a pick.
IMAGES = 'images of instances'
#: Other hosts than the one that is judged.
OTHER_HOSTS = 'other hosts'
#: The hints of the request, which its owner writes.
HINTS = 'hints'
#: The column that has when services that are up were last heard of.
HEARTBEATS = 'service'

_COLUMN = f'{INSTANCES}.'


def read(filters_, name, spec_obj=None):
    """Return whether one of the filters declares an input.

    spec_obj: the RequestSpec that it counts for; None for any.
    """
    return any(name in ((filter_.inputs if spec_obj is None
                         else filter_.inputs_for(spec_obj)) or ())
               for filter_ in filters_)


def instance_columns(filters_):
    """Return the columns of instances that filters read: tuple of names."""
    return tuple(dict.fromkeys(
        name.removeprefix(_COLUMN) for filter_ in filters_
        for name in filter_.inputs or () if name.startswith(_COLUMN)))


def changed_by_picks(rules, spec_obj):
    """Return which rules may say something else of a host once it is picked:
    set of their ids.

    None if one may say something else of another host, too.
    """
    found = set()
    for rule in rules:
        names = rule.inputs_for(spec_obj)
        if names is None or OTHER_HOSTS in names:
            return None
        if any(name in _CHANGED or name.startswith(_COLUMN)
               for name in names):
            found.add(id(rule))
    return found


#: What changes of a host with a pick, with columns of instances.
_CHANGED = {*columns.CONSUMED, INSTANCES, LOCATED}


def judges_by_hints(filter_):
    """Return whether a filter judges by hints of requests; None: it may.

    Plug-ins say so by an attribute of that name.
    """
    own = getattr(filter_, 'judges_by_hints', None)
    if own is None and filter_.inputs is not None:
        return HINTS in filter_.inputs
    return own


def asks_others(filter_, spec_obj):
    """Return whether a filter asks other services about a request."""
    return filter_.asks_others and filter_.inputs_for(spec_obj) != ()
