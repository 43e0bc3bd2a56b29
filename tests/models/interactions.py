"""Who has what, for the tests of LearnBPR."""

import numpy as np
import pandas as pd

from bayesrank.data import Interactions

# Ann has a and c, Bo b, Cy a, b and d; Di has nothing
HAVE = Interactions.from_frame(
    pd.DataFrame({"user": ["Ann", "Ann", "Bo", "Cy", "Cy", "Cy"], "page": list("acbabd")}),
    user="user",
    item="page",
    users=["Ann", "Bo", "Cy", "Di"],
)


def log_sigmoid(x):
    return -np.logaddexp(0, -x)
