"""`python -m flowyard` is the command line."""

import sys

from flowyard.cli import main

sys.exit(main())
