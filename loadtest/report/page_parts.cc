#include "loadtest/report/page_parts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/html.h"

namespace banyan::loadtest {

std::string HtmlHeading(const std::string& text) {
  return absl::StrCat("<h2>", EscapeHtml(text), "</h2>\n");
}

std::string HtmlWarnings(const std::vector<std::string>& warnings) {
  std::string html;
  for (const std::string& warning : warnings) {
    absl::StrAppend(&html, "<p class=\"warn\">", EscapeHtml(warning), "</p>\n");
  }
  return html;
}

std::string HtmlTable(const std::vector<std::string>& head, const Rows& rows) {
  std::string html = "<div class=\"wide\"><table><thead><tr>";
  for (const std::string& cell : head) absl::StrAppend(&html, "<th>", EscapeHtml(cell), "</th>");
  absl::StrAppend(&html, "</tr></thead><tbody>\n");
  for (const auto& row : rows) {
    absl::StrAppend(&html, "<tr>");
    for (const std::string& cell : row) absl::StrAppend(&html, "<td>", EscapeHtml(cell), "</td>");
    absl::StrAppend(&html, "</tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

std::string HtmlCards(const std::vector<std::pair<std::string, std::string>>& cards) {
  std::string html = "<div class=\"cards\">";
  for (const auto& [figure, what] : cards) {
    absl::StrAppend(&html, "<div class=\"card\"><b>", EscapeHtml(figure), "</b><span>",
                    EscapeHtml(what), "</span></div>");
  }
  return html + "</div>\n";
}

std::string HtmlPlots(const std::vector<Plot>& plots) {
  std::string html = "<div class=\"plots\">\n";
  for (const Plot& plot : plots) absl::StrAppend(&html, Svg(plot));
  return html + "</div>\n";
}

std::string HtmlFacts(const std::vector<Side>& sides) {
  std::vector<std::string> names;
  for (const Side& side : sides) {
    for (const auto& [name, value] : side.report->result.facts) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string html = "<div class=\"wide\"><table><thead><tr><th></th>";
  for (const Side& side : sides) {
    absl::StrAppend(&html, "<th class=\"text\">", EscapeHtml(side.name), "</th>");
  }
  absl::StrAppend(&html, "</tr></thead><tbody>\n");
  for (const std::string& name : names) {
    absl::StrAppend(&html, "<tr><td>", EscapeHtml(name), "</td>");
    for (const Side& side : sides) {
      const auto& facts = side.report->result.facts;
      const auto found = std::find_if(facts.begin(), facts.end(),
                                      [&](const auto& fact) { return fact.first == name; });
      absl::StrAppend(&html, "<td class=\"text\">",
                      found == facts.end() ? "-" : EscapeHtml(found->second), "</td>");
    }
    absl::StrAppend(&html, "</tr>\n");
  }
  return html + "</tbody></table></div>\n";
}

std::string HtmlDefinitions() {
  static constexpr std::pair<const char*, const char*> kWords[] = {
      {"Time to first token (TTFT)",
       "until the first event with content; a role or an empty string is none. From the scheduled "
       "time it includes what the client waited because the server was slow; from when the request "
       "was sent it does not."},
      {"Gap between tokens (ITL)",
       "between the arrivals of successive tokens; n tokens that arrive together after a gap count "
       "as n gaps of an n-th of it."},
      {"Time per output token (TPOT)",
       "of one answer that came in more than one event: from its first content to its last, over "
       "its tokens less one."},
      {"Latency", "from when the request was sent until its answer was complete."},
      {"Cached",
       "prompt tokens that the server says it had in its cache, of all prompt tokens of "
       "the answers that say so."},
      {"Goodput", "answers a second that kept the given limits; a failed request keeps none."},
      {"p99", "of 100 values, 99 are not larger; told to within 0.1%."}};
  std::string html = "<dl>";
  for (const auto& [word, meaning] : kWords) {
    absl::StrAppend(&html, "<dt>", EscapeHtml(word), "</dt><dd>", EscapeHtml(meaning), "</dd>\n");
  }
  return html + "</dl>\n";
}

}  // namespace banyan::loadtest
