"""Skills of worlds that are known as a whole: computed, not learned.

`predecessors` is the world's graph backwards, `distances` the shortest ways to every label set, and
`known_primitives` serves them as world value functions. How missions are planned there:
`skm_primitives.planning.known_policy`.
"""
