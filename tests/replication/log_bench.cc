#include "tests/replication/log_bench.h"

#include <gtest/gtest.h>

#include "replication/etcd/etcd_log.h"
#include "replication/local_log.h"
#include "tests/replication/etcd_server.h"
#include "tests/replication/serial_thread.h"
#include "tests/replication/temp_db.h"
#include "tests/sim/sim_log.h"

namespace waypost::replication {
namespace {

class LocalBench final : public LogBench {
 public:
  LocalBench() : db_(directory_.path()) {
    LocalLogOptions options;
    options.db = db_.db();
    options.family = db_.family();
    options.writer = disk_.executor();
    options.order = order_.executor();
    log_ = std::move(LocalLog::open(options)).value();
  }
  ~LocalBench() override {
    disk_.join();
    order_.join();
  }
  Log& log(size_t) override { return *log_; }
  void post(std::function<void()> work) override { order_.executor()(std::move(work)); }
  bool wait(const std::function<bool()>& done) override { return poll_until(done); }
  bool shared() const override { return false; }

 private:
  TempDirectory directory_;
  LogDatabase db_;
  std::unique_ptr<LocalLog> log_;
  SerialThread disk_;
  SerialThread order_;
};

class SimBench final : public LogBench {
 public:
  SimBench() : world_(1), server_(world_), nodes_{sim::SimNode(world_), sim::SimNode(world_)} {
    for (sim::SimNode& node : nodes_) logs_.push_back(std::make_unique<sim::SimLog>(world_, node, server_));
  }
  Log& log(size_t node) override { return *logs_[node]; }
  void post(std::function<void()> work) override { world_.after(0, std::move(work)); }
  bool wait(const std::function<bool()>& done) override { return world_.run_until(done, 10'000'000); }

 private:
  sim::SimWorld world_;
  sim::SimLogServer server_;
  sim::SimNode nodes_[2];
  std::vector<std::unique_ptr<sim::SimLog>> logs_;
};

class EtcdBench final : public LogBench {
 public:
  EtcdBench() {
    // One server for all tests of a run; each has a log of its own.
    static EtcdServer server;
    static int next_log = 0;
    EtcdOptions options;
    options.endpoints = {server.endpoint()};
    options.cluster = "contract-" + std::to_string(next_log++);
    for (auto& log : logs_) log = std::move(EtcdLog::open(options, order_.executor())).value();
    const auto made = ask<Status>([this](auto done) {
      logs_[0]->create_genesis({Hash128{1, 1}, Position(), {}}, done);
    });
    EXPECT_TRUE(made && made->ok()) << (made ? made->error().message : "no answer");
  }
  ~EtcdBench() override {
    order_.call([this] {
      for (auto& log : logs_) log.reset();
    });
    order_.join();
  }
  Log& log(size_t node) override { return *logs_[node]; }
  void post(std::function<void()> work) override { order_.executor()(std::move(work)); }
  bool wait(const std::function<bool()>& done) override { return poll_until(done); }

 private:
  std::unique_ptr<EtcdLog> logs_[2];
  SerialThread order_;
};

}  // namespace

std::unique_ptr<LogBench> make_local_bench() {
  return std::make_unique<LocalBench>();
}
std::unique_ptr<LogBench> make_sim_bench() {
  return std::make_unique<SimBench>();
}
std::unique_ptr<LogBench> make_etcd_bench() {
  return std::make_unique<EtcdBench>();
}

}  // namespace waypost::replication
