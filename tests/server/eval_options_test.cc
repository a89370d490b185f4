// The command line of `banyan eval`, the configurations that it takes, and the files that it
// writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/eval/configuration.h"
#include "server/eval/output.h"
#include "tests/server/parsed.h"

namespace banyan::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Command Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"banyan", "eval"});
  return ParseCommandLine(arguments);
}

EvalOptions Accepted(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m.gguf", "--text", "t.txt"});
  return AcceptedAs<EvalOptions>(Parse(std::move(arguments)));
}

std::string Refused(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m.gguf", "--text", "t.txt"});
  return RefusedLine(Parse(std::move(arguments)));
}

std::vector<std::string> Names(const std::vector<Configuration>& configurations) {
  std::vector<std::string> names;
  for (const Configuration& configuration : configurations) names.push_back(configuration.name);
  return names;
}

std::vector<std::string> NamesOf(const char* list) {
  const auto configurations = ParseConfigurations(list);
  if (!configurations.ok()) return {std::string(configurations.status().message())};
  return Names(*configurations);
}

std::string Error(std::string_view list) {
  const auto configurations = ParseConfigurations(list);
  return configurations.ok() ? "accepted" : std::string(configurations.status().message());
}

TEST(EvalOptions, AModelAndATextAreEnough) {
  const EvalOptions options = Accepted({});
  EXPECT_EQ(options.model, "m.gguf");
  EXPECT_EQ(options.text, "t.txt");
  EXPECT_THAT(Names(options.configurations), ElementsAre("f16", "bf16", "fp8", "int8", "int4"));
  EXPECT_GE(options.tokens, 20'000);
  EXPECT_EQ(options.context, 0) << "as is usual for the model";
  EXPECT_GE(options.threads, 1);
  EXPECT_EQ(options.json + options.svg + options.markdown, "");
}

TEST(EvalOptions, EverythingCanBeTold) {
  const EvalOptions options =
      Accepted({"--configs", "int8", "--tokens", "500", "--context", "100", "--passkeys", "0",
                "--threads", "3", "--json", "j", "--svg", "s", "--markdown", "m"});
  EXPECT_THAT(Names(options.configurations), ElementsAre("f16", "int8"));
  EXPECT_EQ(options.tokens, 500);
  EXPECT_EQ(options.context, 100);
  EXPECT_EQ(options.passkeys, 0);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.json, "j");
  EXPECT_EQ(options.svg, "s");
  EXPECT_EQ(options.markdown, "m");
}

TEST(EvalOptions, WhatIsMissingIsNamed) {
  EXPECT_THAT(RefusedLine(Parse({"--text", "t"})), HasSubstr("--model"));
  EXPECT_THAT(RefusedLine(Parse({"--model", "m"})), HasSubstr("--text"));
}

TEST(EvalOptions, BoundsHold) {
  const struct {
    const char* option;
    const char* least;
    const char* under;
    const char* most;
    const char* over;
  } kBounds[] = {{"--tokens", "2", "1", "1000000", "1000001"},
                 {"--context", "2", "1", "1048576", "1048577"},
                 {"--passkeys", "0", "-1", "100", "101"},
                 {"--threads", "1", "0", "256", "257"}};
  for (const auto& bound : kBounds) {
    EXPECT_EQ(Refused({bound.option, bound.least}), "accepted");
    EXPECT_EQ(Refused({bound.option, bound.most}), "accepted");
    EXPECT_THAT(Refused({bound.option, bound.under}), HasSubstr(bound.option));
    EXPECT_THAT(Refused({bound.option, bound.over}), HasSubstr(bound.option));
  }
}

TEST(EvalOptions, AConfigurationThatIsNotKnownIsRefusedWithTheOption) {
  EXPECT_THAT(Refused({"--configs", "f16,int9"}),
              AllOf(HasSubstr("--configs"), HasSubstr("'int9'")));
}

TEST(Configurations, ExactComesFirstAndOnce) {
  EXPECT_THAT(NamesOf("int8,f16,fp8"), ElementsAre("f16", "int8", "fp8"));
  EXPECT_THAT(NamesOf("int8"), ElementsAre("f16", "int8"));
  EXPECT_THAT(NamesOf("f16"), ElementsAre("f16"));
}

TEST(Configurations, HaveTheirFormats) {
  const auto configurations = ParseConfigurations(AllConfigurations());
  ASSERT_TRUE(configurations.ok()) << configurations.status();
  ASSERT_EQ(configurations->size(), kernels::kKvFormats.size());
  for (const Configuration& configuration : *configurations) {
    EXPECT_EQ(kernels::LayoutOf(configuration.format).name, configuration.name);
  }
}

TEST(Configurations, WhatIsNotKnownIsNamedWithWhatIs) {
  EXPECT_THAT(Error("f16,int9"), AllOf(HasSubstr("'int9'"), HasSubstr("f16,bf16,fp8,int8,int4")));
  EXPECT_THAT(Error(""), HasSubstr("''"));
  EXPECT_THAT(Error("f16,,int8"), HasSubstr("''"));
  EXPECT_THAT(Error("window=3"), HasSubstr("'window=3'"));
}

