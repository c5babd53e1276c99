"""``cloud``: whole clouds, made up or stored in a file."""

import argparse
import contextlib
import json
import math
import pathlib
import signal
import sys
import threading

from cliff import command

from nova_sched.cloud import export as cloud_export
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cloud import file as cloud_file
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import json_files
from nova_sched.db import engine as db_engine
from nova_sched.db import schema


class Fake(command.Command):
    """Make up a cloud and keep its compute services alive.

    Replaces the content of the database.  Until it is interrupted, the fake
    compute services send heartbeats, and each takes over the instances that
    "request call --boot" puts on it.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--hosts', type=_positive, default=20,
                            metavar='N',
                            help='How many compute nodes (default: 20).')
        parser.add_argument('--seed', type=int, default=1, metavar='N',
                            help='The same seed makes the same cloud.')
        parser.add_argument('--huge-pages', type=_percent, default=0,
                            metavar='PERCENT',
                            help='Share of memory in pages of 2 MB, on hosts '
                                 'with NUMA cells.')
        parser.add_argument('--ram-ratio', type=_ratio, default=1.0,
                            metavar='R',
                            help='ram_allocation_ratio of each host '
                                 '(default: 1.0).')
        parser.add_argument('--interval', type=float, default=5.0,
                            metavar='SECONDS',
                            help='Time between heartbeats (default: 5).')
        parser.add_argument('--once', action='store_true',
                            help='Make the cloud and exit, without '
                                 'heartbeats.')
        return parser

    def take_action(self, parsed_args):
        schema.sync(self.app.conf)
        database = db_engine.database(self.app.conf)
        cloud = fake_cloud.FakeCloud(database.engine, parsed_args.hosts,
                                     seed=parsed_args.seed,
                                     huge_pages=parsed_args.huge_pages,
                                     ram_ratio=parsed_args.ram_ratio)
        cloud.create()
        self.app.stdout.write(
            f'{parsed_args.hosts} fake compute nodes in {database.masked}\n')
        self.app.stdout.flush()
        if parsed_args.once:
            return
        stop = threading.Event()
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda *_: stop.set())
        cloud.run(stop, parsed_args.interval)


def _number(kind, is_allowed, words):
    """Return an argparse type: function of the text of an option.

    kind: int or float.  is_allowed: function of a number.
    words: description of the allowed numbers, for the error.
    """
    def parse(text):
        with contextlib.suppress(ValueError):
            if is_allowed(kind(text)):
                return kind(text)
        raise argparse.ArgumentTypeError(f'{text} is not a {words}')
    return parse


_positive = _number(int, lambda number: number >= 1,
                    'whole number of 1 or more')
_percent = _number(int, lambda number: 0 <= number <= 100,
                   'whole number from 0 to 100')
_ratio = _number(float, lambda number: 0 < number < math.inf,
                 'number above 0')


class Load(command.Command):
    """Replace the content of the database with a cloud from a JSON file."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('file', metavar='FILE',
                            help='The cloud, as "cloud export" writes it.')
        parser.add_argument(
            '--as-saved', action='store_true',
            help='Keep the time stamps of the file; otherwise they are '
                 'shifted so that heartbeats have the same age as at the '
                 'export.')
        return parser

    def take_action(self, parsed_args):
        cloud = json_files.read(parsed_args.file)
        try:
            schema.sync(self.app.conf)
            database = db_engine.database(self.app.conf)
            hosts = cloud_file.load(database.engine, cloud,
                                    shift=not parsed_args.as_saved)
        except cloud_file.NotACloud as exc:
            raise exits.WrongFile(f'{parsed_args.file}: {exc}') from exc
        self.app.stdout.write(
            f'{hosts} compute nodes loaded into {database.masked}\n')


class Export(command.Command):
    """Write the cloud of a database as JSON."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('file', metavar='FILE', nargs='?', default='-',
                            help='Where to write; default: standard output.')
        return parser

    def take_action(self, parsed_args):
        path = pathlib.Path(parsed_args.file)
        if parsed_args.file != '-':
            _check_replaceable(path)
        text = json.dumps(cloud_export.export(self.app.conf), indent=1) + '\n'
        if parsed_args.file == '-':
            sys.stdout.write(text)
            return
        try:
            path.write_text(text)
        except OSError as exc:
            raise _unwritable(path, exc.strerror) from exc


def _check_replaceable(path):
    """Raise WrongFile for an existing file that does not hold a cloud."""
    if not path.is_file():
        return    # a new one, or /dev/stdout
    try:
        cloud_file.check(json_files.read(path))
    except (exits.WrongFile, cloud_file.NotACloud) as exc:
        raise _unwritable(path, 'it exists and is not a cloud') from exc


def _unwritable(path, why):
    return exits.WrongFile(
        f'{path} cannot be written: {why}; name another file')
