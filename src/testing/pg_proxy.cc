// The fault proxy: one thread per connection, which passes whole messages on.
#include "testing/pg_proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace semel::testing {
namespace {

constexpr std::size_t kReadyForQuery = 6;  // bytes
constexpr int kLateMillis = 30;
constexpr int kLookMillis = 20;  // how late a black hole is noticed

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

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// False: the other side is gone.
bool receive(int fd, std::string& out) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (got > 0) out.append(buffer.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// Bytes of the message at `from`, with its type if it has one; 0: it is not complete.
std::size_t message_at(const std::string& bytes, std::size_t from, bool typed) {
  const std::size_t head = typed ? 1 : 0;
  if (bytes.size() < from + head + 4) return 0;
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(bytes[from + head + i]);
  return bytes.size() < from + head + length ? 0 : head + length;
}

// Poolers tell severity, code and message, no more.
std::string pooler_error() {
  using namespace std::string_literals;
  const std::string fields = "SFATAL\0C08P01\0Mserver conn crashed?\0\0"s;
  const auto length = static_cast<char>(fields.size() + 4);
  return "E\0\0\0"s + length + fields;
}

// The writer binds its prepared statement `commit`, or inserts ids in a batch that has none: unnamed portal, then the
// name.
bool commits(const std::string& segment) {
  const auto binds = [&](std::string_view name) { return segment.find('\0' + std::string(name)) != segment.npos; };
  return binds("commit") || (binds("identity_insert") && !binds("begin"));
}

}  // namespace

struct PgProxy::Link {
  int client = -1;
  int server = -1;
  bool started = false;  // the first message of a client has no type
  bool stalled = false;
  std::string sent, said;  // not passed on yet
  int answers_due = 1;     // answers that the server owes, that to the start first
  // A segment was struck and its answer is waited for; `before` answers come first.
  Fault fault = Fault::none;
  int before = 0;
  std::string answer;

  ~Link() {
    if (server >= 0) ::close(server);
    ::close(client);
  }

  // The next whole segment of the client; empty: there is none yet.
  std::string next_segment() {
    for (std::size_t end = 0;;) {
      const std::size_t length = message_at(sent, end, started);
      if (length == 0) return "";
      const char type = started ? sent[end] : '\0';
      end += length;
      if (!started || type == 'S' || type == 'Q' || type == 'X' || type == 'p' || type == 'H') {
        if (type == 'S' || type == 'Q') ++answers_due;
        started = true;
        std::string out = sent.substr(0, end);
        sent.erase(0, end);
        return out;
      }
    }
  }

  // False: the connection is over.
  bool pass_segments(PgProxy& proxy) {
    for (std::string segment = next_segment(); !segment.empty(); segment = next_segment()) {
      const Fault strikes = fault == Fault::none ? proxy.strikes(segment) : Fault::none;
      switch (strikes) {
        case Fault::none:
          break;
        case Fault::cut_before:
          return false;
        case Fault::cut_inside:
          send_all(server, std::string_view(segment).substr(0, segment.size() / 2));
          return false;
        case Fault::pooler_before:
          send_all(client, pooler_error());
          return false;
        case Fault::late:
          deliver_late(segment);
          return false;
        case Fault::stall:
          stalled = true;
          return true;
        case Fault::cut_after:
        case Fault::cut_answer:
        case Fault::cut_end:
        case Fault::pooler_after:
          fault = strikes;
          before = answers_due - 1;
      }
      if (!send_all(server, segment)) return false;
    }
    return true;
  }

  void deliver_late(const std::string& segment) {
    ::shutdown(client, SHUT_RDWR);
    ::poll(nullptr, 0, kLateMillis);
    send_all(server, segment);
    while (receive(server, said)) {
      for (std::size_t length = message_at(said, 0, true); length != 0; length = message_at(said, 0, true)) {
        if (said[0] == 'Z' && --answers_due == 0) return;
        said.erase(0, length);
      }
    }
  }

