"""``request plan``: the decision on a request, without any effect."""

import contextlib

from oslo_utils import uuidutils
from oslo_versionedobjects.exception import IncompatibleObjectVersion

from nova_sched import conf as config
from nova_sched import context
from nova_sched import exception
from nova_sched.cmd.manage import exits
from nova_sched.cmd.manage import forms
from nova_sched.cmd.manage import html_page
from nova_sched.cmd.manage import plan_reasons
from nova_sched.cmd.manage import plan_report
from nova_sched.cmd.manage import request
from nova_sched.cmd.manage import specs
from nova_sched.cmd.manage import what_if
from nova_sched.db import stored_requests
from nova_sched.dry_run import decider
from nova_sched.dry_run import host_changes
from nova_sched.dry_run import moves
from nova_sched.dry_run import overrides
from nova_sched.objects import arguments

_DATA = 'nova_object.data'


class Plan(forms.Lister):
    """Print where instances would go, or why no host would get them.

    Decides in this process, with the code and the configuration of the
    service, on the content of its databases and of Placement, or on the cloud
    of a file. Claims, writes and sends nothing.

    Exits with 0 if there are hosts, with 1 if not, with 2 for wrong input, and
    with 3 if a database or Placement does not answer.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        specs.add_request_arguments(parser)
        # None for an option that is not given.
        parser.set_defaults(
            **dict.fromkeys(vars(specs.default_arguments())))
        parser.add_argument(
            '--instance', metavar='UUID',
            help='Use the request of this instance in the API database, '
                 'instead of the options for a request.')
        parser.add_argument(
            '--for', dest='operation', choices=moves.OPERATIONS,
            default=moves.BOOT,
            help='The operation on the instance (default: boot).')
        parser.add_argument(
            '--same-host', action='store_true',
            help='Allow a resize on the same host, as '
                 'allow_resize_to_same_host does in Nova.')
        what_if.add_arguments(parser)
        plan_reasons.add_arguments(parser)
        html_page.add_argument(parser)
        return parser

    def run(self, parsed_args):
        """Run the command; 1 if an instance has no host."""
        self._report = None
        return super().run(parsed_args) or (
            exits.DONE if self._report.fits else exits.NO)

    def take_action(self, parsed_args):
        with contextlib.ExitStack() as stack:
            source = _Source(parsed_args)
            settings = list(map(overrides.Setting.parse,
                                parsed_args.settings))
            conf = self._conf(parsed_args, settings, stack)
            dry_run, changes = _decide(conf, *source.request(conf), stack,
                                       dict(parsed_args.host_ratios))
            self._report = plan_report.PlanReport(
                dry_run, changes, operation=parsed_args.operation,
                conf=conf, changed=what_if.changed(parsed_args, settings),
                explanation=plan_reasons.explained(dry_run, parsed_args,
                                                   conf),
                notes=[*overrides.without_effect(
                    conf, settings, dry_run.table, dry_run.ranker),
                    *plan_reasons.unread(dry_run)])
        if parsed_args.html is not None:
            html_page.write(parsed_args.html, self._report.document())
        return plan_report.COLUMNS, self._report.rows()

    def produce_output(self, parsed_args, column_names, data):
        if forms.is_structured(parsed_args):
            document = self._report.document()
            self.formatter.emit_one(tuple(document), tuple(document.values()),
                                    self.app.stdout, parsed_args)
            return
        is_table = parsed_args.formatter == 'table'
        requested = self._report.requested()
        if requested and is_table:
            self.app.stdout.write(f'{requested}\n')
        if data or not is_table:
            super().produce_output(
                parsed_args, column_names,
                self._report.lines() if is_table else data)
        if is_table:
            self._report.write(self.app.stdout, lambda names, rows: (
                self.formatter.emit_list(names, rows, self.app.stdout,
                                         parsed_args)))
        elif not self._report.fits:
            self.app.stderr.write(f'{self._report.reason}\n')

    def _conf(self, parsed_args, settings, stack):
        """Return the configuration to decide by.

        settings: list of overrides.Setting.

        Raises ConfigurationError and InvalidInput.
        """
        conf = self.app.conf
        overrides.apply(conf, settings, parsed_args.without,
                        parsed_args.enable)
        if parsed_args.cloud:
            what_if.load_cloud(conf, parsed_args.cloud, stack)
            _check_sizes(conf, self.app)
        for error in config.check(conf)[:1]:
            raise error
        return conf


def _check_sizes(conf, app):
    """Warn of disabled filters for the amounts that Placement checks."""
    lacking = [name for name in ('RamFilter', 'DiskFilter')
               if name not in config.enabled_filters(conf)]
    if lacking:
        app.stderr.write(
            f'Neither Placement nor {" nor ".join(lacking)} checks the '
            'amounts of the request; --enable runs a filter\n')


class _Source:
    """The source of the request: options, a file or a stored request.

    Raises InvalidInput for options that contradict each other.
    """

    def __init__(self, args):
        self._args = args
        defaults = vars(specs.default_arguments())
        self._given = {name: getattr(args, name) for name in defaults
                       if getattr(args, name) is not None}
        for name in defaults.keys() - self._given.keys():
            setattr(args, name, defaults[name])
        if args.same_host and args.operation != moves.RESIZE:
            self._refuse('--same-host needs --for resize')
        if args.instance and args.cloud:
            self._refuse('--instance: the file of --cloud has no stored '
                         'requests; give the request by --spec, with its '
                         'instance_uuid')
        self._is_existing = bool(args.instance) or bool(
            args.spec and args.operation != moves.BOOT)
        if self._is_existing:
            self._check_existing()

    def _check_existing(self):
        """Refuse options that an existing request already sets."""
        args = self._args
        where, whole = ((f'--instance {args.instance}', 'its stored request')
                        if args.instance else
                        (f'--spec {args.spec}', 'the content of that file'))
        allowed = {*specs.ANYWHERE}
        if not args.instance:
            allowed.add('spec')
        if args.operation == moves.RESIZE:
            allowed |= {*specs.OF_FLAVOR}
        elif args.operation == moves.BOOT:
            allowed.add('count')
        others = sorted(map(specs.flag, self._given.keys() - allowed))
        if others:
            self._refuse(
                f'--for {args.operation} {where}: {whole} is the whole '
                f'request; leave out {", ".join(others)}')

    @staticmethod
    def _refuse(reason):
        raise exception.InvalidInput(reason=reason)

    def request(self, conf):
        """Return the request: an envelope, and the uuids of its instances.

        Raises InvalidInput and DatabaseUnavailable.
        """
        args = self._args
        with contextlib.closing(
                stored_requests.StoredRequests(conf)) as stored:
            if args.instance:
                if not uuidutils.is_uuid_like(args.instance):
                    self._refuse(f'--instance {args.instance}: not a uuid')
                spec = stored.spec(args.instance)
            elif self._is_existing:
                spec = specs.read_spec(args.spec, conf)
            else:
                spec = specs.build_spec(args, conf, args.cloud)
            if self._is_existing:
                arguments.from_wire(spec)
                specs.edit_stored(spec, self._given, conf)
            if args.operation == moves.BOOT:
                if args.instance:
                    spec[_DATA]['num_instances'] = args.count
                return spec, request.name_instances(spec)
            uuid = args.instance or self._uuid_in(spec)
            arguments.from_wire(spec)
            return moves.as_asked(spec, args.operation, stored.instance(uuid),
                                  args.same_host), [uuid]

    def _uuid_in(self, spec):
        """Return the instance_uuid in a --spec."""
        data = spec.get(_DATA)
        uuid = data.get('instance_uuid') if isinstance(data, dict) else None
        if not (self._args.spec and uuid):
            self._refuse(f'--for {self._args.operation} needs an instance: '
                         'give --instance UUID, or a --spec with its '
                         'instance_uuid')
        return uuid


def _decide(conf, spec, uuids, stack, reported):
    """Decide a request; return the DryRun, and the changes of the hosts since.

    spec: envelope of a RequestSpec.  reported: see decider.Decider.
    The changes are texts; None if unknown.
    Raises the errors that prevent a decision.
    """
    own_decider = decider.Decider(conf, reported=reported)
    stack.callback(own_decider.stop)
    own_decider.start()
    dry_run = own_decider.decide(context.RequestContext(is_admin=True), {
        'spec_obj': spec, 'instance_uuids': uuids, 'return_objects': True,
        'return_alternates': True})
    _check_decided(dry_run.error)
    changes = None
    with contextlib.suppress(exception.DatabaseUnavailable):
        if dry_run.table is not None and own_decider.refresh():
            changes = host_changes.changed_hosts(
                dry_run.table, own_decider.table())
    return dry_run, changes


def _check_decided(error):
    """Raise an error other than a refusal."""
    if error is None or isinstance(error, exception.NoValidHost):
        return
    if isinstance(error, IncompatibleObjectVersion):
        raise exception.InvalidInput(reason=str(error)) from error
    if isinstance(error, exception.NovaSchedException):
        raise error
    raise exception.NovaSchedException(
        f'The scheduler fails with {type(error).__name__}: {error}'
    ) from error
