// Words between processes of one machine that share a store: what a NOTIFY says, without waking the server for it. A
// word may get lost, and nobody hears it who may not read the store: both ends refuse another user's process.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace semel::store::postgres {

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Where one process hears words. One thread.
class WordReceiver {
 public:
  WordReceiver();
  // Unlike every other on any machine; empty where the system gives none.
  const std::string& address() const { return address_; }
  // Adds what is readable when there is something to read.
  void add_descriptors(std::vector<int>& out) const;
  // What came. Does not wait.
  std::vector<std::string> read();

 private:
  std::string address_;
  Socket door_;
  std::vector<Socket> speakers_;
};

// One thread.
class WordSender {
 public:
  // Whether somebody on this machine hears words there, or did when last spoken to.
  bool reaches(const std::string& address);
  // Does not wait.
  void say(const std::string& address, const std::string& text);

 private:
  std::map<std::string, Socket> known_;  // not valid: nobody there
};

}  // namespace semel::store::postgres
