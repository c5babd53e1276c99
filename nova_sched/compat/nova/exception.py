"""As ``nova.exception``: exceptions that plug-ins raise, catch, derive from.

These cross RPC under Nova's own class paths.  ``exceptions.toml`` has the
exceptions that only plug-ins use.
"""

from nova_sched import exception
from nova_sched import toml_files
from nova_sched.compat import nova_exception

globals().update({
    name: cls for name, cls in vars(nova_exception).items()
    if isinstance(cls, type)} | {
    name: getattr(exception, name) for name in (
        'ClassNotFound', 'ComputeHostMetricNotFound', 'HostMappingNotFound',
        'InvalidInput', 'NoValidHost')})

for _name, _row in toml_files.read(
        'exceptions.toml', __package__).items():
    globals()[_name] = type(_name, (globals()[_row['base']],), {
        name: value for name, value in _row.items() if name != 'base'})
