"""Messages between daemons."""

from nova_sched import rpc
from nova_sched.rpc.broadcast import Broadcast
from tests.builders import rules
from tests.builders.waiting import until


def test_other_message_is_dropped_with_a_line(caplog):
    conf = rules.a_conf(DEFAULT__transport_url='fake://')
    transport, received = rpc.get_transport(conf), []
    made = Broadcast(conf, transport)
    made.start(received.append)
    made._client.cast({}, 'hear')
    made.publish({'text': 'x'})
    until(lambda: received, 'the second message')
    made.stop()
    transport.cleanup()

    assert received == [{'text': 'x'}]
    assert caplog.messages == [
        "A message on topic nova_sched.nova.scheduler is not from a daemon: "
        "KeyError('said')"]
