// Short ways to write a refusal.
#pragma once

#include <string>
#include <utility>

#include "model/refusal.h"
#include "model/route.h"

namespace waypost::store {

inline std::string argument(NexthopId id) {
  return std::to_string(id.value());
}
inline std::string argument(uint64_t number) {
  return std::to_string(number);
}
inline std::string argument(const RouteKey& key) {
  return to_string(key);
}
inline std::string argument(std::string text) {
  return text;
}

template <typename... Arguments>
Refusal refuse(RefusalCode code, Arguments&&... arguments) {
  return {.code = code, .arguments = {argument(std::forward<Arguments>(arguments))...}};
}

// The words of a validate(), about `object`.
inline Refusal refuse_invalid(std::string object, const Error& error) {
  return {.code = RefusalCode::kInvalid, .arguments = {std::move(object), error.message, error.hint}};
}
inline Refusal refuse_invalid(std::string object, std::string words, std::string hint) {
  return {.code = RefusalCode::kInvalid, .arguments = {std::move(object), std::move(words), std::move(hint)}};
}

}  // namespace waypost::store
