"""Configuration: all options of this service, and values derived from them.

One module per section of the file. Importing registers nothing: a ConfigOpts
is passed to ``register_opts``, or made by ``new_conf``, and passed on from
there; there is no global one.
"""

from oslo_log import log as logging

from nova_sched.conf.database import api_database_url
from nova_sched.conf.database import database_url
from nova_sched.conf.messaging import check_tls_files
from nova_sched.conf.messaging import lock_path
from nova_sched.conf.messaging import masked
from nova_sched.conf.messaging import notification_drivers
from nova_sched.conf.messaging import notification_transport_url
from nova_sched.conf.messaging import transport_url
from nova_sched.conf.placement import placement_configured
from nova_sched.options import loading
from nova_sched.options.checking import check
from nova_sched.options.libraries import set_lib_defaults
from nova_sched.options.names import driver_name
from nova_sched.options.names import enabled_filters
from nova_sched.options.names import host_manager_name
from nova_sched.options.names import uses_baremetal_filters
from nova_sched.options.sections import list_opts
from nova_sched.options.sections import register_opts
from nova_sched.options.settings import fallback_ratios
from nova_sched.options.settings import service_down_time
from nova_sched.options.spelling import unknown_options
from nova_sched.options.warnings import warnings


def new_conf(args=(), default_config_files=None, cli_opts=(),
             called=loading.OURS):
    """Return a ConfigOpts with all options, parsed.

    args: command line without the program's name.
    default_config_files: files to read when args names none; None means
    nova-sched.conf where it is found, else what nova-scheduler reads; an
    empty list means none.
    cli_opts: further options of the command line.
    called: loading.Program, the source of the ConfigOpts' prog and project.
    Raises ConfigurationError for files that cannot be read, SystemExit for
    --help and a wrong command line. The values in the files are read later:
    see ``check``.
    """
    conf = loading.Options()
    # oslo.log's options are on the command line, too.
    logging.register_options(conf)
    register_opts(conf)
    conf.register_cli_opts(cli_opts)
    return loading.parse(conf, args or (), default_config_files, called)
