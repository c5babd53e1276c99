"""As ``nova.scheduler.manager``, for programs that import SchedulerManager.
"""

from nova_sched import conf as config
from nova_sched.compat import report_methods
from nova_sched.compat.nova import reach
from nova_sched.compat.nova.conf import CONF
from nova_sched.objects import selection
from nova_sched.observe import recorder
from nova_sched.options import files
from nova_sched.scheduler import loading
from nova_sched.scheduler import manager
from nova_sched.scheduler.candidates import CandidateSource


class SchedulerManager(manager.SchedulerManager):
    """This service's manager with Nova's constructor.

    It sends no notifications.

    scheduler_driver: entry point name or class path of its driver; None for
        ``[scheduler] driver``.  Further arguments are ignored.

    It reads the configuration files of ``nova.conf.CONF``.
    Raises ConfigurationError for a driver that cannot be loaded,
    DatabaseUnavailable if the initial read of the hosts fails.
    """

    def __init__(self, scheduler_driver=None, *args, **kwargs):
        conf = config.new_conf([f'--config-file={path}' for path
                                in files.config_files(CONF)], [])
        if scheduler_driver is not None:
            conf.set_override('driver', scheduler_driver, 'scheduler')
        loaded = loading.load_driver(conf)
        loaded.start()
        super().__init__(
            loaded, CandidateSource(conf, loaded, reach.reader),
            recorder.Recorder(),
            text=conf.nova_sched.no_valid_host_text,
            limits=manager.Limits.of(conf))

    def select_destinations(self, ctxt, *args, **kwargs):
        """Choose hosts; arguments are those of any release from Kilo on.

        Returns dicts, or with return_objects lists of Selection.
        Raises oslo_messaging's ExpectedException, which wraps NoValidHost and
        others, as the RPC endpoint does.
        """
        found = super().select_destinations(ctxt, *args, **kwargs)
        return [_as_objects(chosen) if isinstance(chosen, list) else chosen
                for chosen in found]

    @property
    def placement_client(self):
        """The client of Placement with Nova's methods, or None."""
        client = self.candidate_source.placement_client
        return client and report_methods.with_nova_methods(client)

    def _run_periodic_tasks(self, context):
        """Run the driver's periodic tasks."""
        self.driver.run_periodic_tasks(context)

    def reset(self):
        """Read cells and aggregates again."""
        # An empty update forces a full read.
        self.driver.update_aggregates(())


def _as_objects(chosen):
    return [selection.Selection.from_envelope(one) for one in chosen]
