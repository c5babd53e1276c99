"""As ``nova.api.openstack.common``: instances, with the API's errors."""

import importlib

from nova_sched.compat import nova_exception


def get_instance(compute_api, context, instance_id, expected_attrs=None,
                 cell_down_support=False):
    """Return the Instance of a uuid from an API of ``nova.compute``.

    Raises webob's HTTPNotFound without one, or InstanceNotFound where webob
    is not installed.
    """
    try:
        return compute_api.get(context, instance_id,
                               expected_attrs=expected_attrs)
    except nova_exception.InstanceNotFound as error:
        try:
            exc = importlib.import_module('webob.exc')
        except ImportError:
            # Without webob, no plug-in catches its exception.
            raise error from None
        raise exc.HTTPNotFound(explanation=str(error)) from error
