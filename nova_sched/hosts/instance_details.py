"""Details of a request's instances, read from the databases on demand.

A plug-in that asks one instance of a host for its flavor asks all of them, so
the first question reads the flavors of all, which the request then keeps.
"""

import datetime
import functools
import json

from oslo_log import log as logging
from oslo_versionedobjects import exception as ovo_exception

from nova_sched import objects
from nova_sched.objects import pci

LOG = logging.getLogger(__name__)

#: The flavors in the column of that name -> an instance's fields.
_FLAVORS = {'flavor': 'cur', 'old_flavor': 'old', 'new_flavor': 'new'}


class InstanceDetails:
    """Details of the instances on a request's hosts.

    read: function of the name of a column, or ``metadata`` or
        ``system_metadata``, returns {instance uuid: value as it is stored}.
    """

    def __init__(self, read):
        self._read, self._stored, self._made = read, {}, {}
        self._failed = {}

    def of(self, uuid, name):
        """Return the value of an instance's field, or None.

        Raises DatabaseUnavailable, and raises it again for the same column.
        """
        stored = self._all('flavor' if name in _FLAVORS else name).get(uuid)
        if stored is None:
            return None
        if name not in _MADE:
            return stored
        if isinstance(stored, str):
            # Most flavors are those of other instances, too.
            key = name, stored
            if key not in self._made:
                self._made[key] = _read_text(name, stored, uuid)
            return self._made[key]
        return _MADE[name](stored)

    def _all(self, column):
        """Return the values of a column: {instance uuid: value}."""
        if column in self._failed:
            # Else each instance of each host would wait for it again.
            raise self._failed[column]
        if column not in self._stored:
            try:
                self._stored[column] = self._read(column)
            except Exception as error:
                self._failed[column] = error
                raise
        return self._stored[column]


def _read_text(name, text, uuid):
    """Return the object of a stored text; None, with a warning, for others."""
    try:
        return _MADE[name](text)
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


#: How a field is made of what is stored; others are stored as they are.
_MADE = {
    **{name: functools.partial(_flavor, which)
       for name, which in _FLAVORS.items()},
    'numa_topology': lambda text: (
        objects.InstanceNUMATopology.from_envelope(json.loads(text))),
    'pci_requests': pci.requests_from_any,
    'created_at': _aware, 'launched_at': _aware, 'updated_at': _aware,
}
