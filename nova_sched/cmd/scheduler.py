"""nova-sched: the daemon."""

import os
import sys

from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched.cmd import process
from nova_sched.daemon import supervisor
from nova_sched.daemon import systemd
from nova_sched.db import engine
from nova_sched.dry_run.shadow import runner as shadow
from nova_sched.dry_run.shadow import tap
from nova_sched.observe import guru
from nova_sched.observe import logs
from nova_sched.options import loading
from nova_sched.preflight import startup
from nova_sched.printable import printable

LOG = logging.getLogger(__name__)

OPTS = [cfg.BoolOpt('shadow', default=False, help=(
    'Answer nothing: decide what the schedulers of this configuration are '
    'asked, and report how far both agree.')), cfg.BoolOpt(
        'no-fork', default=False, help=(
            'Serve in this process alone, without workers, and keep its '
            'standard input: for a debugger in a filter.'))]


def main(argv=None):
    """Run until stopped, and return the exit status.

    argv: arguments without the program's name; None for the process's own.
    2 means that the configuration keeps the service from running; what is
    wrong stands on stderr, a line for each option.
    """
    process.configure_process()
    called = loading.program(sys.argv[0])
    argv = sys.argv[1:] if argv is None else argv

    def new_conf():
        return config.new_conf(argv, cli_opts=OPTS, called=called)

    # Out of the environment before anything else could claim it.
    notifier = systemd.Notifier.from_environ(os.environ)
    try:
        conf = new_conf()
        if conf.no_fork:
            # For all that goes by how many processes decide.
            conf.set_override('workers', 1, 'scheduler')
        problems = _problems(conf)
        if not problems:
            _prepare(conf)
    except (cfg.Error, exception.ConfigurationError, OSError,
            logging.LogConfigError) as error:
        problems = [error]
    if problems:
        for problem in problems:
            print(f'{called.name}: error: {printable(str(problem))}',
                  file=sys.stderr)
        return startup.EXIT_CONFIGURATION
    if conf.shadow:
        return shadow.run(conf, notifier)
    LOG.info('Starting with %s', _described(conf))
    if conf.no_fork:
        return supervisor.Foreground(conf, notifier).run()
    return supervisor.Supervisor(conf, new_conf, notifier).run()


def _problems(conf):
    """Return what this configuration, or system, cannot run with: list."""
    found = startup.problems(conf)
    if conf.shadow and not found:
        found = tap.problems(conf)
    if not (found or conf.shadow or conf.no_fork):
        supervisor.check_semaphores()
    return found


def _prepare(conf):
    """Set up the log and reports, and log what is odd in the options."""
    logs.warn_of_no_log(conf)
    logs.setup(conf)
    guru.answer_signals(conf)
    guru.watch_file(conf)
    for oddity in config.warnings(conf):
        LOG.warning(oddity)
    for section, name, near in config.unknown_options(conf):
        LOG.warning('[%(section)s] %(name)s is no option; is %(near)s meant?',
                    {'section': section, 'name': name, 'near': near})


def _described(conf):
    """Return what the options come to, in a line without passwords."""
    told = {row.check: row.found for row in startup.Setup(conf).rows()}
    told['database'] = engine.masked(engine.connection_url(conf))
    if conf.api_database.connection:
        told['API database'] = engine.masked(
            engine.connection_url(conf, 'api_database'))
    told['message broker'] = config.masked(config.transport_url(conf))
    return '; '.join(f'{what} {value}' for what, value in told.items())


if __name__ == '__main__':
    sys.exit(main())
