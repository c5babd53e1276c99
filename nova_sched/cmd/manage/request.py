"""``request``: asking a running scheduler, as a conductor would."""

import concurrent.futures
import json
import pathlib
import threading

from cliff import lister
import oslo_messaging as messaging
from oslo_utils import uuidutils

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched import objects
from nova_sched import rpc
from nova_sched.cloud import fake as fake_cloud
from nova_sched.db import engine as db_engine
from nova_sched.objects import arguments
from nova_sched.scheduler import rpcapi
from nova_sched.scheduler.client import report

COLUMNS = ('Instance', 'Choice', 'Host', 'Node', 'Zone', 'Limits')


def add_request_arguments(parser):
    """The options that describe what is asked for."""
    _add_sizes(parser)
    parser.add_argument('--count', type=int, default=1, metavar='N',
                        help='How many instances (default: 1).')
    parser.add_argument('--zone', metavar='NAME',
                        help='Availability zone.')
    parser.add_argument('--project', metavar='ID',
                        default='nova-sched-manage',
                        help='Project the instances belong to.')
    parser.add_argument('--image', metavar='UUID',
                        help='Image of the instances.')
    for name, what in (('extra-spec', 'extra spec of the flavor'),
                       ('image-property', 'property of the image'),
                       ('hint', 'scheduler hint')):
        parser.add_argument(f'--{name}', action='append', default=[],
                            metavar='KEY=VALUE', type=_pair,
                            help=f'A {what}; may be repeated.')
    for name in ('force-host', 'ignore-host'):
        parser.add_argument(f'--{name}', action='append', default=[],
                            metavar='HOST')
    parser.add_argument(
        '--spec', metavar='FILE',
        help='JSON of a whole RequestSpec as it travels over RPC, instead of '
             'the options above.')


def _add_sizes(parser):
    parser.add_argument('--flavor', metavar='NAME', default='cli',
                        help='Name of the flavor, whose sizes follow.')
    parser.add_argument('--vcpus', type=int, default=1, metavar='N')
    parser.add_argument('--ram', type=int, default=512, metavar='MB',
                        help='RAM in MB (default: 512).')
    parser.add_argument('--disk', type=int, default=1, metavar='GB',
                        help='Root disk in GB (default: 1).')
    parser.add_argument('--ephemeral', type=int, default=0, metavar='GB')
    parser.add_argument('--swap', type=int, default=0, metavar='MB')


def _pair(text):
    key, equals, value = text.partition('=')
    if not equals:
        raise ValueError(text)
    return key, value


_pair.__name__ = 'KEY=VALUE'


def build_spec(args, instance_uuids):
    """The RequestSpec that the options describe."""
    if args.spec:
        try:
            return json.loads(pathlib.Path(args.spec).read_text())
        except (OSError, ValueError) as exc:
            raise exception.NovaSchedException(
                f'--spec {args.spec}: {exc}') from exc
    hints = {}
    for key, value in args.hint:
        hints.setdefault(key, []).append(value)
    flavor = objects.Flavor(
        id=1, name=args.flavor, flavorid=args.flavor, vcpus=args.vcpus,
        memory_mb=args.ram, root_gb=args.disk, ephemeral_gb=args.ephemeral,
        swap=args.swap, extra_specs=dict(args.extra_spec))
    image = objects.ImageMeta(
        id=args.image,
        properties=objects.ImageMetaProps.from_dict(dict(args.image_property)))
    return objects.RequestSpec(
        flavor=flavor, image=image, num_instances=args.count,
        instance_uuid=instance_uuids[0] if instance_uuids else None,
        project_id=args.project, availability_zone=args.zone,
        scheduler_hints=hints, force_hosts=args.force_host or None,
        ignore_hosts=args.ignore_host or None)


def rows(instance_uuids, selection_lists):
    """Table rows (see COLUMNS) of an answer with Selection objects."""
    for uuid, chosen in zip(instance_uuids, selection_lists, strict=True):
        for position, selection in enumerate(chosen):
            limits = selection.to_dict()['limits']
            yield (uuid, f'alternate {position}' if position else 'selected',
                   selection.service_host, selection.nodename,
                   selection.availability_zone,
                   ', '.join(f'{name}={value}' for name, value
                             in sorted(limits.items())))


class Call(lister.Lister):
    """Ask the scheduler for hosts: a real RPC call over the broker.

    Builds nothing and gives back what is claimed, unless --boot has the fake
    compute services of "cloud fake" take the instances over.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        add_request_arguments(parser)
        parser.add_argument('--no-alternates', action='store_true',
                            help='Ask for the selected hosts only.')
        parser.add_argument('--timeout', type=int, default=60,
                            metavar='SECONDS',
                            help='How long to wait for the answer.')
        parser.add_argument('--boot', action='store_true',
                            help='Put the instances on the selected hosts of '
                                 'a fake cloud.')
        return parser

    def take_action(self, parsed_args):
        conf = self.app.conf
        conf.set_override('long_rpc_timeout', parsed_args.timeout)
        uuids = [uuidutils.generate_uuid() for _ in range(parsed_args.count)]
        spec_obj = build_spec(parsed_args, uuids)
        answer = self._answer(
            spec_obj, uuids, return_objects=True,
            return_alternates=not parsed_args.no_alternates)
        if parsed_args.boot:
            self._boot(spec_obj, uuids, answer)
        else:
            self._give_back(uuids, answer)
        return COLUMNS, list(rows(uuids, answer))

    def _give_back(self, uuids, answer):
        """Have Placement forget what was claimed for instances of no one."""
        claimed = [uuid for uuid, (selected, *_)
                   in zip(uuids, answer, strict=True)
                   if json.loads(selected.allocation_request or 'null')]
        placement = report.SchedulerReportClient(self.app.conf)
        for uuid in claimed:
            try:
                placement.forget(uuid)
            except exception.PlacementError as error:
                raise exception.NovaSchedException(
                    f'What the scheduler has claimed for the made-up '
                    f'instance(s) {", ".join(claimed)} may still be held. '
                    f'Give it back with "openstack resource provider '
                    f'allocation delete UUID". {error}') from error

    def _answer(self, *args, **kwargs):
        """The scheduler's answer; in vain without one in time.

        oslo.messaging's own time-out begins only with a connection, for
        which it waits for ever.
        """
        conf, answer = self.app.conf, concurrent.futures.Future()

        def ask():
            try:
                transport = rpc.get_transport(conf)
                found = rpcapi.SchedulerAPI(
                    conf, transport).select_destinations(
                        context.RequestContext(is_admin=True), *args,
                        **kwargs)
                transport.cleanup()
            except Exception as exc:
                answer.set_exception(exc)
            else:
                answer.set_result(found)

        threading.Thread(target=ask, daemon=True).start()
        try:
            return answer.result(conf.long_rpc_timeout + 1)
        except (TimeoutError, messaging.MessagingTimeout):
            raise exception.NovaSchedException(
                f'No answer within {conf.long_rpc_timeout} seconds by way of '
                f'{config.masked(config.transport_url(conf))}: is that '
                'broker up, and does a scheduler serve the topic '
                f'{conf.scheduler_topic} there?') from None

    def _boot(self, spec_obj, uuids, answer):
        cloud = fake_cloud.FakeCloud(
            db_engine.database(self.app.conf).engine)
        wanted = arguments.from_wire(spec_obj).flavor
        flavor = {name: getattr(wanted, name) for name in (
            'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')}
        for uuid, (selected, *_) in zip(uuids, answer, strict=True):
            cloud.boot(uuid, selected.service_host, selected.nodename, flavor)
