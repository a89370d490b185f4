#include "loadtest/report/curves.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "loadtest/report/format.h"

namespace banyan::loadtest {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMostSlices = 300;

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// "TTFT p50" of one side, "A: TTFT p50" of two.
std::string Named(const Side& side, const std::string& what) {
  if (side.name.empty()) return what;
  return what.empty() ? side.name : absl::StrCat(side.name, ": ", what);
}

// From p0 to where a single request is half of what is left, evenly along the axis.
Series Percentiles(std::string name, const Histogram& histogram) {
  Series series{std::move(name), Series::Mark::kLine, {}, {}, {}};
  if (histogram.count() == 0) return series;
  constexpr int kSteps = 200;
  const double end = std::log10(2 * static_cast<double>(histogram.count()));
  for (int i = 0; i <= kSteps; ++i) {
    const double q = 1 - std::pow(10, -end * i / kSteps);
    series.x.push_back(q);
    series.y.push_back(Ms(histogram.Quantile(q)));
  }
  return series;
}

// Milliseconds become seconds in plots that reach to ten thousand of them.
std::vector<Plot> Readable(std::vector<Plot> plots) {
  for (Plot& plot : plots) {
    if (!plot.y.label.starts_with("ms")) continue;
    double most = 0;
    for (const Series& series : plot.series) {
      for (const double y : series.y) most = std::fmax(most, y);
    }
    if (most < 10'000) continue;
    plot.y.label.erase(0, 1);
    for (Series& series : plot.series) {
      for (double& y : series.y) y /= 1000;
    }
  }
  return plots;
}

Plot PercentilePlot(std::string title) {
  Plot plot;
  plot.title = std::move(title);
  plot.x.label = "percentile of requests";
  plot.x.scale = Scale::kTail;
  plot.y.label = "ms";
  plot.y.scale = Scale::kLog;
  return plot;
}

// A run cut into slices of whole seconds, few enough to draw.
class Slices {
 public:
  explicit Slices(const Result& result) {
    const auto seconds = static_cast<std::size_t>(std::ceil(Seconds(result.duration)));
    const std::size_t all = std::max({seconds, result.timeline.size(), std::size_t{1}});
    width_ = (all + kMostSlices - 1) / kMostSlices;
    count_ = (all + width_ - 1) / width_;
    // The last one is as long as there was time. A short one goes to the one before, because a rate
    // over a moment is noise.
    const double width = static_cast<double>(width_);
    last_ = Seconds(result.duration) - width * static_cast<double>(count_ - 1);
    if (count_ > 1 && last_ < width / 2) {
      --count_;
      last_ += width;
    }
    last_ = std::clamp(last_, 1e-3, 2 * width);
  }

  std::size_t count() const { return count_; }
  std::size_t width() const { return width_; }
  double Length(std::size_t slice) const {
    return slice + 1 == count_ ? last_ : static_cast<double>(width_);
  }
  double Middle(std::size_t slice) const {
    return static_cast<double>(slice * width_) + Length(slice) / 2;
  }
  std::size_t Of(Tick at) const {
    const auto second = static_cast<std::size_t>(std::max(0.0, Seconds(at)));
    return std::min(second / width_, count_ - 1);
  }

 private:
  std::size_t width_ = 1;
  std::size_t count_ = 1;
  double last_ = 1;
};

Series OverTime(std::string name, const Slices& slices, std::vector<double> y) {
  Series series{std::move(name), Series::Mark::kLine, {}, std::move(y), {}};
  for (std::size_t i = 0; i < slices.count(); ++i) series.x.push_back(slices.Middle(i));
  return series;
}

Series Rate(std::string name, const Result& result, std::int64_t Second::*what) {
  const Slices slices(result);
  std::vector<double> y(slices.count());
  for (std::size_t i = 0; i < result.timeline.size(); ++i) {
    const std::size_t slice = std::min(i / slices.width(), slices.count() - 1);
    y[slice] += static_cast<double>(result.timeline[i].*what) / slices.Length(slice);
  }
  return OverTime(std::move(name), slices, std::move(y));
}

Series InFlight(std::string name, const Result& result) {
  const Slices slices(result);
  std::vector<double> y(slices.count(), kNothing);
  for (std::size_t i = 0; i < result.timeline.size(); ++i) {
    double& most = y[std::min(i / slices.width(), slices.count() - 1)];
    most = std::fmax(most, result.timeline[i].in_flight);
  }
  return OverTime(std::move(name), slices, std::move(y));
}

Series Sampled(std::string name, const Result& result, double ServerSample::*what) {
  Series series{std::move(name), Series::Mark::kLine, {}, {}, {}};
  bool any = false;
  for (const ServerSample& sample : result.server) {
    series.x.push_back(Seconds(sample.at));
    series.y.push_back(sample.*what);
    any = any || !std::isnan(sample.*what);
  }
  if (!any) series.x.clear(), series.y.clear();
  return series;
}

std::vector<Series> TtftOverTime(const Side& side) {
  const Result& result = side.report->result;
  const Slices slices(result);
  std::vector<std::vector<std::int64_t>> times(slices.count());
  for (const Record& record : result.records) {
    if (record.outcome != Outcome::kOk || !record.first_content) continue;
    times[slices.Of(record.scheduled)].push_back(record.ttft_scheduled().count());
  }
  std::vector<double> median(slices.count(), kNothing);
  std::vector<double> most(slices.count(), kNothing);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].empty()) continue;
    const auto middle = times[i].begin() + static_cast<std::ptrdiff_t>((times[i].size() - 1) / 2);
    std::nth_element(times[i].begin(), middle, times[i].end());
    median[i] = Ms(*middle);
    most[i] = Ms(*std::max_element(times[i].begin(), times[i].end()));
  }
  return {OverTime(Named(side, "median"), slices, std::move(median)),
          OverTime(Named(side, "slowest"), slices, std::move(most))};
}

