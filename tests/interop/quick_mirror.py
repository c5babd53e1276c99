"""The daemon, whose copy of Placement is compared with it all the time.

For tests that compare what is decided on the copy with what is decided on
listings, while others change Placement between two requests.
"""

import sys

from nova_sched.cmd import run_scheduler
from nova_sched.placement.mirror import upkeep

#: Seconds after which it has seen any change.
SEEN = 0.5

if __name__ == '__main__':
    upkeep.CHANGES = upkeep.ALL = upkeep.MEMBERS = 0.3
    upkeep.LEAST, upkeep.SINGLE = 0.1, 1000
    sys.exit(run_scheduler())
