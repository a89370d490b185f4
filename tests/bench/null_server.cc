// An OpenAI-compatible server without a model, for measuring clients: one thread, one epoll, canned
// events, each token sent by itself and when it is due. It answers POST of any path as a chat, and
// GET as clients want to know who is there.
//
//   banyan_null_server [--port 0] [--tokens 16] [--first-ms 0] [--gap-ms 0] [--stamps]
//
// Prints where it listens, and serves until it is killed. Token k of an answer is due at
// `received + first + k * gap`, whether or not the one before went out late; with neither delay the
// whole answer is one write. With --stamps a finish_reason is three moments of the steady clock in
// nanoseconds instead: the request was read, the first token was sent, the last was.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace {

using Tick = std::chrono::nanoseconds;

constexpr std::size_t kMaxRequestBytes = 16 << 20;
constexpr std::int64_t kMaxTokens = 1 << 20;
constexpr int kSendsBetweenPolls = 32;
constexpr std::size_t kEventsAtOnce = 256;

struct Options {
  std::uint16_t port = 0;
  std::int64_t tokens = 16;  // of a request that does not say
  double first_ms = 0;
  double gap_ms = 0;
  bool stamps = false;
};

Tick Now() { return std::chrono::steady_clock::now().time_since_epoch(); }

Tick Milliseconds(double ms) { return Tick(static_cast<Tick::rep>(ms * 1e6)); }

std::string Chunk(std::string_view json) {
  const std::size_t size = json.size() + std::string_view("data: \n\n").size();
  return absl::StrCat(absl::Hex(size), "\r\ndata: ", std::string(json), "\n\n\r\n");
}

std::string Event(std::string_view choices, std::string_view usage) {
  return Chunk(absl::StrCat(
      R"({"id":"chatcmpl-00000000000000000000","object":"chat.completion.chunk","created":1,)",
      R"("model":"canned","choices":[)", std::string(choices), "]", std::string(usage), "}"));
}

std::string Choice(std::string_view delta, const std::string& finish_reason) {
  return absl::StrCat(R"({"index":0,"delta":{)", std::string(delta), R"(},"finish_reason":)",
                      finish_reason.empty() ? "null" : absl::StrCat("\"", finish_reason, "\""),
                      "}");
}

std::string Usage(std::int64_t tokens) {
  return absl::StrCat(R"(,"usage":{"prompt_tokens":16,"completion_tokens":)", tokens,
                      R"(,"total_tokens":)", 16 + tokens, "}");
}

std::string Whole(int status, std::string_view json) {
  return absl::StrCat("HTTP/1.1 ", status, status == 200 ? " OK" : " Not Found",
                      "\r\nContent-Type: application/json\r\nContent-Length: ", json.size(),
                      "\r\n\r\n", std::string(json));
}

// The number behind the last `"name":`, if there is one.
std::optional<std::int64_t> Member(std::string_view body, std::string_view name) {
  const std::size_t at = body.rfind(name);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = body.substr(at + name.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  rest = rest.substr(0, rest.find_first_not_of("0123456789"));
  std::int64_t number = 0;
  if (!absl::SimpleAtoi({rest.data(), rest.size()}, &number)) return std::nullopt;
  return number;
}

struct Connection {
  std::uint64_t number = 0;  // another one may have its descriptor later
  std::string in;
  std::string out;        // what the system did not take yet
  std::int64_t sent = 0;  // tokens of the answer
  std::int64_t tokens = 0;
  Tick received{0};
  Tick first{0};
};

class NullServer {
 public:
  explicit NullServer(const Options& options);
  std::uint16_t port() const { return port_; }
  [[noreturn]] void Run();

 private:
  struct Due {
    Tick at;
    int descriptor;
    std::uint64_t number;
  };

  // nullptr: it was closed.
  Connection* At(int descriptor) {
    return connections_[static_cast<std::size_t>(descriptor)].get();
  }
  void Accept();
  void Serve(int descriptor, std::uint32_t events);
  void Read(int descriptor, Connection& connection);
  // Takes one request from the front of `in`; false when it is not complete.
  bool Take(int descriptor, Connection& connection);
  void Answer(int descriptor, Connection& connection, std::string_view body);
  void Ask(int descriptor, Connection& connection, std::string_view target);
  std::string Tokens(Connection& connection, std::int64_t until) const;
  int Poll(std::array<epoll_event, kEventsAtOnce>& events) const;
  const Due* NextDue() const;  // nullptr: nothing is due, ever
  void SendDue();
  void Send(int descriptor, Connection& connection, std::string_view bytes);
  void Watch(int descriptor, int operation, std::uint32_t events);
  void Close(int descriptor);

  const Options options_;
  const Tick first_;
  const Tick gap_;
  const std::string head_;
  const std::string role_;
  const std::string token_;
  int listener_ = -1;
  int epoll_ = -1;
  std::uint16_t port_ = 0;
  std::uint64_t accepted_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;  // by descriptor
  // In order of time, each, because all delays of a kind are equal: no heap is wanted.
  std::deque<Due> begin_;
  std::deque<Due> go_on_;
};

NullServer::NullServer(const Options& options)
    : options_(options),
      first_(Milliseconds(options.first_ms)),
      gap_(Milliseconds(options.gap_ms)),
      head_(
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
          "Transfer-Encoding: chunked\r\n\r\n"),
      role_(Event(Choice(R"("role":"assistant","content":"")", ""), "")),
      token_(Event(Choice(R"("content":" token")", ""), "")) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(options.port);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  CHECK(bind(listener_, generic, size) == 0 && listen(listener_, 16384) == 0);
  CHECK(getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  Watch(listener_, EPOLL_CTL_ADD, EPOLLIN);
}

void NullServer::Run() {
  std::array<epoll_event, kEventsAtOnce> events{};
  for (;;) {
    const int count = Poll(events);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events.at(static_cast<std::size_t>(i));
      if (event.data.fd == listener_) {
        Accept();
      } else {
        Serve(event.data.fd, event.events);
      }
    }
    SendDue();
  }
}

