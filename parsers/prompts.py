"""What stands in front of a command in the log of a terminal, a script or a wrapper: a shell's prompt, the ``+`` of
``set -x``, a word that announces it.
"""

from __future__ import annotations

import re

#: ``user@host:~/job$ ``, ``[user@host job]$ ``, behind the name of a Python environment; ``# `` alone begins a comment.
_WHERE = r"(?:\([\w.-]{1,60}\) ?)?\[?[\w.-]{1,64}@[\w.-]{1,253}[: ][^\s\]#$%>]{0,400}\]? ?[#$%>] "
_PROMPT = re.compile(rf"\+{{1,4}} |[$>] |(?:Command|Running|Executing)(?: command)?: ?|{_WHERE}")


def without_prompt(text: str) -> str:
    """The command.

    >>> without_prompt("root@n01:~# mpirun -np 2 ./a"), without_prompt("+ srun ./a"), without_prompt("# mpirun ./a")
    ('mpirun -np 2 ./a', 'srun ./a', '# mpirun ./a')
    """
    return text[found.end() :] if (found := _PROMPT.match(text)) else text
