"""[api_database], and the database URLs that the options result in.

[database] is oslo.db's own; see ``libraries`` for its older names.
"""

import copy

from oslo_db import options as db_options
from sqlalchemy import exc
from sqlalchemy.engine import url as sa_url

from nova_sched import exception
from nova_sched.options import files

GROUP = 'api_database'
HELP = """
The API database, which Nova has had since Newton: cell mappings, host
mappings and aggregates. Leave it out if one database holds everything. The
options are the same as in [database].
"""

#: Backends by the name in a URL -> SQLAlchemy dialect and driver.
DRIVERS = {
    'mysql': 'mysql+pymysql',
    'mysql+mysqldb': 'mysql+pymysql',
    'postgres': 'postgresql+psycopg2',
    'postgresql': 'postgresql+psycopg2',
}


OPTS = copy.deepcopy(db_options.database_opts)
for _opt in OPTS:
    _opt.deprecated_opts = []    # old names are of [database] alone


def driver_url(url):
    """Return a database URL with the driver that this service requires: text.

    ``mysql://`` becomes PyMySQL, ``postgres://`` and ``postgresql://`` become
    psycopg2; a URL that names another driver is left as it is. Also for the
    URLs in cell_mappings. The rest of the URL is not touched.
    """
    scheme, colon, rest = url.partition('://')
    return DRIVERS.get(scheme, scheme) + colon + rest


def _checked(option, url):
    try:
        query = sa_url.make_url(url).query
    except exc.ArgumentError:
        # Mask the value, which may contain a password.
        raise exception.ConfigurationError(
            option, '****', 'is no database URL; write '
            'mysql+pymysql://USER:PASSWORD@HOST/DATABASE, with special '
            'characters of the password percent-encoded') from None
    for name in ('ssl_ca', 'ssl_cert', 'ssl_key'):
        if name in query:
            files.check_readable(f'{option}, {name}', str(query[name]))
    return driver_url(url)


def database_url(conf):
    """Return the URL of [database] for SQLAlchemy: text.

    [database] connection under any of its names, else one SQLite file in
    state_path. Raises ConfigurationError if it is no URL.
    """
    if conf.database.connection:
        return _checked('[database] connection', conf.database.connection)
    return f'sqlite:///{conf.state_path}/nova_sched.sqlite'


def api_database_url(conf):
    """Return the URL of the API database: text, or None when there is none.

    Raises ConfigurationError if it is no URL.
    """
    if not conf.api_database.connection:
        return None
    return _checked('[api_database] connection',
                    conf.api_database.connection)


def check_drivers(conf):
    """Raise ConfigurationError if the driver of a URL is not installed."""
    for group in ('database', GROUP):
        try:
            url = sa_url.make_url(driver_url(conf[group].connection or ''))
        except exc.ArgumentError:
            continue    # unset, or reported by another check
        try:
            url.get_dialect().import_dbapi()
        except (exc.ArgumentError, ImportError) as error:
            raise exception.ConfigurationError(
                f'[{group}] connection', f'{url.drivername}://****',
                f'its driver cannot be used: {error}') from None
