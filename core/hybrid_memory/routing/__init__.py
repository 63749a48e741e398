"""What a query asks for: intent, entities, times; and the plan of a recall. Pure functions over its words."""
