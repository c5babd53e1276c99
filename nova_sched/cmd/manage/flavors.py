"""Flavors by their names: of a cloud's databases, or of its file."""

import functools

from nova_sched import exception
from nova_sched.cmd.manage import json_files
from nova_sched.db import stored_flavors
from nova_sched.options import nearest

#: Most flavors that an error names.
_NAMED = 3


class Flavors:
    """The flavors of a cloud, read on first use.

    conf: ConfigOpts.  file: path of a cloud's file instead of the databases,
        which ``cloud.file.load`` has checked; or None.
    """

    def __init__(self, conf, file=None):
        self._conf, self._file = conf, file

    def find(self, name, instead='--vcpus, --ram and --disk'):
        """Return the flavor of a name or flavorid: dict of its fields.

        instead: options that describe a flavor, for the error text.
        Raises InvalidInput, with the names most like it, if there is none,
        and DatabaseUnavailable.
        """
        flavors, place = self._stored
        for key in ('name', 'flavorid'):
            for flavor in flavors:
                if flavor.get(key) == name:
                    return flavor
        names = [flavor['name'] for flavor in flavors if flavor.get('name')]
        close = nearest.several(name, names, _NAMED) or sorted(names)[:_NAMED]
        raise exception.InvalidInput(
            reason=f'--flavor {name}: '
                   + (f'{place} has no flavor of that name; it has '
                      f'{len(names)}, such as {", ".join(close)}' if names
                      else f'{place} has no flavors' if place
                      else 'no database with flavors is configured')
                   + f'. For a flavor that does not exist, give {instead}')

    def all(self):
        """Return all flavors: list of dicts.

        Raises InvalidInput without any, and DatabaseUnavailable.
        """
        flavors, place = self._stored
        if not flavors:
            raise exception.InvalidInput(
                reason=f'{place or "the configuration"} has no flavors')
        return flavors

    @functools.cached_property
    def _stored(self):
        if self._file is None:
            return stored_flavors.read(self._conf)
        cloud = json_files.read(self._file, '--cloud ')
        return cloud.get('flavors') or [], f'the file {self._file}'
