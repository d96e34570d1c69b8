"""`python -m rushlight` is the command `rushlight`."""

from rushlight._cli import main

main()
