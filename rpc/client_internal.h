// What Client is made of: the connection that tries its endpoints in turn, and the session with its window of
// transactions.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/transaction.h"
#include "rpc/client.h"
#include "rpc/client_wire.h"
#include "rpc/waypost.pb.h"

namespace waypost::rpc {

class ClientConnection {
 public:
  explicit ClientConnection(const ClientOptions& options) : options_(options) {}

  // Connected and greeted afterwards. Each endpoint is tried once, and again with back-off until the deadline
  // where `patient`. The error names every endpoint tried, with its phase and cure.
  Status ensure(TimePoint deadline, bool patient);
  // Sends `request` under a new id; where it names no deadline, with what is left of this one. An error has
  // ended the connection.
  Result<uint64_t> send(const Request& request, TimePoint deadline);
  Status send_control(Envelope envelope);
  // kDeadlineExceeded leaves the connection; any other error has ended it.
  Status receive(Envelope* envelope, TimePoint deadline);

  // The next ensure() begins with another endpoint, where there is one.
  void leave_endpoint();
  void drop();
  // Grows with each connection made: requests of an earlier one are lost.
  uint64_t generation() const { return generation_; }
  size_t endpoint_count() const { return options_.endpoints.size(); }
  bool ever_connected() const { return generation_ > 0; }
  std::string endpoint() const { return wire_ ? wire_->endpoint() : std::string(); }

 private:
  Status try_endpoint(const std::string& endpoint);
  Status hello(ClientWire& wire);
  Status try_each();

  const ClientOptions& options_;
  std::unique_ptr<ClientWire> wire_;
  size_t current_ = 0;
  uint64_t generation_ = 0;
  uint64_t next_id_ = 1;
};

// Transactions in flight under one session (LOG.md rule 5). They are sent, and sent again, in the order of
// their numbers.
class ClientSession {
 public:
  using Done = std::function<void(Result<Submitted>)>;

  ClientSession(ClientConnection& connection, const ClientOptions& options)
      : connection_(connection), options_(options) {}

  void submit(const Transaction& transaction, size_t window, Done done);
  void drain();
  // An envelope read by someone else on this connection: true where it was an answer to one of ours.
  bool take(const Envelope& envelope);

 private:
  struct Pending {
    uint64_t number = 0;
    std::string proposal;  // encoded
    Done done;
    TimePoint deadline;
    uint64_t generation = 0;  // of the connection it was sent on; with `id`, where its answer will come
    uint64_t id = 0;
    bool answered = true;  // nothing is on its way
    uint32_t sends = 0;
    uint32_t not_handed = 0;    // answers that said so
    bool maybe_handed = false;  // some attempt ended without a definite answer
    Error last_error;
    bool number_unused = false;  // its result says that apply never saw the number
    std::optional<Result<Submitted>> result;
  };

  Status open_session(TimePoint deadline);
  Status renumber();
  void finish_front();
  void pop_answered();
  bool step();
  Status send_incomplete();
  bool on_the_wire(const Pending& pending) const;
  void note_lost_connection();
  void take_end(Pending& pending, const End& end);
  void take_error(Pending& pending, const WireError& error);
  void take_refusal(Pending& pending, const Refusal& refusal);
  void again(Pending& pending, Error why, std::chrono::milliseconds delay);
  void fail_rest(const Error& error, bool unknown);
  void give_up(const Error& why);

  ClientConnection& connection_;
  const ClientOptions& options_;
  std::optional<SessionId> session_;
  uint64_t next_number_ = 1;
  std::deque<Pending> pending_;
  std::chrono::milliseconds resend_delay_{0};
  bool need_new_session_ = false;
  bool leave_when_idle_ = false;  // another endpoint may know better, but what is in flight comes first
};

Error error_of(const WireError& error);

}  // namespace waypost::rpc
