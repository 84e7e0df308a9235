"""The other side of the nodes: a client that sends missions, follows and records them."""
