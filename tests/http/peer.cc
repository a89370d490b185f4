#include "tests/http/peer.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "gtest/gtest.h"

namespace banyan::http {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A socket on a free port of 127.0.0.1.
int Bind(std::uint16_t* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof(address);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  *port = ntohs(address.sin_port);
  return fd;
}

void BePatient(int fd) {
  timeval patience = {};
  patience.tv_sec = kPatience.count();
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

bool Peer::AcceptTls(SSL_CTX* context) {
  tls_.reset(::SSL_new(context));
  ::SSL_set_fd(tls_.get(), fd_);
  const bool accepted = ::SSL_accept(tls_.get()) == 1;
  const char* name = ::SSL_get_servername(tls_.get(), TLSEXT_NAMETYPE_host_name);
  if (name != nullptr) server_name_ = name;
  return accepted;
}

std::string Peer::ReadSome() {
  std::string bytes(64 << 10, '\0');
  const ssize_t received =
      tls_ != nullptr ? ::SSL_read(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                      : ::recv(fd_, bytes.data(), bytes.size(), 0);
  bytes.resize(received > 0 ? static_cast<std::size_t>(received) : 0);
  return bytes;
}

std::string Peer::ReadRequest() {
  constexpr std::string_view kLength = "Content-Length: ";
  std::size_t size = std::string::npos;
  while (input_.size() < size) {
    const std::size_t head = input_.find("\r\n\r\n");
    if (head != std::string::npos && size == std::string::npos) {
      const std::size_t length = input_.find(kLength);
      size = head + 4;
      if (length < head) size += std::strtoull(&input_[length + kLength.size()], nullptr, 10);
      continue;
    }
    const std::string bytes = ReadSome();
    if (bytes.empty()) break;
    input_ += bytes;
  }
  std::string request = input_.substr(0, size);
  input_.erase(0, size);
  return request;
}

void Peer::Send(std::string_view bytes) {
  if (tls_ != nullptr) {
    ::SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    return;
  }
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool Peer::Ended() { return ReadSome().empty(); }

void Peer::EndTls() { ::SSL_shutdown(tls_.get()); }

void Peer::ShutdownWrite() { ::shutdown(fd_, SHUT_WR); }

bool Peer::Deliver() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int unacknowledged = 0;
  while (::ioctl(fd_, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void Peer::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Peer::Reset() {
  const linger now = {1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  Close();
}

PeerServer::PeerServer() {
  fd_ = Bind(&port_);
  EXPECT_EQ(::listen(fd_, 128), 0);
}

PeerServer::~PeerServer() {
  Join();
  ::close(fd_);
}

void PeerServer::Play(std::vector<Script> scripts) {
  thread_ = std::thread([this, scripts = std::move(scripts)] {
    for (const Script& script : scripts) {
      pollfd readable = {fd_, POLLIN, 0};
      ASSERT_EQ(::poll(&readable, 1, static_cast<int>(1000 * kPatience.count())), 1)
          << "nobody connects";
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      BePatient(fd);
      Peer peer(fd);
      script(peer);
    }
  });
}

void PeerServer::Join() {
  if (thread_.joinable()) thread_.join();
}

int ClientEnd(std::uint16_t port) {
  constexpr int kMostFds = 1024;
  for (int fd = 0; fd < kMostFds; ++fd) {
    sockaddr_in peer = {};
    socklen_t length = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
        peer.sin_family == AF_INET && peer.sin_port == htons(port)) {
      return fd;
    }
  }
  return -1;
}

bool MeetsReset(int fd) {
  pollfd reset = {fd, 0, 0};
  return ::poll(&reset, 1, static_cast<int>(1000 * kPatience.count())) == 1 &&
         (reset.revents & POLLERR) != 0;
}

BoundPort::BoundPort(Listening listening) {
  fd_ = Bind(&port_);
  if (listening == Listening::kNo) return;
  EXPECT_EQ(::listen(fd_, 0), 0);
}

BoundPort::~BoundPort() {
  for (const int filler : fillers_) ::close(filler);
  ::close(fd_);
}

void BoundPort::Fill() {
  // Linux takes one more than the length of the queue.
  const sockaddr_in address = Loopback(port_);
  const int filler = ::socket(AF_INET, SOCK_STREAM, 0);
  fillers_.push_back(filler);
  EXPECT_EQ(::connect(filler, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

}  // namespace banyan::http
