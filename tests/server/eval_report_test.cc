// What `banyan eval` prints: the tables, the JSON and the plot.
#include "server/eval/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "server/eval/plot_layout.h"

namespace banyan::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EvalRow Row(const char* name, std::int64_t bytes, double ratio) {
  EvalRow row{
      .configuration = {.name = name}, .bytes_per_token = bytes, .peak_bytes = 128 * 16 * bytes};
  row.text.quality = {.tokens = 20'470,
                      .exact_perplexity = 20,
                      .perplexity = 20 * ratio,
                      .perplexity_error = 0.25,
                      .ratio = ratio,
                      .ratio_error = 0.0001,
                      .mean_divergence = ratio - 1,
                      .p99_divergence = 2 * (ratio - 1),
                      .greedy_agreement = 0.9975};
  row.text.peak_pages = 128;
  row.text.page_fill = 0.9934;
  row.speed = {.tokens_per_second = 98.76, .context = 2047, .steps = 64};
  for (const int depth : kPasskeyDepths) {
    row.passkeys.push_back({.length = 2048, .depth = depth, .asked = 2, .found = depth / 50});
  }
  return row;
}

EvalReport Report() {
  EvalReport report;
  report.model = "/models/m.gguf";
  report.model_name = "A model";
  report.heads = 9;
  report.kv_heads = 3;
  report.text = "/texts/t.txt";
  report.windows = 10;
  report.context = 2048;
  report.page_size = 16;
  report.threads = 2;
  report.cpu_variant = "avx2";
  report.load_average = 0.5;
  report.rows = {Row("f16", 23'040, 1), Row("int8", 11'880, 1.0625)};
  return report;
}

TEST(EvalReport, IsATable) {
  EXPECT_EQ(
      EvalAsText(Report()),
      "model    A model, 9 heads over 3 KV heads (m.gguf)\n"
      "text     20,470 tokens predicted in 10 windows of 2,048 (t.txt)\n"
      "exact    f16 pages of 16 tokens, perplexity 20.000 +- 0.250\n"
      "speed    one request decoding at a context of 2,047 tokens, the median of 64 steps; 2 "
      "threads, avx2,\n"
      "         load average 0.50 before it began\n"
      "\n"
      "pages  bytes/token   peak KV  filled  perplexity       beside exact   mean KL    p99 KL  "
      "same greedy  passkeys  tokens/s\n"
      "f16         23,040  45.0 MiB   99.3%      20.000  +0.000% +- 0.010%  0.000000  0.000000  "
      "     99.75%      4/10      98.8\n"
      "int8        11,880  23.2 MiB   99.3%      21.250  +6.250% +- 0.010%  0.062500  0.125000  "
      "     99.75%      4/10      98.8\n"
      "\n"
      "pages  tokens  at 0%  at 25%  at 50%  at 75%  at 100%\n"
      "f16     2,048    0/2     0/2     1/2     1/2      2/2\n"
      "int8    2,048    0/2     0/2     1/2     1/2      2/2\n");
}

TEST(EvalReport, IsMarkdown) {
  const std::string page = EvalAsMarkdown(Report());
  EXPECT_THAT(page, HasSubstr("- model: A model, 9 heads over 3 KV heads (m.gguf)\n"));
  EXPECT_THAT(page, HasSubstr("| pages | bytes/token |"));
  EXPECT_THAT(page, HasSubstr("\n|---|---:|---:|"));
  EXPECT_THAT(page,
              HasSubstr("\n| int8 | 11,880 | 23.2 MiB | 99.3% | 21.250 | +6.250% +- 0.010% |"));
  EXPECT_THAT(page, HasSubstr("\n| f16 | 2,048 | 0/2 |"));
}

