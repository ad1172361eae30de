"""What each event changes: one function an event, by subject. Only `RunState.apply` calls them."""
