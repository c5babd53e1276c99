"""Client side of the scheduler's RPC interface, as conductors use it."""

import oslo_messaging as messaging

from nova_sched import exception
from nova_sched import objects
from nova_sched import rpc
from nova_sched.objects import spec_dicts

#: Release names that ``[upgrade_levels] scheduler`` accepts.
VERSION_ALIASES = {
    'grizzly': '2.6', 'havana': '2.9', 'icehouse': '3.0', 'juno': '3.0',
    'kilo': '4.2', 'liberty': '4.2', 'mitaka': '4.3', 'newton': '4.3',
    'ocata': '4.3', 'pike': '4.4'}

_REMOTE = {cls.__name__: cls for cls in (exception.NoValidHost,
                                         exception.InvalidInput)}


class SchedulerAPI:
    """A client that calls a scheduler over RPC.

    conf: ConfigOpts with this project's options.
    transport: oslo.messaging transport; by default created from conf.
    """

    def __init__(self, conf, transport=None):
        cap = conf.upgrade_levels.scheduler
        self._client = rpc.get_client(
            transport or rpc.get_transport(conf),
            messaging.Target(topic=conf.scheduler_topic, version='4.0'),
            version_cap=VERSION_ALIASES.get(cap, cap))
        self._timeout = conf.long_rpc_timeout
        self._monitor = conf.rpc_response_timeout

    def select_destinations(self, ctxt, spec_obj, instance_uuids,
                            return_objects=False, return_alternates=False):
        """Select a host for each instance; see SchedulerManager.

        Returns a list of Selections per instance with return_objects, else
        one dict per instance.
        Raises NoValidHost and InvalidInput as the server does;
        SelectionObjectsWithOldRPCVersionNotSupported for objects or
        alternates under a version cap below 4.5;
        oslo_messaging.MessagingTimeout without a reply in time; and
        oslo_messaging.RemoteError for any other error of the server.
        """
        version, args = self._form(spec_obj, instance_uuids, return_objects,
                                   return_alternates)
        call = self._client.prepare(version=version, timeout=self._timeout,
                                    call_monitor_timeout=self._monitor)
        try:
            answer = call.call(ctxt, 'select_destinations', **args)
        except messaging.RemoteError as exc:
            raise _local(exc) from exc
        if not return_objects:
            return answer
        return [[objects.Selection.obj_from_primitive(envelope)
                 for envelope in chosen] for chosen in answer]

    def _form(self, spec_obj, instance_uuids, return_objects,
              return_alternates):
        """Return the version to send and the arguments of that version."""
        envelope = spec_obj
        if isinstance(spec_obj, objects.RequestSpec):
            envelope = spec_obj.obj_to_primitive()
        if self._client.can_send_version('4.5'):
            return '4.5', {'spec_obj': envelope,
                           'instance_uuids': instance_uuids,
                           'return_objects': return_objects,
                           'return_alternates': return_alternates}
        version = '4.4' if self._client.can_send_version('4.4') else '4.3'
        if return_objects or return_alternates:
            raise exception.SelectionObjectsWithOldRPCVersionNotSupported(
                version=self._client.version_cap)
        if not self._client.can_send_version('4.3'):
            return '4.0', {
                'request_spec': spec_dicts.to_request_spec_dict(spec_obj),
                'filter_properties': spec_dicts.to_filter_properties_dict(
                    spec_obj)}
        if version == '4.3':
            return '4.3', {'spec_obj': envelope}
        return '4.4', {'spec_obj': envelope, 'instance_uuids': instance_uuids}

    def ping(self, ctxt, arg=None):
        """Return the reply of any scheduler: service name and arg."""
        call = self._client.prepare(version='1.0', namespace='baseapi')
        return call.call(ctxt, 'ping', arg=arg)


def _local(error):
    """Return a server's exception as this project's class, if it has one."""
    cls = _REMOTE.get(error.exc_type)
    if cls is None:
        return error
    prefix = cls.msg_fmt.partition('%(')[0]
    return cls(reason=str(error.value).removeprefix(prefix))
