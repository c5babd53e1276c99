"""A whole cloud as a file, and a made-up one."""