TEST(EvalReport, SaysNothingOfPasskeysThatWereNotAskedFor) {
  EvalReport report = Report();
  for (EvalRow& row : report.rows) row.passkeys.clear();
  EXPECT_THAT(EvalAsText(report), Not(HasSubstr("at 50%")));
  EXPECT_THAT(EvalAsMarkdown(report), Not(HasSubstr("at 50%")));
  EXPECT_THAT(EvalAsMarkdown(report), HasSubstr("| - |"));
}

TEST(EvalReport, IsJson) {
  const auto whole = boost::json::parse(EvalAsJson(Report())).as_object();
  EXPECT_EQ(whole.at("model"), "/models/m.gguf");
  EXPECT_EQ(whole.at("model_name"), "A model");
  EXPECT_EQ(whole.at("heads"), 9);
  EXPECT_EQ(whole.at("kv_heads"), 3);
  EXPECT_EQ(whole.at("text"), "/texts/t.txt");
  EXPECT_EQ(whole.at("tokens"), 20'470);
  EXPECT_EQ(whole.at("windows"), 10);
  EXPECT_EQ(whole.at("context"), 2048);
  EXPECT_EQ(whole.at("page_size"), 16);
  EXPECT_EQ(whole.at("threads"), 2);
  EXPECT_EQ(whole.at("cpu_variant"), "avx2");
  EXPECT_EQ(whole.at("load_average"), 0.5);
  EXPECT_EQ(whole.at("decode_context"), 2047);
  EXPECT_EQ(whole.at("decode_steps"), 64);
  const auto& rows = whole.at("configurations").as_array();
  ASSERT_EQ(rows.size(), 2U);
  const auto& row = rows[1].as_object();
  EXPECT_EQ(row.at("name"), "int8");
  EXPECT_EQ(row.at("bytes_per_token"), 11'880);
  EXPECT_EQ(row.at("peak_bytes"), 24'330'240);
  EXPECT_EQ(row.at("peak_bytes_per_token"), 11'880.0);
  EXPECT_EQ(row.at("page_fill"), 0.9934);
  EXPECT_EQ(row.at("perplexity"), 20 * 1.0625);
  EXPECT_EQ(row.at("perplexity_error"), 0.25);
  EXPECT_EQ(row.at("perplexity_ratio"), 1.0625);
  EXPECT_EQ(row.at("perplexity_ratio_error"), 0.0001);
  EXPECT_EQ(row.at("mean_kl"), 1.0625 - 1);
  EXPECT_EQ(row.at("p99_kl"), 2 * (1.0625 - 1));
  EXPECT_EQ(row.at("greedy_agreement"), 0.9975);
  EXPECT_EQ(row.at("decode_tokens_per_second"), 98.76);
  ASSERT_EQ(row.at("passkeys").as_array().size(), kPasskeyDepths.size());
  const auto& deepest = row.at("passkeys").as_array().back().as_object();
  EXPECT_EQ(deepest.at("tokens"), 2048);
  EXPECT_EQ(deepest.at("depth_percent"), 100);
  EXPECT_EQ(deepest.at("asked"), 2);
  EXPECT_EQ(deepest.at("found"), 2);
}

TEST(EvalReport, ALoadThatTheMachineDoesNotTellIsNull) {
  EvalReport report = Report();
  report.load_average.reset();
  EXPECT_TRUE(boost::json::parse(EvalAsJson(report)).at("load_average").is_null());
  EXPECT_THAT(EvalAsText(report), Not(HasSubstr("load average")));
}

// The texts of a picture that parses as XML.
std::vector<std::string> Texts(const std::string& svg) {
  std::istringstream in(svg);
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(in, tree);
  std::vector<std::string> texts;
  for (const auto& [name, child] : tree.get_child("svg")) {
    if (name == "text") texts.push_back(child.data());
  }
  return texts;
}

TEST(EvalPlot, NamesItsAxesAndEachConfiguration) {
  const std::vector<std::string> texts = Texts(EvalAsSvg(Report()));
  EXPECT_THAT(texts,
              ::testing::IsSupersetOf({std::string("f16"), std::string("int8"),
                                       std::string("peak KV memory per token of context, KiB"),
                                       std::string("25"), std::string("8")}));
}

TEST(EvalPlot, IsWellFormedWhateverTheModelIsCalled) {
  EvalReport report = Report();
  report.model_name = "<b>&\"]]>\x01\xff";
  EXPECT_THAT(Texts(EvalAsSvg(report)), ::testing::Contains(HasSubstr("<b>&\"]]> \xEF\xBF\xBD")));
}

TEST(EvalPlot, IsDrawnWhereAllConfigurationsAreTheSame) {
  EvalReport report = Report();
  report.rows.resize(1);
  report.rows.front().text.quality.ratio_error = 0;
  const std::vector<std::string> texts = Texts(EvalAsSvg(report));
  EXPECT_THAT(texts, ::testing::Contains("f16"));
  for (const std::string& text : texts) EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(PlotAxis, HasRoundTicksAroundWhatItShows) {
  const PlotAxis axis(0, 22.5, 100, 600);
  EXPECT_EQ(axis.ticks(), (std::vector<double>{0, 5, 10, 15, 20, 25}));
  EXPECT_EQ(axis.Label(5), "5");
  EXPECT_DOUBLE_EQ(axis.At(0), 100);
  EXPECT_DOUBLE_EQ(axis.At(25), 600);
  const PlotAxis fine(-0.012, 0.5, 0, 1);
  EXPECT_EQ(fine.ticks().front(), -0.1);
  EXPECT_EQ(fine.Label(0.1), "0.1");
}

TEST(PlaceLabels, CoverNothing) {
  const Box frame = {0, 0, 700, 300};
  std::vector<Dot> dots;
  for (int i = 0; i < 12; ++i) {
    const double x = i % 2 == 0 ? 340 + i : 690;
    const double y = 150 + 3 * i;
    dots.push_back(
        {.x = x, .y = y, .covers = {x - 5, y - 5, x + 5, y + 5}, .label = "f16+streaming"});
  }
  const std::vector<PlacedLabel> labels = PlaceLabels(dots, frame);
  ASSERT_EQ(labels.size(), dots.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Box box = LabelBox(labels[i], dots[i].label);
    EXPECT_TRUE(frame.Holds(box)) << i;
    for (const Dot& dot : dots) EXPECT_FALSE(box.Overlaps(dot.covers)) << i;
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(box.Overlaps(LabelBox(labels[j], dots[j].label))) << i << " and " << j;
    }
  }
}

TEST(PlaceLabels, StandBesideADotThatIsAlone) {
  const std::vector<Dot> dots = {{.x = 50, .y = 50, .covers = {45, 45, 55, 55}, .label = "f16"}};
  const PlacedLabel label = PlaceLabels(dots, {0, 0, 200, 100}).front();
  EXPECT_FALSE(label.is_led_to);
  EXPECT_EQ(label.y, 50);
  EXPECT_GT(label.x, 55);
}

TEST(PlaceLabels, AreLedToWhereAnotherDotIsNearer) {
  // Between walls: the first dot's label has room above it alone, beside the second.
  const auto dot = [](double x, double y) {
    return Dot{.x = x, .y = y, .covers = {x - 5, y - 5, x + 5, y + 5}, .label = "fp8"};
  };
  std::vector<Dot> dots = {dot(100, 100), dot(110, 85)};
  dots[0].covers = {0, 95, 200, 200};
  dots[1].covers = {105, 80, 200, 90};
  const std::vector<PlacedLabel> labels = PlaceLabels(dots, {0, 0, 200, 200});
  EXPECT_LT(labels[0].y, 95);
  EXPECT_TRUE(labels[0].is_led_to);
  dots[1].x = 190;
  EXPECT_FALSE(PlaceLabels(dots, {0, 0, 200, 200})[0].is_led_to);
}

}  // namespace
}  // namespace banyan::server
