// The command line of `banyan plan`: what it accepts, and how it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "server/plan/command.h"
#include "server/plan/shape_text.h"
#include "tests/server/parsed.h"
#include "tests/server/plan_configs.h"

namespace banyan::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Command Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"banyan", "plan"});
  return ParseCommandLine(arguments);
}

PlanOptions Accepted(std::vector<const char*> arguments) {
  return AcceptedAs<PlanOptions>(Parse(std::move(arguments)));
}

std::string Refused(std::vector<const char*> arguments) {
  return RefusedLine(Parse(std::move(arguments)));
}

// With a shape; "accepted", or the line that refuses.
std::string RefusedWithShape(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--shape", "2,2,8"});
  return Refused(std::move(arguments));
}

TEST(PlanOptions, AModelIsAFile) {
  const PlanOptions options = Accepted({"m.gguf"});
  EXPECT_EQ(options.source, "m.gguf");
  EXPECT_FALSE(options.shape.has_value());
  EXPECT_EQ(options.workload.page_size, ServeOptions().page_size);
  EXPECT_EQ(options.workload.context, 0);
  EXPECT_EQ(options.workload.sessions, 0);
  EXPECT_EQ(options.detail, PlanDetail::kFigures);
  EXPECT_EQ(options.format, ReportFormat::kText);
}

TEST(PlanOptions, EverythingCanBeTold) {
  const PlanOptions options = Accepted({"--shape", "2,2,8", "--context", "100", "--sessions", "7",
                                        "--shared-prefix", "50", "--memory", "2GiB", "--weights",
                                        "1GiB", "--page-size", "32", "--explain", "--json"});
  ASSERT_TRUE(options.shape.has_value());
  EXPECT_EQ(options.shape->layers, 2);
  EXPECT_EQ(options.workload.context, 100);
  EXPECT_EQ(options.workload.sessions, 7);
  EXPECT_EQ(options.workload.shared_prefix, 50);
  EXPECT_EQ(options.memory, std::int64_t{2} << 30);
  EXPECT_EQ(options.weights, std::int64_t{1} << 30);
  EXPECT_EQ(options.workload.page_size, 32);
  EXPECT_EQ(options.detail, PlanDetail::kExplained);
  EXPECT_EQ(options.format, ReportFormat::kJson);
}

TEST(PlanOptions, BoundsAreAcceptedAtAndRefusedBeyondByName) {
  struct Bound {
    const char *option, *at_low, *below, *at_high, *above;
  };
  for (const Bound& bound : {Bound{"--context", "1", "0", "1073741824", "1073741825"},
                             Bound{"--sessions", "1", "0", "1000000", "1000001"},
                             Bound{"--shared-prefix", "0", "-1", "1073741824", "1073741825"},
                             Bound{"--page-size", "1", "0", "1024", "1025"},
                             Bound{"--memory", "1B", "0B", "1024TiB", "1025TiB"},
                             Bound{"--kv-memory", "1KiB", "1023B", "16TiB", "17TiB"},
                             Bound{"--weights", "0B", "-1B", "1024TiB", "1025TiB"}}) {
    EXPECT_EQ(RefusedWithShape({bound.option, bound.at_low}), "accepted");
    EXPECT_EQ(RefusedWithShape({bound.option, bound.at_high}), "accepted");
    for (const char* wrong : {bound.below, bound.above, "many", "99999999999999999999", "1GB"}) {
      EXPECT_THAT(RefusedWithShape({bound.option, wrong}),
                  AllOf(HasSubstr(bound.option), HasSubstr(wrong)));
    }
  }
}

TEST(PlanOptions, ThereIsOneModelAndOneMemory) {
  EXPECT_THAT(Refused({}), HasSubstr("MODEL or --shape"));
  EXPECT_THAT(Refused({""}), HasSubstr("MODEL or --shape"));
  EXPECT_THAT(RefusedWithShape({"m.gguf"}), HasSubstr("exclude"));
  EXPECT_THAT(RefusedWithShape({"--memory", "1GiB", "--kv-memory", "1GiB"}), HasSubstr("exclude"));
  EXPECT_THAT(RefusedWithShape({"--context"}), HasSubstr("--context"));
  EXPECT_THAT(Refused({"a.gguf", "b.gguf"}), HasSubstr("b.gguf"));
  EXPECT_THAT(Refused({"a.gguf", "--window", "7"}), HasSubstr("--window"));
}

TEST(PlanOptions, HelpNamesEveryOption) {
  const Exit exit = std::get<Exit>(Parse({"--help"}));
  EXPECT_EQ(exit.code, 0);
  for (const char* words :
       {"MODEL", "--shape", "--context", "--sessions", "--shared-prefix", "--memory", "--kv-memory",
        "--weights", "--page-size", "--explain", "--json", "config.json"}) {
    EXPECT_THAT(exit.text, HasSubstr(words));
  }
}

TEST(ShapeText, IsLayersHeadsAndSize) {
  const absl::StatusOr<CacheShape> shape = ParseShape("32,8,128");
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->layers, 32);
  EXPECT_EQ(shape->kv_heads, 8);
  EXPECT_EQ(shape->head_dim, 128);
  EXPECT_TRUE(shape->windows.empty());
  EXPECT_FALSE(shape->latent.has_value());
}

