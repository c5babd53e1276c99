"""``db``: the scheduler's own database."""

from cliff import command

from nova_sched.db import schema


class Sync(command.Command):
    """Create or upgrade the tables in [database] connection.

    Does nothing when they are current. A database that Nova made is refused:
    it is read as it is and needs no sync.
    """

    def take_action(self, parsed_args):
        self.app.stdout.write(f'{schema.sync(self.app.conf)}\n')


class Version(command.Command):
    """Print the schema version of [database] connection.

    Prints "none" before the first sync.
    """

    def take_action(self, parsed_args):
        self.app.stdout.write(f'{schema.version(self.app.conf) or "none"}\n')
