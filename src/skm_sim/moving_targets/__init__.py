"""Moving Targets: six objects on a walled board, seen as pictures."""