TEST(ShapeText, WindowsRepeatUntilEachLayerHasOne) {
  EXPECT_THAT(ParseShape("3,1,8,5")->windows, ElementsAre(5, 5, 5));
  EXPECT_THAT(ParseShape("5,1,8,5,0")->windows, ElementsAre(5, 0, 5, 0, 5));
  EXPECT_THAT(ParseShape("3,1,8,5,0,7")->windows, ElementsAre(5, 0, 7));
  EXPECT_EQ(ParseShape("26,1,256,512,512,512,512,512,0")->windowed_layers(), 22);
  EXPECT_EQ(ParseShape("62,16,128,1024,1024,1024,1024,1024,0")->windowed_layers(), 52);
  EXPECT_THAT(std::string(ParseShape("2,1,8,5,0,7").status().message()),
              HasSubstr("3 windows for 2 layers"));
}

TEST(ShapeText, ALatentIsASum) {
  const absl::StatusOr<CacheShape> shape = ParseShape("61,512+64,0,9");
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->latent->rank, 512);
  EXPECT_EQ(shape->latent->rope, 64);
  EXPECT_EQ(shape->kv_heads, 1);
  EXPECT_EQ(shape->windows.size(), 61);
  EXPECT_EQ(shape->windowed_layers(), 30);
}

TEST(ShapeText, WhatIsWrongIsSaid) {
  for (const char* form : {"", "32", "32,8", "LAYERS"})
    EXPECT_THAT(Refused({"--shape", form}), Not(HasSubstr("accepted"))) << form;
  EXPECT_THAT(Refused({"--shape", "32,8"}), HasSubstr("LAYERS,KV_HEADS,HEAD_DIM"));
  EXPECT_THAT(Refused({"--shape", "32,8,"}), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(Refused({"--shape", "a,8,128"}), HasSubstr("'a'"));
  EXPECT_THAT(Refused({"--shape", "32,8,128.5"}), HasSubstr("'128.5'"));
  EXPECT_THAT(Refused({"--shape", "32, 8,128"}), HasSubstr("' 8'"));
  EXPECT_THAT(Refused({"--shape", "0,8,128"}), HasSubstr("layers is 0"));
  EXPECT_THAT(Refused({"--shape", "32,0,128"}), HasSubstr("KV heads is 0"));
  EXPECT_THAT(Refused({"--shape", "32,8,-128"}), HasSubstr("size of a head is -128"));
  EXPECT_THAT(Refused({"--shape", "4097,8,128"}), HasSubstr("layers is 4097"));
  EXPECT_THAT(Refused({"--shape", "32,8,128,-1"}), HasSubstr("a window is -1"));
  EXPECT_THAT(Refused({"--shape", "99999999999999999999,8,128"}), HasSubstr("too large"));
  EXPECT_THAT(Refused({"--shape", "61,512+"}), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(Refused({"--shape", "61,512+63"}), HasSubstr("odd"));
}

std::string RefusedPlan(std::vector<const char*> arguments) {
  const absl::StatusOr<PlanReport> report = MakePlanReport(Accepted(std::move(arguments)));
  return report.ok() ? "accepted" : std::string(report.status().message());
}

TEST(PlanCommand, AWorkloadMustFitTheModel) {
  EXPECT_THAT(RefusedPlan({"--shape", "2,2,8", "--sessions", "2"}), HasSubstr("--context"));
  EXPECT_THAT(RefusedPlan({"--shape", "2,2,8", "--shared-prefix", "2"}), HasSubstr("--context"));
  EXPECT_THAT(RefusedPlan({"--shape", "2,2,8", "--context", "100", "--shared-prefix", "100"}),
              AllOf(HasSubstr("--shared-prefix"), HasSubstr("100")));
  EXPECT_EQ(RefusedPlan({"--shape", "2,2,8", "--context", "100", "--shared-prefix", "99"}),
            "accepted");
  EXPECT_THAT(RefusedPlan({"--shape", "2,2,8", "--memory", "1MiB", "--weights", "1MiB"}),
              AllOf(HasSubstr("--memory"), HasSubstr("1.0 MiB")));
  EXPECT_THAT(RefusedPlan({"--shape", "4096,4096,65536", "--context", "1073741824"}),
              HasSubstr("2^63"));
  EXPECT_THAT(RefusedPlan({"/nowhere.gguf"}), HasSubstr("/nowhere.gguf: it cannot be opened"));
}

TEST(PlanCommand, WhatWeightsLeaveIsThePool) {
  const std::string path = ConfigPath("llama-3-8b");
  const auto pool = [&](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), path.c_str());
    const absl::StatusOr<PlanReport> report = MakePlanReport(Accepted(std::move(arguments)));
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->plan.workload.kv_memory : std::nullopt;
  };
  EXPECT_EQ(pool({"--memory", "16GiB"}), (std::int64_t{16} << 30) - 2 * 8'030'261'248);
  EXPECT_EQ(pool({"--memory", "16GiB", "--weights", "5GiB"}), std::int64_t{11} << 30);
  EXPECT_EQ(pool({"--kv-memory", "16GiB"}), std::int64_t{16} << 30);
  EXPECT_EQ(pool({"--memory", "1024TiB"}), std::int64_t{16} << 40) << "the most there is";
  EXPECT_EQ(pool({}), std::nullopt);
}

TEST(PlanCommand, TheModelsContextIsTheDefault) {
  const std::string path = ConfigPath("llama-3-8b");
  EXPECT_EQ(MakePlanReport(Accepted({path.c_str()}))->plan.workload.context, 8192);
  EXPECT_EQ(MakePlanReport(Accepted({path.c_str(), "--context", "9"}))->plan.workload.context, 9);
}

}  // namespace
}  // namespace banyan::server
