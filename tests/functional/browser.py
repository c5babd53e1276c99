"""A headless Chromium, driven by its DevTools protocol."""

import base64
import contextlib
import json
import os
import subprocess

#: No background traffic; as root Chromium cannot use its sandbox.
_OPTIONS = ('--headless=new', '--no-sandbox', '--disable-gpu',
            '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run',
            '--disable-background-networking', '--disable-component-update',
            '--disable-sync', '--remote-debugging-pipe')


class Browser:
    """One tab.

    events: list of (method, arguments) that Chromium sent unasked.
    """

    def __init__(self, commands, answers):
        self._commands, self._answers = commands, answers
        self._buffer, self._number, self._session = b'', 0, None
        self.events = []
        target = self.ask('Target.createTarget', url='about:blank')
        self._session = self.ask(
            'Target.attachToTarget', targetId=target['targetId'],
            flatten=True)['sessionId']
        for domain in ('Page', 'Network', 'Log', 'Runtime'):
            self.ask(f'{domain}.enable')

    def ask(self, method, **arguments):
        """Send a command; return its result, a dict."""
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': arguments}
        if self._session:
            message['sessionId'] = self._session
        os.write(self._commands, json.dumps(message).encode() + b'\0')
        while True:
            answer = self._next()
            if answer.get('id') == self._number:
                assert 'error' not in answer, answer
                return answer['result']

    def _next(self):
        """Read the next message; add it to ``events`` if it is one."""
        while b'\0' not in self._buffer:
            data = os.read(self._answers, 1 << 20)
            assert data, 'the browser is gone'
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b'\0')
        message = json.loads(text)
        if 'method' in message:
            self.events.append((message['method'], message['params']))
        return message

    def show(self, path, width, height, scheme='light'):
        """Load a file on a screen of this size in pixels."""
        self.ask('Emulation.setDeviceMetricsOverride', width=width,
                 height=height, deviceScaleFactor=1, mobile=width < 500)
        self.ask('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': scheme}])
        self.events.clear()
        self.ask('Page.navigate', url=f'file://{path}')
        while 'Page.loadEventFired' not in [name for name, _ in self.events]:
            self._next()

    def value(self, expression):
        """Evaluate an expression in the page: its value as JSON."""
        answer = self.ask('Runtime.evaluate', expression=expression,
                          returnByValue=True)
        assert 'exceptionDetails' not in answer, answer
        return answer['result'].get('value')

    def tap(self, selector):
        """Tap the first element of a selector."""
        box = self.value(
            f'(e => {{e.scrollIntoView({{block: "center"}});'
            'const b = e.getBoundingClientRect();'
            'return [b.x + b.width / 2, b.y + b.height / 2]})'
            f'(document.querySelector({json.dumps(selector)}))')
        for kind in ('mousePressed', 'mouseReleased'):
            self.ask('Input.dispatchMouseEvent', type=kind, x=box[0],
                     y=box[1], button='left', clickCount=1)

    def picture(self):
        """Take a screenshot: the bytes of a PNG."""
        return base64.b64decode(
            self.ask('Page.captureScreenshot', format='png')['data'])


@contextlib.contextmanager
def running(folder):
    """A Browser for a block, with its profile in this folder."""
    commands, answers = os.pipe(), os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4.
    process = subprocess.Popen(
        ['bash', '-c', f'exec "$@" 3<&{commands[0]} 4>&{answers[1]}', 'bash',
         'chromium', *_OPTIONS, f'--user-data-dir={folder}'],
        pass_fds=(commands[0], answers[1]), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    os.close(commands[0])
    os.close(answers[1])
    try:
        yield Browser(commands[1], answers[0])
    finally:
        os.close(commands[1])
        os.close(answers[0])
        process.terminate()
        process.wait(30)
