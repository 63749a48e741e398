"""A judge who grades answers by a rubric, blind to what they came from, and how far it can be trusted."""
