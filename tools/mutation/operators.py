"""An operator that cosmic-ray lacks: it removes a call."""

from cosmic_ray.operators.operator import Example
from cosmic_ray.operators.operator import Operator
import parso


class CallRemover(Operator):
    """Removes a call whose result is not used.

    Lines of the log at DEBUG are left alone: they are not behaviour.
    """

    def mutation_positions(self, node):
        parts = getattr(node, 'children', ())
        if (node.type in ('atom_expr', 'power')
                and node.parent.type == 'simple_stmt'
                and parts[-1].type == 'trailer'
                and parts[-1].children[0] == '('
                and not node.get_code().strip().startswith('LOG.debug')):
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        return parso.parse(node.get_first_leaf().prefix + 'None')

    @classmethod
    def examples(cls):
        return (Example('close(a)\n', 'None\n'),)


class Provider(dict):
    """The operators of this file by name, for cosmic-ray."""

    def __init__(self):
        super().__init__(CallRemover=CallRemover)
