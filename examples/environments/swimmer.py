"""MuJoCo's Swimmer: three links in a fluid; labels are where its front is."""

from skm_sim import wrap_domain


def beyond(axis, bound):
    return lambda seen, info, env: bool(seen[axis] * bound > bound * bound)


PLACES = {
    "ahead": beyond(0, 0.4),
    "back": beyond(0, -0.4),
    "left": beyond(1, 0.4),
    "right": beyond(1, -0.4),
}
SWIMMER = wrap_domain(
    "swimmer", "Swimmer-v5", PLACES, constraints=["left", "right"], primitive_steps=200,
    tasks=["F ahead", "F back", "F left", "F right", "!left U right"],
    exclude_current_positions_from_observation=False,
)  # fmt: skip