  // False: the connection is over.
  bool pass_answers() {
    std::size_t end = 0;
    bool go_on = true;
    for (std::size_t length = message_at(said, end, true); length != 0 && go_on; length = message_at(said, end, true)) {
      const bool ready = said[end] == 'Z';
      const bool caught = fault != Fault::none && before == 0;
      if (caught) answer += said.substr(end, length);
      else go_on = send_all(client, std::string_view(said).substr(end, length));
      end += length;
      if (!ready) continue;
      --answers_due;
      if (fault != Fault::none && before > 0) --before;
      if (caught) {
        strike_answer();
        return false;
      }
    }
    said.erase(0, end);
    return go_on;
  }

  void strike_answer() {
    if (fault == Fault::cut_answer) answer.resize(answer.size() / 2);
    else if (fault == Fault::cut_end) answer.resize(answer.size() - kReadyForQuery);
    else answer = fault == Fault::pooler_after ? pooler_error() : "";
    send_all(client, answer);
  }
};

PgProxy::PgProxy(std::string socket_path) : socket_path_(std::move(socket_path)) {
  std::string pattern = "/tmp/semel-proxy.XXXXXX";
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  folder_ = pattern;
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  listener_ = open_socket();
  const sockaddr_un address = address_of(folder_ + "/.s.PGSQL.5432");
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 64) != 0)
    throw std::runtime_error("proxy cannot listen in " + folder_);
  // A pooler in front of it runs as another user.
  if (::chmod(folder_.c_str(), 0755) != 0 || ::chmod(address.sun_path, 0777) != 0)
    throw std::runtime_error("proxy cannot open " + folder_);
  acceptor_ = std::thread([this] { accept_loop(); });
}

PgProxy::~PgProxy() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(stop_fd_, &one, sizeof one);
  acceptor_.join();
  for (Served& served : served_) served.thread.join();
  ::close(listener_);
  ::close(stop_fd_);
  ::unlink((folder_ + "/.s.PGSQL.5432").c_str());
  ::rmdir(folder_.c_str());
}

void PgProxy::arm(Fault fault, Where where, int skip) {
  const std::lock_guard lock(mutex_);
  struck_ = false;
  fault_ = fault;
  where_ = where;
  skip_ = skip;
}

PgProxy::Fault PgProxy::strikes(const std::string& segment) {
  const std::lock_guard lock(mutex_);
  const bool anywhere = where_ == Where::any || fault_ == Fault::stall;
  if (fault_ == Fault::none || segment[0] == 'X' || (!anywhere && !commits(segment)) || skip_-- > 0) return Fault::none;
  struck_ = true;
  return std::exchange(fault_, Fault::none);
}

void PgProxy::accept_loop() {
  for (;;) {
    pollfd fds[2] = {{listener_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[1].revents != 0) return;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    reap();
    Served& served = served_.emplace_back();
    served.thread = std::thread([this, client, &served] {
      serve(client);
      served.over = true;
    });
  }
}

void PgProxy::reap() {
  served_.remove_if([](Served& served) {
    if (!served.over.load()) return false;
    served.thread.join();
    return true;
  });
}

void PgProxy::serve(int client) {
  Link link;
  link.client = client;
  link.server = open_socket();
  const sockaddr_un address = address_of(socket_path_);
  bool open = ::connect(link.server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  while (open) {
    const bool silent = link.stalled || black_hole_.load();
    pollfd fds[3] = {{stop_fd_, POLLIN, 0}, {silent ? -1 : client, POLLIN, 0}, {silent ? -1 : link.server, POLLIN, 0}};
    ::poll(fds, 3, kLookMillis);
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) open = receive(client, link.sent) && link.pass_segments(*this);
    if (open && fds[2].revents != 0) open = receive(link.server, link.said) && link.pass_answers();
  }
}

}  // namespace semel::testing
