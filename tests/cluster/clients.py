#!/usr/bin/env python3
"""Clients of a cluster that write down what they asked and were told, for history_check (tests/sim/history.h).

usage: clients.py FOLDER COUNT HOST:PORT...

Each client puts, adds, deletes and reads nexthops through the members in turn, a new set of ids whenever the number in FOLDER/round
changes, until there is a file FOLDER/stop. An id is a register: its gateway stands for a value that is written once. Writes
FOLDER/history.N, and prints counts at the end.
"""
import collections
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time

KEYS = 6  # a round's ids; few, so that clients meet
FIRST_ID = 1_000_000

folder, count, endpoints = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
values = itertools.count(1)
lock = threading.Lock()
told = collections.Counter()


def now_us():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def round_number():
    try:
        with open(os.path.join(folder, "round")) as file:
            return int(file.read() or 0)
    except FileNotFoundError:
        return 0


def gateway(value):
    return f"11.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"


def value_of(text):
    parts = [int(part) for part in text.split(".")]
    return parts[1] << 16 | parts[2] << 8 | parts[3]


def waypost(endpoint, words):
    done = subprocess.run(["waypost", "--endpoints", endpoint, "--timeout", "5s", *words], capture_output=True, text=True)
    if "trying again" in done.stderr:
        told["tried again for more than a second"] += 1
    return done


def outcome_of(kind, done):
    """"done", "refused" (executed, and against a rule), "not done" or "unknown"."""
    if done.returncode == 0:
        return "done"
    if done.returncode == 6:
        return "unknown"
    by_rule = {"add": "exists", "delete": "does not exist"}.get(kind)
    if done.returncode == 2 and by_rule and by_rule in done.stderr:
        return "refused"
    return "not done"


def ask(endpoint, kind, key, value):
    """The outcome and the value that was written or read."""
    if kind == "read":
        done = waypost(endpoint, ["-j", "nexthop", "get", "id", str(key)])
        if done.returncode == 0:
            return "done", value_of(json.loads(done.stdout)[0]["gateway"])
        if done.returncode == 2 and "does not exist" in done.stderr:
            return "done", 0
        return "not done", 0
    words = {"put": ["nexthop", "replace"], "add": ["nexthop", "add"], "delete": ["nexthop", "del"]}[kind] + ["id", str(key)]
    if kind != "delete":
        words += ["via", gateway(value), "dev", "eth0", "onlink"]
    return outcome_of(kind, waypost(endpoint, words)), value


def client(number):
    chance = random.Random(number)
    with open(os.path.join(folder, f"history.{number}"), "w") as history:
        for turn in itertools.count():
            if os.path.exists(os.path.join(folder, "stop")):
                return
            kind = chance.choices(["put", "add", "delete", "read"], [3, 2, 2, 5])[0]
            key = FIRST_ID + round_number() * KEYS + chance.randrange(KEYS)
            with lock:
                value = next(values) if kind in ("put", "add") else 0
            call = now_us()
            outcome, value = ask(endpoints[(number + turn) % len(endpoints)], kind, key, value)
            end = None if outcome == "unknown" else now_us()
            # A client is one process at a time: what stays open belongs to one that will not come back.
            line = {"client": number, "call_us": call, "return_us": end, "outcome": outcome, "revision": 0, "actions": [[kind, key, value]]}
            history.write(json.dumps(line) + "\n")
            history.flush()
            with lock:
                told[outcome] += 1
            if outcome == "not done":
                time.sleep(0.1)


threads = [threading.Thread(target=client, args=(number,)) for number in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("history:", ", ".join(f"{what} {many}" for what, many in sorted(told.items())))
