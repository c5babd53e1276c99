"""Carries out a Containerfile in a directory, without a container engine."""

import contextlib
import fnmatch
import os
import pathlib
import re
import shlex
import shutil
import subprocess

#: Environment variables that a build inherits, besides the file's own.
_PASSED_ON = re.compile('PIP_|.*_proxy$|PATH$', re.IGNORECASE)

#: Files of this machine without which a network may not be reached.
_NETWORK = ('etc/resolv.conf', 'etc/ssl/certs/ca-certificates.crt')


class Container:
    """The root of a container.

    context: directory with the Containerfile.  root: directory to create.
    user: account of the program.  command: its command line.
    environ: its variables under a container engine.
    """

    def __init__(self, context, root):
        self._context, self.root = pathlib.Path(context), pathlib.Path(root)
        self.user, self.command, self.environ = 'root', [], {}

    def build(self):
        """Execute each instruction."""
        text = (self._context / 'Containerfile').read_text()
        text = re.sub('^#.*\n', '', text, flags=re.MULTILINE)
        for line in text.replace('\\\n', ' ').splitlines():
            if line:
                instruction, _, rest = line.partition(' ')
                getattr(self, f'_{instruction.lower()}')(rest.strip())

    def _from(self, image):
        name, suite = re.fullmatch(r'(\w+):(\w+)-slim', image).groups()
        assert name == 'debian'
        _output('debootstrap', '--variant=minbase', suite, self.root)

    def _run(self, script):
        for name in _NETWORK:
            with contextlib.suppress(FileNotFoundError):
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(f'/{name}', self.root / name)
        self.run('sh', '-ec', script, environ={
            name: value for name, value in os.environ.items()
            if _PASSED_ON.match(name)})

    def _copy(self, words):
        source, target = shlex.split(words)
        ignored = (self._context / '.containerignore').read_text().split()
        top = self._context / source

        def ignore(directory, names):
            below = pathlib.Path(directory).relative_to(top)
            return [name for name in names if any(
                fnmatch.fnmatch(name, pattern.removeprefix('**/'))
                if pattern.startswith('**/')
                else fnmatch.fnmatch(str(below / name), pattern)
                and str(below / name).count('/') == pattern.count('/')
                for pattern in ignored)]

        shutil.copytree(top, self.root / target.lstrip('/'), ignore=ignore)

    def _user(self, name):
        self.user = name

    def _env(self, words):
        name, _, value = words.partition('=')
        self.environ[name] = value

    def _cmd(self, words):
        self.command = re.findall('"([^"]*)"', words)

    def run(self, *words, environ=None):
        """Run a command in the container as root: its output."""
        return _output(*self._inside('root', *words), environ=environ or {})

    def program(self):
        """The command line that runs the program as process 1, without
        environment.
        """
        return self._inside(self.user, '/usr/bin/env', '-i', *self.command)

    def _inside(self, user, *words):
        # The new PID namespace needs a /proc of its own.
        return ['unshare', '--mount', '--pid', '--fork', '--kill-child',
                f'--mount-proc={self.root}/proc', 'sh', '-c',
                # As container engines do.
                'mount -t tmpfs -o mode=1777 none "$1/dev/shm" && shift && '
                'exec setsid "$@"', 'sh', str(self.root), 'chroot',
                f'--userspec={user}', str(self.root), *words]


def _output(*words, environ=None):
    """Output of a command; AssertionError if it fails."""
    done = subprocess.run(
        list(map(str, words)), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env=None if environ is None else {'PATH': os.environ['PATH'],
                                          **environ})
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout
