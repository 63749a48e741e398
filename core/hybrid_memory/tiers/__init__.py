"""What each tier holds and how it follows the log; pure."""
