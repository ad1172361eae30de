"""Plans for a bag on reliable machines."""
