#include "replication/etcd/reader.h"

#include <algorithm>
#include <utility>

#include "model/limits.h"
#include "replication/etcd/etcd.pb.h"
#include "replication/etcd/requests.h"

namespace waypost::replication {
namespace {

constexpr uint64_t kWatchRetryMs = 100;
// A watch may lag behind the head by this much before it is restarted.
constexpr uint64_t kSilenceMs = 500;
constexpr int64_t kFewestPageEntries = 4;
constexpr int64_t kMostPageEntries = 512;

}  // namespace

void EtcdReader::read(Position from, size_t max_bytes, Log::ReadCallback done) {
  pending_ = Pending{from, max_bytes, std::move(done)};
  while (!ahead_.empty() && ahead_.front().position < from) {
    ahead_bytes_ -= ahead_.front().bytes.size();
    ahead_.pop_front();
  }
  serve();
}

void EtcdReader::close() {
  closed_ = true;
  watch_.reset();
  pending_.reset();
}

void EtcdReader::serve() {
  if (closed_ || !pending_) return;
  if (!ahead_.empty() && ahead_.front().position == pending_->from) return deliver();
  const bool elsewhere = !ahead_.empty() || watch_next_ != pending_->from;
  if (elsewhere) close_watch();
  if (watch_) return receive();
  if (!paging_ && !serving_later_) page();
}

void EtcdReader::deliver() {
  std::vector<RawEntry> entries;
  size_t bytes = 0;
  while (!ahead_.empty() && bytes < pending_->max_bytes) {
    bytes += ahead_.front().bytes.size();
    ahead_bytes_ -= ahead_.front().bytes.size();
    entries.push_back(std::move(ahead_.front()));
    ahead_.pop_front();
  }
  const Log::ReadCallback done = std::move(pending_->done);
  pending_.reset();
  // Later, since this may run inside read().
  client_.after(0, [self = shared_from_this(), done, entries = std::move(entries)]() mutable {
    if (!self->closed_) done(std::move(entries));
  });
  receive();
}

void EtcdReader::fail(Error error) {
  if (!pending_) return;
  const Log::ReadCallback done = std::move(pending_->done);
  pending_.reset();
  done(std::move(error));
}

void EtcdReader::page() {
  paging_ = true;
  etcd::TxnRequest txn;
  then_get(txn, keys_.entry(pending_->from), keys_.log_end(), page_entries_);
  then_get(txn, keys_.head());
  client_.call(kTxnMethod, txn.SerializeAsString(), request_timeout_ms_,
               [self = shared_from_this(), asked = pending_->from](const EtcdAnswer& answer) {
                 self->paging_ = false;
                 if (!self->closed_) self->on_page(asked, answer);
               });
}

void EtcdReader::on_page(Position asked, const EtcdAnswer& answer) {
  // The read has moved on meanwhile: this page says nothing about the entry it wants now.
  if (pending_ && pending_->from != asked) return serve();
  const Result<etcd::TxnResponse> response = txn_response(answer);
  if (!response.ok()) return fail(response.error());
  const std::optional<EtcdHead> head = decode_head(value_of(*response, 1));
  if (!head) return fail({ErrorCode::kUnavailable, "etcd holds no log under this name yet"});
  if (!pending_) return;
  Position next = pending_->from;
  const etcd::RangeResponse& range = response->responses(0).response_range();
  size_t bytes = 0;
  for (const etcd::KeyValue& kv : range.kvs()) {
    if (keys_.position(kv.key()) != next) break;
    ahead_.push_back({next, kv.value()});
    bytes += kv.value().size();
    next = next.next();
  }
  ahead_bytes_ += bytes;
  const bool first_is_missing = ahead_.empty() && pending_->from <= head->position;
  if (first_is_missing) {
    return fail(
        {ErrorCode::kNotFound, "entry " + std::to_string(pending_->from.value()) + " is trimmed in etcd"});
  }
  if (range.kvs_size() > 0) {
    const int64_t average = static_cast<int64_t>(bytes) / range.kvs_size() + 1;
    page_entries_ = std::clamp(static_cast<int64_t>(limits::kLogReadBytes) / average, kFewestPageEntries,
                               kMostPageEntries);
  }
  const bool at_the_end = next == head->position.next();
  if (at_the_end) open_watch(response->header().revision() + 1, next);
  // Beyond the head, as with a rewound log, which the tail will show: all that can be done is to wait for the
  // entry.
  const bool beyond = head->position.next() < pending_->from;
  if (beyond) open_watch(response->header().revision() + 1, pending_->from);
  serve();
}

void EtcdReader::open_watch(int64_t revision, Position next) {
  watch_.reset();
  watch_open_ = false;
  etcd::WatchRequest request;
  etcd::WatchCreateRequest& create = *request.mutable_create_request();
  create.set_key(keys_.log());
  create.set_range_end(keys_.log_end());
  create.set_start_revision(revision);
  create.add_filters(etcd::WatchCreateRequest::NODELETE);
  create.set_progress_notify(true);
  watch_next_ = next;
  EtcdClient::StreamEvents events;
  events.on_open = [this] {
    watch_open_ = true;
    receive();
  };
  events.on_message = [this](const std::string& message) { on_watch(message); };
  events.on_end = [this](const Error&) {
    close_watch();
    serve_later();
  };
  watch_ = client_.open_stream("/etcdserverpb.Watch/Watch", request.SerializeAsString(), std::move(events));
}

void EtcdReader::on_watch(const std::string& message) {
  etcd::WatchResponse response;
  // A cancelled watch (compacted, no permission, etcd stopping) is replaced by a page and a new one.
  if (!response.ParseFromString(message) || response.canceled()) {
    close_watch();
    return serve_later();
  }
  for (etcd::Event& event : *response.mutable_events()) {
    if (event.type() != etcd::Event::PUT) continue;
    const std::optional<Position> position = keys_.position(event.kv().key());
    if (!position || *position < watch_next_) continue;
    if (*position > watch_next_) {
      // A gap: what is missing is paged.
      watch_.reset();
      watch_open_ = false;
      break;
    }
    ahead_bytes_ += event.kv().value().size();
    ahead_.push_back({*position, std::move(*event.mutable_kv()->mutable_value())});
    watch_next_ = watch_next_.next();
  }
  serve();
  receive();
}

// Stops receiving while the replica is behind: etcd keeps what it could not send, or compacts it away, and
// then it is paged.
void EtcdReader::receive() {
  if (watch_ && watch_open_ && ahead_bytes_ < limits::kMaxReadAheadBytes) watch_->next();
}

void EtcdReader::close_watch() {
  watch_.reset();
  watch_open_ = false;
  ahead_.clear();
  ahead_bytes_ = 0;
}

void EtcdReader::serve_later() {
  if (serving_later_) return;
  serving_later_ = true;
  client_.after(kWatchRetryMs, [self = shared_from_this()] {
    self->serving_later_ = false;
    self->serve();
  });
}

void EtcdReader::head_is_known(Position head) {
  const bool shown = !pending_ || head < pending_->from || paging_ || !watch_;
  if (shown || doubting_) return;
  doubting_ = true;
  client_.after(kSilenceMs, [self = shared_from_this(), from = pending_->from] {
    self->doubting_ = false;
    const bool still_silent =
        self->pending_ && self->pending_->from == from && self->watch_ && !self->paging_;
    if (!still_silent || self->closed_) return;
    self->close_watch();
    self->serve();
  });
}

}  // namespace waypost::replication
