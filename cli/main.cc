// The binary `waypost`: the real machine around cli::run().
#include <limits.h>
#include <net/if.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/app.h"
#include "cli/batch.h"
#include "cli/names_files.h"

namespace {

using namespace waypost;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::pair<uint32_t, std::string>> host_links() {
  std::vector<std::pair<uint32_t, std::string>> links;
  struct if_nameindex* names = ::if_nameindex();
  for (const struct if_nameindex* at = names; at != nullptr && at->if_index != 0; ++at)
    links.emplace_back(at->if_index, at->if_name);
  ::if_freenameindex(names);
  return links;
}

std::string author() {
  char host[HOST_NAME_MAX + 1] = "localhost";
  (void)::gethostname(host, sizeof(host) - 1);
  const struct passwd* user = ::getpwuid(::getuid());
  return std::string(user != nullptr ? user->pw_name : "unknown") + "@" + host;
}

// The first interrupt lets a batch say how far it came, the second ends the process.
void on_interrupt(int) {
  cli::interrupt_batch();
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  cli::Host host{.environment = environment,
                 .links = host_links,
                 .standard_input = STDIN_FILENO,
                 .program_directory = {},
                 .author = author()};
  std::error_code error;
  host.program_directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("-b") && !argument.starts_with("--b")) continue;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
  }
  cli::Output out(STDOUT_FILENO);
  cli::Output err(STDERR_FILENO);
  return cli::run(arguments, host, cli::read_host_names(), cli::real_remotes(), out, err);
}
