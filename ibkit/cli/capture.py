"""Record what this host and its subnet say, as a folder or a .tar.gz, to replay it elsewhere with --from.

Nothing is changed on the host or in the subnet. A capture holds names, addresses and GUIDs as they are, unless you
--anonymise it. With --from an older capture, or a tool's output, is taken over.

exit status: 0 the capture was written, whatever it could or could not see; 2 it could not be written.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ibkit.cli.output import note, print_problems, print_table, site_of
from ibkit.collectors.everything import OF_A_HOST, OF_THE_SUBNET
from ibkit.errors import EXIT_OK, IbkitError
from ibkit.parsers.base import Problem
from ibkit.sources.base import CommandAnswer, Source
from ibkit.sources.capture import ReplaySource
from ibkit.sources.job import open_job
from ibkit.sources.processes import signals_raise
from ibkit.sources.raw import RawSource
from ibkit.sources.recording import RecordingSource
from ibkit.sources.site import Site
from ibkit.sources.writer import Recorded, check_target, write_capture

OUTPUTS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where it goes, and what comes with it."""
    parser.add_argument("-o", "--output", metavar="PATH", required=True, help="a new folder, or a new .tar.gz")
    parser.add_argument("--job", metavar="PATH", help="a job's log, or the folder of its logs, to put in as well")
    parser.add_argument(
        "--anonymise", action="store_true", help="replace names, addresses and GUIDs; the diagnosis stays the same"
    )
    parser.add_argument("--note", metavar="TEXT", help="what a reader should know, such as what was wrong")


def run(args: argparse.Namespace) -> int:
    """Record, write, tell what the capture holds."""
    check_target(args.output)
    job = open_job(args.job) if args.job else ()
    with signals_raise():
        site = site_of(args.from_path)
        recorded, problems = _record(site)
        recorded = recorded._replace(job=(*site.job, *job), note=args.note or recorded.note)
        if args.anonymise:
            recorded = _anonymised(recorded)
        write_capture(args.output, recorded)
    _print(recorded)
    print_problems(dict.fromkeys(problems))
    note(f"written to {args.output}")
    return EXIT_OK


def _record(site: Site) -> tuple[Recorded, list[Problem]]:
    """Run all collectors; what was asked and answered is the capture, their problems are for people."""
    problems: list[Problem] = []
    hosts = []
    for host in site.hosts:
        source = _recording(host.source)
        asked = _asked(host.source, source)
        for what, collect in OF_A_HOST:
            problems += _step(f"{what} of {host.name}" if host.name else what, partial(collect, asked, host.name))
        hosts.append((host.name, source))
    subnet = _recording(site.subnet)
    for what, collect_subnet in OF_THE_SUBNET:
        problems += _step(what, partial(collect_subnet, _asked(site.subnet, subnet)))
    return Recorded(*_origin(site), tuple(hosts), subnet, note=site.origin.note), problems


def _anonymised(recorded: Recorded) -> Recorded:
    """With a key that nobody keeps."""
    import secrets

    from ibkit.sources.anonymise import anonymised

    note("replacing names and addresses; read what is left before you give it away")
    return anonymised(recorded, secrets.token_bytes(32))


def _asked(source: Source, recording: RecordingSource) -> Source:
    """Whom the collectors ask: a saved text itself, for it is no answer to any command, and they know that."""
    return recording if recording.text is None else source


def _recording(source: Source) -> RecordingSource:
    """A recording source; of a capture it has all answers, also those that no collector asks for any more."""
    recording = RecordingSource(source)
    if isinstance(source, RawSource):
        recording.text = source.text
    if isinstance(source, ReplaySource):
        source.ask_all(recording)
    return recording


def _step(what: str, collect: Callable[[], Sequence[Problem]]) -> Iterable[Problem]:
    """One collector. If it breaks on what it meets here, the recorded answers are what its authors need to see."""
    note(f"recording {what}")
    try:
        return collect()
    except (IbkitError, MemoryError):
        raise
    except Exception as error:
        text = f"ibkit failed on what it read ({type(error).__name__}: {error}); please report it with this capture"
        return [Problem("ibkit-failed", text, None, what)]


def _origin(site: Site) -> tuple[str, str | None]:
    if site.origin.kind != "live":
        return next((host.name for host in site.hosts if host.name), site.origin.label), site.origin.time
    from datetime import datetime

    return site.origin.label, datetime.now().astimezone().isoformat(timespec="seconds")


def _print(recorded: Recorded) -> None:
    print_table(("COMMAND", "ON", "EXIT", "SECONDS", "BYTES"), _command_rows(recorded))
    print()
    print_table(("READ", "ON", "COUNT"), _count_rows(recorded))


def _sources(recorded: Recorded) -> Iterator[tuple[str, RecordingSource]]:
    yield from recorded.hosts
    yield "subnet", recorded.subnet


def _command_rows(recorded: Recorded) -> Iterator[Sequence[Any]]:
    for where, source in _sources(recorded):
        if source.text is not None:
            yield source.text.path, where, "saved", "", len(source.text.data)
        for answer in source.commands.values():
            yield answer.command, where, _ended(answer), f"{answer.seconds:.1f}", len(answer.stdout)


def _ended(answer: CommandAnswer) -> Any:
    return answer.exit_status if answer.failure is None else answer.failure


def _count_rows(recorded: Recorded) -> Iterator[Sequence[Any]]:
    for where, source in _sources(recorded):
        for what, answers in (("files", source.files), ("folders", source.folders)):
            for error, count in sorted(Counter(answer.error or "" for answer in answers.values()).items()):
                yield f"{what}{f' not read: {error}' if error else ''}", where, count
        if source.verbs_answer is not None:
            yield "verbs" if source.verbs_answer.error is None else "verbs not read", where, 1
    if recorded.job:
        yield "logs", "job", len(recorded.job)
