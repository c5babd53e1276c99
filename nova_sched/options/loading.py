"""Makes a configuration from options, files and a command line."""

import contextlib
import logging as py_logging
import os
import traceback
import typing

from oslo_config import cfg

from nova_sched import exception
from nova_sched import version
from nova_sched.options import files


class Program(typing.NamedTuple):
    """A program name of the service, and the files that belong to it.

    name: of the program.  project: for oslo.config and oslo.log.
    directory: files are in ~/.DIRECTORY and /etc/DIRECTORY, too.
    distributed: paths of packages' files, which are read before all others.
    """

    name: str
    project: str
    directory: str
    distributed: tuple = ()

    def config_files(self):
        """Return the existing files: list of paths, in reading order."""
        return list(dict.fromkeys([
            *filter(os.path.exists, self.distributed),
            *cfg.find_config_files(self.directory, self.name)]))

    def config_dirs(self):
        """Return the existing directories, which are read after the files."""
        return list(dict.fromkeys(
            cfg.find_config_dirs(self.directory, self.name)))


OURS = Program('nova-sched', 'nova_sched', 'nova-sched')
#: Under this name the service has the names and files of nova-scheduler.
#: RDO's packages contain a file of defaults.
NOVAS = Program('nova-scheduler', 'nova', 'nova',
                ('/usr/share/nova/nova-dist.conf',))


def program(path):
    """Return the Program for the path of an executable."""
    return NOVAS if os.path.basename(path) == NOVAS.name else OURS


def default_paths(called=OURS):
    """Return (files, directories) to read when the command line names none.

    called: Program.  Nova's files are used if the service has neither a file
    nor a directory of its own.
    """
    own = OURS.config_files(), OURS.config_dirs()
    if called is OURS and any(own):
        return own
    return NOVAS.config_files(), NOVAS.config_dirs()


class Options(cfg.ConfigOpts):
    """A ConfigOpts that does not end the process on a wrong value in a file.

    oslo.config exits when a file has a wrong value of an option that is on the
    command line, too, such as debug, also when it reads the files again.  Here
    such a value is an error like others, which ``check`` reports.
    """

    #: The contents of the files when they were read: list as of
    #: ``files.read``.  The files may have changed since.
    contents = ()

    def _validate_cli_options(self, namespace):
        """Do nothing; oslo.config checks the command line's values."""

    def reload_config_files(self):
        """Read the files again, as oslo.config does.

        Raises ConfigFileParseError for a file that is not text.
        """
        with _text_only():
            is_read = super().reload_config_files()
            if is_read:
                self.contents = files.read(self)
            return is_read


@contextlib.contextmanager
def _text_only():
    """Raise ConfigFileParseError for a file that is not text."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise cfg.ConfigFileParseError(
            _parsed_in(error), f'it is no text: {error}') from None


def _parsed_in(error):
    """Return the path of the file that oslo.config parsed when it failed."""
    # The error has the bytes, but not the name.
    parsers = [frame.f_locals.get('self') for frame, _
               in traceback.walk_tb(error.__traceback__)]
    return next(parser.filename for parser in parsers
                if isinstance(parser, cfg.ConfigParser))


def parse(conf, args, paths, called=OURS):
    """Parse a command line and files into an Options, and return it.

    paths: of the files to read if the command line names none, or None.
    called: Program.

    Raises ConfigurationError if a file is missing, may not be read or is not
    a configuration file, and SystemExit for --help and a wrong command line,
    after oslo.config has written the reason to stderr.
    """
    py_logging.getLogger('oslo_config.cfg').addFilter(_is_news)
    paths, dirs = (default_paths(called) if paths is None
                   else (list(paths), []))
    try:
        with _text_only():
            conf(list(args), project=called.project, prog=called.name,
                 version=f'{OURS.name} {version.version_string()}',
                 default_config_files=paths, default_config_dirs=dirs)
            conf.contents = files.read(conf)
    except cfg.ConfigFilesNotFoundError as exc:
        raise exception.ConfigurationError(
            '--config-file', ', '.join(exc.config_files),
            'no such file; name one that exists') from exc
    except cfg.ConfigFilesPermissionDeniedError as exc:
        raise exception.ConfigurationError(
            '--config-file', ', '.join(exc.config_files),
            'may not be read by this user') from exc
    except cfg.ConfigFileParseError as exc:
        raise exception.ConfigurationError(
            '--config-file', exc.config_file, exc.msg) from exc
    except cfg.ConfigDirNotFoundError as exc:
        raise exception.ConfigurationError(
            '--config-dir', exc.config_dir,
            'no such directory; name one that exists') from exc
    except OSError as exc:
        raise exception.ConfigurationError(
            '--config-file', exc.filename, exc.strerror) from exc
    return conf


def _is_news(record):
    """Return whether a log record is about more than a deprecated name.

    oslo.config logs a line for each such name; ``spelling.warnings`` has one
    for all.
    """
    return not str(record.msg).startswith('Deprecated: ')
