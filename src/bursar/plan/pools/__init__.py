"""Plans for a bag on two pools, unreliable and reliable (ExPERT)."""
