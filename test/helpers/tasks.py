"""The task formulas of the three domains, with the states of their minimal automata."""

TASKS = {
    "office/coffee": ("F(coffee & X F office) & G !decoration", 4),
    "office/patrol": ("F(A & X F(B & X F(C & X F D))) & G !decoration", 6),
    "office/coffee_mail": (
        "(F(coffee & X F(mail & X F office)) | F(mail & X F(coffee & X F office))) & G !decoration",
        7,
    ),
    "office/long": (
        "F(mail & X F(office & X(!mail U (!mail_present & mail & X F(coffee & X(!office U "
        "(!people_present & office & X F(A & X F(B & X F(C & X F(D & X F A))))))))))) & G !decoration",
        12,
    ),
    "office_absorbing/coffee": ("F(coffee & X F office) & G !decoration", 4),
    "office_absorbing/coffee_strict": ("F office & (!office U coffee)", 4),
    "moving_targets/1": ("F(circle | square)", 2),
    "moving_targets/2": ("F(blue & X F(purple & X F((circle | square) & !(blue | purple))))", 4),
    "moving_targets/3": ("F(blue | square) & G !(blue & square)", 3),
    "moving_targets/4": ("F((!square & blue) & X F(square & !blue))", 3),
    "safety/1": ("F(button & X F cylinder)", 3),
    "safety/2": ("F(button & X F cylinder) & G !region", 4),
    "safety/3": (
        "F(button & X F((cylinder & !region) & X F((button & region) & X F cylinder)))",
        5,
    ),
    "safety/4": ("F(button & X F(cylinder & region))", 3),
    "safety/5": ("F(cylinder & X F((button & region) & X F cylinder))", 4),
    "safety/6": ("F(region & X F((button & cylinder) & X(F cylinder & G !region)))", 4),
}
