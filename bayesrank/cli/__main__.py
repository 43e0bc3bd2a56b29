"""``python -m bayesrank.cli``."""

from bayesrank.cli.commands import main

main(prog_name="bayesrank")
