// What clients asked and what they were told, for checks of linearizability: on simulated clients and, as
// JSON lines, on real ones. Keys are registers: a nexthop id each, whose gateway stands for a value that is
// written once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace waypost::sim {

enum class ActionKind : uint8_t { kPut, kAdd, kDelete, kRead };

struct Action {
  ActionKind kind = ActionKind::kRead;
  uint32_t key = 0;
  uint64_t value = 0;  // written, or what was read; 0: absent

  bool operator==(const Action&) const = default;
};

enum class Outcome : uint8_t {
  kDone,     // executed, every action took effect
  kRefused,  // executed, and refused as a whole by a rule: added what is there, deleted what is not
  kNotDone,  // proved never to happen
  kUnknown,  // no answer: it may happen at any time from the call on
};

constexpr uint64_t kNever = UINT64_MAX;

struct Operation {
  uint32_t client = 0;
  uint64_t call_us = 0;         // a clock that all clients share
  uint64_t return_us = kNever;  // kNever exactly where the outcome is unknown
  Outcome outcome = Outcome::kUnknown;
  uint64_t revision = 0;  // in the answer; 0: none
  std::vector<Action> actions;

  bool operator==(const Operation&) const = default;
};

// {"client":3,"call_us":17,"return_us":29,"outcome":"done","revision":5,"actions":[["put",7,1234]]}; an open
// operation has "return_us":null.
std::string to_json_line(const Operation& operation);
Result<Operation> parse_json_line(std::string_view line);

}  // namespace waypost::sim
