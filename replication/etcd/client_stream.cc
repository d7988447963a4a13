// One message out, many in: etcd's watch.
#include <utility>

#include "replication/etcd/client_core.h"

namespace waypost::replication {
namespace {

// Lives until gRPC has let go of it, which is later than its user's handle.
struct StreamCall : std::enable_shared_from_this<StreamCall> {
  grpc::ClientContext context;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream;
  grpc::ByteBuffer message;
  grpc::Status status;
  EtcdClient::StreamEvents events;
  bool closed = false;  // the user's handle is gone
  bool reading = false;
  bool ended = false;
};

}  // namespace

std::unique_ptr<EtcdClient::Stream> EtcdClient::open_stream(const char* method, std::string first_message,
                                                            StreamEvents events) {
  auto call = std::make_shared<StreamCall>();
  call->events = std::move(events);

  // Gives the end's words once, from whichever step failed.
  const auto finish = [core = core_, call](size_t endpoint) {
    if (std::exchange(call->ended, true)) return;
    call->stream->Finish(&call->status, core->tag([core, call, endpoint](bool) {
      core->live.erase(&call->context);
      if (core->gone || call->closed) return;
      core->leave(endpoint);
      const grpc::Status status =
          call->status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the stream ended") : call->status;
      call->events.on_end(etcd_error(status, core->endpoints[endpoint].address));
    }));
  };

  struct Handle final : Stream {
    std::shared_ptr<Core> core;
    std::shared_ptr<StreamCall> call;
    std::function<void(size_t)> finish;
    std::shared_ptr<size_t> endpoint = std::make_shared<size_t>(0);
    ~Handle() override {
      call->closed = true;
      if (core->live.contains(&call->context)) call->context.TryCancel();
    }
    void next() override {
      if (call->reading || call->ended || call->closed || core->gone || !call->stream) return;
      call->reading = true;
      call->stream->Read(&call->message,
                         core->tag([core_ptr = core, state = call, end = finish, at = endpoint](bool ok) {
                           state->reading = false;
                           if (core_ptr->gone) return;
                           if (!ok) return end(*at);
                           if (!state->closed) return state->events.on_message(to_bytes(state->message));
                           end(*at);
                         }));
    }
  };
  auto handle = std::make_unique<Handle>();
  handle->core = core_;
  handle->call = call;
  handle->finish = finish;

  const auto open = [core = core_, call, finish, method, first = std::move(first_message),
                     at = handle->endpoint](const Core::Connection& connection) {
    if (call->closed || core->gone) return;
    if (!connection.channel) {
      return core->order([core, call, words = connection.words] {
        if (!core->gone && !call->closed) call->events.on_end({ErrorCode::kUnavailable, words});
      });
    }
    *at = connection.endpoint;
    call->channel = connection.channel;
    core->prepare(call->context);
    core->live.insert(&call->context);
    call->stream = grpc::GenericStub(call->channel).PrepareCall(&call->context, method, &core->queue);
    call->stream->StartCall(core->tag([core, call, finish, first, at](bool ok) {
      if (core->gone) return;
      if (!ok) return finish(*at);
      call->stream->Write(to_buffer(first), core->tag([core, call, finish, at](bool written) {
        if (core->gone) return;
        if (!written) return finish(*at);
        call->events.on_open();
      }));
    }));
  };
  core_->connect(Core::kAnyEndpoint, open);
  return handle;
}

}  // namespace waypost::replication
