#include "store/postgres/words.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/random.h"
#include "base/text.h"

namespace semel::store::postgres {
namespace {

constexpr std::size_t kMaxPeers = 256;
constexpr int kKind = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

std::string new_address() {
  base::SystemRandom random;
  std::array<std::uint8_t, 16> bytes{};
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  return "semel-" + base::to_hex(bytes);
}

// A name that is no file: it is gone with its process, whatever became of that.
struct Place {
  explicit Place(const std::string& address) {
    where.sun_family = AF_UNIX;
    const std::size_t length = std::min(address.size(), sizeof where.sun_path - 1);
    std::memcpy(where.sun_path + 1, address.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }
  const sockaddr* name() const { return reinterpret_cast<const sockaddr*>(&where); }
  sockaddr_un where{};
  socklen_t size = 0;
};

bool same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Socket::~Socket() {
  if (valid()) ::close(fd_);
}

WordReceiver::WordReceiver() {
  std::string address = new_address();
  const Place place(address);
  Socket door(::socket(AF_UNIX, kKind, 0));
  if (!door.valid() || ::bind(door.fd(), place.name(), place.size) != 0 || ::listen(door.fd(), 64) != 0) return;
  door_ = std::move(door);
  address_ = std::move(address);
}

void WordReceiver::add_descriptors(std::vector<int>& out) const {
  if (door_.valid()) out.push_back(door_.fd());
  for (const Socket& speaker : speakers_) out.push_back(speaker.fd());
}

std::vector<std::string> WordReceiver::read() {
  while (door_.valid()) {
    Socket speaker(::accept4(door_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!speaker.valid() && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      door_ = Socket();  // no descriptor left, say: who is not let in would wake us for ever. The server tells instead
    if (!speaker.valid()) break;
    if (same_user(speaker.fd())) speakers_.push_back(std::move(speaker));
    if (speakers_.size() >= kMaxPeers) door_ = Socket();
  }
  std::vector<std::string> words;
  std::erase_if(speakers_, [&words](const Socket& speaker) {
    for (;;) {
      std::array<char, 1 << 14> text;
      const ssize_t size = ::recv(speaker.fd(), text.data(), text.size(), 0);
      if (size <= 0) return size == 0 || (errno != EAGAIN && errno != EINTR);
      words.emplace_back(text.data(), static_cast<std::size_t>(size));
    }
  });
  return words;
}

bool WordSender::reaches(const std::string& address) {
  if (address.empty()) return false;
  if (const auto it = known_.find(address); it != known_.end()) return it->second.valid();
  const Place place(address);
  Socket socket(::socket(AF_UNIX, kKind, 0));
  const bool open = socket.valid() && ::connect(socket.fd(), place.name(), place.size) == 0;
  if (!open && errno != ECONNREFUSED) return false;  // it may be another time
  if (known_.size() >= kMaxPeers) known_.clear();
  const bool heard = open && same_user(socket.fd());
  known_.emplace(address, heard ? std::move(socket) : Socket());
  return heard;
}

void WordSender::say(const std::string& address, const std::string& text) {
  const auto it = known_.find(address);
  if (it == known_.end() || !it->second.valid()) return;
  const ssize_t sent = ::send(it->second.fd(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN) known_.erase(it);
}

}  // namespace semel::store::postgres
