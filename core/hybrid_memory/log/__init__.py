"""L3: events, the ports of log and archive, and logs that wrap another log."""
