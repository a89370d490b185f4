#include "loadtest/workload/generator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

constexpr double kMaxMedian = 1 << 24;  // 32 times it is a length still
constexpr double kMaxSigma = 10;
constexpr double kMaxZipf = 16;
constexpr std::int32_t kMaxGroups = 1'000'000;  // tenants, and personas of each
constexpr std::int64_t kMaxConversations = 10'000'000;
constexpr std::int64_t kMaxTurns = 20'000'000;  // of all conversations, in the mean
constexpr double kMaxRatio = 32;                // of a length to its median, of turns to their mean
constexpr Tick kMaxThink = std::chrono::hours(24 * 365);

// What keys and random numbers are of; the values are part of what a seed means.
enum class Part : std::uint64_t { kShared = 1, kPersona = 2, kConversation = 3, kQuestion = 4 };

std::uint64_t Key(std::uint64_t seed, Part part, std::uint64_t a = 0, std::uint64_t b = 0) {
  return HashKey(HashKey(HashKey(seed, static_cast<std::uint64_t>(part)), a), b);
}

absl::Status Check(bool holds, const char* what) {
  return holds ? absl::OkStatus() : absl::InvalidArgumentError(what);
}

// Comparisons are written so that a NaN fails them.
absl::Status Check(const LengthDistribution& length, const char* name) {
  if (!(length.median >= 1 && length.median <= kMaxMedian)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the median length of ", name, " is not between 1 and ", kMaxMedian));
  }
  if (!(length.sigma >= 0 && length.sigma <= kMaxSigma)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the sigma of lengths of ", name, " is not between 0 and ", kMaxSigma));
  }
  return absl::OkStatus();
}

absl::Status Check(const GeneratorOptions& o) {
  for (const absl::Status& status : {
           Check(o.tenants >= 1 && o.tenants <= kMaxGroups, "tenants must be 1 to 1000000"),
           Check(o.personas >= 1 && o.personas <= kMaxGroups, "personas must be 1 to 1000000"),
           Check(o.conversations >= 1 && o.conversations <= kMaxConversations,
                 "conversations must be 1 to 10000000"),
           Check(o.turns >= 1, "turns must be at least 1"),
           Check(std::int64_t{o.conversations} * o.turns <= kMaxTurns,
                 "conversations times turns must be at most 20000000"),
           Check(o.zipf >= 0 && o.zipf <= kMaxZipf, "the Zipf exponent must be 0 to 16"),
           Check(o.shared_tokens >= 0 && o.shared_tokens <= kMaxMedian,
                 "shared tokens must be 0 to 16777216"),
           Check(o.think >= Tick(0) && o.think <= kMaxThink, "the think time must be 0 to a year"),
           Check(o.persona, "personas"),
           Check(o.question, "questions"),
           Check(o.answer, "answers"),
       }) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::int32_t Draw(const LengthDistribution& length, Random& random) {
  const double factor = length.sigma == 0 ? 1 : Exp(length.sigma * random.Normal());
  const double tokens = std::floor(length.median * std::min(factor, kMaxRatio) + 0.5);
  return static_cast<std::int32_t>(std::max(1.0, tokens));
}

class Generator {
 public:
  explicit Generator(const GeneratorOptions& options)
      : options_(options),
        tenants_(options.tenants, options.zipf),
        personas_(options.personas, options.zipf) {}

  Conversation Make(std::int32_t number) const {
    const auto index = static_cast<std::uint64_t>(number);
    Random random(Key(options_.seed, Part::kConversation, index));
    const std::int32_t tenant = tenants_.Draw(random);
    const std::int32_t persona = personas_.Draw(random);
    Conversation conversation{.id = absl::StrCat(number + 1), .turns = {}};
    const std::int64_t turns = CountTurnsOf(random);
    for (std::int64_t i = 0; i < turns; ++i) {
      Turn turn;
      turn.number = static_cast<std::int32_t>(i + 1);
      if (i == 0) turn.messages.push_back(SystemMessage(tenant, persona));
      turn.messages.push_back({.role = Role::kUser,
                               .text = {},
                               .segments = {{.key = Key(options_.seed, Part::kQuestion, index,
                                                        static_cast<std::uint64_t>(i)),
                                             .tokens = Draw(options_.question, random)}}});
      turn.output_tokens = Draw(options_.answer, random);
      if (i > 0 && options_.think > Tick(0)) {
        turn.think = Tick(static_cast<Tick::rep>(static_cast<double>(options_.think.count()) *
                                                 random.Exponential()));
      }
      conversation.turns.push_back(std::move(turn));
    }
    return conversation;
  }

 private:
  std::int64_t CountTurnsOf(Random& random) const {
    if (!options_.turns_vary) return options_.turns;
    return std::min<std::int64_t>(random.Geometric(options_.turns),
                                  static_cast<std::int64_t>(kMaxRatio) * options_.turns);
  }

  // A persona has one prompt, whoever talks to it.
  Message SystemMessage(std::int32_t tenant, std::int32_t persona) const {
    Message message{.role = Role::kSystem, .text = {}, .segments = {}};
    if (options_.shared_tokens > 0) {
      message.segments.push_back(
          {.key = Key(options_.seed, Part::kShared), .tokens = options_.shared_tokens});
    }
    const std::uint64_t key = Key(options_.seed, Part::kPersona, static_cast<std::uint64_t>(tenant),
                                  static_cast<std::uint64_t>(persona));
    Random random(key);
    message.segments.push_back({.key = key, .tokens = Draw(options_.persona, random)});
    return message;
  }

  const GeneratorOptions& options_;
  const Zipf tenants_;
  const Zipf personas_;
};

std::string Describe(const GeneratorOptions& o) {
  return absl::StrCat("generated: seed ", o.seed, ", ", o.tenants, " tenants of ", o.personas,
                      " personas, ", o.conversations, " conversations of ", o.turns,
                      o.turns_vary ? " turns (geometric)" : " turns", ", zipf ", o.zipf,
                      ", tokens: shared ", o.shared_tokens, ", persona ", o.persona.median, "/",
                      o.persona.sigma, ", question ", o.question.median, "/", o.question.sigma,
                      ", answer ", o.answer.median, "/", o.answer.sigma, ", think ",
                      Seconds(o.think), " s");
}

}  // namespace

absl::StatusOr<Workload> Generate(const GeneratorOptions& options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  const Generator generator(options);
  Workload workload;
  workload.source = Describe(options);
  workload.conversations.reserve(static_cast<std::size_t>(options.conversations));
  for (std::int32_t i = 0; i < options.conversations; ++i) {
    workload.conversations.push_back(generator.Make(i));
  }
  return workload;
}

}  // namespace banyan::loadtest
