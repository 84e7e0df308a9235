"""Learn a policy for each spot of the yard: `python -m own_skills FOLDER`."""

import sys
from pathlib import Path

from own_skills import train
from own_skills.domain import SPOTS, YARD

YARD.register()
for spot in SPOTS:
    train(YARD, spot, steps=6000).save(Path(sys.argv[1]) / spot)
