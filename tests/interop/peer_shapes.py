"""Requests of captured messages, sent by the real Nova's client classes.

Part of peer.py; runs on the Python of Nova's environment.
"""

from nova import baserpc
from nova import config
from nova import context
from nova import objects
from nova.scheduler import rpcapi
from nova.scheduler.client import query


def own(value):
    """A JSON value with Nova's objects in place of primitives."""
    if isinstance(value, dict) and 'nova_object.name' in value:
        return objects.base.NovaObject.obj_from_primitive(
            value, context.get_admin_context())
    if isinstance(value, dict):
        return {key: own(part) for key, part in value.items()}
    return list(map(own, value)) if isinstance(value, list) else value


def as_json(value):
    """A client's result as JSON: objects as primitives with their class."""
    if isinstance(value, objects.base.NovaObject):
        primitive = value.obj_to_primitive()
        return {**primitive, 'class': type(value).__qualname__,
                'module': type(value).__module__}
    if isinstance(value, dict):
        return {key: as_json(part) for key, part in value.items()}
    return list(map(as_json, value)) if isinstance(value, list) else value


def ask(args, cap=None):
    """Call by the query client, with [upgrade_levels] scheduler = cap.

    args: of a captured call of version 4.5.
    """
    config.CONF.set_override('scheduler', cap, 'upgrade_levels')
    try:
        flags = {} if cap else {
            name: args.get(name) for name
            in ('return_objects', 'return_alternates')}
        return as_json(query.SchedulerQueryClient().select_destinations(
            context.get_admin_context(), own(args['spec_obj']),
            args['instance_uuids'], **flags))
    finally:
        config.CONF.clear_override('scheduler', 'upgrade_levels')


def say(method, version, args):
    """Call with unchanged arguments by Nova's RPC client.

    For calls of older releases, and for wrong calls.
    """
    return as_json(rpcapi.SchedulerAPI().client.prepare(version=version).call(
        context.get_admin_context(), method, **args))


def announce(method, args):
    """Cast by the query client."""
    getattr(query.SchedulerQueryClient(), method)(
        context.get_admin_context(), *map(own, args))


def ping(arg):
    return baserpc.BaseAPI('scheduler').ping(
        context.get_admin_context(), arg)


def backdoor_port(host):
    return baserpc.BaseAPI('scheduler').get_backdoor_port(
        context.get_admin_context(), host)


ANSWERED = {function.__name__: function for function in (
    ask, say, announce, ping, backdoor_port)}
