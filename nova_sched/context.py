"""The request context: a caller's identity and request id.

In RPC messages it is a flat dict, the ``_context_*`` keys, which differ by
release.  A missing or unknown key is no error, and unknown keys are passed on.
"""

import copy
import datetime

from oslo_context import context
from oslo_utils import timeutils

#: Keys of attributes that oslo.context does not have.
_EXTRA = (
    'service_catalog', 'read_deleted', 'remote_address', 'quota_class')
#: Keys that ``to_dict`` writes besides oslo.context's, named as attributes.
_WRITTEN = (
    'user_id', 'user_name', 'project_name', 'domain_name', 'user_domain_name',
    'project_domain_name', *_EXTRA)
#: Keys that are read into attributes; all others are passed on unchanged.
_KNOWN = frozenset((
    *_WRITTEN, 'user', 'tenant', 'project', 'project_id', 'domain',
    'user_domain', 'project_domain', 'is_admin', 'is_admin_project',
    'read_only', 'show_deleted', 'auth_token', 'request_id',
    'global_request_id', 'resource_uuid', 'roles', 'system_scope',
    'timestamp', 'user_identity', 'trace_info'))


class RequestContext(context.RequestContext):
    """A caller's identity and request id, as Nova's releases send them.

    service_catalog: list of services.  read_deleted: 'no', 'yes' or 'only'.
    timestamp: time of the user's request, naive UTC.
    extra: unknown keys of the wire form.
    Other arguments are those of oslo.context.
    """

    def __init__(self, *, service_catalog=None, read_deleted='no',
                 remote_address=None, quota_class=None, timestamp=None,
                 extra=None, **kwargs):
        super().__init__(**kwargs)
        self.service_catalog = service_catalog or []
        self.read_deleted = read_deleted
        self.remote_address = remote_address
        self.quota_class = quota_class
        self.timestamp = timestamp or timeutils.utcnow()
        self._extra = extra or {}

    @classmethod
    def from_dict(cls, values, **kwargs):
        """Return a context from the wire form of any release.

        values: dict or None.  kwargs: constructor arguments, which take
            precedence.
        Missing and unknown keys, and invalid values, are no errors.
        """
        values = values or {}
        roles = values.get('roles')
        return super().from_dict(values, **{
            **{name: values.get(name) for name in _EXTRA},
            'user_id': values.get('user_id') or values.get('user'),
            'project_id': (values.get('project_id') or values.get('project')
                           or values.get('tenant')),
            'roles': list(roles) if isinstance(roles, (list, tuple)) else [],
            'read_deleted': values.get('read_deleted') or 'no',
            'timestamp': _parse_time(values.get('timestamp')),
            'extra': {name: value for name, value in values.items()
                      if name not in _KNOWN},
            **kwargs})

    def to_dict(self):
        """Return the wire form, with the keys of all releases: dict."""
        return {
            **self._extra,
            **super().to_dict(),
            **{name: getattr(self, name) for name in _WRITTEN},
            'tenant': self.project_id,
            'timestamp': self.timestamp.isoformat(timespec='microseconds')}

    def get_logging_values(self):
        """Return the values for log lines, without token or unknown keys."""
        values = super().get_logging_values()
        for name in ('service_catalog', *self._extra):
            values.pop(name, None)
        values['timestamp'] = str(self.timestamp)
        return values

    def elevated(self, read_deleted=None):
        """Return a copy with administrator rights.

        read_deleted: 'no', 'yes' or 'only' for the copy; None keeps it.
        """
        twin = copy.copy(self)
        twin.is_admin = True
        twin.roles = list(self.roles)
        if 'admin' not in twin.roles:
            twin.roles.append('admin')
        if read_deleted is not None:
            twin.read_deleted = read_deleted
        return twin

    def __repr__(self):
        return (f'<RequestContext {self.request_id} user {self.user_id} '
                f'project {self.project_id}>')


def forget():
    """Remove the context of this thread, also from its log lines."""
    context._request_store.context = None


def get_admin_context():
    """Return an administrator's context for the service's own work."""
    return RequestContext(is_admin=True, roles=['admin'], overwrite=False)


def get_context():
    """Return a context without user or administrator rights; for plug-ins."""
    return RequestContext(is_admin=False, overwrite=False)


def _parse_time(text):
    """Return a time stamp as a naive UTC datetime; None if it is invalid."""
    try:
        return timeutils.normalize_time(datetime.datetime.fromisoformat(text))
    except (TypeError, ValueError, OverflowError):
        return None
