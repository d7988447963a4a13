#!/usr/bin/env python3
"""Random changes of nexthops, groups and routes that the store takes one and all, as batch files.

usage: random_changes.py SEED CHANGES DIRECTORY

Writes setup.batch, then change.000001.batch and so on, each meant as one transaction whose last lines leave its number as the metric
of the only route of table 4000; always4 and always6: prefixes that are wanted in every state on the way, whatever happens to what they
point to; final: how many routes and nexthops the store holds in the end; gateways: DEVICE FAMILY GATEWAY of every one used."""

import os
import random
import sys

GATEWAYS = 40
KEPT = 1  # a nexthop that nothing changes, for the numbers in table 4000


class Changes:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.always = {4: [f"20.{i // 250}.{i % 250}.0/24" for i in range(1200)],
                       6: [f"2001:db8:{4096 + i:x}::/48" for i in range(400)]}
        self.singles = {4: range(2, 42), 6: range(50, 74)}
        self.groups = {4: range(100, 116), 6: range(120, 130)}
        self.shifters = {4: range(200, 206), 6: range(210, 214)}  # they change their kind
        self.is_group = {i: False for family in (4, 6) for i in self.shifters[family]}
        self.over = {}  # what an always-wanted prefix points to, where that is a shifter
        self.passing = {}  # key words -> nexthop id or None
        self.dying = []
        self.next_dying = 5000

    def gateway(self, family):
        host, device = self.random.randrange(2, 2 + GATEWAYS), self.random.randrange(2)
        address = f"10.{7 + device}.0.{host}" if family == 4 else f"2001:db8:7{device}::{host:x}"
        return f"via {address} dev e{device}"

    def members(self, family):
        chosen = self.random.sample(list(self.singles[family]), self.random.choice([1, 2, 2, 3, 8]))
        return "/".join(f"{i},{self.random.choice([1, 1, 1, 3, 200])}" for i in chosen)

    def put(self, ident, family, group):
        return f"nexthop replace id {ident} " + (f"group {self.members(family)}" if group else self.gateway(family))

    def target(self, family):
        families = [family] if family == 6 else [4, 4, 4, 6]  # IPv4 routes may go over IPv6 gateways
        of = self.random.choice(families)
        return self.random.choice(self.random.choice([self.singles, self.groups, self.groups, self.shifters])[of])

    def setup(self):
        lines = [f"nexthop add id {KEPT} via 10.7.0.2 dev e0", f"route add 198.19.0.0/32 nhid {KEPT} table 4000 metric 1",
                 "nexthop add id 900 via 10.8.0.2 dev e1"]
        for family in (4, 6):
            lines += [self.put(i, family, False) for i in self.singles[family]]
            lines += [self.put(i, family, False) for i in self.shifters[family]]
            lines += [self.put(i, family, True) for i in self.groups[family]]
        return lines + [line for family in (4, 6) for prefix in self.always[family] for line in self.move(prefix, family)]

    def move(self, prefix, family):
        self.over.pop(prefix, None)
        if self.random.random() < 0.1:
            paths = self.random.sample(["e0", "e1"], self.random.choice([1, 2]))
            host = self.random.randrange(2, 2 + GATEWAYS)
            ways = [f"via 10.{7 + int(d[1])}.0.{host} dev {d}" if family == 4 else f"via 2001:db8:7{d[1]}::{host:x} dev {d}" for d in paths]
            return [f"route replace {prefix} " + (ways[0] if len(ways) == 1 else " ".join("nexthop " + way for way in ways))]
        to = self.target(family)
        if to in self.is_group:
            self.over[prefix] = to
        return [f"route replace {prefix} nhid {to}"]

    def move_always(self):
        family = self.random.choice([4, 4, 6])
        return self.move(self.random.choice(self.always[family]), family)

    def move_many(self):
        family = self.random.choice([4, 6])
        chosen = self.random.sample(self.always[family], self.random.choice([20, 100, 300]))
        to = self.random.choice(self.groups[family])
        for prefix in chosen:
            self.over.pop(prefix, None)
        return [f"route replace {prefix} nhid {to}" for prefix in chosen]

    def passing_key(self, family):
        number = self.random.randrange(600)
        table = self.random.choice(["", "", " table 1000"])
        # A delete without a metric takes the lowest, which for IPv6 is not that of an add without one.
        metric = self.random.choice(["", "", " metric 50"] if family == 4 else [" metric 1024", " metric 50"])
        if family == 6:
            wide = self.random.random() < 0.1
            prefix = "2001:db8:1000::/36" if wide else f"2001:db8:{8192 + number:x}::/48"
        else:
            # Also what covers those that are always wanted: a packet that falls through to it may be refused.
            prefix = self.random.choice([f"20.{number % 5}.0.0/16", f"21.{number // 250}.{number % 250}.0/24", f"21.9.{number % 250}.128/25"])
        return prefix + table + metric

    def pass_by(self):
        family = self.random.choice([4, 6])
        key = self.passing_key(family)
        if key in self.passing and self.random.random() < 0.6:
            del self.passing[key]
            return [f"route del {key}"]
        if self.random.random() < 0.2:
            self.passing[key] = None
            return [f"route replace {self.random.choice(['blackhole', 'unreachable', 'prohibit'])} {key}"]
        self.passing[key] = to = self.random.choice([i for i in self.groups[family]] + [i for i in self.singles[family]])
        return [f"route replace {key} nhid {to}"]

    def withdraw_many(self):
        chosen = self.random.sample(sorted(self.passing), min(len(self.passing), self.random.choice([50, 200])))
        for key in chosen:
            del self.passing[key]
        return [f"route del {key}" for key in chosen]

    def change_object(self):
        family = self.random.choice([4, 4, 6])
        group = self.random.random() < 0.5
        return [self.put(self.random.choice((self.groups if group else self.singles)[family]), family, group)]

    def shift(self):
        """An id becomes another kind under its routes, in one transaction."""
        family = self.random.choice([4, 6])
        ident = self.random.choice(self.shifters[family])
        users = [prefix for prefix, to in self.over.items() if to == ident]
        away = self.groups[family][0]
        self.is_group[ident] = not self.is_group[ident]
        return ([f"route replace {prefix} nhid {away}" for prefix in users] + [f"nexthop del id {ident}"] +
                [self.put(ident, family, self.is_group[ident]).replace("replace", "add", 1)] +
                [f"route replace {prefix} nhid {ident}" for prefix in users])

    def birth(self):
        family, ident = self.random.choice([4, 6]), self.next_dying
        self.next_dying += 1
        keys = []
        for number in range(self.random.choice([1, 5, 60])):
            host = self.random.randrange(60000)
            keys.append(f"22.{host // 250}.{host % 250}.0/24 metric {ident}" if family == 4 else f"2001:db8:{host:x}:1::/64 metric {ident}")
        keys = sorted(set(keys))
        self.dying.append((ident, keys))
        return [self.put(ident, family, self.random.random() < 0.5)] + [f"route replace {key} nhid {ident}" for key in keys]

    def death(self):
        if not self.dying:
            return self.birth()
        ident, _ = self.dying.pop(self.random.randrange(len(self.dying)))
        return [f"nexthop del id {ident}"]

    def held(self):
        """A route of another owner uses 900, so the kernel keeps it; it comes back as it was."""
        return ["nexthop del id 900", "nexthop add id 900 via 10.8.0.2 dev e1"]

    def some(self):
        kinds = [self.move_always, self.move_many, self.pass_by, self.withdraw_many, self.change_object, self.shift, self.birth, self.death,
                 self.held]
        return self.random.choices(kinds, [40, 0.3, 35, 0.4, 20, 2, 1, 1, 0.5])[0]()

    def routes(self):
        return 1 + sum(map(len, self.always.values())) + len(self.passing) + sum(len(keys) for _, keys in self.dying)

    def nexthops(self):
        sets = [self.singles, self.groups, self.shifters]
        return 2 + sum(len(s[family]) for s in sets for family in (4, 6)) + len(self.dying)


def write(directory, name, lines):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    seed, wanted, directory = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    changes = Changes(seed)
    write(directory, "setup.batch", changes.setup())
    done, number = 0, 1
    while done < wanted:
        lines = []
        for _ in range(changes.random.choice([1, 2, 5, 20])):
            lines += changes.some()
        done += len(lines)
        number += 1
        lines += [f"route add 198.19.0.0/32 nhid {KEPT} table 4000 metric {number}",
                  f"route del 198.19.0.0/32 table 4000 metric {number - 1}"]
        write(directory, f"change.{number:06}.batch", lines)
    for family in (4, 6):
        write(directory, f"always{family}", changes.always[family])
    write(directory, "final", [f"{changes.routes()} {changes.nexthops()}"])
    gateways = []
    for host in range(2, 2 + GATEWAYS):
        for device in range(2):
            gateways += [f"e{device} -4 10.{7 + device}.0.{host}", f"e{device} -6 2001:db8:7{device}::{host:x}"]
    write(directory, "gateways", gateways)


if __name__ == "__main__":
    main()
