"""Which of oslo.messaging's private parts are used, and where."""

import ast
import pathlib

import oslo_messaging

import nova_sched
from nova_sched import rpc
from nova_sched.rpc import listener as rpc_listener
from nova_sched.rpc import replies as rpc_replies
from nova_sched.rpc import server as rpc_server
from tests.builders import rules

ROOT = pathlib.Path(nova_sched.__file__).parent
# Parsed before anything runs: Python 3.11 parses in one thread at a time.
TREES = {path: ast.parse(path.read_text()) for path in ROOT.rglob('*.py')}
MODULES = [pathlib.Path(module.__file__)
           for module in (rpc_server, rpc_listener, rpc_replies)]

#: What these use of objects of oslo.messaging uninvited.
PRIVATE = {'_create_listener', '_on_incoming', '_process_incoming',
           '_work_executor', '_poll_style_listener', '_watchdog',
           'orig_msg_id', 'reply_q', '_obsolete_reply_queues',
           'message_cls', '_send_reply', '_raw_message', '_get_connection',
           '_consumers', '_new_tags', '_set_current_channel', '_shutdown',
           '_shutoff'}

#: The modules of its own that others import: file -> names.
ALLOWED = {
    'rpc/server.py': {'oslo_messaging._drivers.amqpdriver',
                      'oslo_messaging._drivers.impl_rabbit'},
    'rpc/listener.py': {'oslo_messaging._drivers.amqpdriver',
                        'oslo_messaging._drivers.impl_rabbit'},
    'rpc/replies.py': {'oslo_messaging._drivers.amqpdriver'},
    # Which versions of TLS it knows is asked where its options are checked.
    'conf/messaging.py': {'oslo_messaging._drivers.impl_rabbit'},
    # Options are given older names and other defaults where they are.
    'options/libraries.py': {'oslo_messaging._drivers.amqp',
                             'oslo_messaging._drivers.impl_rabbit'},
}


def private(name):
    return name.startswith('_') and not name.startswith('__')


def attributes(path):
    """The names of attributes that a file reads or writes, its own methods
    among them: set.
    """
    found = set()
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


def own(path):
    """Names that a file gives to its own functions, classes and attributes:
    set.
    """
    tree = TREES[path]
    found = {node.name for node in ast.walk(tree)
             if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = getattr(node, 'targets', None) or [node.target]
            found |= {part.attr for target in targets
                      for part in ast.walk(target)
                      if isinstance(part, ast.Attribute)}
    return found - PRIVATE


def private_imports(path):
    """Private parts of oslo.messaging that a file imports or reaches into by
    the library's name: set.
    """
    found = set()
    for node in ast.walk(TREES[path]):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f'{node.module}.{alias.name}' for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        found |= {name for name in names
                  if name.startswith(('oslo_messaging.', 'messaging.'))
                  and any(map(private, name.split('.')))}
    return found


class TestPrivateParts:
    """What a release of oslo.messaging may change without a word."""

    def test_are_used_by_no_other_module(self):
        imported = {str(path.relative_to(ROOT)): private_imports(path)
                    for path in TREES}
        assert {name: found for name, found in imported.items()
                if found} == ALLOWED
        assert {path: found for path in set(TREES) - set(MODULES)
                if (found := attributes(path) & PRIVATE)} == {}

    def test_are_those_that_the_module_names(self):
        """Their other private names are their own; the docstring of the
        server has them all.
        """
        used = set()
        for path in MODULES:
            used |= {name for name in attributes(path)
                     if private(name) and name not in own(path)}

        assert used == {name for name in PRIVATE if private(name)} | {
            '_cache'}
        assert '``_drivers.amqpdriver``' in rpc_server.__doc__
        assert all(f'``{name}``' in rpc_server.__doc__ for name in PRIVATE)

    def test_are_there_in_the_installed_version(self):
        assert rpc_server.amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MAX
        conf = rules.a_conf(DEFAULT__transport_url='fake://')
        made = oslo_messaging.get_rpc_server(
            rpc.get_transport(conf),
            oslo_messaging.Target(topic='t', server='s'), [])
        listener = made._create_listener()
        connection = rpc_listener.impl_rabbit.Connection
        made.start()
        assert callable(made._process_incoming)
        assert callable(made._on_incoming)
        assert callable(made._work_executor.submit)
        assert callable(listener._poll_style_listener.poll)
        assert callable(made.dispatcher._watchdog)
        assert callable(connection._set_current_channel)
        assert {'_consumers', '_new_tags'} <= set(
            connection.__init__.__code__.co_names)
        assert callable(rpc_server.amqpdriver.AMQPDriverBase._get_connection)
        assert {'_shutdown', '_shutoff'} <= set(
            rpc_server.amqpdriver.AMQPListener.__init__.__code__.co_names)
        message = rpc_server.amqpdriver.AMQPIncomingMessage(
            None, None, {}, None, 'id', 'queue', None,
            rpc_server.amqpdriver.ObsoleteReplyQueuesCache(), None)
        assert message.orig_msg_id == 'id'
        assert message.reply_q not in message._obsolete_reply_queues._cache
        made.stop()
        made.wait()
