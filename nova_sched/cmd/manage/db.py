"""``db``: the scheduler's own database."""

from cliff import command

from nova_sched.cmd.manage import forms
from nova_sched.db import schema


class Sync(command.Command):
    """Create or upgrade the tables in [database] connection.

    Does nothing when they are current.  A database that Nova made is refused:
    it is used as it is and needs no sync.
    """

    def take_action(self, parsed_args):
        self.app.stdout.write(f'{schema.sync(self.app.conf)}\n')


class Version(forms.ShowOne):
    """Print the schema version of [database] connection.

    Prints "none" for a database before the first sync; with -f json and yaml
    the version is null.
    """

    @property
    def formatter_default(self):
        return 'value'

    def take_action(self, parsed_args):
        version = schema.version(self.app.conf)
        if version is None and not forms.is_structured(parsed_args):
            version = 'none'
        return ('version',), (version,)
