"""The state of the cloud: hosts as read, and instances placed since."""
