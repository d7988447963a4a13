// Completion scripts. They know the objects and verbs; what stands in the store is not asked for.
#include <array>

#include "cli/past.h"
#include "cli/verbs.h"

namespace waypost::cli {
namespace {

struct ObjectWords {
  std::string_view object;
  std::string_view verbs;
};

constexpr auto kObjects = std::to_array<ObjectWords>({
    {"nexthop", "add replace change del show list get flush monitor"},
    {"route", "add replace change append prepend del show list get flush save restore monitor"},
    {"monitor", "all route nexthop label after"},
    {"fib", "status diff get wait audit sweep release"},
    {"cluster", "status members remove check trim grow"},
    {"node", "list show"},
    {"snapshot", "save verify restore"},
    {"history", "after limit"},
    {"diff", ""},
    {"rollback", ""},
    {"completion", "bash zsh fish"},
    {"help", "nexthop route monitor"},
});

constexpr std::string_view kOptions =
    "-4 -6 -j -p -d -o -N -c -batch -force -V --atomic --cascade --skip-other --wait --timeout --stale "
    "--endpoints --limit --after "
    "--links --inline --dry-run --yes --data-dir";

std::string object_words() {
  std::string words;
  for (const ObjectWords& entry : kObjects) words += (words.empty() ? "" : " ") + std::string(entry.object);
  return words;
}

int bash(const Context& context, Words) {
  context.out.put(
      "_waypost() {\n  local word=${COMP_WORDS[COMP_CWORD]} object= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do [[ ${COMP_WORDS[i]} == -* ]] || { object=${COMP_WORDS[i]}; "
      "break; }; done\n"
      "  local words\n  case $object in\n");
  context.out.put("    '') words='" + object_words() + " " + std::string(kOptions) + "' ;;\n");
  for (const ObjectWords& entry : kObjects)
    context.out.put("    " + std::string(entry.object) + ") words='" + std::string(entry.verbs) + "' ;;\n");
  context.out.put(
      "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\ncomplete -o default -F _waypost "
      "waypost\n");
  return kExitOk;
}

int zsh(const Context& context, Words) {
  context.out.put(
      "#compdef waypost\n_waypost() {\n"
      "  local -a found=(${words[2,CURRENT-1]:#-*})\n  case ${found[1]} in\n");
  context.out.put("    '') compadd -- " + object_words() + " " + std::string(kOptions) + " ;;\n");
  for (const ObjectWords& entry : kObjects)
    if (!entry.verbs.empty())
      context.out.put("    " + std::string(entry.object) + ") compadd -- " + std::string(entry.verbs) +
                      " ;;\n");
  context.out.put("    *) _files ;;\n  esac\n}\n_waypost \"$@\"\n");
  return kExitOk;
}

int fish(const Context& context, Words) {
  context.out.put("complete -c waypost -n __fish_use_subcommand -a '" + object_words() + "'\n");
  for (const ObjectWords& entry : kObjects)
    if (!entry.verbs.empty())
      context.out.put("complete -c waypost -n '__fish_seen_subcommand_from " + std::string(entry.object) +
                      "' -a '" + std::string(entry.verbs) + "'\n");
  return kExitOk;
}

constexpr OwnVerb kShells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

}  // namespace

int run_completion(const Context& context, Words words) {
  if (words.size() != 1) return context.usage("completion takes the name of a shell", "bash, zsh or fish");
  return run_verb(context, "completion", kShells, words);
}

}  // namespace waypost::cli
