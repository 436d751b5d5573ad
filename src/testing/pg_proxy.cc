#include "testing/pg_proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace semel::testing {
namespace {

constexpr std::size_t kReadyForQuery = 6;  // bytes

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("socket path too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int open_socket() {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error("socket failed");
  return fd;
}

bool send_all(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

// Empty: the other side is gone.
std::string receive(int fd) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace

PgProxy::PgProxy(std::string socket_path) : socket_path_(std::move(socket_path)) {
  std::string pattern = "/tmp/semel-proxy.XXXXXX";
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  folder_ = pattern;
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  listener_ = open_socket();
  const sockaddr_un address = address_of(folder_ + "/.s.PGSQL.5432");
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0)
    throw std::runtime_error("proxy cannot listen in " + folder_);
  acceptor_ = std::thread([this] { accept_loop(); });
}

PgProxy::~PgProxy() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_fd_, &one, sizeof one);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
  ::close(stop_fd_);
  ::unlink((folder_ + "/.s.PGSQL.5432").c_str());
  ::rmdir(folder_.c_str());
}

void PgProxy::arm(Fault fault) {
  struck_ = false;
  fault_ = fault;
}

void PgProxy::accept_loop() {
  for (;;) {
    pollfd fds[2] = {{listener_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[1].revents != 0) return;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    const std::lock_guard lock(mutex_);
    threads_.emplace_back([this, client] { serve(client); });
  }
}

// The writer binds its prepared statement `commit`, or inserts ids in a batch that has none: unnamed portal, then the
// name.
PgProxy::Fault PgProxy::take_fault(const std::string& sent) {
  const Fault armed = fault_.load();
  const auto binds = [&](std::string_view name) { return sent.find('\0' + std::string(name)) != sent.npos; };
  const bool commits = binds("commit") || (binds("identity_insert") && !binds("begin"));
  if (armed == Fault::none || (armed != Fault::stall && !commits)) return Fault::none;
  fault_ = Fault::none;
  struck_ = true;
  return armed;
}

void PgProxy::serve(int client) {
  const int server = open_socket();
  const sockaddr_un address = address_of(socket_path_);
  bool open = ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  bool stalled = false;
  while (open) {
    pollfd fds[3] = {{stop_fd_, POLLIN, 0}, {stalled ? -1 : client, POLLIN, 0}, {stalled ? -1 : server, POLLIN, 0}};
    ::poll(fds, 3, -1);
    if (fds[0].revents != 0) break;
    if (fds[1].revents != 0) {
      const std::string sent = receive(client);
      const Fault fault = sent.empty() ? Fault::none : take_fault(sent);
      stalled = fault == Fault::stall;
      if (sent.empty() || fault == Fault::cut_before) break;
      if (!stalled && !send_all(server, sent)) break;
      if (fault == Fault::cut_after || fault == Fault::cut_end) {
        std::string answer = receive(server);  // the answer is here, so the commit is over
        answer.resize(answer.size() - std::min(answer.size(), kReadyForQuery));
        if (fault == Fault::cut_end) send_all(client, answer);
        break;
      }
    }
    if (!stalled && fds[2].revents != 0) {
      const std::string answer = receive(server);
      open = !answer.empty() && send_all(client, answer);
    }
  }
  ::close(server);
  ::close(client);
}

}  // namespace semel::testing
