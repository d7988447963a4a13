// A replica on a real etcd, with threads as a node has them and a state machine that only remembers.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/etcd/etcd_log.h"
#include "replication/replica.h"
#include "tests/replication/serial_thread.h"

namespace waypost::replication {

class EtcdNode {
 public:
  EtcdNode(const std::string& name, const EtcdOptions& options, uint64_t propose_timeout_ms = 10'000)
      : name_(name) {
    auto opened = EtcdLog::open(options, order_.executor());
    EXPECT_TRUE(opened.ok());
    log_ = std::move(opened).value();
    timeout_ms_ = propose_timeout_ms;
  }
  ~EtcdNode() {
    order_.call([this] {
      if (replica_) replica_->stop();
      replica_.reset();
      log_.reset();
    });
    order_.join();
  }

  void start() {
    order_.call([this] {
      ReplicaOptions options;
      options.name = name_;
      options.incarnation = 1;
      options.propose_timeout_ms = timeout_ms_;
      replica_ = std::make_unique<Replica>(
          options, *log_, order_,
          [this](const std::vector<AppliedEntry>& entries, const ApplyCallback& done) {
            std::vector<std::vector<std::string>> answers;
            for (const AppliedEntry& entry : entries) answers.push_back(apply(entry));
            order_.executor()([done, answers] { done(answers); });
          });
      replica_->start();
    });
  }

  Executor executor() { return order_.executor(); }

  // Starts a verb of the log on the order thread and waits for its answer.
  template <typename T>
  T ask(const std::function<void(EtcdLog&, std::function<void(T)>)>& start) {
    auto promise = std::make_shared<std::promise<T>>();
    order_.executor()([this, promise, start] {
      start(*log_, [promise](T value) { promise->set_value(std::move(value)); });
    });
    return promise->get_future().get();
  }
  std::future<ProposeResult> propose(const std::string& payload) {
    auto promise = std::make_shared<std::promise<ProposeResult>>();
    order_.executor()([this, promise, payload] {
      replica_->propose(payload, [promise](ProposeResult result) { promise->set_value(std::move(result)); });
    });
    return promise->get_future();
  }
  Result<Position> barrier(uint64_t deadline_ms) {
    auto promise = std::make_shared<std::promise<Result<Position>>>();
    order_.executor()([this, promise, deadline_ms] {
      replica_->barrier(deadline_ms,
                        [promise](Result<Position> result) { promise->set_value(std::move(result)); });
    });
    return promise->get_future().get();
  }
  Status try_genesis() {
    return ask<Status>([](EtcdLog& log, auto done) {
      log.create_genesis({Hash128{7, 7}, Position(), {}}, done);
    });
  }
  // A server that was just started may accept connections before it serves; on a busy machine that takes a
  // while.
  Status create_genesis() {
    Status status = try_genesis();
    for (int i = 0; i < 20 && !status.ok() && status.error().code == ErrorCode::kUnavailable; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      status = try_genesis();
    }
    return status;
  }
  std::vector<std::string> rows() {
    std::vector<std::string> copy;
    order_.call([&] { copy = rows_; });
    return copy;
  }
  ReplicaStatus status() {
    ReplicaStatus status;
    order_.call([&] { status = replica_->status(); });
    return status;
  }

 private:
  std::vector<std::string> apply(const AppliedEntry& entry) {
    std::vector<std::string> answers;
    for (const std::string& proposal : entry.proposals) {
      rows_.push_back(proposal);
      answers.push_back(std::to_string(rows_.size()));
    }
    return answers;
  }

  const std::string name_;
  uint64_t timeout_ms_ = 0;
  std::unique_ptr<EtcdLog> log_;
  std::vector<std::string> rows_;
  std::unique_ptr<Replica> replica_;
  SerialThread order_;
};

}  // namespace waypost::replication
