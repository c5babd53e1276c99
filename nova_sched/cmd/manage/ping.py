"""``ping``: whether a scheduler answers requests."""

import time

from cliff import command
import oslo_messaging as messaging

from nova_sched import context
from nova_sched import exception
from nova_sched.cmd.manage import asking
from nova_sched.cmd.manage import exits


class Ping(command.Command):
    """Count the consumers of the request queue, and ping a scheduler over RPC.

    Decides nothing.  Exits with 0 if a scheduler answers, even with an error,
    1 if none does, and 3 if the broker does not answer.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('--timeout', type=int, default=5,
                            metavar='SECONDS',
                            help='How long to wait for an answer.')
        parser.add_argument('--server', metavar='HOST',
                            help='Ping the scheduler of this host, its '
                                 '[DEFAULT] host, instead of any one.')
        return parser

    def take_action(self, parsed_args):
        conf, seconds = self.app.conf, parsed_args.timeout
        topic = conf.scheduler_topic
        consumers = asking.consumers(conf, seconds)
        for where, count in consumers:
            self._say(f'{where}: ' + (
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
            asking.answer(conf, seconds, ping)
        except asking.NotServed as error:
            self._say(str(error))
            # Without a count the broker may be down as well.
            return exits.NO if consumers else exits.NOT_ASKED
        except exits.NoAnswer:
            raise
        except exception.NovaSchedException as error:
            self._say(f'A scheduler is there. {error}')
            return exits.DONE
        took = (time.monotonic() - begin) * 1000
        self._say(f'{parsed_args.server or "A scheduler"} answers, within '
                  f'{took:.0f} ms')
        return exits.DONE

    def _say(self, text):
        self.app.stdout.write(f'{text}\n')
