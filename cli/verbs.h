// The verbs of an object of our own: a small table, abbreviations as `ip` takes them, "did you mean" for the
// rest.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/context.h"
#include "model/parse/cursor.h"

namespace waypost::cli {

struct OwnVerb {
  std::string_view name;
  int (*run)(const Context& context, Words words);  // the words behind the verb
};

// Runs the verb that words[0] names; `object` is for the errors. Without words the first verb of the table.
inline int run_verb(const Context& context, std::string_view object, std::span<const OwnVerb> verbs,
                    Words words) {
  if (words.empty()) return verbs[0].run(context, {});
  for (const OwnVerb& verb : verbs)
    if (matches(words[0], verb.name)) return verb.run(context, words.subspan(1));
  std::vector<std::string_view> names;
  for (const OwnVerb& verb : verbs) names.push_back(verb.name);
  const std::string near = parse::did_you_mean(words[0], names);
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return context.usage(std::string(object) + ": '" + words[0] + "' is not a verb", near.empty() ? all : near);
}

inline int no_words(const Context& context, std::string_view command, Words words) {
  return context.usage(std::string(command) + " takes no '" + words[0] + "'");
}

}  // namespace waypost::cli
