#include "replication/etcd/client.h"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "replication/etcd/client_core.h"
#include "replication/etcd/etcd.pb.h"

namespace waypost::replication {
namespace {

constexpr uint64_t kAuthenticateTimeoutMs = 5'000;

// Half-open connections are found within this time and its answer's.
constexpr int kKeepaliveMs = 6'000;
constexpr int kKeepaliveTimeoutMs = 3'000;

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Error{ErrorCode::kIo, "etcd TLS: cannot read " + path};
  return text.str();
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials(const EtcdOptions& options, bool https) {
  const bool tls = https || !options.ca_file.empty() || !options.certificate_file.empty();
  if (!tls) return std::shared_ptr<grpc::ChannelCredentials>(grpc::InsecureChannelCredentials());
  grpc::SslCredentialsOptions ssl;
  const std::pair<const std::string*, std::string*> files[] = {
      {&options.ca_file, &ssl.pem_root_certs},
      {&options.certificate_file, &ssl.pem_cert_chain},
      {&options.key_file, &ssl.pem_private_key}};
  for (const auto& [path, pem] : files) {
    if (path->empty()) continue;
    Result<std::string> text = read_file(*path);
    if (!text.ok()) return text.error();
    *pem = std::move(text).value();
  }
  return std::shared_ptr<grpc::ChannelCredentials>(grpc::SslCredentials(ssl));
}

std::shared_ptr<grpc::Channel> make_channel(const std::string& address,
                                            const std::shared_ptr<grpc::ChannelCredentials>& how) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // what is repeated is decided above
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);  // also how long one attempt may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetMaxReceiveMessageSize(-1);  // pages are bounded by what is asked for
  return grpc::CreateCustomChannel(address, how, arguments);
}

// gRPC writes to stderr on its own; what matters of it comes back in the answers of calls.
void quiet_grpc() {
  gpr_set_log_function([](gpr_log_func_args* line) { spdlog::debug("grpc: {}", line->message); });
}

struct UnaryCall {
  grpc::ClientContext context;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
  grpc::ByteBuffer response;
  grpc::Status status;
};

}  // namespace

std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

bool never_executed(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return true;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return status.error_message().find("space exceeded") != std::string::npos;
    default:
      return false;
  }
}

Error etcd_error(const grpc::Status& status, const std::string& endpoint) {
  const std::string message = "etcd at " + endpoint + ": " + status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      if (never_executed(status)) {
        return {ErrorCode::kResourceExhausted, message,
                "etcd's database is full: trim the log, then compact, defragment and disarm the alarm "
                "(etcdctl compact REV; "
                "etcdctl defrag; etcdctl alarm disarm), or raise --quota-backend-bytes"};
      }
      return {ErrorCode::kUnavailable, message};
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return {ErrorCode::kPermissionDenied, message,
              "check the user and password of the etcd engine and the user's roles"};
    case grpc::StatusCode::INVALID_ARGUMENT:
      return {ErrorCode::kInvalidArgument, message};
    case grpc::StatusCode::OUT_OF_RANGE:
      return {ErrorCode::kNotFound, message};
    case grpc::StatusCode::UNIMPLEMENTED:
      return {ErrorCode::kUnsupported, message, "etcd 3.4 or later is needed"};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {ErrorCode::kUnavailable, "etcd at " + endpoint + " did not answer in time"};
    default:
      return {ErrorCode::kUnavailable, message};
  }
}

Result<std::unique_ptr<EtcdClient>> EtcdClient::create(const EtcdOptions& options, Executor order) {
  if (options.endpoints.empty())
    return Error{ErrorCode::kInvalidArgument, "etcd: no endpoint", "name one as HOST:PORT"};
  quiet_grpc();
  auto core = std::make_shared<Core>(options, std::move(order));
  for (std::string address : options.endpoints) {
    const bool https = address.starts_with("https://");
    if (https) address.erase(0, 8);
    if (address.starts_with("http://")) address.erase(0, 7);
    while (address.ends_with("/")) address.pop_back();
    if (address.rfind(':') == std::string::npos || address.find("//") != std::string::npos) {
      return Error{ErrorCode::kInvalidArgument, "etcd: endpoint \"" + address + "\" is not HOST:PORT"};
    }
    auto how = credentials(options, https);
    if (!how.ok()) return how.error();
    core->endpoints.push_back({address, make_channel(address, *how)});
  }
  core->pump_thread = std::thread([raw = core.get()] { raw->pump(); });
  return std::unique_ptr<EtcdClient>(new EtcdClient(std::move(core)));
}

EtcdClient::EtcdClient(std::shared_ptr<Core> core) : core_(std::move(core)) {}
EtcdClient::~EtcdClient() {
  core_->shut_down();
}

// Touches nothing but the tag: all else belongs to the order thread.
void EtcdClient::Core::pump() {
  void* raw = nullptr;
  bool ok = false;
  while (queue.Next(&raw, &ok)) {
    order([self = shared_from_this(), id = reinterpret_cast<uint64_t>(raw), ok] { self->fire(id, ok); });
  }
}

