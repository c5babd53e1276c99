"""Why a request gets the hosts it gets, or none: by the rules that serve.

``matrix`` has every rule judge every host, ``host`` tells why not one host,
``pick`` why the one that is first, and ``changes`` what would let a refused
request be placed; ``explanation`` has all of these.  They work on private
copies of a HostSnapshot: nothing is claimed, and nothing that they are given
is changed.
"""
