"""As ``nova.exception``: exceptions that plug-ins raise, catch, derive from.

These cross RPC under Nova's own class paths.  ``exceptions.toml`` has the
exceptions that only plug-ins use.
"""

from nova_sched import exception
from nova_sched.compat import nova_exception
from nova_sched.options import known_options

ClassNotFound = exception.ClassNotFound
ComputeHostMetricNotFound = exception.ComputeHostMetricNotFound
HostMappingNotFound = exception.HostMappingNotFound
InvalidInput = exception.InvalidInput
NoValidHost = exception.NoValidHost

ComputeHostNotFound = nova_exception.ComputeHostNotFound
HostNotFound = nova_exception.HostNotFound
InstanceNotFound = nova_exception.InstanceNotFound
Invalid = nova_exception.Invalid
InvalidHypervisorVirtType = nova_exception.InvalidHypervisorVirtType
NotFound = nova_exception.NotFound
NovaException = nova_exception.NovaException
ResourceProviderRetrievalFailed = (
    nova_exception.ResourceProviderRetrievalFailed)
ResourceProviderTraitRetrievalFailed = (
    nova_exception.ResourceProviderTraitRetrievalFailed)

for _name, _row in known_options.table(
        'exceptions.toml', __package__).items():
    globals()[_name] = type(_name, (globals()[_row['base']],), {
        name: value for name, value in _row.items() if name != 'base'})
