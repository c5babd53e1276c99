"""As ``nova.scheduler.scheduler_options``: the operator's JSON file."""

import copy

from nova_sched.compat.nova.conf import CONF
from nova_sched.scheduler import scheduler_options


class SchedulerOptions:
    """The content of the file, read again when it changes."""

    def __init__(self):
        self._files = {}

    def get_configuration(self, filename=None):
        """Return a copy of the content: dict; {} without a file.

        filename: path; None for [DEFAULT] scheduler_json_config_location.
        """
        path = filename or CONF.scheduler_json_config_location
        if path not in self._files:
            self._files[path] = scheduler_options.SchedulerOptions(path)
        return copy.deepcopy(self._files[path].get_configuration())
