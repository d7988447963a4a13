#include "tests/cli/daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace waypost::cli {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

bool answers(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  const bool connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return connected;
}

}  // namespace

Daemon::Daemon() : port_(free_port()) {
  char name[] = "/tmp/waypost-cli-test-XXXXXX";
  directory_ = ::mkdtemp(name);
  const std::string program = std::string(WAYPOST_BINARY_DIR) + "/bin/waypostd";
  process_ = ::fork();
  if (process_ == 0) {
    const int log = ::open((directory_ + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execl(program.c_str(), program.c_str(), "--name", "n1", "--data-dir", (directory_ + "/data").c_str(),
            "--listen", endpoint().c_str(), "--bootstrap", nullptr);
    ::_exit(127);
  }
  for (int i = 0; i < 600 && !answers(port_); ++i) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      ADD_FAILURE() << program << " ended at once with status " << status;
      process_ = -1;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Daemon::~Daemon() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

}  // namespace waypost::cli