// Of the prompts that were asked in a slice.
Series HitRateOverTime(const Side& side, const std::string& name) {
  const Result& result = side.report->result;
  const Slices slices(result);
  std::vector<double> prompt(slices.count());
  std::vector<double> cached(slices.count());
  for (const Record& record : result.records) {
    if (!record.hit_rate()) continue;
    prompt[slices.Of(record.scheduled)] += static_cast<double>(record.prompt_tokens);
    cached[slices.Of(record.scheduled)] += static_cast<double>(record.cached_tokens);
  }
  for (std::size_t i = 0; i < prompt.size(); ++i) cached[i] *= 100 / prompt[i];  // NaN: none
  return OverTime(Named(side, name), slices, std::move(cached));
}

Series PoolUse(const Side& side) {
  Series series =
      Sampled(Named(side, "page pool in use"), side.report->result, &ServerSample::pool_use);
  for (double& share : series.y) share *= 100;
  return series;
}

void AddUnlessEmpty(Series series, Plot& plot) {
  const bool any = std::any_of(series.y.begin(), series.y.end(),
                               [](double value) { return !std::isnan(value); });
  if (any) plot.series.push_back(std::move(series));
}

Plot TimePlot(std::string title, std::string label, const std::vector<Side>& sides) {
  Plot plot;
  plot.title = std::move(title);
  plot.x.label = "seconds since the run began";
  plot.x.from = plot.x.to = 0;
  for (const Side& side : sides) {
    plot.x.to = std::max(*plot.x.to, Seconds(side.report->result.duration));
  }
  plot.y.label = std::move(label);
  const Tick warm_up = sides.front().report->result.warm_up;
  if (warm_up > Tick(0)) plot.markers.push_back({Seconds(warm_up), "warm-up ends"});
  return plot;
}

Series ByTurn(std::string name, const Summary& summary,
              const std::function<double(const Group&)>& figure) {
  Series series{std::move(name), Series::Mark::kLinePoints, {}, {}, {}};
  for (const auto& [turn, group] : summary.by_turn) {
    series.x.push_back(turn);
    series.y.push_back(figure(group));
  }
  return series;
}

