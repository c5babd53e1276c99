"""Options of commands that decide by another configuration, or another cloud.
"""

import tempfile

from nova_sched.cloud import file as cloud_file
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import json_files
from nova_sched.conf import placement as placement_conf
from nova_sched.db import engine as db_engine
from nova_sched.db import schema
from nova_sched.dry_run import overrides


def add_arguments(parser):
    """Add the options."""
    parser.add_argument(
        '--cloud', metavar='FILE',
        help='Decide on the hosts of a file from "cloud export" instead of '
             'the databases; without Placement.')
    parser.add_argument(
        '--without', action='append', default=[], metavar='FILTER',
        help='Do not run this enabled filter; may be repeated.')
    parser.add_argument(
        '--enable', action='append', default=[], metavar='FILTER',
        help='Also run this filter; may be repeated.')
    parser.add_argument(
        '--set', action='append', default=[], dest='settings',
        metavar='SECTION.OPTION=VALUE',
        help='Use this value of an option instead of the value in the '
             'configuration files; may be repeated.')
    parser.add_argument(
        '--host-ratio', action='append', default=[], dest='host_ratios',
        type=overrides.host_ratio, metavar=overrides.host_ratio.__name__,
        help='Use this allocation ratio of cpu, ram or disk for all hosts '
             'instead of their own; may be repeated. Placement uses its own '
             'ratios.')


def changed(parsed_args, settings):
    """Return the differences from the configuration of the service: texts."""
    return [*(f'--without {name}' for name in parsed_args.without),
            *(f'--enable {name}' for name in parsed_args.enable),
            *(f'--set {setting}' for setting in settings),
            *(f'--host-ratio {column.partition("_")[0]}={ratio:g}'
              for column, ratio in parsed_args.host_ratios)]


def load_cloud(conf, path, stack):
    """Load the cloud of a file, and make it the only database of a ConfigOpts.

    It is a temporary database, which is removed when the stack is closed.
    """
    cloud = json_files.read(path)
    folder = stack.enter_context(
        tempfile.TemporaryDirectory(prefix='nova-sched-plan-'))
    for group, url in (('database', f'sqlite:///{folder}/cloud.sqlite'),
                       ('api_database', None)):
        conf.set_override('connection', url, group)
    placement_conf.disable(conf)
    database = db_engine.database(conf)
    stack.callback(database.close)
    try:
        schema.sync_database(database)
        cloud_file.load(database.engine, cloud, shift=True)
    except cloud_file.NotACloud as exc:
        raise exits.WrongFile(f'{path}: {exc}') from exc
