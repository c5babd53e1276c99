"""``request``: asking a running scheduler, as a conductor would."""

import json

from cliff import columns
from oslo_utils import uuidutils

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched.cloud import fake as fake_cloud
from nova_sched.cmd.manage import asking
from nova_sched.cmd.manage import forms
from nova_sched.cmd.manage import specs
from nova_sched.db import engine as db_engine
from nova_sched.db import schema
from nova_sched.objects import arguments
from nova_sched.scheduler import rpcapi
from nova_sched.scheduler.client import report

COLUMNS = ('Instance', 'Host', 'Node', 'Zone', 'Limits', 'Alternates',
           'Request')

#: Instances that are named behind an answer.
SHOWN = 10

_DATA = 'nova_object.data'


class Limits(columns.FormattableColumn):
    """What a compute node must hold an instance to: a dict."""

    def human_readable(self):
        return _listed(self.machine_readable())

    def machine_readable(self):
        return {name: value.flat() if hasattr(value, 'flat') else value
                for name, value in self._value.items()}


class Hosts(columns.FormattableColumn):
    """Alternates of a host: a list of Selection."""

    def human_readable(self):
        return ', '.join(selection.service_host for selection in self._value)

    def machine_readable(self):
        return [{'Host': selection.service_host, 'Node': selection.nodename,
                 'Zone': selection.availability_zone}
                for selection in self._value]


def _listed(limits):
    """Return a dict as 'a=1, b=c=2 d=3'."""
    return ', '.join(
        name + '=' + (_listed(value).replace(', ', ' ')
                      if isinstance(value, dict) else str(value))
        for name, value in sorted(limits.items()))


def rows(request_id, instance_uuids, selection_lists):
    """Return a table row (see COLUMNS) for each list of Selection."""
    for uuid, (selected, *others) in zip(instance_uuids, selection_lists,
                                         strict=True):
        yield (uuid, selected.service_host, selected.nodename,
               selected.availability_zone,
               Limits(selected.to_dict()['limits']), Hosts(others),
               request_id)


class Call(forms.Lister):
    """Ask the scheduler for hosts: a real RPC call over the broker.

    Builds nothing and gives back what is claimed, unless --boot has the fake
    compute services of "cloud fake" take the instances over.

    Ends with 0, 1 if there is no host for it or the scheduler fails, 2 for a
    wrong request, and 3 without an answer.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        specs.add_request_arguments(parser)
        parser.add_argument('--request-id', metavar='ID',
                            help='Request id in the logs of the scheduler; '
                                 'by default it is made up.')
        parser.add_argument('--no-alternates', action='store_true',
                            help='Ask for the selected hosts only.')
        parser.add_argument('--timeout', type=int, default=60,
                            metavar='SECONDS',
                            help='How long to wait for the answer.')
        parser.add_argument('--boot', action='store_true',
                            help='Put the instances on the selected hosts of '
                                 'a fake cloud.')
        return parser

    def run(self, parsed_args):
        """Run the command, and tell which request it was."""
        self._asker = context.RequestContext(
            is_admin=True, request_id=parsed_args.request_id)
        self._uuids, code = [], 1
        try:
            code = super().run(parsed_args)
        finally:
            # What programs read of an answer says so itself.
            if code or parsed_args.formatter == 'table':
                self.app.stderr.write(f'{self._about()}\n')
        return code

    def _about(self):
        text = f'Request {self._asker.request_id}'
        if self._uuids:
            text += f' for instance(s) {", ".join(self._uuids[:SHOWN])}'
        if len(self._uuids) > SHOWN:
            text += f' and {len(self._uuids) - SHOWN} more'
        return text

    def take_action(self, parsed_args):
        self.app.conf.set_override('long_rpc_timeout', parsed_args.timeout)
        spec_obj = specs.build_spec(parsed_args, self.app.conf)
        self._uuids = uuids = name_instances(spec_obj)
        cloud = self._cloud() if parsed_args.boot else None
        answer = self._answer(
            self._asker, spec_obj, uuids, return_objects=True,
            return_alternates=not parsed_args.no_alternates)
        if cloud is not None:
            _boot(cloud, spec_obj, uuids, answer)
        else:
            self._give_back(uuids, answer)
        found = list(rows(self._asker.request_id, uuids, answer))
        if parsed_args.formatter == 'table':
            # People read the request's id below.
            return COLUMNS[:-1], [row[:-1] for row in found]
        return COLUMNS, found

    def _cloud(self):
        """Return the fake cloud that instances are put on; nobody else's."""
        database = db_engine.database(self.app.conf)
        schema.check_own_schema(database)
        return fake_cloud.FakeCloud(database.engine)

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
        """Return the scheduler's answer; in vain without one in time."""
        conf = self.app.conf
        if any(not count for _where, count in asking.consumers(
                conf, conf.long_rpc_timeout)):
            raise asking.NotServed(
                f'Nobody takes requests from the queue {conf.scheduler_topic} '
                f'of {config.masked(config.transport_url(conf))}')
        return asking.answer(
            conf, conf.long_rpc_timeout,
            lambda transport: rpcapi.SchedulerAPI(
                conf, transport).select_destinations(*args, **kwargs))


def name_instances(spec_obj):
    """Make as many uuids as a request is for; it bears the first: list.

    They are members of its server group, as Nova's API makes them before it
    asks.
    spec_obj: envelope of a RequestSpec, which may be wrong.
    """
    data = spec_obj.get(_DATA)
    if not isinstance(data, dict):
        return [uuidutils.generate_uuid()]
    count = data.get('num_instances', 1)
    uuids = [uuidutils.generate_uuid()
             for _ in range(count if isinstance(count, int) else 1)]
    if uuids:
        # Never one of a file: what is claimed for it is deleted again.
        data['instance_uuid'] = uuids[0]
    group = data.get('instance_group')
    group = group.get(_DATA) if isinstance(group, dict) else None
    if isinstance(group, dict) and isinstance(
            group.get('members') or [], list):
        group['members'] = [*(group.get('members') or ()), *uuids]
    return uuids


def _boot(cloud, spec_obj, uuids, answer):
    wanted = arguments.from_wire(spec_obj).flavor
    flavor = {name: getattr(wanted, name) for name in (
        'memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb')}
    for uuid, (selected, *_) in zip(uuids, answer, strict=True):
        cloud.boot(uuid, selected.service_host, selected.nodename, flavor)