Series OverSteps(std::string name, const std::vector<Side>& steps,
                 const std::function<double(const Summary&)>& x,
                 const std::function<double(const Summary&)>& y) {
  Series series{std::move(name), Series::Mark::kLinePoints, {}, {}, {}};
  for (const Side& step : steps) {
    series.x.push_back(x(step.summary));
    series.y.push_back(y(step.summary));
  }
  return series;
}

double QuantileMs(const Histogram& histogram, double q) {
  return histogram.count() == 0 ? kNothing : Ms(histogram.Quantile(q));
}

}  // namespace

double OfferedRate(const Summary& summary) {
  const double seconds = Seconds(summary.measured);
  return seconds > 0 ? static_cast<double>(summary.requests()) / seconds : 0;
}

std::vector<Plot> DistributionPlots(const std::vector<Side>& sides) {
  Plot ttft = PercentilePlot("Time to first token");
  Plot gaps = PercentilePlot("Gap between tokens (ITL)");
  Plot latency = PercentilePlot("Latency, from sent to the end");
  gaps.x.label = "percentile of gaps";
  for (const Side& side : sides) {
    const Group& all = side.summary.all;
    ttft.series.push_back(Percentiles(Named(side, "from scheduled"), all.ttft_scheduled));
    if (sides.size() == 1) ttft.series.push_back(Percentiles("from sent", all.ttft));
    if (side.summary.inter_token.count() > 0) {
      gaps.series.push_back(Percentiles(Named(side, ""), side.summary.inter_token));
    } else {
      gaps.series.push_back(Percentiles(Named(side, "mean of each answer (TPOT)"), all.tpot));
    }
    latency.series.push_back(Percentiles(Named(side, ""), all.latency));
  }
  return Readable({std::move(ttft), std::move(gaps), std::move(latency)});
}

std::vector<Plot> TimelinePlots(const std::vector<Side>& sides) {
  Plot requests = TimePlot("Requests", "requests/s", sides);
  Plot tokens = TimePlot("Output tokens", "tokens/s", sides);
  Plot flight = TimePlot("Requests in flight", "requests", sides);
  Plot ttft = TimePlot("Time to first token, from scheduled", "ms", sides);
  Plot cache = TimePlot("Prompt cache", "%", sides);
  ttft.y.scale = Scale::kLog;
  cache.y.from = 0;
  cache.y.to = 100;
  for (const Side& side : sides) {
    const Result& result = side.report->result;
    requests.series.push_back(Rate(Named(side, "answered"), result, &Second::finished));
    if (sides.size() == 1) {
      requests.series.push_back(Rate("sent", result, &Second::sent));
      requests.series.push_back(Rate("failed", result, &Second::failed));
    }
    tokens.series.push_back(Rate(Named(side, ""), result, &Second::tokens));
    flight.series.push_back(InFlight(Named(side, "by the client"), result));
    if (sides.size() == 1) {
      AddUnlessEmpty(Sampled("running, by the server", result, &ServerSample::running), flight);
      AddUnlessEmpty(Sampled("waiting, by the server", result, &ServerSample::waiting), flight);
    }
    for (Series& series : TtftOverTime(side)) ttft.series.push_back(std::move(series));
    AddUnlessEmpty(HitRateOverTime(side, "prompt tokens cached"), cache);
    AddUnlessEmpty(PoolUse(side), cache);
  }
  return Readable({std::move(requests), std::move(tokens), std::move(flight), std::move(ttft),
                   std::move(cache)});
}

