"""Making a configuration from options, files and a command line."""

import contextlib
import logging as py_logging
import os
import traceback
import typing

from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import exception
from nova_sched import version
from nova_sched.options import files


class Program(typing.NamedTuple):
    """A name under which the service runs, and whose files it reads.

    name: of the program.  project: as oslo.config and oslo.log have it.
    directory: files are in ~/.DIRECTORY and /etc/DIRECTORY, too.
    distributed: files that packages bring, read before all others: paths.
    """

    name: str
    project: str
    directory: str
    distributed: tuple = ()

    def config_files(self):
        """Return the files that there are: list of paths, in reading order."""
        return list(dict.fromkeys([
            *filter(os.path.exists, self.distributed),
            *cfg.find_config_files(self.directory, self.name)]))

    def config_dirs(self):
        """Return the directories that there are, to be read after the files.
        """
        return list(dict.fromkeys(
            cfg.find_config_dirs(self.directory, self.name)))


OURS = Program('nova-sched', 'nova_sched', 'nova-sched')
#: Called like this, it is a nova-scheduler in all that goes by a name.  RDO's
#: packages bring a file of defaults.
NOVAS = Program('nova-scheduler', 'nova', 'nova',
                ('/usr/share/nova/nova-dist.conf',))


def program(path):
    """Return the Program that a path of an executable is called like."""
    return NOVAS if os.path.basename(path) == NOVAS.name else OURS


def default_paths(called=OURS):
    """Return (files, directories) to read when the command line names none.

    called: Program.  Where there is neither a file nor a directory of the
    service's own, Nova's count.
    """
    own = OURS.config_files(), OURS.config_dirs()
    if called is OURS and any(own):
        return own
    return NOVAS.config_files(), NOVAS.config_dirs()


class Options(cfg.ConfigOpts):
    """A ConfigOpts that does not end the process on a wrong value in a file.

    oslo.config exits on a wrong value of an option that the command line has
    too, such as debug, while it reads the files, also when it reads them
    again. Here such a value is like any other: an error when it is read,
    which ``check`` reports with the others.
    """

    #: What the files held when they were read: list as of ``files.read``.
    #: What they hold by now says nothing about the values.
    contents = ()

    def _validate_cli_options(self, namespace):
        """Check nothing; the command line's own values are checked."""

    def reload_config_files(self):
        """Read the files again, as of oslo.config.

        Raises ConfigFileParseError for a file that is no text.
        """
        with _text_only():
            is_read = super().reload_config_files()
            if is_read:
                self.contents = files.read(self)
            return is_read


@contextlib.contextmanager
def _text_only():
    """Treat a file that is no text as one that cannot be parsed."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise cfg.ConfigFileParseError(
            _parsed_in(error), f'it is no text: {error}') from None


def _parsed_in(error):
    """Return the path of the file that oslo.config parsed when it failed."""
    # The error has the octets, but no name.
    parsers = [frame.f_locals.get('self') for frame, _
               in traceback.walk_tb(error.__traceback__)]
    return next(parser.filename for parser in parsers
                if isinstance(parser, cfg.ConfigParser))


def parse(conf, args, paths, called=OURS):
    """Parse a command line and files into an Options, and return it.

    paths: of the files to read when the command line names none, or None.
    called: Program.

    Raises ConfigurationError when a file is missing, may not be read or is
    no configuration file, and SystemExit for --help and a wrong command
    line; oslo.config has written why to stderr then.
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
    """Return whether a log record is not about a deprecated name alone.

    It has a line for each such name; ``spelling.warnings`` has one for all.
    """
    return not str(record.msg).startswith('Deprecated: ')


def register_log_opts(conf):
    """Register oslo.log's options, which the command line has too."""
    logging.register_options(conf)
