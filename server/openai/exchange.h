// The requests of one HTTP request at the engine: one of a chat, one for each prompt of a
// completion. They run side by side and end together: when one fails the others are cancelled.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/openai/choice.h"
#include "server/openai/format.h"
#include "server/service.h"
#include "server/wakeup.h"

namespace banyan::server::openai {

enum class Delivery : std::uint8_t { kWhole, kStream };

// Belongs to the connection's strand. Destroying it cancels what has not ended.
class Exchange {
 public:
  // `id` is what the client sees. `service` and `model` outlive it.
  Exchange(Service& service, const ServedModel& model, std::string id,
           const boost::asio::any_io_executor& strand);

  // Hands over all of the plans' requests, or none and says why.
  std::optional<http::Error> Submit(std::vector<ChoicePlan> plans, Delivery delivery);

  // Waits until something came, and takes it.
  boost::asio::awaitable<void> More();

  void Cancel();

  // There is something to answer with: a choice has begun.
  bool begun() const;
  // All choices have ended, and are accounted: who has the answer finds it in the metrics.
  bool ended() const;
  // Why there is no whole answer: how the first choice ended that is not complete.
  scheduler::FinishReason failure() const { return failure_; }
  bool complete() const { return ended() && failure_ == scheduler::FinishReason::kNone; }

  std::vector<std::unique_ptr<Choice>>& choices() { return choices_; }
  TotalUsage usage() const;

 private:
  void Ended(std::size_t index);

  Service& service_;
  const ServedModel& model_;
  const std::string id_;
  const std::shared_ptr<Wakeup> wakeup_;
  std::vector<std::unique_ptr<Choice>> choices_;
  scheduler::FinishReason failure_ = scheduler::FinishReason::kNone;
};

}  // namespace banyan::server::openai
