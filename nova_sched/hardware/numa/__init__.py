"""NUMA: cells of hosts and guests, and fitting these on those."""