// Sleeps until a token is due or somebody says something. To the nanosecond: a processor that it
// kept for waiting would drive whatever else the system has to run onto that of the client.
int NullServer::Poll(std::array<epoll_event, kEventsAtOnce>& events) const {
  timespec pause{};
  const timespec* limit = nullptr;
  if (const Due* next = NextDue(); next != nullptr) {
    const Tick left = std::max(next->at - Now(), Tick(0));
    pause.tv_sec = left / std::chrono::seconds(1);
    pause.tv_nsec = (left % std::chrono::seconds(1)).count();
    limit = &pause;
  }
  return epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), limit, nullptr);
}

const NullServer::Due* NullServer::NextDue() const {
  if (begin_.empty()) return go_on_.empty() ? nullptr : &go_on_.front();
  if (go_on_.empty()) return &begin_.front();
  return &(begin_.front().at < go_on_.front().at ? begin_ : go_on_).front();
}

void NullServer::Accept() {
  for (;;) {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const auto index = static_cast<std::size_t>(descriptor);
    if (connections_.size() <= index) connections_.resize(index + 1);
    connections_[index] = std::make_unique<Connection>();
    connections_[index]->number = ++accepted_;
    Watch(descriptor, EPOLL_CTL_ADD, EPOLLIN);
  }
}

void NullServer::Serve(int descriptor, std::uint32_t events) {
  if (Connection* connection = At(descriptor); connection != nullptr && (events & EPOLLOUT) != 0) {
    const std::string rest = std::exchange(connection->out, "");
    Watch(descriptor, EPOLL_CTL_MOD, EPOLLIN);
    Send(descriptor, *connection, rest);
  }
  // Sending may have closed it.
  Connection* connection = At(descriptor);
  if (connection != nullptr && events != EPOLLOUT) Read(descriptor, *connection);
}

void NullServer::Read(int descriptor, Connection& connection) {
  std::array<char, 16384> buffer;
  const ssize_t size = recv(descriptor, buffer.data(), buffer.size(), 0);
  if (size < 0 && errno == EAGAIN) return;
  if (size <= 0 || connection.in.size() > kMaxRequestBytes) return Close(descriptor);
  connection.in.append(buffer.data(), static_cast<std::size_t>(size));
  while (Take(descriptor, connection)) {
  }
}

bool NullServer::Take(int descriptor, Connection& connection) {
  const std::string_view in = connection.in;
  const std::size_t end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) return false;
  const std::string head = absl::AsciiStrToLower({in.data(), end});
  const auto length = static_cast<std::size_t>(Member(head, "\r\ncontent-length").value_or(0));
  const std::size_t size = end + 4 + length;
  if (in.size() < size) return false;
  const std::string request = connection.in.substr(0, size);
  connection.in.erase(0, size);
  connection.received = Now();
  const std::string_view view = request;
  if (view.starts_with("POST ")) {
    Answer(descriptor, connection, view.substr(end + 4));
  } else {
    const std::size_t begin = std::min(view.find(' ') + 1, view.size());
    Ask(descriptor, connection, view.substr(begin, view.find(' ', begin) - begin));
  }
  // Whom nothing more can be sent to is closed, and takes no other request.
  return At(descriptor) == &connection;
}

