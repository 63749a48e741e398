"""L3: events, the ports of log and archive, and the logs that stand before another one."""
