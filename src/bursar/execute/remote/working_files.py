"""The working directory of a run, packed once for all machines.

What `.bursarignore` names is left out, or else what `.gitignore` names, if there is one; so are
`.git`, `.bursar`, `.venv` and `__pycache__`. The rules are those of git: a later one wins, `!`
takes back, a `/` at the end means directories, and one before it ties the rule to the top.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from bursar.execute.remote.machine_link import FilePart
from bursar.execute.remote.messages import CHUNK
from bursar.execute.remote.packs import write_pack
from bursar.model.errors import InputError

LARGEST: Final = 256 << 20
"""bytes of all files together; the message says it in words"""
ALWAYS: Final = (".git/", ".bursar/", ".venv/", "__pycache__/")
FILES: Final = (".bursarignore", ".gitignore")


class Rule(NamedTuple):
    pattern: re.Pattern[str]
    ignores: bool
    only_directories: bool


def read_rules(lines: list[str]) -> list[Rule]:
    rules = []
    for line in lines:
        text = line.rstrip()
        if not text or text.startswith("#"):
            continue
        ignores = not text.startswith("!")
        text = text if ignores else text[1:]
        only_directories = text.endswith("/")
        text = text.rstrip("/")
        anywhere = "/" not in text
        body = _pattern(text.lstrip("/"))
        rules.append(
            Rule(
                re.compile(f"(?:.*/)?{body}" if anywhere else body, re.DOTALL),
                ignores,
                only_directories,
            )
        )
    return rules


def _pattern(text: str) -> str:
    made, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            made, at = f"{made}(?:.*/)?", at + 3
        elif text.startswith("**", at):
            made, at = f"{made}.*", at + 2
        elif text[at] == "*":
            made, at = f"{made}[^/]*", at + 1
        elif text[at] == "?":
            made, at = f"{made}[^/]", at + 1
        elif text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            inside = text[at + 1 : end].replace("\\", "\\\\")
            inside = f"^{inside[1:]}" if inside[0] == "!" else inside
            made, at = f"{made}[{inside}]", end + 1
        else:
            made, at = made + re.escape(text[at]), at + 1
    return made


def _is_ignored(path: str, rules: list[Rule], *, is_directory: bool) -> bool:
    ignored = False
    for rule in rules:
        if (is_directory or not rule.only_directories) and rule.pattern.fullmatch(path):
            ignored = rule.ignores
    return ignored


def wanted_files(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    """All files and links below that no rule leaves out, by name."""
    lines = list(ALWAYS)
    for name in FILES:
        if (directory / name).is_file():
            lines += (directory / name).read_text(errors="replace").splitlines()
            break
    rules = read_rules(lines)
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(directory / below) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                path = f"{below}{entry.name}"
                is_directory = entry.is_dir(follow_symlinks=False)
                if _is_ignored(path, rules, is_directory=is_directory):
                    continue
                if is_directory:
                    waiting.append(f"{path}/")
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    yield path, entry.stat(follow_symlinks=False)


def names_to_send(directory: Path) -> list[str]:
    """Files of a working directory; InputError if they are too much to send."""
    names, size = [], 0
    for name, status in wanted_files(directory):
        names.append(name)
        size += status.st_size
        if size > LARGEST:
            raise InputError(
                f"{directory}: holds more than 256 MiB, too much to send to machines; name what"
                " they do not need in .bursarignore, or use a directory that they share"
            )
    return names


def pack_files(directory: Path, home: Path) -> Path:
    """Pack the working directory into the run's; the file is named after what is in it.

    A run that is resumed has the files that it began with.
    """
    for found in home.glob("files-*.tar.gz"):
        return found
    names = names_to_send(directory)
    part = home / "files.part"
    with part.open("wb") as file:
        write_pack(file, directory, names)
    with part.open("rb") as file:
        digest = blake2b(digest_size=8)
        while data := file.read(CHUNK):
            digest.update(data)
    return part.rename(home / f"files-{digest.hexdigest()}.tar.gz")


def parts_of(pack: Path) -> list[FilePart]:
    size = pack.stat().st_size
    return [
        FilePart(pack, offset, offset + CHUNK >= size) for offset in range(0, max(1, size), CHUNK)
    ]
