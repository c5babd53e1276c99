"""What is to be known before this service takes another one's place."""
