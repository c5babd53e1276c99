"""Details of the instances on hosts, read from the databases on demand.

A plug-in that reads the flavor of one instance usually reads the flavors of
all.  So the first access reads the flavors of all instances on all hosts, and
they are cached during the request.
"""

import datetime
import functools
import json

from oslo_log import log as logging
from oslo_versionedobjects import exception as ovo_exception

from nova_sched import objects
from nova_sched.objects import pci

LOG = logging.getLogger(__name__)

#: Field of an instance -> key of the flavor in the column ``flavor``.
_FLAVORS = {'flavor': 'cur', 'old_flavor': 'old', 'new_flavor': 'new'}


class InstanceDetails:
    """Details of the instances on a request's hosts.

    read: function of the name of a column, ``metadata`` or
        ``system_metadata``, that returns {instance uuid: stored value}.
    """

    def __init__(self, read):
        self._read, self._stored, self._objects = read, {}, {}
        self._failed = {}

    def of(self, uuid, name):
        """Return the value of an instance's field, or None.

        Raises DatabaseUnavailable, also at later accesses to the column.
        """
        stored = self._all('flavor' if name in _FLAVORS else name).get(uuid)
        if stored is None:
            return None
        if name not in _CONVERTERS:
            return stored
        if isinstance(stored, str):
            # Many instances have the same flavor.
            key = name, stored
            if key not in self._objects:
                self._objects[key] = _read_text(name, stored, uuid)
            return self._objects[key]
        return _CONVERTERS[name](stored)

    def _all(self, column):
        """Return the values of a column: {instance uuid: value}."""
        if column in self._failed:
            # Without the cached error, each instance would wait again.
            raise self._failed[column]
        if column not in self._stored:
            try:
                self._stored[column] = self._read(column)
            except Exception as error:
                self._failed[column] = error
                raise
        return self._stored[column]


def _read_text(name, text, uuid):
    """Return the object of a stored text; None and a warning if invalid."""
    try:
        return _CONVERTERS[name](text)
    except (ValueError, TypeError, AttributeError, RecursionError,
            ovo_exception.VersionedObjectsException) as error:
        _warn_once(name, str(error), uuid)
    return None


@functools.lru_cache(maxsize=1024)
def _warn_once(name, error, uuid):
    LOG.warning('The %(name)s of instance %(uuid)s, and of others that have '
                'the same, cannot be read and counts as absent: %(error)s',
                {'name': name, 'error': error, 'uuid': uuid})


def _flavor(which, text):
    envelope = json.loads(text).get(which)
    return None if envelope is None else (
        objects.Flavor.from_envelope(envelope))


def _aware(moment):
    return moment.replace(tzinfo=datetime.UTC)


#: Field -> function that converts the stored value.
_CONVERTERS = {
    **{name: functools.partial(_flavor, which)
       for name, which in _FLAVORS.items()},
    'numa_topology': lambda text: (
        objects.InstanceNUMATopology.from_envelope(json.loads(text))),
    'pci_requests': pci.requests_from_any,
    'created_at': _aware, 'launched_at': _aware, 'updated_at': _aware,
}
