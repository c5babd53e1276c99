"""Guru Meditation reports: what a process is doing, when it is asked by a
signal or a file.

SIGUSR2 has a process write its threads' stacks, its children and its
configuration to stderr, or into a file in ``[oslo_reports] log_dir``, as
Nova's services do. The process goes on meanwhile.
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
    """Have this process, and those that it forks, answer SIGUSR2.

    SIGUSR1, by which services of older releases are asked, is ignored.
    conf: ConfigOpts.  To be called from the main thread.
    Where ``[oslo_reports] file_event_handler`` asks for reports the signal
    does nothing; see ``watch_file``.
    """
    def answer(_number, frame):
        _kind(conf).handle_signal(_VERSION, _name(conf),
                                  conf.oslo_reports.log_dir, frame)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    is_by_file = conf.oslo_reports.file_event_handler
    signal.signal(signal.SIGUSR2, signal.SIG_IGN if is_by_file else answer)


def watch_file(conf):
    """Begin to write a report whenever ``file_event_handler`` changes.

    In this process alone: a thread watches, which a fork does not copy.
    """
    options = conf.oslo_reports
    if not options.file_event_handler:
        return
    try:
        _kind(conf).setup_autorun(_VERSION, _name(conf), conf=conf)
    except OSError as error:
        reason = error.strerror
    else:
        return
    LOG.error('[oslo_reports] file_event_handler = %(path)s: %(reason)s; no '
              'reports are written. Make the file and restart',
              {'path': options.file_event_handler, 'reason': reason})


def _name(conf):
    """Return how the names of this process's files begin."""
    return f'{conf.prog}-{os.getpid()}'


def _kind(conf):
    """Return the class of reports on a process with this configuration."""
    class Report(reports.TextGuruMeditation):
        """With our options instead of those of the global configuration."""

        def add_section(self, title, generator, *args):
            if title == 'Configuration':
                generator = configuration
            super().add_section(title, generator, *args)

    def configuration():
        return models.ModelWithDefaultViews(
            option_values.masked(conf, option_values.read(conf)),
            text_view=views.KeyValueView(dict_sep=': ', before_dict=''))
    return Report
