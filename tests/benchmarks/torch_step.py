"""A step of Adam on FATE in PyTorch, for interpreters that have it: prints milliseconds of CPU.

``python tests/benchmarks/torch_step.py DTYPE WIDTH N_SETS N_STEPS``; one thread, because two take
more CPU time, not less. It imports nothing of bayesrank, so that it may run elsewhere.
"""

import sys
import time

import torch
from torch import nn


class Fate(nn.Module):
    """Three layers of embedding, mean, three layers of score."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Sequential(
            nn.Linear(2, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
        )  # fmt: skip
        self.item, self.context = nn.Linear(2, width), nn.Linear(width, width, bias=False)
        self.score = nn.Sequential(
            nn.ReLU(), nn.Linear(width, width),
            nn.ReLU(), nn.Linear(width, width),
            nn.ReLU(), nn.Linear(width, 1, bias=False),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        context = self.embed(x).mean(-2, keepdim=True)
        return self.score(self.item(x) + self.context(context))[..., 0]


def main(dtype: str, width: int, n_sets: int, n_steps: int) -> float:
    """Return the milliseconds of CPU time of a step."""
    torch.set_num_threads(1)
    network = Fate(width).to(getattr(torch, dtype))
    x = torch.rand(n_sets, 5, 2, dtype=getattr(torch, dtype))
    adam = torch.optim.Adam(network.parameters(), lr=2e-3)

    def step() -> None:
        adam.zero_grad()
        u = network(x).double()  # slots sorted best first
        log_p = (u - u.flip(-1).logcumsumexp(-1).flip(-1)).sum(-1).mean()
        penalty = sum((w.double() ** 2).sum() for w in network.parameters())
        (1e-4 * penalty - log_p).backward()
        adam.step()

    for _ in range(10):
        step()
    start = time.process_time()
    for _ in range(n_steps):
        step()
    return (time.process_time() - start) / n_steps * 1e3


if __name__ == "__main__":
    print(main(sys.argv[1], *map(int, sys.argv[2:])))
