// Log lines on stderr, as text ("event key=value ...") or as one JSON object per line.
//
// Writing is asynchronous, so that neither the engine nor an I/O thread waits for a slow terminal:
// a bounded queue feeds one thread, and when it is full the oldest lines are dropped.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include <boost/json/value.hpp>

#include "server/options.h"

namespace banyan::server {

enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// A number, a truth value or a text, with its name.
struct LogField {
  template <class T>
  LogField(std::string_view name, const T& content) : key(name) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      const std::string_view text = content;
      value.emplace_string().assign(text.data(), text.size());
    } else {
      value = content;
    }
  }

  std::string_view key;
  boost::json::value value;
};
using LogFields = std::initializer_list<LogField>;

// Starts the log on construction; on destruction writes what is queued and ends it. One at a time.
class LogSession {
 public:
  explicit LogSession(LogFormat format);
  ~LogSession();
  LogSession(const LogSession&) = delete;
  LogSession& operator=(const LogSession&) = delete;
};

// Thread-safe. Does nothing when no LogSession is there.
void Log(Severity severity, std::string_view event, LogFields fields);

// The text of a line behind its time and severity; in JSON, the members behind them.
std::string FormatLogLine(LogFormat format, std::string_view event, LogFields fields);

}  // namespace banyan::server
