#include "server/logging.h"

#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/check.h"

namespace banyan::server {
namespace {

constexpr std::size_t kQueuedLines = 8192;
constexpr std::chrono::seconds kLastLinesPatience(1);

// Writes to stderr's descriptor, not through stdio: its lock, held by a write that waits for a
// reader, would keep the process from ending.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const char* at = line.data();
    std::size_t left = line.size();
    while (left > 0) {
      const ssize_t written = ::write(STDERR_FILENO, at, left);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;  // nobody can be told that the log is gone
      at += written;
      left -= static_cast<std::size_t>(written);
    }
  }
  void flush_() override {}
};

struct Target {
  LogFormat format = LogFormat::kText;
  std::shared_ptr<spdlog::async_logger> logger;
  std::shared_ptr<spdlog::details::thread_pool> pool;  // goes first: its thread uses the logger
};

// Set while a LogSession lives; sessions begin before other threads and end after them.
std::unique_ptr<Target> target;

spdlog::level::level_enum Level(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarning:
      return spdlog::level::warn;
    case Severity::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// As JSON has it; six digits are enough for a log.
std::string JsonValue(const boost::json::value& value) {
  if (value.is_double()) return absl::StrFormat("%.6g", value.get_double());
  return boost::json::serialize(value);
}

// Bare where that can be read back, else quoted as in JSON: a value never breaks its line.
std::string TextValue(const boost::json::value& value) {
  const boost::json::string* text = value.if_string();
  if (text == nullptr) return JsonValue(value);
  const bool plain = !text->empty() && std::all_of(text->begin(), text->end(), [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  });
  return plain ? std::string(*text) : boost::json::serialize(value);
}

}  // namespace

LogSession::LogSession(LogFormat format) {
  CHECK(target == nullptr);
  auto made = std::make_unique<Target>();
  made->format = format;
  made->pool = std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1);
  made->logger =
      std::make_shared<spdlog::async_logger>("banyan", std::make_shared<StderrSink>(), made->pool,
                                             spdlog::async_overflow_policy::overrun_oldest);
  made->logger->set_pattern(format == LogFormat::kText
                                ? "%Y-%m-%dT%H:%M:%S.%e%z %l %v"
                                : R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
  target = std::move(made);
}

LogSession::~LogSession() {
  target->logger->flush();
  // The pool's thread writes what is queued, then ends. It cannot while nobody reads a pipe that
  // stderr is: then it is left behind, so that the process ends all the same.
  std::promise<void> written;
  std::future<void> done = written.get_future();
  std::thread([last = std::move(target), written = std::move(written)]() mutable {
    last.reset();
    written.set_value();
  }).detach();
  done.wait_for(kLastLinesPatience);
}

void Log(Severity severity, std::string_view event, LogFields fields) {
  if (target == nullptr) return;
  // The line is an argument, never a format.
  target->logger->log(Level(severity), "{}", FormatLogLine(target->format, event, fields));
}

std::string FormatLogLine(LogFormat format, std::string_view event, LogFields fields) {
  if (format == LogFormat::kText) {
    std::string line(event);
    for (const auto& [key, value] : fields) {
      line.append(" ").append(key).append("=").append(TextValue(value));
    }
    return line;
  }
  std::string line = "\"event\":" + boost::json::serialize(boost::json::string(event));
  for (const auto& [key, value] : fields) {
    line.append(",\"").append(key).append("\":").append(JsonValue(value));
  }
  return line;
}

}  // namespace banyan::server
