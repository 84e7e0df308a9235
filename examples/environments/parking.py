"""highway-env's parking lot: a car with steering and throttle; the spots of the lot by row and side."""

from skm_sim import wrap_domain


def spot(left, upper):
    def inside(seen, info, env):
        x, y = 100 * seen["achieved_goal"][:2]
        return abs(y) > 10 and (x < 0) == left and (y < 0) == upper

    return inside


ROWS = {"north_west": (True, True), "north_east": (False, True)}
ROWS |= {"south_west": (True, False), "south_east": (False, False)}
PARKING = wrap_domain(
    "parking", "highway_env:parking-v0", {name: spot(*row) for name, row in ROWS.items()},
    constraints=["north_east", "south_east"], observation_key="observation",
    tasks=["F north_west", "F(north_west & F south_west)", "!north_east U south_west"],
)  # fmt: skip
