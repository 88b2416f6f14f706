"""How check-mpi-transport prints an answer, and the exit status that it gives."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TextIO

from ibkit.cli.output import note, print_csv, print_json, print_problems, problem_line
from ibkit.display import and_more, counted
from ibkit.errors import EXIT_FINDING, EXIT_OK, EXIT_UNDECIDED, IbkitError
from ibkit.export.mpi import COLUMNS, mpi_document, mpi_rows
from ibkit.export.mpi_reasons import explained, explained_lines, list_lines, reasons_document, reasons_page
from ibkit.export.mpi_sentence import title
from ibkit.export.mpi_text import SILENT, lines
from ibkit.model.mpi import JobVerdict
from ibkit.transport.catalogue import BY_ID, ENTRIES
from ibkit.transport.require import hidden, met, undecided

_EXIT_OF = {"as-expected": EXIT_OK, "undecided": EXIT_UNDECIDED}
_EXIT_OF_REQUIREMENT = {True: EXIT_OK, False: EXIT_FINDING, None: EXIT_UNDECIDED}
_REQUIREMENT = {True: "is met", False: "is not met", None: "cannot be decided"}


def tell(args: argparse.Namespace, answer: JobVerdict, *, for_people: TextIO | None = None) -> int:
    """Print the answer in the form that was asked for, and its problems. Returns the exit status."""
    wanted: str | None = args.require
    is_met = met(answer, wanted) if wanted else None
    if args.json:
        print_json(mpi_document(answer, (wanted, is_met) if wanted else None))
    elif args.csv:
        print_csv(COLUMNS, mpi_rows(answer))
    else:
        for line in lines(answer, _width(for_people or sys.stdout)):
            print(line, file=for_people)
    is_document = args.json or args.csv
    print_problems([problem for problem in answer.problems if is_document or problem.kind != SILENT])
    if not wanted:
        return _EXIT_OF.get(answer.status, EXIT_FINDING)
    why = _why_open(answer, wanted) if is_met is None else ", and the job aborted" * (answer.status == "aborted")
    note(f"--require {wanted} {_REQUIREMENT[is_met]}: the verdict is {answer.verdict}{why}")
    return _EXIT_OF_REQUIREMENT[is_met]


#: What ``--explain`` without an ID stands for, which nobody can type, and the word for all of them.
LIST = "\0"
ALL = "all"


def explain(args: argparse.Namespace) -> int:
    """Tell what a reason means (``--explain ID``), all of them (``all``), or which there are (no ID)."""
    given = [f"--{name}" for name in ("csv", "from", "require", "window", "hosts", "rsh") if _is_given(args, name)]
    if given := [*given, *filter(None, (args.target, *args.more, args.launched and "--"))]:
        raise IbkitError(f"--explain tells what a reason means and looks at no job: leave {' '.join(given)} out")
    if args.explain not in (LIST, ALL, *BY_ID):
        raise IbkitError(
            f"--explain {args.explain or repr('')}: no such reason{_did_you_mean(args.explain)}; there are "
            f"{', '.join(BY_ID)}, and `{ALL}`, which is each of them"
        )
    chosen = (BY_ID[args.explain],) if args.explain in BY_ID else ENTRIES
    if args.json:
        print_json(reasons_document(chosen))
    elif args.explain == LIST:
        print("\n".join(list_lines(chosen)))
    elif width := _width(sys.stdout):
        print("\n".join(line for entry in chosen for line in explained_lines(entry, width)))
    else:
        print(reasons_page(chosen) if args.explain == ALL else explained(chosen[0]), end="")
    return EXIT_OK


def _is_given(args: argparse.Namespace, name: str) -> bool:
    value = getattr(args, "from_path" if name == "from" else name)
    return value is not None and value is not False


def _did_you_mean(id: str) -> str:
    from difflib import get_close_matches

    found = get_close_matches(id.casefold(), (*BY_ID, ALL))
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def _why_open(answer: JobVerdict, wanted: str) -> str:
    """What is missing of a requirement that cannot be decided."""
    if answer.verdict == "shm":
        return ", nothing went between hosts: give the job two hosts"
    if found := undecided(answer, wanted):
        why = "it does not show the link layer" if found[0].verdict == "rdma" else "it is not decided"
        if len(answer.layers) == 1:
            return f", {why}" if found[0].verdict == "rdma" else ""
        more = and_more(len(found) - 1)
        return f", but as for {title(found[0], answer.layers)}{more} {why}"
    if missing := hidden(answer):
        more = f" (and {counted(len(missing) - 1, 'more problem')})" if len(missing) > 1 else ""
        return f", but not everything was seen: {problem_line(missing[0])}{more}"
    return ""


def _width(stream: TextIO) -> int | None:
    """Columns of the terminal; None where the answer goes elsewhere, and for a serial console that tells 0."""
    return (os.get_terminal_size(stream.fileno()).columns or None) if stream.isatty() else None
