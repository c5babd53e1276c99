"""``ping``: whether a scheduler responds to requests."""

import time

from cliff import command
import oslo_messaging as messaging

from nova_sched import context
from nova_sched import exception
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import scheduler_rpc


class Ping(command.Command):
    """Count the consumers of the request queue, and ping a scheduler over RPC.

    Selects no hosts.  Exits with 0 if a scheduler responds, even with an
    error, 1 if none does, and 3 if the broker does not respond.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--timeout', type=int, default=5,
                            metavar='SECONDS',
                            help='How long to wait for a reply.')
        parser.add_argument('--server', metavar='HOST',
                            help='Ping the scheduler with this [DEFAULT] host '
                                 'instead of any scheduler.')
        return parser

    def take_action(self, parsed_args):
        conf, seconds = self.app.conf, parsed_args.timeout
        topic = conf.scheduler_topic
        consumers = scheduler_rpc.consumers(conf, seconds)
        for broker, count in consumers:
            self._say(f'{broker}: ' + (
                f'no queue {topic}' if count is None else
                f'{count} consumer(s) of the queue {topic}'))
        target = messaging.Target(topic=topic, version='1.0',
                                  namespace='baseapi',
                                  server=parsed_args.server)

        def ping(transport):
            return messaging.get_rpc_client(
                transport, target, timeout=seconds).call(
                    context.RequestContext().to_dict(), 'ping', arg=None)

        begin = time.monotonic()
        try:
            scheduler_rpc.call(conf, seconds, ping)
        except scheduler_rpc.NotServed as error:
            self._say(str(error))
            # If no consumers were counted, the broker itself may be down.
            return exits.NO if consumers else exits.UNREACHABLE
        except exits.NoAnswer:
            raise
        except exception.NovaSchedException as error:
            self._say(f'A scheduler responded with an error: {error}')
            return exits.DONE
        took = (time.monotonic() - begin) * 1000
        self._say(f'{parsed_args.server or "A scheduler"} responded in '
                  f'{took:.0f} ms')
        return exits.DONE

    def _say(self, text):
        self.app.stdout.write(f'{text}\n')
