"""``python -m bayesrank``."""

from bayesrank.cli.commands import main

main(prog_name="bayesrank")
