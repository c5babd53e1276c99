"""Making a configuration from options, files and a command line."""

import contextlib
import logging as py_logging
import os
import traceback

from oslo_config import cfg
from oslo_log import log as logging

from nova_sched import exception
from nova_sched import version
from nova_sched.options import files

PROJECT = 'nova_sched'
PROG = 'nova-sched'
NOVA_CONF = '/etc/nova/nova.conf'
NOVA_CONF_DIR = '/etc/nova/nova.conf.d'


def default_config_files():
    """Return the files to read when the command line names none: paths.

    nova-sched.conf where oslo.config finds it: ~/.nova-sched/, ~/,
    /etc/nova-sched/, /etc/. If there is none, Nova's own file.
    """
    # oslo.config looks for one file named after the project and one after
    # the program; here these are the same.
    found = list(dict.fromkeys(cfg.find_config_files(PROG, PROG)))
    if not found and os.path.exists(NOVA_CONF):
        found = [NOVA_CONF]
    return found


def default_config_dirs():
    """Return the directories to read after those files: list of paths."""
    if NOVA_CONF in default_config_files():
        return [NOVA_CONF_DIR] if os.path.isdir(NOVA_CONF_DIR) else []
    return list(dict.fromkeys(cfg.find_config_dirs(PROG, PROG)))


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


def parse(conf, args, paths):
    """Parse a command line and files into an Options, and return it.

    paths: of the files to read when the command line names none, or None.

    Raises ConfigurationError when a file is missing, may not be read or is
    no configuration file, and SystemExit for --help and a wrong command
    line; oslo.config has written why to stderr then.
    """
    py_logging.getLogger('oslo_config.cfg').addFilter(_is_news)
    dirs = default_config_dirs() if paths is None else []
    paths = default_config_files() if paths is None else list(paths)
    try:
        with _text_only():
            conf(list(args), project=PROJECT, prog=PROG,
                 version=f'{PROG} {version.version_string()}',
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
