"""An RPC server that loses no request when it stops.

oslo.messaging acknowledges a request when it arrives, before anything works
on it. Two consequences of that are put right here, and two more things:

- A server that stops closes its connection only after its last answer, and
  requests that are delivered while it closes are acknowledged and forgotten
  (measured: of 50 requests a second for four workers, stopping two of them
  lost 31). Here a stop closes the connection at once, so that the broker
  gives what was not acknowledged to other workers, and works on what was.
- A server acknowledges as many requests as come, however many wait for a
  thread, and all of them are lost if its process dies. Here a request is
  taken only when a thread is free for it; what waits beyond
  ``[oslo_messaging_rabbit] rabbit_qos_prefetch_count`` requests (0: any
  number) waits at the broker, where other workers find it.
- An idle server looks only every five seconds whether it shall stop.
- A reply whose queue is gone is given up after a while, and whoever made it
  does not learn of that. Here what the call has done is undone
  (``answers.py``), and what a message has done that wants no reply.

Of what oslo.messaging keeps to itself, all but options is touched in this
module alone, and ``requirements.txt`` bounds its version for it:
``_drivers.amqpdriver``; of a server ``_create_listener``, ``_on_incoming``,
``_process_incoming`` and ``_work_executor``; of a listener
``_poll_style_listener``; of a message ``orig_msg_id``, ``reply_q`` and
``_obsolete_reply_queues`` with its ``_cache``.
"""

import threading

from oslo_messaging._drivers import amqpdriver
from oslo_messaging.rpc import server

from nova_sched.rpc import answers

# Seconds; what an idle server waits for at a time, at most.
amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MAX = 0.5


class Server(server.RPCServer):
    """To be passed as ``server_cls`` to oslo_messaging.get_rpc_server."""

    def __init__(self, transport, target, dispatcher, executor=None):
        super().__init__(transport, target, dispatcher, executor)
        self._free = threading.Semaphore(self.conf.executor_thread_pool_size)

    def _create_listener(self):
        return _Listener(super()._create_listener())

    def _on_incoming(self, incoming):
        self._free.acquire()
        work = self._work_executor.submit(
            self._process, [_Answered(message) for message in incoming])
        work.add_done_callback(lambda _: self._free.release())

    def _process(self, incoming):
        answers.begin()
        try:
            self._process_incoming(incoming)
        finally:
            # A thread that waits for its next call keeps nothing of this one.
            answers.begin()


class _Answered:
    """An incoming message that has things undone if its reply is lost."""

    def __init__(self, message):
        self._message = message

    def __getattr__(self, name):
        return getattr(self._message, name)

    def reply(self, reply=None, failure=None):
        try:
            self._message.reply(reply, failure)
        except BaseException:
            answers.lost()
            raise
        if not self._delivered():
            answers.lost()

    def _delivered(self):
        message = self._message
        if not isinstance(message, amqpdriver.AMQPIncomingMessage):
            return True
        return bool(message.orig_msg_id) and (
            message.reply_q not in message._obsolete_reply_queues._cache)


class _Listener:
    """A listener whose ``stop`` also does the work of ``cleanup``."""

    def __init__(self, listener):
        self._listener = listener

    def start(self, on_incoming):
        self._on_incoming = on_incoming
        self._listener.start(on_incoming)

    def stop(self):
        self._listener.stop()
        self._listener.cleanup()
        arrived = self._listener._poll_style_listener
        while incoming := arrived.poll(batch_size=1):
            self._on_incoming(incoming)

    def cleanup(self):
        """Nothing: ``stop`` has closed the connection."""