void NullServer::Ask(int descriptor, Connection& connection, std::string_view target) {
  if (target.ends_with("/models")) {
    Send(descriptor, connection,
         Whole(200, R"({"object":"list","data":[{"id":"canned","object":"model","created":1,)"
                    R"("owned_by":"nobody"}]})"));
  } else {
    Send(descriptor, connection, target == "/health" ? Whole(200, "{}") : Whole(404, "{}"));
  }
}

void NullServer::Answer(int descriptor, Connection& connection, std::string_view body) {
  // Nobody counts tokens here.
  if (body.find("\"messages\"") == std::string_view::npos &&
      body.find("\"stream\"") == std::string_view::npos) {
    return Send(descriptor, connection, Whole(404, "{}"));
  }
  std::optional<std::int64_t> tokens = Member(body, "\"max_tokens\"");
  if (!tokens) tokens = Member(body, "\"max_completion_tokens\"");
  connection.tokens = std::clamp<std::int64_t>(tokens.value_or(options_.tokens), 1, kMaxTokens);
  connection.sent = 0;
  if (first_ == Tick(0) && gap_ == Tick(0)) {
    connection.first = Now();
    return Send(descriptor, connection, head_ + role_ + Tokens(connection, connection.tokens));
  }
  begin_.push_back({connection.received + first_, descriptor, connection.number});
}

// The next events, until so many tokens are out; behind the last one, what ends an answer.
std::string NullServer::Tokens(Connection& connection, std::int64_t until) const {
  std::string bytes;
  for (; connection.sent < until; ++connection.sent) bytes += token_;
  if (connection.sent < connection.tokens) return bytes;
  const std::string reason = options_.stamps
                                 ? absl::StrCat(connection.received.count(), " ",
                                                connection.first.count(), " ", Now().count())
                                 : "length";
  bytes += Event(Choice("", reason), "");
  bytes += Event("", Usage(connection.tokens));
  bytes += Chunk("[DONE]");
  bytes += "0\r\n\r\n";
  return bytes;
}

void NullServer::SendDue() {
  for (int sends = 0; sends < kSendsBetweenPolls; ++sends) {
    const Due* const next = NextDue();
    if (next == nullptr || next->at > Now()) return;
    const Due due = *next;
    const bool begins = !begin_.empty() && next == &begin_.front();
    (begins ? begin_ : go_on_).pop_front();
    Connection* connection = At(due.descriptor);
    if (connection == nullptr || connection->number != due.number) continue;
    if (begins) {
      connection->first = Now();
      Send(due.descriptor, *connection, absl::StrCat(head_, role_, Tokens(*connection, 1)));
    } else {
      Send(due.descriptor, *connection, Tokens(*connection, connection->sent + 1));
    }
    connection = At(due.descriptor);
    if (connection == nullptr || connection->sent == connection->tokens) continue;
    go_on_.push_back({due.at + gap_, due.descriptor, due.number});
  }
}

// What the system does not take goes out when it can; a client that reads nothing makes it grow by
// no more than its answer.
void NullServer::Send(int descriptor, Connection& connection, std::string_view bytes) {
  if (connection.out.empty()) {
    const ssize_t sent = send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return Close(descriptor);
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    if (bytes.empty()) return;
    Watch(descriptor, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
  }
  connection.out += bytes;
}

void NullServer::Watch(int descriptor, int operation, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  CHECK(epoll_ctl(epoll_, operation, descriptor, &event) == 0);
}

void NullServer::Close(int descriptor) {
  close(descriptor);
  connections_[static_cast<std::size_t>(descriptor)].reset();
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A server without a model, for measuring clients.");
  Options options;
  app.add_option("--port", options.port, "0: any")->capture_default_str();
  app.add_option("--tokens", options.tokens, "of a request that does not say")
      ->capture_default_str();
  app.add_option("--first-ms", options.first_ms, "from the request to the first token");
  app.add_option("--gap-ms", options.gap_ms, "between tokens");
  app.add_flag("--stamps", options.stamps, "a finish_reason says when what happened");
  CLI11_PARSE(app, argc, argv);
  RaiseFileLimit();
  prctl(PR_SET_TIMERSLACK, 1);
  NullServer server(options);
  std::printf("listening on http://127.0.0.1:%d\n", server.port());
  std::fflush(stdout);
  server.Run();
}
