// Numbers as people read them, the same in the table and on pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "loadtest/measure/histogram.h"
#include "loadtest/measure/summary.h"

namespace banyan::loadtest {

std::string FormatCount(std::int64_t count);  // "12,031"
std::string FormatNumber(double number);      // three digits or all of the integer: "4,310"
std::string FormatShare(double share);        // "64.2%"
std::string FormatTime(Tick time);            // "0.123 ms", "12.3 ms", "1.23 s", "4,310 s"
std::string FormatTimeOf(const Histogram&, double quantile);  // "-" when empty

// Words that the table, pages and their headings share.
std::string TurnName(std::int32_t turn);  // "3", "32 and later"
std::string HitBucketName(int bucket);
// "timeout 8, reset 3", most first; "" when all is ok.
std::string Failures(const Summary& summary);
// What a reader has to know before believing the figures; sentences, maybe none.
std::vector<std::string> Warnings(const Result& result, const Summary& summary);

// A line of the terminal's table: a label of up to 19 characters and text, which wraps at 100
// columns. Foreign text is kept from moving the cursor.
std::string TableLine(std::string_view label, std::string_view text);

}  // namespace banyan::loadtest
