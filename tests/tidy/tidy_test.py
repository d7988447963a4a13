#!/usr/bin/env python3
"""The rules that no compiler checks: includes, lengths, leftovers, format, forbidden clocks.

usage: tidy_test.py SOURCE_DIR RULE      RULE: includes lengths leftovers clocks format
Prints each offence as PATH:LINE: words, and exits 1 where there is one."""

import fnmatch
import os
import re
import subprocess
import sys

ROOMS = ["model", "rpc", "store", "replication", "kernel_sync", "node", "cli"]
MAX_FILE_LINES = 480
MAX_FUNCTION_LINES = 80


def sources(root, folders):
    for folder in folders:
        for base, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(base, name), root)


def lines_of(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read().split("\n")


def read_rules(root):
    rooms, foreign = {}, []
    for line in lines_of(root, "tests/tidy/includes.txt"):
        line = line.split("#")[0].strip()
        if not line:
            continue
        left, _, right = line.partition(":") if not line.startswith("!") else line[1:].partition(": ")
        if line.startswith("!"):
            foreign.append((left, right.split()))
        else:
            rooms[left] = set(right.split()) | {left}
    return rooms, foreign


def check_includes(root):
    rooms, foreign = read_rules(root)
    for path in sources(root, ROOMS):
        room = path.split("/")[0]
        for number, line in enumerate(lines_of(root, path), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if not match:
                continue
            name = match.group(1)
            target = name.split("/")[0]
            if target in ROOMS and target not in rooms[room]:
                yield path, number, f"{room} may not include {target} ({name})"
            for pattern, allowed in foreign:
                inside = name.endswith(pattern) if pattern.startswith(".") else name.startswith(pattern)
                if inside and not any(fnmatch.fnmatch(path, glob) for glob in allowed):
                    yield path, number, f"{name} belongs only in {' '.join(allowed)}"


def check_lengths(root):
    for path in sources(root, ROOMS + ["tests"]):
        text = lines_of(root, path)
        if len(text) > MAX_FILE_LINES:
            yield path, 1, f"{len(text)} lines; cut the file where a second idea begins (bound {MAX_FILE_LINES})"
        start = None
        for number, line in enumerate(text, 1):
            # clang-format puts the closing brace of a function at column 0 or, in a class, 2.
            if start is None and re.match(r"^[A-Za-z~].*\{$", line) and not re.match(
                    r"^(namespace|class|struct|enum|union|extern)\b", line):
                start = number
            elif start is None and re.match(r"^ {4,}.*\) .*\{$", line) and number > 1 and re.match(
                    r"^[A-Za-z]", text[number - 2]):
                start = number - 1
            elif start is not None and line.startswith("}"):
                if number - start + 1 > MAX_FUNCTION_LINES:
                    yield path, start, f"a function of {number - start + 1} lines (bound {MAX_FUNCTION_LINES})"
                start = None


def check_leftovers(root):
    # The words are put together so that this file does not find itself.
    words = ["FIX" + "ME", "XX" + "X:", "TO" + "DO", "DIS" + "ABLED_", "EXPECT_TRUE(" + "true)"]
    for path in sources(root, ROOMS + ["tests"]):
        for number, line in enumerate(lines_of(root, path), 1):
            for word in words:
                if word in line:
                    yield path, number, f"leftover {word}"


def check_clocks(root):
    # apply is a function of state and entry; time and randomness come in through Clock and the caller.
    pattern = re.compile(r"_clock::now|std::rand\b|random_device|\btime\(nullptr\)|gettimeofday")
    for path in sources(root, ["model", "store", "replication"]):
        if path.startswith("replication/etcd/") or path.endswith("system_clock.cc"):
            continue
        for number, line in enumerate(lines_of(root, path), 1):
            if pattern.search(line):
                yield path, number, "time and randomness do not belong in this room"


def check_format(root):
    paths = list(sources(root, ROOMS + ["tests"]))
    for start in range(0, len(paths), 40):
        done = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths[start:start + 40]], cwd=root,
                              capture_output=True, text=True)
        seen = set()
        for match in re.finditer(r"^([^:\n]+):(\d+):\d+: error", done.stderr, re.M):
            if match.group(1) not in seen:
                seen.add(match.group(1))
                yield match.group(1), int(match.group(2)), "not as clang-format writes it"


def main():
    root, rule = sys.argv[1], sys.argv[2]
    offences = list(globals()["check_" + rule](root))
    for path, number, words in offences:
        print(f"{path}:{number}: {words}")
    print(f"{rule}: {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
