#include "loadtest/workload/collection.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace banyan::loadtest {
namespace {

bool IsTimed(const Turn& turn) { return turn.at.has_value(); }

void SortTurns(Conversation& conversation) {
  std::vector<Turn>& turns = conversation.turns;
  if (std::all_of(turns.begin(), turns.end(), IsTimed)) {
    std::stable_sort(turns.begin(), turns.end(),
                     [](const Turn& a, const Turn& b) { return *a.at < *b.at; });
  }
  for (std::size_t i = 0; i < turns.size(); ++i) turns[i].number = static_cast<std::int32_t>(i + 1);
}

// The first time becomes 0.
void Rebase(std::vector<Conversation>& conversations) {
  Tick first = Tick::max();
  for (const Conversation& conversation : conversations) {
    for (const Turn& turn : conversation.turns) first = std::min(first, turn.at.value_or(first));
  }
  for (Conversation& conversation : conversations) {
    for (Turn& turn : conversation.turns) {
      if (turn.at.has_value()) *turn.at -= first;
    }
  }
}

}  // namespace

absl::Status Collection::CheckTimes(const Conversation& conversation) const {
  const bool timed = IsTimed(conversation.turns.front());
  if (timed_.value_or(timed) != timed) {
    return absl::InvalidArgumentError(timed ? "it has a time, which those before it have not"
                                            : "it has no time, which those before it have");
  }
  std::optional<Tick> last;
  for (const Turn& turn : conversation.turns) {
    if (!turn.at.has_value()) continue;
    if (!timed) return absl::InvalidArgumentError("a turn has a time, but the first one has none");
    if (last.has_value() && *turn.at < *last) {
      return absl::InvalidArgumentError("the times of its turns decrease");
    }
    last = turn.at;
  }
  return absl::OkStatus();
}

absl::Status Collection::Add(Conversation conversation) {
  CHECK(!full() && !conversation.turns.empty());
  if (absl::Status status = CheckTimes(conversation); !status.ok()) return status;
  timed_ = IsTimed(conversation.turns.front());
  const auto kept =
      std::min<std::int64_t>(left_, static_cast<std::int64_t>(conversation.turns.size()));
  conversation.turns.resize(static_cast<std::size_t>(kept));
  left_ -= kept;
  conversations_.push_back(std::move(conversation));
  return absl::OkStatus();
}

absl::Status Collection::AddTurn(const std::string& session, Turn turn) {
  CHECK(!full());
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    const Session fresh{.index = conversations_.size(),
                        .last = turn.at.value_or(Tick(0)),
                        .all_timed = turn.at.has_value()};
    Conversation conversation{.id = session, .turns = {}};
    conversation.turns.push_back(std::move(turn));
    if (absl::Status status = Add(std::move(conversation)); !status.ok()) return status;
    sessions_.emplace(session, fresh);
    return absl::OkStatus();
  }
  if (turn.at.has_value() && !*timed_) {
    return absl::InvalidArgumentError("it has a time, which the session's first turn has not");
  }
  Session with = found->second;
  with.sorted = with.sorted && turn.at.value_or(with.last) >= with.last;
  with.all_timed = with.all_timed && turn.at.has_value();
  with.last = std::max(with.last, turn.at.value_or(with.last));
  if (!with.sorted && !with.all_timed) {
    return absl::InvalidArgumentError("times of its session decrease, and not all turns have one");
  }
  found->second = with;
  conversations_[with.index].turns.push_back(std::move(turn));
  --left_;
  return absl::OkStatus();
}

std::vector<Conversation> Collection::Finish() {
  for (const auto& [name, session] : sessions_) SortTurns(conversations_[session.index]);
  if (timed_.value_or(false)) {
    Rebase(conversations_);
    std::stable_sort(conversations_.begin(), conversations_.end(),
                     [](const Conversation& a, const Conversation& b) {
                       return *a.turns.front().at < *b.turns.front().at;
                     });
  }
  sessions_.clear();
  return std::move(conversations_);
}

}  // namespace banyan::loadtest
