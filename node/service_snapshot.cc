// The whole state as one stream over one view.
#include "node/parts_internal.h"
#include "rpc/waypost.pb.h"
#include "store/snapshot.h"

namespace waypost::node {

namespace {

class SnapshotStream : public std::enable_shared_from_this<SnapshotStream> {
 public:
  SnapshotStream(Parts& parts, SharedCall call, store::ReadView view)
      : parts_(parts), call_(std::move(call)), source_(std::move(view)) {}

  // On a reader, some chunks at a time.
  void run() {
    for (int turn = 0; turn < 16; ++turn) {
      if (call_->closed() || parts_.stopping) return;
      if (!call_->writable()) return call_->when_writable([self = shared_from_this()] { self->later(); });
      std::optional<std::string> chunk = source_.next();
      if (!chunk) return finish();
      parts_.snapshot_sent_bytes += chunk->size();
      rpc::Part part;
      part.set_snapshot_chunk(std::move(*chunk));
      call_->send(std::move(part));
      ++chunks_;
    }
    later();
  }

 private:
  void later() {
    parts_.readers.post([self = shared_from_this()] { self->run(); });
  }

  void finish() {
    rpc::End end;
    end.mutable_snapshot()->set_revision(source_.stamp().revision.value());
    end.mutable_snapshot()->set_chunks(chunks_);
    call_->finish(std::move(end));
  }

  Parts& parts_;
  const SharedCall call_;
  store::SnapshotSource source_;
  uint64_t chunks_ = 0;
};

}  // namespace

// Stale on purpose: a snapshot is right at whatever revision it names, and must be had also while the log is
// away.
void serve_snapshot(Parts& parts, SharedCall call) {
  if (!call->request().snapshot().cursor().empty()) {
    return call->fail({ErrorCode::kFailedPrecondition, "the view that this snapshot was read from is gone",
                       "begin it anew"});
  }
  read(parts, call, true, [&parts, call](store::ReadView view) {
    std::make_shared<SnapshotStream>(parts, call, std::move(view))->run();
  });
}

}  // namespace waypost::node
