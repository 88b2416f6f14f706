"""How check-mpi-transport prints an answer, and the exit status that it gives."""

from __future__ import annotations

import argparse
from typing import TextIO

from ibkit.cli.output import print_csv, print_json, print_problems
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED
from ibkit.export.mpi import COLUMNS, mpi_document, mpi_rows
from ibkit.export.mpi_text import lines
from ibkit.model.mpi import JobVerdict

_EXIT_OF = {"as-expected": EXIT_OK, "undecided": EXIT_UNDECIDED}


def tell(args: argparse.Namespace, answer: JobVerdict, *, for_people: TextIO | None = None) -> int:
    """Print the answer in the form that was asked for, and its problems. Returns the exit status."""
    if args.json:
        print_json(mpi_document(answer))
    elif args.csv:
        print_csv(COLUMNS, mpi_rows(answer))
    else:
        for line in lines(answer):
            print(line, file=for_people)
    print_problems(answer.problems)
    return _EXIT_OF.get(answer.status, EXIT_FINDING)
