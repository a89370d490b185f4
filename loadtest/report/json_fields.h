// The names in a report's JSON that its writer and its reader share.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "loadtest/measure/result.h"
#include "loadtest/measure/summary.h"

namespace banyan::loadtest::json {

// Changes when a reader of the one before would misunderstand.
inline constexpr char kSchema[] = "banyan-loadtest-run/1";

template <typename Owner, typename Value>
using Field = std::pair<const char*, Value Owner::*>;

inline constexpr std::array<Field<Record, Tick>, 5> kTimes = {
    {{"scheduled_ns", &Record::scheduled},
     {"sent_ns", &Record::sent},
     {"last_content_ns", &Record::last_content},
     {"end_ns", &Record::end},
     {"client_delay_ns", &Record::client_delay}}};

// Left out where they are -1: not told.
inline constexpr std::array<Field<Record, std::int64_t>, 3> kUsage = {
    {{"prompt_tokens", &Record::prompt_tokens},
     {"cached_tokens", &Record::cached_tokens},
     {"output_tokens", &Record::output_tokens}}};

inline constexpr std::array<Field<Second, std::int64_t>, 4> kSecond = {
    {{"sent", &Second::sent},
     {"finished", &Second::finished},
     {"failed", &Second::failed},
     {"tokens", &Second::tokens}}};

// null where the server does not say.
inline constexpr std::array<Field<ServerSample, double>, 5> kServer = {
    {{"pool_use", &ServerSample::pool_use},
     {"running", &ServerSample::running},
     {"waiting", &ServerSample::waiting},
     {"prefix_queries", &ServerSample::prefix_queries},
     {"prefix_hits", &ServerSample::prefix_hits}}};

inline constexpr std::array<Field<Slo, std::optional<Tick>>, 3> kSlo = {
    {{"ttft_ns", &Slo::ttft}, {"itl_ns", &Slo::itl}, {"e2e_ns", &Slo::latency}}};

}  // namespace banyan::loadtest::json
