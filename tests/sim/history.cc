#include "tests/sim/history.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace waypost::sim {
namespace {

constexpr std::array<const char*, 4> kKinds = {"put", "add", "delete", "read"};
constexpr std::array<const char*, 4> kOutcomes = {"done", "refused", "not done", "unknown"};

template <typename Enum>
Enum from_word(const std::array<const char*, 4>& words, const std::string& word) {
  for (size_t i = 0; i < words.size(); ++i)
    if (word == words[i]) return static_cast<Enum>(i);
  throw nlohmann::json::other_error::create(501, "no such word: " + word, nullptr);
}

}  // namespace

std::string to_json_line(const Operation& operation) {
  nlohmann::json json;
  json["client"] = operation.client;
  json["call_us"] = operation.call_us;
  json["return_us"] = operation.return_us == kNever ? nlohmann::json() : nlohmann::json(operation.return_us);
  json["outcome"] = kOutcomes[static_cast<size_t>(operation.outcome)];
  json["revision"] = operation.revision;
  json["actions"] = nlohmann::json::array();
  for (const Action& action : operation.actions)
    json["actions"].push_back({kKinds[static_cast<size_t>(action.kind)], action.key, action.value});
  return json.dump();
}

Result<Operation> parse_json_line(std::string_view line) {
  try {
    const auto json = nlohmann::json::parse(line);
    Operation operation;
    operation.client = json.at("client").get<uint32_t>();
    operation.call_us = json.at("call_us").get<uint64_t>();
    operation.return_us = json.at("return_us").is_null() ? kNever : json.at("return_us").get<uint64_t>();
    operation.outcome = from_word<Outcome>(kOutcomes, json.at("outcome").get<std::string>());
    operation.revision = json.at("revision").get<uint64_t>();
    for (const auto& action : json.at("actions"))
      operation.actions.push_back({from_word<ActionKind>(kKinds, action.at(0).get<std::string>()),
                                   action.at(1).get<uint32_t>(), action.at(2).get<uint64_t>()});
    return operation;
  } catch (const nlohmann::json::exception& error) {
    return Error{ErrorCode::kInvalidArgument, "not an operation of a history: " + std::string(error.what())};
  }
}

}  // namespace waypost::sim
