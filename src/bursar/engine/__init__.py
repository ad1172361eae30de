"""The loop, the guard, the roles and the interface of a world."""
