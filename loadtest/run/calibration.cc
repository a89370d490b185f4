#include "loadtest/run/calibration.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"

namespace banyan::loadtest {
namespace {

constexpr std::size_t kCount = kCosts.size();

using Row = std::array<double, kCount>;

struct System {
  std::array<Row, kCount> matrix{};
  Row right{};
};

// The normal equations of all observations, each divided by its time. Unknowns are scaled so that
// the diagonal is 1: costs differ by orders of magnitude.
System Normal(const std::vector<Observation>& observations, Row& scale) {
  System system;
  for (const Observation& one : observations) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const double left = one.parts[i] / one.nanoseconds;
      system.right[i] += left;
      for (std::size_t j = 0; j < kCount; ++j) {
        system.matrix[i][j] += left * one.parts[j] / one.nanoseconds;
      }
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    scale[i] = system.matrix[i][i] > 0 ? 1 / std::sqrt(system.matrix[i][i]) : 0;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    system.right[i] *= scale[i];
    for (std::size_t j = 0; j < kCount; ++j) system.matrix[i][j] *= scale[i] * scale[j];
  }
  return system;
}

// Gaussian elimination over the unknowns of `subset`, the others being 0; nullopt when they are not
// determined.
std::optional<Row> Solve(System system, unsigned subset) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < kCount; ++i) {
    if ((subset >> i & 1U) != 0) chosen.push_back(i);
  }
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const auto larger = [&](std::size_t a, std::size_t b) {
      return std::abs(system.matrix[a][chosen[k]]) < std::abs(system.matrix[b][chosen[k]]);
    };
    const auto pivot =
        std::max_element(chosen.begin() + static_cast<std::ptrdiff_t>(k), chosen.end(), larger);
    if (std::abs(system.matrix[*pivot][chosen[k]]) < 1e-12) return std::nullopt;
    std::swap(system.matrix[*pivot], system.matrix[chosen[k]]);
    std::swap(system.right[*pivot], system.right[chosen[k]]);
    for (std::size_t l = k + 1; l < chosen.size(); ++l) {
      const double factor =
          system.matrix[chosen[l]][chosen[k]] / system.matrix[chosen[k]][chosen[k]];
      for (const std::size_t column : chosen) {
        system.matrix[chosen[l]][column] -= factor * system.matrix[chosen[k]][column];
      }
      system.right[chosen[l]] -= factor * system.right[chosen[k]];
    }
  }
  Row solution{};
  for (std::size_t k = chosen.size(); k-- > 0;) {
    double rest = system.right[chosen[k]];
    for (std::size_t l = k + 1; l < chosen.size(); ++l) {
      rest -= system.matrix[chosen[k]][chosen[l]] * solution[chosen[l]];
    }
    solution[chosen[k]] = rest / system.matrix[chosen[k]][chosen[k]];
  }
  return solution;
}

double SquaredError(const CostModel& cost, const std::vector<Observation>& observations) {
  double sum = 0;
  for (const Observation& one : observations) {
    const double error = Predict(cost, one) / one.nanoseconds - 1;
    sum += error * error;
  }
  return sum;
}

}  // namespace

Observation PrefillTime(std::int64_t prompt_tokens, std::int64_t step_tokens, Tick time) {
  CHECK(prompt_tokens >= 1 && step_tokens >= 1 && time > Tick(0));
  const auto tokens = static_cast<double>(prompt_tokens);
  const auto steps = static_cast<double>((prompt_tokens + step_tokens - 1) / step_tokens);
  return {{steps, tokens, tokens * (tokens - 1) / 2, 0, 0, 1}, static_cast<double>(time.count())};
}

Observation DecodeTime(std::int64_t rows, double context_tokens, Tick time) {
  CHECK(rows >= 1 && time > Tick(0));
  const auto count = static_cast<double>(rows);
  return {{1, 0, 0, count, count * context_tokens, 0}, static_cast<double>(time.count())};
}

double Predict(const CostModel& cost, const Observation& observation) {
  double sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) sum += cost.*kCosts[i] * observation.parts[i];
  return sum;
}

CostModel FitCosts(const std::vector<Observation>& observations) {
  Row scale{};
  const System system = Normal(observations, scale);
  CostModel best;
  double least = SquaredError(best, observations);
  for (unsigned subset = 1; subset < 1U << kCount; ++subset) {
    const std::optional<Row> solution = Solve(system, subset);
    if (!solution) continue;
    if (*std::min_element(solution->begin(), solution->end()) < 0) continue;
    CostModel cost;
    for (std::size_t i = 0; i < kCount; ++i) cost.*kCosts[i] = (*solution)[i] * scale[i];
    const double error = SquaredError(cost, observations);
    if (error >= least) continue;
    least = error;
    best = cost;
  }
  return best;
}

}  // namespace banyan::loadtest