void* EtcdClient::Core::tag(Event event) {
  const uint64_t id = next_event++;
  events.emplace(id, std::move(event));
  return reinterpret_cast<void*>(id);
}

void EtcdClient::Core::fire(uint64_t id, bool ok) {
  auto event = events.extract(id);
  if (!event.empty()) event.mapped()(ok);
}

void EtcdClient::Core::shut_down() {
  gone = true;
  for (grpc::ClientContext* context : live) context->TryCancel();
  for (grpc::Alarm* alarm : alarms) alarm->Cancel();
  waiters.clear();
  queue.Shutdown();
  pump_thread.join();
  // gRPC writes nowhere any more. Events hold this object, so they must go before it can.
  events.clear();
}

void EtcdClient::Core::prepare(grpc::ClientContext& context) const {
  if (!token.empty()) context.AddMetadata("token", token);
}

void EtcdClient::Core::call(size_t only_endpoint, const char* method, std::string request,
                            uint64_t deadline_ms, Done done) {
  if (gone) return;
  connect(only_endpoint, [self = shared_from_this(), method, request = std::move(request), deadline_ms,
                          done = std::move(done)](const Connection& connection) {
    if (!connection.channel) {
      // Through the executor: a caller never hears back inside its own call.
      Error error{ErrorCode::kUnavailable, connection.words, "is etcd running, and is the endpoint right?"};
      return self->order([self, done, error = std::move(error), endpoint = connection.endpoint] {
        if (!self->gone) done({error, false, "", endpoint});
      });
    }
    if (self->options.user.empty() || !self->token.empty()) {
      return self->start_call(connection, method, request, deadline_ms, done);
    }
    self->authenticate(
        [done, endpoint = connection.endpoint](const Error& error) {
          done({error, false, "", endpoint});
        },
        [self, connection, method, request, deadline_ms, done] {
          self->start_call(connection, method, request, deadline_ms, done);
        });
  });
}

void EtcdClient::Core::start_call(const Connection& connection, const char* method,
                                  const std::string& request, uint64_t deadline_ms, Done done) {
  if (gone) return;
  auto unary = std::make_shared<UnaryCall>();
  unary->channel = connection.channel;
  unary->context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
  prepare(unary->context);
  live.insert(&unary->context);
  unary->reader =
      grpc::GenericStub(unary->channel).PrepareUnaryCall(&unary->context, method, to_buffer(request), &queue);
  unary->reader->StartCall();
  unary->reader->Finish(
      &unary->response, &unary->status,
      tag([self = shared_from_this(), unary, endpoint = connection.endpoint, done = std::move(done)](bool) {
        self->live.erase(&unary->context);
        if (self->gone) return;
        if (unary->status.ok()) return done({{}, true, to_bytes(unary->response), endpoint});
        const bool never = never_executed(unary->status);
        if (unary->status.error_code() == grpc::StatusCode::UNAUTHENTICATED) self->token.clear();
        if (!never) self->leave(endpoint);
        done({etcd_error(unary->status, self->endpoints[endpoint].address), !never, "", endpoint});
      }));
}

void EtcdClient::Core::authenticate(std::function<void(Error)> failed, std::function<void()> then) {
  etcd::AuthenticateRequest request;
  request.set_name(options.user);
  request.set_password(options.password);
  connect(kAnyEndpoint, [self = shared_from_this(), bytes = request.SerializeAsString(),
                         failed = std::move(failed), then = std::move(then)](const Connection& connection) {
    if (!connection.channel) return failed({ErrorCode::kUnavailable, connection.words});
    self->start_call(connection, "/etcdserverpb.Auth/Authenticate", bytes, kAuthenticateTimeoutMs,
                     [self, failed, then](const EtcdAnswer& answer) {
                       etcd::AuthenticateResponse response;
                       if (!answer.status.ok()) return failed(answer.status.error());
                       if (!response.ParseFromString(answer.bytes)) {
                         return failed({ErrorCode::kInternal, "etcd: unreadable answer to Authenticate"});
                       }
                       self->token = response.token();
                       then();
                     });
  });
}

void EtcdClient::call(const char* method, std::string request, uint64_t deadline_ms, Done done) {
  core_->call(Core::kAnyEndpoint, method, std::move(request), deadline_ms, std::move(done));
}

void EtcdClient::call_at(size_t endpoint, const char* method, std::string request, uint64_t deadline_ms,
                         Done done) {
  core_->call(endpoint, method, std::move(request), deadline_ms, std::move(done));
}

void EtcdClient::after(uint64_t delay_ms, std::function<void()> work) {
  if (core_->gone) return;
  auto alarm = std::make_shared<grpc::Alarm>();
  core_->alarms.insert(alarm.get());
  alarm->Set(&core_->queue, std::chrono::system_clock::now() + std::chrono::milliseconds(delay_ms),
             core_->tag([core = core_, alarm, work = std::move(work)](bool) {
               core->alarms.erase(alarm.get());
               if (!core->gone) work();
             }));
}

uint64_t EtcdClient::now_ms() const {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Core::Clock::now().time_since_epoch()).count());
}

const std::vector<std::string>& EtcdClient::endpoints() const {
  return core_->options.endpoints;
}

}  // namespace waypost::replication
