"""Pictures and sounds in messages: their index, and recall over it."""
