#include "cli/remote.h"

#include "rpc/waypost.pb.h"

namespace waypost::cli {
namespace {

class RealRemote : public Remote {
 public:
  explicit RealRemote(rpc::ClientOptions options) : client_(std::move(options)) {}

  Result<rpc::End> call(const rpc::Request& request,
                        const std::function<bool(const rpc::Part&)>& on_part) override {
    return client_.call(request, on_part);
  }
  Result<rpc::Submitted> submit(const Transaction& transaction) override {
    return client_.submit(transaction);
  }
  void submit_async(const Transaction& transaction, size_t window,
                    std::function<void(Result<rpc::Submitted>)> done) override {
    client_.submit_async(transaction, window, std::move(done));
  }
  void drain() override { client_.drain(); }

 private:
  rpc::Client client_;
};

}  // namespace

RemoteFactory real_remotes() {
  return [](rpc::ClientOptions options) { return std::make_unique<RealRemote>(std::move(options)); };
}

}  // namespace waypost::cli
