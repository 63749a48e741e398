"""Images and audio in messages: their index, and recall over it."""
