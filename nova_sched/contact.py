"""What is known of something that this service talks to: does it answer.

Whoever talks to it notes what came of it; whoever is asked how the service is
looks at the notes, and asks nobody.
"""

import time

#: Characters that are kept of an error.
LONGEST = 500


class Contact:
    """Notes about one other party, of this process.

    heard: when it answered last, seconds since the epoch; None before.
    error: why it did not answer last, text; None while it does.
    failures: how often it has failed since it answered.
    since: when the first of these was, by time.monotonic().
    noted: when the last of these was, seconds since the epoch.

    Each is written at once; who reads in between sees a moment too early.
    """

    def __init__(self):
        self.heard = self.error = self.noted = None
        self.failures, self.since = 0, 0.0

    def answered(self):
        """Note that it answers."""
        self.heard = time.time()
        self.error, self.failures = None, 0

    def failed(self, error):
        """Note that it does not; error: whatever says why."""
        if not self.failures:
            self.since = time.monotonic()
        self.noted = time.time()
        self.error = (str(error)[:LONGEST] or self.error
                      or type(error).__name__)
        self.failures += 1

    @property
    def lasting(self):
        """Seconds since it does not answer; 0 while it does."""
        return time.monotonic() - self.since if self.failures else 0.0
