"""Why a request gets its hosts, or none, by the rules that run.

``matrix`` has every rule judge every host, ``host`` explains why a host is not
picked, ``pick`` why a host is, and ``changes`` finds changes that let a
refused request be placed; ``explanation`` combines them.  They work on private
copies of a HostSnapshot: nothing is claimed, and no argument is changed.
"""
