#include "kernel_sync/syncer.h"

#include <spdlog/spdlog.h>

#include <future>
#include <thread>

#include "kernel_sync/engine.h"
#include "kernel_sync/fib_diff.h"
#include "kernel_sync/report.h"
#include "kernel_sync/syncer_loop.h"
#include "model/row_codec.h"

namespace waypost::kernel_sync {

struct Syncer::Impl {
  Impl(SyncerOptions options, const store::Store& store, KernelFactory open_kernel)
      : loop(std::move(options), store), factory(std::move(open_kernel)) {}

  SyncerLoop loop;
  KernelFactory factory;
  std::thread thread;
};

Syncer::Syncer(SyncerOptions options, const store::Store& store, KernelFactory open_kernel)
    : impl_(std::make_unique<Impl>(std::move(options), store, std::move(open_kernel))) {}

Syncer::~Syncer() {
  stop();
}

Status Syncer::start() {
  std::promise<Status> opened;
  std::future<Status> answer = opened.get_future();
  impl_->thread = std::thread([this, &opened] {
    Status status = impl_->loop.open(impl_->factory);
    const bool ok = status.ok();
    opened.set_value(std::move(status));
    if (ok) impl_->loop.run();
  });
  Status status = answer.get();
  if (!status.ok()) impl_->thread.join();
  return status;
}

void Syncer::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->loop.stop();
  impl_->thread.join();
}

void Syncer::notify() {
  impl_->loop.notify();
}

FibStatus Syncer::status() const {
  return impl_->loop.status();
}

void Syncer::wait(Revision revision, Rows rows, std::chrono::milliseconds deadline,
                  std::function<void(WaitReport)> done) {
  impl_->loop.post([=, this, rows = std::move(rows), done = std::move(done)](bool running) mutable {
    impl_->loop.add_wait(
        {revision, std::move(rows.nexthops), std::move(rows.routes),
         SyncerLoop::now_ms() + static_cast<uint64_t>(std::max<int64_t>(deadline.count(), 0)),
         std::move(done)});
    if (!running) impl_->loop.give_up_waits();
  });
}

namespace {

Error stopped() {
  return Error{ErrorCode::kUnavailable, "kernel_sync is stopping"};
}

}  // namespace

void Syncer::get(const IpAddress& address, TableId table, std::function<void(Result<FibGetReport>)> done) {
  impl_->loop.post([=, this, done = std::move(done)](bool running) {
    if (!running) return done(stopped());
    done(get_from_fib(impl_->loop.engine(), impl_->loop.store(), address, table));
  });
}

void Syncer::diff(std::function<bool(const FibDifference&)> visit, std::function<void(Status)> done) {
  impl_->loop.post([=, this, visit = std::move(visit), done = std::move(done)](bool running) {
    if (!running) return done(stopped());
    done(FibDiff(impl_->loop.engine()).run(SyncerLoop::now_ms(), visit));
  });
}

void Syncer::audit(std::function<void(Status)> done) {
  impl_->loop.post([=, this, done = std::move(done)](bool running) {
    done(running ? impl_->loop.audit_now() : Status(stopped()));
  });
}

void Syncer::sweep(std::function<void(Status)> done) {
  impl_->loop.post([=, this, done = std::move(done)](bool running) {
    if (!running) return done(stopped());
    impl_->loop.engine().sweep();
    impl_->loop.when_settled(done);
  });
}

void Syncer::release(std::function<void(Result<uint64_t>)> done) {
  impl_->loop.post([=, this, done = std::move(done)](bool running) {
    if (!running) return done(stopped());
    impl_->loop.release(done);
  });
}

}  // namespace waypost::kernel_sync
