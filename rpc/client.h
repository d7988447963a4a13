// A client of a waypostd: blocking, one connection, one thread. Tries its endpoints in turn, keeps its
// session across reconnects, and sends the same (session, number) again after a lost answer, so a change
// happens exactly once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"
#include "model/transaction.h"

namespace waypost::rpc {

class Request;  // rpc/waypost.pb.h
class End;
class Part;

struct ClientOptions {
  std::vector<std::string> endpoints;  // HOST:PORT, [V6]:PORT; at least one
  std::chrono::milliseconds connect_timeout{1'000};
  std::chrono::milliseconds timeout{30'000};  // of one call; 0: none
  std::string author;                         // user@host, for the history
  // Once for each connection that was lost and is not back within a second: what is wrong, and for how long
  // it will be tried again (0: without end).
  std::function<void(const Error& why, std::chrono::seconds left)> on_waiting{};
};

// An applied transaction, or why not.
struct Submitted {
  TransactionAnswer answer;
  Position position;
};

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(Client&&) noexcept;

  // One request; `on_part` sees each part as it comes and returns false to cancel. Errors: kUnavailable names
  // the endpoint, the phase (resolve, connect, hello) and the cure within a second of a refused connection;
  // kDeadlineExceeded; what the server said.
  Result<End> call(const Request& request, const std::function<bool(const Part&)>& on_part = {});

  // Exactly once (LOG.md rule 5): opens a session on first use. kOutcomeUnknown only when no node answered
  // within the timeout after something was sent.
  Result<Submitted> submit(const Transaction& transaction);

  // Keeps up to `window` transactions in flight (at most limits::kSessionWindow); `done` runs inside a later
  // submit_async() or drain(), in the order submitted. For imports.
  void submit_async(const Transaction& transaction, size_t window,
                    std::function<void(Result<Submitted>)> done);
  void drain();

  // The endpoint now connected, or empty.
  std::string endpoint() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace waypost::rpc
