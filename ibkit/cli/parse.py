"""What a parser reads in one tool's output: its records and problems as they are.

The tool is recognised by the text; TOOL names the parser where that fails. FILE may be - for stdin.

exit status: 0 the text was read, even if some of its lines were not; 2 it is not the output of a tool that is read.
"""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from ibkit.cli.output import print_json, print_problems
from ibkit.display import clean
from ibkit.errors import EXIT_OK, IbkitError, UnreadableInput
from ibkit.export.parse import lines, parse_document, plain
from ibkit.parsers import FORMATS, Format
from ibkit.parsers.base import NotThisFormat, Parsed
from ibkit.sources.base import to_text
from ibkit.sources.raw import identify_raw, read_raw

OUTPUTS = ("json",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and before it the parser that shall read it."""
    parser.add_argument("tool", nargs="?", metavar="TOOL", help=f"one of {', '.join(_readable())}")
    parser.add_argument("file", nargs="?", metavar="FILE", help="what the tool printed")


def run(args: argparse.Namespace) -> int:
    """Print the records and return the exit status."""
    tool, path = args.tool, args.file or args.from_path
    if path is None:
        tool, path = None, tool
    if path is None:
        raise IbkitError("name the file that shall be read, or - for stdin")
    readable = _readable()
    if tool is not None and tool not in readable:
        raise IbkitError(f"there is no parser {tool!r}; TOOL is one of {', '.join(readable)}")
    data = read_raw(path)
    form = readable[tool] if tool else identify_raw(data, path)
    if form.module is None:
        raise UnreadableInput(
            f"{path}: this is {form.tool} output, {form.reader}; `ibkit parse` reads that of {', '.join(readable)}"
        )
    parsed = _parse(form, to_text(data), path)
    if args.json:
        print_json(parse_document(form.tool, parsed))
    else:
        for line in lines(plain(parsed.value)):
            print(clean(line, 2000))
    print_problems(parsed.problems)
    return EXIT_OK


def _parse(form: Format, text: str, path: str) -> Parsed[Any]:
    parser = importlib.import_module(f"ibkit.parsers.{form.module}")
    try:
        parsed: Parsed[Any] = parser.parse(text, source=path)
    except NotThisFormat as error:
        raise UnreadableInput(str(error)) from error
    return parsed


def _readable() -> dict[str, Format]:
    return {form.tool: form for form in FORMATS if form.module}
