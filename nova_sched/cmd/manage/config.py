"""``config``: the configuration file, before the service reads it."""

from cliff import command

from nova_sched import conf as config
from nova_sched import supervisor
from nova_sched.plugins import loading as plugins


class Check(command.Command):
    """Check the configuration and say what the service would run with.

    Ends with exit code 1 when the service would refuse to start.
    """

    def take_action(self, parsed_args):
        conf, out = self.app.conf, self.app.stdout
        errors = supervisor.problems(conf)
        for error in errors:
            out.write(f'error: {error}\n')
        for group, name, nearest in config.unknown_options(conf):
            out.write(f'warning: [{group}] {name} is no option; did you mean '
                      f'{nearest}?\n')
        if errors:
            return 1    # the values that follow can perhaps not be read
        for text in config.warnings(conf):
            out.write(f'warning: {text}\n')
        weighers = [type(weigher).__name__
                    for weigher in plugins.load_weighers(conf)]
        out.write(f'driver: {config.driver_name(conf)}\n'
                  f'filters: {", ".join(config.enabled_filters(conf))}\n'
                  f'weighers: {", ".join(weighers)}\n')
        return 0
