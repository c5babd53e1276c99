"""The cloud as it is kept: what was read of it, and what was placed since."""
