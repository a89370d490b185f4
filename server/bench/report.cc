#include "server/bench/report.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace banyan::server {
namespace {

namespace json = boost::json;

constexpr double kGiga = 1e9;

const char* Title(KernelGroup group) {
  switch (group) {
    case KernelGroup::kProducts:
      return "products, outputs x columns";
    case KernelGroup::kAttention:
      return "attention, one layer";
    case KernelGroup::kRows:
      return "rows by themselves";
  }
  return "";
}

const char* Name(KernelGroup group) {
  switch (group) {
    case KernelGroup::kProducts:
      return "product";
    case KernelGroup::kAttention:
      return "attention";
    case KernelGroup::kRows:
      return "rows";
  }
  return "";
}

const char* Name(Bound bound) {
  switch (bound) {
    case Bound::kMemory:
      return "memory";
    case Bound::kCache:
      return "cache";
    case Bound::kProducts:
      return "products";
  }
  return "";
}

double BytesPerSecond(const KernelResult& result) {
  return (result.work.memory_bytes + result.work.cache_bytes) / result.seconds;
}

// With three digits that mean something: "0.42", "8.31", "123", "45678".
std::string Digits(double value) {
  return absl::StrFormat("%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

std::string TypeName(kernels::DType type) { return std::string(kernels::ShapeOf(type).name); }

void AppendRoofs(const KernelReport& report, std::string& out) {
  const Roofs& roofs = report.roofs;
  absl::StrAppendFormat(&out, "%-12s%s GB/s\n", "memory", Digits(roofs.memory / kGiga));
  absl::StrAppendFormat(&out, "%-12s%s GB/s\n", "cache", Digits(roofs.cache / kGiga));
  std::string products;
  for (const auto& [type, speed] : roofs.products) {
    absl::StrAppend(&products, products.empty() ? "" : ", ", TypeName(type), " ",
                    Digits(speed / kGiga));
  }
  absl::StrAppendFormat(&out, "%-12s%s G multiply-adds/s\n", "products", products);
}

void AppendRow(const KernelResult& result, std::size_t width, std::string& out) {
  absl::StrAppendFormat(
      &out, "%-*s%5d%10s%8s%8s   %-9s%4.0f%%\n", static_cast<int>(width), result.name, result.rows,
      Digits(result.seconds * 1e6), Digits(BytesPerSecond(result) / kGiga),
      result.work.all_products() == 0 ? "-"
                                      : Digits(result.work.all_products() / result.seconds / kGiga),
      Name(result.least.bound), 100 * result.OfRoof());
}

json::string Text(std::string_view text) {
  const std::string valid = ToValidUtf8(text);
  return json::string(valid.data(), valid.size());
}

}  // namespace

std::string KernelReportAsText(const KernelReport& report) {
  std::string out =
      absl::StrFormat("%-12s%d, variant %s\n", "threads", report.threads, report.variant);
  AppendRoofs(report, out);
  if (report.kernels.empty()) return out;
  absl::StrAppendFormat(&out, "%-12s%s\n", "shapes", Quote(report.model));
  std::size_t width = 0;
  for (const KernelResult& result : report.kernels) {
    width = std::max({width, result.name.size(), std::string_view(Title(result.group)).size()});
  }
  ++width;
  for (std::size_t i = 0; i < report.kernels.size(); ++i) {
    const KernelResult& result = report.kernels[i];
    if (i == 0 || result.group != report.kernels[i - 1].group) {
      absl::StrAppendFormat(&out, "\n%-*s%5s%10s%8s%8s   %-9s%5s\n", static_cast<int>(width),
                            Title(result.group), "rows", "us", "GB/s", "GMAC/s", "bound by",
                            "roof");
    }
    AppendRow(result, width, out);
  }
  return out;
}

std::string KernelReportAsJson(const KernelReport& report) {
  json::object products;
  for (const auto& [type, speed] : report.roofs.products) products[TypeName(type)] = speed;
  json::array kernels;
  for (const KernelResult& result : report.kernels) {
    kernels.push_back({{"group", Name(result.group)},
                       {"name", Text(result.name)},
                       {"rows", result.rows},
                       {"seconds", result.seconds},
                       {"bytes_per_second", BytesPerSecond(result)},
                       {"multiply_adds_per_second", result.work.all_products() / result.seconds},
                       {"bound", Name(result.least.bound)},
                       {"of_roof", result.OfRoof()}});
  }
  const json::object whole = {
      {"threads", report.threads},
      {"variant", Text(report.variant)},
      {"shapes", Text(report.model)},
      {"roofs",
       {{"memory_bytes_per_second", report.roofs.memory},
        {"cache_bytes_per_second", report.roofs.cache},
        {"multiply_adds_per_second", std::move(products)}}},
      {"kernels", std::move(kernels)},
  };
  return json::serialize(whole);
}

}  // namespace banyan::server
