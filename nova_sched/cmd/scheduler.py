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
    'Run as a shadow: receive copies of the requests to the schedulers of '
    'this configuration, decide them without any effect, and report how far '
    'the decisions agree.')), cfg.BoolOpt(
        'no-fork', default=False, help=(
            'Serve in this process only, without workers, and keep its '
            'standard input: for a debugger in a filter.'))]


def main(argv=None):
    """Run until stopped, and return the exit status.

    argv: arguments without the program's name; None for the process's own.
    Status 2 means that the configuration is not usable; the errors are on
    stderr, a line for each option.
    """
    process.configure_process()
    called = loading.program(sys.argv[0])
    argv = sys.argv[1:] if argv is None else argv

    def new_conf():
        return config.new_conf(argv, cli_opts=OPTS, called=called)

    # Remove systemd's variables before other code uses them.
    notifier = systemd.Notifier.from_environ(os.environ)
    try:
        conf = new_conf()
        if conf.no_fork:
            # Some defaults depend on the number of workers.
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
    """Return the errors that prevent the service from running: list."""
    problems = startup.problems(conf)
    if conf.shadow and not problems:
        problems = tap.problems(conf)
    if not (problems or conf.shadow or conf.no_fork):
        supervisor.check_semaphores()
    return problems


def _prepare(conf):
    """Set up log and reports, and log warnings about options."""
    logs.warn_of_no_log(conf)
    logs.setup(conf)
    guru.answer_signals(conf)
    guru.watch_file(conf)
    for warning in config.warnings(conf):
        LOG.warning(warning)
    for section, name, nearest in config.unknown_options(conf):
        LOG.warning('[%(section)s] %(name)s is not an option; did you mean '
                    '%(nearest)s?',
                    {'section': section, 'name': name, 'nearest': nearest})


def _described(conf):
    """Return the effective setup in a line, without passwords."""
    setup = {row.check: row.found for row in startup.Setup(conf).rows()}
    setup['database'] = engine.masked(engine.connection_url(conf))
    if conf.api_database.connection:
        setup['API database'] = engine.masked(
            engine.connection_url(conf, 'api_database'))
    setup['message broker'] = config.masked(config.transport_url(conf))
    return '; '.join(f'{what} {value}' for what, value in setup.items())


if __name__ == '__main__':
    sys.exit(main())
