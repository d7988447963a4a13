// Snapshots as files. The chunks are opaque here; waypostd, which stands beside us, checks and restores them.
//
//   file := (length:4 big-endian, chunk)*
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/past.h"
#include "cli/progress.h"
#include "cli/requests_internal.h"
#include "cli/verbs.h"

namespace waypost::cli {
namespace {

Error file_error(const std::string& doing, const std::string& path) {
  return {ErrorCode::kIo, "cannot " + doing + " " + path + ": " + std::strerror(errno), ""};
}

std::string frame_of(const std::string& chunk) {
  const auto length = static_cast<uint32_t>(chunk.size());
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(length >> shift);
  return frame + chunk;
}

// The file appears under its name only when it is whole and on the disk.
int save_to(const Context& context, const std::string& path) {
  const std::string partial = path + ".partial";
  const int file = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return context.fail(file_error("write", partial));
  uint64_t bytes = 0;
  int write_error = 0;
  Progress progress(context.err, "saving", "bytes", 0,
                    context.err.is_terminal() && !context.options.print.json);
  rpc::Request request = new_request(context.options);
  request.mutable_snapshot();
  Result<rpc::End> end = [&] {
    Output out(file);
    Result<rpc::End> answer = context.remote.call(request, [&](const rpc::Part& part) {
      out.put(frame_of(part.snapshot_chunk()));
      bytes += part.snapshot_chunk().size() + 4;
      progress.show(bytes);
      return out.error() == 0;
    });
    out.flush();
    write_error = out.error();
    return answer;
  }();
  progress.clear();
  const bool durable = write_error == 0 && ::fsync(file) == 0;
  ::close(file);
  if (end.ok() && durable && ::rename(partial.c_str(), path.c_str()) == 0) {
    print_note(
        context.err, context.options,
        "saved revision " + std::to_string(end->snapshot().revision()) + ", " + grouped(bytes) + " bytes");
    return kExitOk;
  }
  if (write_error != 0) errno = write_error;
  const Error failed = end.ok() ? file_error("write", path) : end.error();
  ::unlink(partial.c_str());
  return context.fail(failed);
}

int run_save(const Context& context, Words words) {
  if (words.size() != 1) return context.usage("snapshot save takes a file", "waypost snapshot save FILE");
  return save_to(context, words[0]);
}

// Becomes waypostd, which knows the rows.
int become_waypostd(const Context& context, std::vector<std::string> arguments) {
  std::string program = context.host.program_directory + "/waypostd";
  if (::access(program.c_str(), X_OK) != 0) program = "waypostd";  // then from PATH
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  context.out.flush();
  ::execvp(program.c_str(), argv.data());
  Error error = file_error("run", program);
  error.hint = "waypostd must stand beside waypost, or in PATH";
  return context.fail(error);
}

int run_verify(const Context& context, Words words) {
  if (words.size() != 1) return context.usage("snapshot verify takes a file", "waypost snapshot verify FILE");
  return become_waypostd(context, {"--verify-snapshot", words[0]});
}

int run_restore(const Context& context, Words words) {
  if (words.size() != 1 || !context.options.data_dir)
    return context.usage("snapshot restore takes a file and the data directory of a node that is stopped",
                         "waypost snapshot restore FILE --data-dir DIR");
  return become_waypostd(context, {"--restore-snapshot", words[0], "--data-dir", *context.options.data_dir});
}

constexpr OwnVerb kVerbs[] = {{"save", run_save}, {"verify", run_verify}, {"restore", run_restore}};

}  // namespace

int run_snapshot(const Context& context, Words words) {
  if (words.empty()) return context.usage("snapshot needs a verb", "save, verify or restore");
  return run_verb(context, "snapshot", kVerbs, words);
}

}  // namespace waypost::cli
