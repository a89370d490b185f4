#include "tests/model/golden_logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

namespace banyan::model {
namespace {

// One position: the greatest logit's id, its lead over the second, and the fixed ids' logits.
struct Place {
  TokenId best = -1;
  double lead = 0;
  std::vector<double> logits;
};

struct Golden {
  std::vector<TokenId> prompt;
  std::vector<std::pair<TokenId, double>> top;  // at the last position, greatest first
  std::map<std::size_t, Place> places;          // by position
};

struct Goldens {
  std::vector<TokenId> fixed;
  std::vector<Golden> prompts;
};

template <typename T>
std::vector<T> ReadMany(std::istream& in, std::size_t count) {
  std::vector<T> values(count);
  for (T& value : values) in >> value;
  return values;
}

Goldens ReadGoldens(const std::string& path) {
  Goldens goldens;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    std::size_t number = 0;
    line >> word;
    if (word == "#" || word == "sha256") continue;
    line >> number;
    if (word == "fixed") goldens.fixed = ReadMany<TokenId>(line, number);
    if (word == "prompt") goldens.prompts.emplace_back().prompt = ReadMany<TokenId>(line, number);
    if (word == "at") {
      Place& place = goldens.prompts.back().places[number];
      line >> place.best >> place.lead;
      place.logits = ReadMany<double>(line, goldens.fixed.size());
    }
    for (std::size_t i = 0; word == "top" && i < number; ++i) {
      std::pair<TokenId, double>& pair = goldens.prompts.back().top.emplace_back();
      line >> pair.first >> pair.second;
    }
    EXPECT_TRUE(line) << text;
  }
  return goldens;
}

// Gives a loaded model the prompts of a golden file, and keeps count.
class Comparison {
 public:
  Comparison(Model& model, const GoldenModel& golden) : model_(model), golden_(golden) {
    std::iota(pages_.begin(), pages_.end(), 0);
  }

  void Run(const Goldens& goldens) {
    for (std::size_t i = 0; i < golden_.prompts; ++i) {
      SCOPED_TRACE("prompt " + std::to_string(i));
      RunPrompt(goldens.prompts[i], goldens.fixed);
    }
    const double rms = std::sqrt(squares_ / count_);
    std::printf("%d logits compared: rms %.4f, worst %.4f; %d tops decided\n", count_, rms, worst_,
                decided_);
    EXPECT_LT(rms, golden_.rms);
    EXPECT_GE(decided_, golden_.decided);
  }

 private:
  static constexpr std::size_t kPageSize = 16;
  static constexpr std::size_t kMostPerStep = 256;

  void RunPrompt(const Golden& golden, const std::vector<TokenId>& fixed) {
    ASSERT_LE(golden.prompt.size(), pages_.size() * kPageSize);
    std::vector<float> logits;
    std::size_t done = 0;
    for (const auto& [position, want] : golden.places) {
      logits = RunTo(golden.prompt, done, position);
      done = position + 1;
      for (std::size_t j = 0; j < fixed.size(); ++j) {
        Compare(static_cast<double>(logits[static_cast<std::size_t>(fixed[j])]), want.logits[j]);
      }
      if (want.lead <= 2 * golden_.bound) continue;
      ++decided_;
      EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), want.best)
          << "at " << position;
    }
    ASSERT_EQ(done, golden.prompt.size());
    for (const auto& [id, want] : golden.top) {
      Compare(static_cast<double>(logits[static_cast<std::size_t>(id)]), want);
    }
  }

  // The logits at `position`, which follows what was run before.
  std::vector<float> RunTo(std::span<const TokenId> prompt, std::size_t done,
                           std::size_t position) {
    for (; done < position; done += std::min(kMostPerStep, position - done)) {
      Forward(prompt.subspan(done, std::min(kMostPerStep, position - done)), done, Logits::kNone);
    }
    return Forward(prompt.subspan(position, 1), position, Logits::kReturnAll);
  }

  std::vector<float> Forward(std::span<const TokenId> tokens, std::size_t at, Logits logits) {
    Batch batch;
    batch.sequences.push_back({.tokens = tokens,
                               .first_position = static_cast<std::int64_t>(at),
                               .pages = pages_,
                               .logits = logits,
                               .sampling = {.temperature = 0}});
    StepResult result;
    EXPECT_TRUE(model_.Forward(batch, result).ok());
    return result.sequences.at(0).logits;
  }

  void Compare(double got, double want) {
    worst_ = std::max(worst_, std::abs(got - want));
    squares_ += (got - want) * (got - want);
    ++count_;
    EXPECT_NEAR(got, want, golden_.bound);
  }

  Model& model_;
  const GoldenModel& golden_;
  std::vector<PageId> pages_ = std::vector<PageId>(40);
  double worst_ = 0;
  double squares_ = 0;
  int count_ = 0;
  int decided_ = 0;
};

}  // namespace

void ExpectGoldenLogits(const GoldenModel& golden) {
  const char* path = std::getenv(golden.environment);
  ASSERT_NE(path, nullptr) << "set " << golden.environment << " to the file of " << golden.name
                           << " (./dev where model " << golden.name << ")";
  const char* data = std::getenv("BANYAN_TESTDATA");
  ASSERT_NE(data, nullptr) << "set BANYAN_TESTDATA to the folder tests/";
  const Goldens goldens = ReadGoldens(std::string(data) + "/model/oracle/" + golden.file);
  ASSERT_EQ(goldens.prompts.size(), 12);
  ASSERT_LE(golden.prompts, goldens.prompts.size());
  auto file = File::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  auto model = Model::Load(*std::move(file),
                           {.backend = golden.backend, .threads = 2, .kv_memory = 32 << 20});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_GE((*model)->pages(), 40);
  Comparison(**model, golden).Run(goldens);
}

}  // namespace banyan::model
