"""Access to ``nova_sched.compat``, without which the service also runs.

``nova_sched.compat`` adapts plug-ins that are written for Nova, and reads the
dicts of RPC callers below version 4.3.  It registers a class derived from
``Compat`` as entry point in the namespace ``nova_sched.compat``; no other
module outside of it imports it.
"""

import functools
import inspect

from nova_sched import exception
from nova_sched.options import entry_points

NAMESPACE = 'nova_sched.compat'


class Compat:
    """The service without ``nova_sched.compat``.

    Each method serves built-in classes, plug-ins that are written for
    nova_sched, and callers of RPC version 4.3 and later.  It refuses all else
    by name.
    """

    #: Why a name of Nova's cannot be imported.
    not_offered = ('is a name of Nova, which needs the package '
                   f'{NAMESPACE}; it is not installed')

    def provide_names(self, conf):
        """Make Nova's module names importable, configured by ``conf``."""

    def hint(self, error):
        """Return an addition to the text of an import error, often ''."""
        name = getattr(error, 'name', None) or ''
        is_of_nova = isinstance(error, ImportError) and (
            name.partition('.')[0] == 'nova')
        return f'; {name} {self.not_offered}' if is_of_nova else ''

    def check_methods(self, plug_in, option):
        """Raise ConfigurationError for a method of Nova's that is not called.

        plug_in: driver or host manager, or its class.
        option: ``[group] name`` for messages.
        """

    def constructor(self, cls):
        """Return the class to construct with a ConfigOpts in place of ``cls``.
        """
        return cls

    def driver_class(self, cls, option, has_foreign_hosts=False):
        """Return the class to use in place of a driver class.

        has_foreign_hosts: whether the host manager is a plug-in.
        Raises ConfigurationError for a driver whose select_destinations takes
        other arguments than scheduler.driver.Scheduler's.
        """
        try:
            inspect.signature(cls.select_destinations).bind(
                *range(4), return_alternates=True, offer=None, record=None)
        except TypeError:
            raise exception.ConfigurationError(
                option, f'{cls.__module__}.{cls.__qualname__}',
                'its select_destinations takes '
                f'{inspect.signature(cls.select_destinations)}; drivers that '
                f'are written for Nova need the package {NAMESPACE}, which is '
                'not installed') from None
        return cls

    def adapted_filters(self, filters):
        """Return filters, with adapters where they are needed: list."""
        return filters

    def adapted_weighers(self, weighers):
        """Return weighers, with adapters where they are needed: list."""
        return weighers

    def spec_from_dicts(self, request_spec, filter_properties):
        """Return the RequestSpec of the arguments of RPC 4.2 and older.

        Raises MalformedError, IncompatibleObjectVersion, InvalidInput.
        """
        raise exception.InvalidInput(reason=(
            'request_spec: dicts of callers below RPC version 4.3 need the '
            f'package {NAMESPACE}, which is not installed'))

    def request_of(self, request):
        """Return the RequestSpec that a plug-in passes to a built-in rule."""
        return request

    def with_mapping(self, spec_obj):
        """Return a RequestSpec in the form that plug-ins receive."""
        return spec_obj

    def set_current_hosts(self, snapshot):
        """Set the HostSnapshot that objects' class methods read."""

    def limit_plug_ins(self, client):
        """Limit plug-ins to reading, in Placement by this client.

        client: SchedulerReportClient; None removes the limit.
        """


@functools.cache
def loaded():
    """Return the Compat in use: of the installed package, or without it."""
    for point in entry_points.named(NAMESPACE):
        try:
            return point.load()()
        except ModuleNotFoundError as error:
            if not (error.name or '').startswith(NAMESPACE):
                raise
    return Compat()
