"""Taxi: a passenger is picked up at one of four stands and brought to another."""

from skm_sim import wrap_domain


def at(row, column):
    return lambda state, info, env: tuple(env.decode(state))[:2] == (row, column)


STANDS = {"red": at(0, 0), "green": at(0, 4), "yellow": at(4, 0), "blue": at(4, 3)}
PASSENGER = {
    "aboard": lambda state, info, env: tuple(env.decode(state))[2] == 4,
    "delivered": lambda state, info, env: len(set(tuple(env.decode(state))[2:])) == 1,
}
PLACES = STANDS | PASSENGER
TAXI = wrap_domain("taxi", "Taxi-v4", PLACES, constraints=["green"], gamma=0.9, primitive_steps=60)
