"""Guru Meditation reports of a process, on a signal or a file event.

On SIGUSR2 a process writes the stacks of its threads, its children and its
configuration to stderr, or into a file in ``[oslo_reports] log_dir``, as
Nova's services do.  The process continues.
"""

import os
import signal
import types

from oslo_log import log as logging
from oslo_reports import guru_meditation_report as reports
from oslo_reports.models import with_default_views as models
from oslo_reports.views.text import generic as views

from nova_sched import version
from nova_sched.observe import option_values

LOG = logging.getLogger(__name__)

_VERSION = types.SimpleNamespace(
    vendor_string=lambda: 'OpenStack', product_string=lambda: version.PACKAGE,
    version_string_with_package=version.version_string)


def answer_signals(conf):
    """Write a report on SIGUSR2, in this process and in its later children.

    SIGUSR1, the signal of older releases, is ignored.
    conf: ConfigOpts.
    Must be called from the main thread.  With ``[oslo_reports]
    file_event_handler`` SIGUSR2 is ignored, too; see ``watch_file``.
    """
    def answer(_number, frame):
        _kind(conf).handle_signal(_VERSION, _name(conf),
                                  conf.oslo_reports.log_dir, frame)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    is_by_file = conf.oslo_reports.file_event_handler
    signal.signal(signal.SIGUSR2, signal.SIG_IGN if is_by_file else answer)


def watch_file(conf):
    """Write a report whenever ``[oslo_reports] file_event_handler`` changes.

    For this process only: a thread watches the file, and fork copies no
    threads.
    """
    options = conf.oslo_reports
    if not options.file_event_handler:
        return
    try:
        _kind(conf).setup_autorun(_VERSION, _name(conf), conf=conf)
        return
    except OSError as error:
        reason = error.strerror
    LOG.error('[oslo_reports] file_event_handler = %(path)s: %(reason)s; no '
              'reports are written. Make the file and restart',
              {'path': options.file_event_handler, 'reason': reason})


def _name(conf):
    """Return the prefix of the names of this process's files."""
    return f'{conf.prog}-{os.getpid()}'


def _kind(conf):
    """Return the class of reports on a process with this configuration."""
    class Report(reports.TextGuruMeditation):
        """Report with the service's options instead of the global
        configuration.
        """

        def add_section(self, title, generator, *args):
            if title == 'Configuration':
                generator = configuration
            super().add_section(title, generator, *args)

    def configuration():
        return models.ModelWithDefaultViews(
            option_values.masked(conf, option_values.read(conf)),
            text_view=views.KeyValueView(dict_sep=': ', before_dict=''))
    return Report
