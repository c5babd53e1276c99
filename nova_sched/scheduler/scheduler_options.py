"""The operator's JSON file of options for plug-ins, reread when it changes.

``[DEFAULT] scheduler_json_config_location`` names it. Its content goes to
filters and weighers as it is: ``filter_properties['config_options']``, or
``spec_obj.config_options``; nothing built in reads it.
"""

import json
import os
import threading

from oslo_log import log as logging

LOG = logging.getLogger(__name__)


class SchedulerOptions:
    """The content of the file at a path; an empty path means none.

    A file that is missing or broken is logged once, and the last good
    content stays.
    """

    def __init__(self, path):
        self._path = path
        self._lock = threading.Lock()
        self._seen = None
        self._content = {}

    def get_configuration(self):
        """The content as a dict; {} without a file.

        All callers get the same one, which none may change: a RequestSpec
        shows plug-ins a copy.
        """
        if not self._path:
            return {}
        with self._lock:
            seen = self._stamp()
            if seen != self._seen:
                self._seen = seen
                self._content = self._read()
            return self._content

    def _stamp(self):
        try:
            status = os.stat(self._path)
        except OSError:
            return 'missing'
        # Changed times too: a file that is made readable, or moved here with
        # its old time stamp, is another one.
        return status.st_mtime_ns, status.st_ctime_ns, status.st_size

    def _read(self):
        try:
            with open(self._path, encoding='utf-8') as file:
                content = json.load(file)
            if not isinstance(content, dict):
                raise ValueError('it holds no JSON object')
        except (OSError, ValueError, RecursionError) as exc:
            LOG.error('[DEFAULT] scheduler_json_config_location = %(path)s '
                      'cannot be read, the last good content stays: '
                      '%(error)s', {'path': self._path, 'error': exc})
            return self._content
        LOG.info('Options for plug-ins read from %s', self._path)
        return content
