"""What stands in front of a command in the log of a terminal, a script or a wrapper: a shell's prompt, the ``+`` of
``set -x``, a word that announces it, statements that prepare it.
"""

from __future__ import annotations

import re

#: ``user@host:~/job$ ``, ``[user@host job]$ ``, behind the name of a Python environment; ``# `` alone begins a comment.
_WHERE = r"(?:\([\w.-]{1,60}\) ?)?\[?[\w.-]{1,64}@[\w.-]{1,253}[: ][^\s\]#$%>]{0,400}\]? ?[#$%>] "
_PROMPT = re.compile(rf"\+{{1,4}} |[$>] |(?:Command|Running|Executing)(?: command)?: ?|{_WHERE}")
#: ``cd run && ``, ``export NAME=VALUE; ``, ``source env.sh; ``
_PREPARATION = re.compile(
    r"((?:cd|source|\.|module|ml|ulimit|export|unset|setenv|set|mkdir)\s[^;&|]{0,1000}?)\s{0,4}(?:;|&&)\s{1,8}"
)

_MAX_STATEMENTS = 20


def without_prompt(text: str) -> str:
    """The line's statements.

    >>> without_prompt("root@n01:~# mpirun -np 2 ./a"), without_prompt("+ srun ./a"), without_prompt("# mpirun ./a")
    ('mpirun -np 2 ./a', 'srun ./a', '# mpirun ./a')
    """
    return text[found.end() :] if (found := _PROMPT.match(text)) else text


def statements(text: str) -> list[str]:
    """The statements of a line without its prompt: those that prepare a command, the command last.

    >>> statements("cd run && export UCX_TLS=tcp; mpirun ./a")
    ['cd run', 'export UCX_TLS=tcp', 'mpirun ./a']
    """
    found: list[str] = []
    at = 0
    while len(found) < _MAX_STATEMENTS and (preparation := _PREPARATION.match(text, at)):
        found.append(preparation.group(1))
        at = preparation.end()
    return [*found, text[at:]]


def command(text: str) -> str:
    """The command of a line, without what stands in front of it.

    >>> command("$ cd run && mpirun ./a")
    'mpirun ./a'
    """
    return statements(without_prompt(text))[-1]
