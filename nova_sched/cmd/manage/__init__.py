"""``nova-sched-manage``: commands for operators.

There is a module for each noun; each command is a class, found by its entry
point in the namespace ``nova_sched.manage``.

Modules that only some commands need are imported by these commands.
"""

import logging as py_logging
import sys

from cliff import app
from cliff import commandmanager

from nova_sched import exception
from nova_sched import version
from nova_sched.cmd import process
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import wrong_words
from nova_sched.options import entry_points
from nova_sched.printable import Stream

#: Loggers -> lowest level that is shown.  Their other lines repeat the output
#: of a command: alembic reports the kind of database at INFO, oslo.service its
#: backend; oslo.db adds a traceback to each refused statement; the command
#: that decides a request prints the reason itself.
_LEVELS = {'alembic': py_logging.WARNING,
           'oslo_db.sqlalchemy.exc_filters': py_logging.CRITICAL,
           'oslo_service': py_logging.WARNING,
           **dict.fromkeys(('nova_sched.scheduler.manager',
                            'nova_sched.scheduler.client.report',
                            'nova_sched.scheduler.filters'),
                           py_logging.CRITICAL),
           **dict.fromkeys(('nova_sched.filters',
                            'nova_sched.scheduler.candidates'),
                           py_logging.WARNING)}


class Commands(commandmanager.CommandManager):
    """The commands of entry points, each imported when it is looked up."""

    def load_commands(self, namespace):
        """Find the commands of a namespace, without importing them."""
        self.group_list.append(namespace)
        self.commands |= {point.name.replace('_', ' '): point
                          for point in entry_points.named(namespace)}


class ManageApp(app.App):
    """The command line, and the configuration its commands work on."""

    def __init__(self):
        super().__init__(
            description='Manage and query the nova_sched scheduler service.',
            version=version.version_string(),
            command_manager=Commands('nova_sched.manage'),
            stdout=Stream(sys.stdout), stderr=Stream(sys.stderr),
            deferred_help=True)
        self.conf = None

    def build_option_parser(self, description, version):
        parser = wrong_words.short(
            super().build_option_parser(description, version))
        parser.add_argument(
            '--config-file', action='append', metavar='PATH',
            help='Configuration file; may be repeated. Default: the files '
                 'that nova-sched reads, or if there are none the files of '
                 'nova-scheduler.')
        parser.add_argument(
            '--config-dir', action='append', metavar='DIRECTORY',
            help='Directory of *.conf files, read after the configuration '
                 'files; may be repeated.')
        parser.add_argument(
            '--database', metavar='URL',
            help='Database to use instead of [database] connection.')
        parser.add_argument(
            '--transport-url', metavar='URL',
            help='Message broker to use instead of transport_url.')
        return parser

    def initialize_app(self, argv):
        for name, level in _LEVELS.items():
            py_logging.getLogger(name).setLevel(
                py_logging.NOTSET if self.options.verbose_level > 1
                else level)
        try:
            self.conf = self.configuration()
        except exception.ConfigurationError as error:
            self.LOG.error('%s', error)
            sys.exit(exits.WRONG)
        if self.options.verbose_level > 1:
            self.conf.set_override('debug', True)
            from nova_sched.observe import logs
            # By default oslo.log writes to the standard output, where the
            # result of the command goes.
            self.conf.set_override('use_stderr', True)
            logs.setup(self.conf, 'nova-sched-manage')

    def configuration(self):
        """Return a new ConfigOpts with the options of the command line.

        Raises ConfigurationError, see ``new_conf``.
        """
        from nova_sched import conf as configuration
        files, dirs = self.options.config_file, self.options.config_dir
        if dirs:
            conf = configuration.new_conf(
                [f'--config-file={path}' for path in files or ()]
                + [f'--config-dir={path}' for path in dirs])
        else:
            conf = configuration.new_conf([], files)
        if self.options.database:
            conf.set_override('connection', self.options.database, 'database')
        if self.options.transport_url:
            conf.set_override('transport_url', self.options.transport_url)
        return conf

    def configure_logging(self):
        """Create the log handlers, including the handler of --log-file."""
        try:
            super().configure_logging()
        except OSError as error:
            # The log is not set up yet.
            self.stderr.write(
                f'--log-file {self.options.log_file} cannot be written: '
                f'{error.strerror}; name another file\n')
            sys.exit(exits.WRONG)

    def run_subcommand(self, argv):
        """Run a command; for an unknown one print similar commands."""
        known = self.command_manager.commands
        # "help" accepts the first words of a command.
        words = argv[1:] if argv[0] == 'help' else argv
        try:
            if argv[0] != 'help' or not any(
                    name.startswith(' '.join(words)) for name in known):
                self.command_manager.find_command(words)
        except ValueError:
            self.LOG.error('%s', wrong_words.no_command(
                self.NAME, words, known))
            return exits.WRONG
        return super().run_subcommand(argv)

    def prepare_to_run_command(self, cmd):
        """Wrap a command: its errors spell options as configuration files do,
        and its exit codes are those of ``exits``.
        """
        from nova_sched.options import spelling
        get_parser = cmd.get_parser
        cmd.get_parser = lambda name: wrong_words.short(get_parser(name))
        cmd.run = exits.coded(spelling.as_in_files(self.conf)(cmd.run), self)
        if type(cmd).__module__.startswith(f'{__name__}.'):
            # cliff's epilog names the package of a command, for which it
            # searches all installed packages; only foreign ones need it.
            cmd.get_epilog = str


def main(argv=None):
    """Run one command, and return its exit code: 0 when it did its job."""
    process.configure_process()
    return ManageApp().run(sys.argv[1:] if argv is None else argv)