std::vector<Plot> PromptPlots(const std::vector<Side>& sides) {
  Plot plot;
  plot.title = "Time to first token against prompt length";
  plot.x.label = "prompt tokens";
  plot.y.label = "ms, from sent";
  plot.y.scale = Scale::kLog;
  bool coloured = false;
  for (const Side& side : sides) {
    Series series{side.name, Series::Mark::kPoints, {}, {}, {}};
    for (const Record& record : side.report->result.records) {
      const bool ok = record.outcome == Outcome::kOk && record.first_content;
      if (!ok || !side.report->result.Measured(record) || record.prompt_tokens < 0) continue;
      series.x.push_back(static_cast<double>(record.prompt_tokens));
      series.y.push_back(Ms(record.ttft().count()));
      series.colour.push_back(record.hit_rate().value_or(kNothing));
      coloured = coloured || record.hit_rate();
    }
    // Two runs are told apart by colour; one has it to spare.
    if (sides.size() > 1 || !coloured) series.colour.clear();
    plot.series.push_back(std::move(series));
  }
  if (sides.size() == 1 && coloured) plot.colour_label = "part of the prompt cached, 0% to 100%";
  return Readable({std::move(plot)});
}

std::vector<Plot> TurnPlots(const std::vector<Side>& sides) {
  Plot ttft;
  ttft.title = "Time to first token by turn";
  ttft.x.label = "turn of the conversation";
  ttft.x.whole = true;
  ttft.x.from = 1;
  Plot cached;
  cached.x = ttft.x;
  ttft.y.label = "ms, from scheduled";
  ttft.y.scale = Scale::kLog;
  cached.title = "Prompt tokens cached by turn";
  cached.y.label = std::string("%");
  cached.y.from = 0;
  cached.y.to = 100;
  bool turns = false;
  for (const Side& side : sides) {
    turns = turns || side.summary.by_turn.size() > 1;
    for (const auto& [name, q] : {std::pair("p50", 0.5), {"p99", 0.99}}) {
      ttft.series.push_back(ByTurn(Named(side, name), side.summary, [q = q](const Group& group) {
        return QuantileMs(group.ttft_scheduled, q);
      }));
    }
    AddUnlessEmpty(ByTurn(Named(side, ""), side.summary,
                          [](const Group& group) {
                            const auto rate = group.hit_rate();
                            return rate ? 100 * *rate : kNothing;
                          }),
                   cached);
  }
  if (!turns) return {};
  return Readable({std::move(ttft), std::move(cached)});
}

std::vector<Plot> SweepPlots(const std::vector<Side>& steps) {
  const auto answered = [](const Summary& s) { return s.requests_per_second; };
  const auto plot = [](std::string title, std::string x, std::string y, Scale scale) {
    Plot made;
    made.title = std::move(title);
    made.x.label = std::move(x);
    made.x.from = 0;
    made.y.label = std::move(y);
    made.y.scale = scale;
    return made;
  };
  Plot rate = plot("Answered and offered", "requests/s offered", "requests/s", Scale::kLinear);
  Plot ttft = plot("Time to first token against throughput", "requests/s answered",
                   "ms, from scheduled", Scale::kLog);
  Plot gaps =
      plot("Time per token against throughput", "output tokens/s", "ms (TPOT)", Scale::kLog);
  Plot latency =
      plot("Latency against throughput", "requests/s answered", "ms, from sent", Scale::kLog);
  rate.y.from = 0;
  rate.series.push_back(OverSteps("answered", steps, OfferedRate, answered));
  if (steps.front().summary.slo.any()) {
    rate.series.push_back(OverSteps(absl::StrCat("within ", Text(steps.front().summary.slo)), steps,
                                    OfferedRate, [](const Summary& s) { return s.goodput; }));
  }
  for (const auto& [name, q] : {std::pair("p50", 0.5), {"p99", 0.99}}) {
    ttft.series.push_back(OverSteps(name, steps, answered, [q = q](const Summary& s) {
      return QuantileMs(s.all.ttft_scheduled, q);
    }));
    latency.series.push_back(OverSteps(
        name, steps, answered, [q = q](const Summary& s) { return QuantileMs(s.all.latency, q); }));
    gaps.series.push_back(OverSteps(
        name, steps, [](const Summary& s) { return s.tokens_per_second; },
        [q = q](const Summary& s) { return QuantileMs(s.all.tpot, q); }));
  }
  return Readable({std::move(rate), std::move(ttft), std::move(gaps), std::move(latency)});
}

}  // namespace banyan::loadtest
