// The parts of which pages are made. All escape what they are given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loadtest/report/curves.h"

namespace banyan::loadtest {

using Rows = std::vector<std::vector<std::string>>;

std::string HtmlHeading(const std::string& text);
std::string HtmlWarnings(const std::vector<std::string>& warnings);
std::string HtmlTable(const std::vector<std::string>& head, const Rows& rows);
// (a short figure, what it is)
std::string HtmlCards(const std::vector<std::pair<std::string, std::string>>& cards);
std::string HtmlPlots(const std::vector<Plot>& plots);
// A row of names, then a row per side; facts that a side does not have are "-".
std::string HtmlFacts(const std::vector<Side>& sides);
// What the words on a page mean.
std::string HtmlDefinitions();

}  // namespace banyan::loadtest
