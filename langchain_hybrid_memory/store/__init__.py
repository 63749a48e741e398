"""A LangGraph store over the log."""
