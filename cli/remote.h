// The server as the command line sees it: one small seam, with a twin in tests/cli. Connects at the first
// request.
#pragma once

#include <functional>

#include "rpc/client.h"

namespace waypost::cli {

class Remote {
 public:
  virtual ~Remote() = default;

  // As rpc::Client has them.
  virtual Result<rpc::End> call(const rpc::Request& request,
                                const std::function<bool(const rpc::Part&)>& on_part) = 0;
  virtual Result<rpc::Submitted> submit(const Transaction& transaction) = 0;
  virtual void submit_async(const Transaction& transaction, size_t window,
                            std::function<void(Result<rpc::Submitted>)> done) = 0;
  virtual void drain() = 0;
};

// Makes the remote of one endpoint list; used again for `--wait=fib` and `node show`, which ask other nodes.
using RemoteFactory = std::function<std::unique_ptr<Remote>(rpc::ClientOptions options)>;

RemoteFactory real_remotes();

}  // namespace waypost::cli
