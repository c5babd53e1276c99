"""The operator's JSON file of options for plug-ins, read when it changes.

``[DEFAULT] scheduler_json_config_location`` names it. Filters and weighers get
its content as ``filter_properties['config_options']`` or as
``spec_obj.config_options``; no built-in one uses it.
"""

import json
import os
import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class SchedulerOptions:
    """The content of the file at a path; an empty path means no file.

    A missing or invalid file is logged once, and the last valid content is
    used.
    """

    def __init__(self, path):
        self._path = path
        self._lock = threading.Lock()
        self._last_stamp = None
        self._content = {}

    def get_configuration(self):
        """Return the content as a dict, {} without a file.

        All callers share the dict and must not change it; a RequestSpec gives
        plug-ins a copy.
        """
        if not self._path:
            return {}
        with self._lock:
            stamp = self._stamp()
            if stamp != self._last_stamp:
                self._last_stamp = stamp
                self._content = self._read()
            return self._content

    def _stamp(self):
        try:
            status = os.stat(self._path)
        except OSError:
            return 'missing'
        # ctime changes where mtime does not: with permissions, or when a file
        # is moved here.
        return status.st_mtime_ns, status.st_ctime_ns, status.st_size

    def _read(self):
        try:
            with open(self._path, encoding='utf-8') as file:
                content = json.load(file)
            if not isinstance(content, dict):
                raise ValueError('it holds no JSON object')
        except (OSError, ValueError, RecursionError) as exc:
            LOG.error('[DEFAULT] scheduler_json_config_location = %(path)s '
                      'cannot be read; using its last valid content: '
                      '%(error)s', {'path': self._path, 'error': exc})
            return self._content
        LOG.info('Options for plug-ins read from %s', self._path)
        return content
