#include "tests/replication/etcd_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace waypost::replication {
namespace {

sockaddr_in local_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = local_address(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

EtcdServer::EtcdServer(std::vector<std::string> extra)
    : extra_(std::move(extra)), client_port_(free_port()), peer_port_(free_port()) {
  for (const std::string& word : extra_) {
    if (word.starts_with("--cert-file")) scheme_ = "https";
  }
  start();
}

EtcdServer::~EtcdServer() {
  kill();
}

void EtcdServer::start() {
  const std::string client_url = scheme_ + "://127.0.0.1:" + std::to_string(client_port_);
  const std::string peer_url = "http://127.0.0.1:" + std::to_string(peer_port_);
  std::vector<std::string> words = {"etcd",
                                    "--name=only",
                                    "--data-dir=" + directory_.path() + "/data",
                                    "--listen-client-urls=" + client_url,
                                    "--advertise-client-urls=" + client_url,
                                    "--listen-peer-urls=" + peer_url,
                                    "--initial-advertise-peer-urls=" + peer_url,
                                    "--initial-cluster=only=" + peer_url,
                                    "--logger=zap",
                                    "--log-level=warn"};
  words.insert(words.end(), extra_.begin(), extra_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = directory_.path() + "/log";
  pid_ = ::fork();
  if (pid_ == 0) {
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    ::execv("/usr/bin/etcd", arguments.data());
    ::_exit(127);
  }
  for (int i = 0; i < 1'000 && !serves(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(serves()) << "etcd does not start, see its log";
  // It listens before it serves. (Under TLS etcdctl would need to be told more.)
  for (int i = 0; i < 100 && extra_.empty() && !ctl("get nothing"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

bool EtcdServer::serves() const {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = local_address(client_port_);
  const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(fd);
  return connected;
}

void EtcdServer::pause() {
  ::kill(pid_, SIGSTOP);
  // On a busy machine its threads run on for a while: it is paused when the kernel says so.
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
}
void EtcdServer::resume() {
  ::kill(pid_, SIGCONT);
}

void EtcdServer::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void EtcdServer::restart() {
  kill();
  start();
}

bool EtcdServer::ctl(const std::string& words) const {
  const std::string command = "ETCDCTL_API=3 etcdctl --endpoints=" + scheme_ + "://" + endpoint() + " " +
                              words + " >>" + directory_.path() + "/ctl 2>&1";
  return std::system(command.c_str()) == 0;
}

}  // namespace waypost::replication