TEST(Configurations, MayHaveAPolicy) {
  const auto configurations =
      ParseConfigurations("f16+streaming:sinks=8,window=100,int8,int8+streaming:window=20");
  ASSERT_TRUE(configurations.ok()) << configurations.status();
  ASSERT_THAT(Names(*configurations), ElementsAre("f16", "f16+streaming:sinks=8,window=100", "int8",
                                                  "int8+streaming:window=20"));
  EXPECT_FALSE(configurations->at(0).policy.has_value());
  EXPECT_EQ(configurations->at(1).policy, (scheduler::KvPolicy{.sinks = 8, .window = 100}));
  EXPECT_FALSE(configurations->at(2).policy.has_value());
  EXPECT_EQ(configurations->at(3).policy, scheduler::KvPolicy{.window = 20});
  EXPECT_EQ(configurations->at(3).format, kernels::KvFormat::kInt8);
}

TEST(Configurations, MayHaveAPolicyOfAnyType) {
  using scheduler::KvPolicy;
  const auto configurations =
      ParseConfigurations("int8+h2o:budget=10,recent=5,f16+scissorhands:history=9,f16+snapkv");
  ASSERT_TRUE(configurations.ok()) << configurations.status();
  ASSERT_EQ(configurations->size(), 4U);
  EXPECT_EQ(configurations->at(1).policy,
            (KvPolicy{.type = KvPolicy::Type::kH2o, .budget = 10, .recent = 5}));
  EXPECT_EQ(configurations->at(2).policy,
            (KvPolicy{.type = KvPolicy::Type::kScissorhands, .history = 9}));
  EXPECT_EQ(configurations->at(3).policy, (KvPolicy{.type = KvPolicy::Type::kSnapKv}));
}

TEST(Configurations, WhatIsWrongWithAPolicyIsSaidWithItsConfiguration) {
  EXPECT_THAT(Error("int8+h2o:budget=10,window=5,f16"),
              AllOf(HasSubstr("'int8+h2o:budget=10,window=5'"), HasSubstr("'window'")));
  EXPECT_THAT(Error("f16+"), HasSubstr("'f16+'"));
  EXPECT_THAT(Error("f16+streaming:budget=9"), HasSubstr("'budget'"));
  EXPECT_THAT(Error("f16+streaming:window=x"), HasSubstr("'x'"));
}

TEST(Configurations, NoneIsThereTwice) {
  EXPECT_THAT(Error("int8,int8"), HasSubstr("'int8' is there twice"));
  EXPECT_THAT(Error("f16,int8,f16"), HasSubstr("'f16' is there twice"));
}

class OutputTest : public ::testing::Test {
 protected:
  ~OutputTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static void Put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string Content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

 private:
  static std::filesystem::path Make() {
    std::string name = (std::filesystem::temp_directory_path() / "banyan-eval-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    return name;
  }
  const std::filesystem::path folder_ = Make();
};

TEST_F(OutputTest, NothingIsWrittenThatWasNotAskedFor) {
  EXPECT_TRUE(CheckWritable("").ok());
  EXPECT_TRUE(CheckMarks("").ok());
  EXPECT_TRUE(WriteWhole("", "x").ok());
  EXPECT_TRUE(WriteBetweenMarks("", "x").ok());
}

TEST_F(OutputTest, TablesGoBetweenTheMarks) {
  const std::string page = Path("page.md");
  const std::string head = "before\n<!-- end -->\n<!-- banyan eval -->\n";
  Put(page, head + "old\n<!-- end -->\nafter\n<!-- end -->\n");
  ASSERT_TRUE(WriteBetweenMarks(page, "new\n").ok());
  const std::string want = head + "\nnew\n\n<!-- end -->\nafter\n<!-- end -->\n";
  EXPECT_EQ(Content(page), want);
  ASSERT_TRUE(WriteBetweenMarks(page, "new\n").ok());
  EXPECT_EQ(Content(page), want) << "again";
}

TEST_F(OutputTest, AFileWithoutContentHasTheTablesAlone) {
  const std::string page = Path("new.md");
  ASSERT_TRUE(CheckWritable(page).ok());
  ASSERT_TRUE(WriteBetweenMarks(page, "new\n").ok());
  EXPECT_EQ(Content(page), "new\n");
}

TEST_F(OutputTest, APageWithoutMarksIsLeftAsItIs) {
  for (const char* text : {"mine\n", "<!-- banyan eval -->\nno end\n"}) {
    const std::string page = Path("page.md");
    Put(page, text);
    const absl::Status status = WriteBetweenMarks(page, "new\n");
    EXPECT_THAT(status.message(), AllOf(HasSubstr(page), HasSubstr("<!-- banyan eval -->")));
    EXPECT_FALSE(CheckMarks(page).ok());
    EXPECT_EQ(Content(page), text);
  }
}

TEST_F(OutputTest, AFileThatCannotBeWrittenIsNamed) {
  const std::string path = Path("no such folder/x");
  EXPECT_THAT(CheckWritable(path).message(), HasSubstr(path));
  EXPECT_THAT(WriteWhole(path, "x").message(), HasSubstr(path));
  EXPECT_THAT(WriteWhole("/dev/full", "x").message(), HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace banyan::server
