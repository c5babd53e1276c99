"""nova-sched: the daemon."""

import os
import sys

from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import conf as config
from nova_sched import exception
from nova_sched import supervisor
from nova_sched import systemd
from nova_sched import version
from nova_sched.shadow import runner as shadow

LOG = logging.getLogger(__name__)

PROGRAM = 'nova-sched'

OPTS = [cfg.BoolOpt('shadow', default=False, help=(
    'Answer nothing: decide what the schedulers of this configuration are '
    'asked, and report how far both agree.'))]


def main(argv=None):
    """Run until stopped; returns the exit status.

    argv: arguments without the program's name; None for the process's own.
    2 means that the configuration keeps the service from running; what is
    wrong stands on stderr, a line for each option.
    """
    argv = sys.argv[1:] if argv is None else argv
    # Out of the environment before anything else could claim it.
    notifier = systemd.Notifier.from_environ(os.environ)
    try:
        conf = config.new_conf(argv, cli_opts=OPTS)
        problems = supervisor.problems(conf)
        if conf.shadow and not problems:
            problems = shadow.problems(conf)
    except (cfg.Error, exception.ConfigurationError) as error:
        problems = [error]
    if problems:
        for problem in problems:
            print(f'{PROGRAM}: error: {problem}', file=sys.stderr)
        return supervisor.EXIT_CONFIGURATION
    if conf.shadow:
        return shadow.run(_prepared(conf), notifier)
    return supervisor.Supervisor(
        _prepared(conf), lambda: config.new_conf(argv, cli_opts=OPTS),
        notifier).run()


def _prepared(conf):
    """A configuration that is right, once the log tells what is odd in it."""
    logging.setup(conf, version.PACKAGE, version.version_string())
    for oddity in config.warnings(conf):
        LOG.warning(oddity)
    for section, name, near in config.unknown_options(conf):
        LOG.warning('[%(section)s] %(name)s is no option; is %(near)s meant?',
                    {'section': section, 'name': name, 'near': near})
    return conf


if __name__ == '__main__':
    sys.exit(main())
