"""Office Gridworld: bring coffee, mail, patrol rooms."""
