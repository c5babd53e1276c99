"""Which of oslo.messaging's private parts are used, and where."""

import ast
import pathlib

import oslo_messaging
import pytest

import nova_sched
from nova_sched import rpc
from nova_sched.rpc import server as rpc_server
from tests.builders import rules

ROOT = pathlib.Path(nova_sched.__file__).parent
MODULE = pathlib.Path(rpc_server.__file__)

#: What rpc/server.py uses of objects of oslo.messaging uninvited.
PRIVATE = {'_create_listener', '_on_incoming', '_process_incoming',
           '_work_executor', '_poll_style_listener', '_watchdog',
           'orig_msg_id', 'reply_q', '_obsolete_reply_queues',
           'message_cls', '_send_reply'}

#: The modules of its own that others import: file -> names.
ALLOWED = {
    'rpc/server.py': {'oslo_messaging._drivers.amqpdriver',
                      'oslo_messaging._drivers.impl_rabbit'},
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
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


def private_imports(path):
    """Private parts of oslo.messaging that a file imports or reaches into by
    the library's name: set.
    """
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
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

    @pytest.mark.parametrize('path', sorted(ROOT.rglob('*.py')),
                             ids=lambda path: str(path.relative_to(ROOT)))
    def test_are_used_by_no_other_module(self, path):
        allowed = ALLOWED.get(str(path.relative_to(ROOT)), set())
        assert private_imports(path) == allowed
        assert path == MODULE or not attributes(path) & PRIVATE

    def test_are_those_that_the_module_names(self):
        """Its other private names are its own; the docstring has them all."""
        own = {'_free', '_listener', '_on_incoming', '_process', '_message',
               '_delivered', '_cache', 'orig_msg_id', 'reply_q',
               '_replied', '_over', '_send', '_as_text', '_tried',
               '_waited'}
        used = {name for name in attributes(MODULE) if private(name)}

        assert used - own == {name for name in PRIVATE
                              if private(name)} - own
        assert '``_drivers.amqpdriver``' in rpc_server.__doc__
        assert all(f'``{name}``' in rpc_server.__doc__ for name in PRIVATE)

    def test_are_there_in_the_installed_version(self):
        assert rpc_server.amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MAX
        conf = rules.a_conf(DEFAULT__transport_url='fake://')
        made = oslo_messaging.get_rpc_server(
            rpc.get_transport(conf),
            oslo_messaging.Target(topic='t', server='s'), [])
        listener = made._create_listener()
        made.start()
        assert callable(made._process_incoming)
        assert callable(made._on_incoming)
        assert callable(made._work_executor.submit)
        assert callable(listener._poll_style_listener.poll)
        assert callable(made.dispatcher._watchdog)
        message = rpc_server.amqpdriver.AMQPIncomingMessage(
            None, None, {}, None, 'id', 'queue', None,
            rpc_server.amqpdriver.ObsoleteReplyQueuesCache(), None)
        assert message.orig_msg_id == 'id'
        assert message.reply_q not in message._obsolete_reply_queues._cache
        made.stop()
        made.wait()
