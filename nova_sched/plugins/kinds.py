"""A class that an option names: by an entry point, or by its dotted path.

The ``Kind`` of class says which option, which entry points, and what the
class must derive from.
"""

import dataclasses
from importlib import metadata
import inspect

from oslo_utils import importutils
from stevedore import driver as stevedore_driver

from nova_sched import exception
from nova_sched.options import nearest


@dataclasses.dataclass(frozen=True)
class Kind:
    """What an option may name.

    option: ``[group] name``.  namespace: of the entry points.
    noun: what such a class is called.  base: the class to derive from.
    must_have: what it must have besides, in words that follow ``base``.
    """

    option: str
    namespace: str
    noun: str
    base: type
    must_have: str = ''

    def names(self):
        """The entry points that are installed, sorted."""
        return sorted(metadata.entry_points(group=self.namespace).names)

    def load(self, name):
        """The class of an entry point's name or of a class path.

        Raises ConfigurationError when there is none, or when it is none of
        this kind.
        """
        names = self.names()
        if name not in names and ('.' not in name
                                  or name.startswith('nova.scheduler.')):
            raise exception.ConfigurationError(
                self.option, name, f'no such {self.noun}; '
                + nearest.did_you_mean(name.rsplit('.', 1)[-1], names))
        try:
            cls = self._imported(name, names)
        except Exception as exc:
            # Another author's module may fail in any way; the operator needs
            # to know which option brought it in.
            raise exception.ConfigurationError(
                self.option, name, f'cannot be imported ({exc!r}); use one of '
                f'{", ".join(names)}, or a class path') from exc
        if not (isinstance(cls, type) and issubclass(cls, self.base)
                and not inspect.isabstract(cls)):
            raise exception.ConfigurationError(
                self.option, name, f'is no {self.noun}; it must be a class '
                f'derived from {self.base.__module__}.'
                f'{self.base.__qualname__}{self.must_have}')
        return cls

    def _imported(self, name, names):
        if name in names:
            return stevedore_driver.DriverManager(
                self.namespace, name, invoke_on_load=False).driver
        return importutils.import_class(name)
