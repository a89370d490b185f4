#include "server/options.h"
#include "server/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/model.h"
#include "server/quantity.h"
#include "tests/server/parsed.h"

namespace banyan::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Command Parse(std::vector<const char*> arguments) {
  unsetenv("BANYAN_MODEL");  // where the tests of other rooms find a model
  arguments.insert(arguments.begin(), "banyan");
  return ParseCommandLine(arguments);
}

ServeOptions Accepted(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"serve", "--model", "null"});
  return AcceptedAs<ServeOptions>(Parse(std::move(arguments)));
}

std::string Refused(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"serve", "--model", "null"});
  return RefusedLine(Parse(std::move(arguments)));
}

TEST(Options, DefaultsAreThoseOfTheHelp) {
  const ServeOptions options = Accepted({});
  EXPECT_EQ(options.host, "127.0.0.1");
  EXPECT_EQ(options.port, 8080);
  EXPECT_EQ(options.kv_memory, std::int64_t{1} << 30);
  EXPECT_EQ(options.page_size, 16);
  EXPECT_EQ(options.threads, UsableProcessors());
  EXPECT_EQ(options.max_batch_tokens, 256);
  EXPECT_EQ(options.mixed_prefill_tokens, 16);
  EXPECT_EQ(options.max_running, 64);
  EXPECT_EQ(options.max_queue, 256);
  EXPECT_EQ(options.prefix_caching, scheduler::PrefixCaching::kOn);
  EXPECT_EQ(options.max_passes, scheduler::Options().max_passes);
  EXPECT_EQ(options.priority_ageing, scheduler::Options().ageing);
  EXPECT_EQ(options.drain_timeout, std::chrono::seconds(30));
  EXPECT_EQ(options.log_format, LogFormat::kText);
  EXPECT_TRUE(options.is_null_model());
  EXPECT_EQ(options.served_model_name, "null");
}

TEST(Options, AModelIsServedUnderTheStemOfItsFile) {
  auto parsed = Parse({"serve", "--model", "/models/Smol-135M.Q4_1.gguf"});
  EXPECT_EQ(std::get<ServeOptions>(parsed).served_model_name, "Smol-135M.Q4_1");
  parsed = Parse({"serve", "--model", "a.gguf", "--served-model-name", "tiny"});
  EXPECT_EQ(std::get<ServeOptions>(parsed).served_model_name, "tiny");
}

TEST(Options, AServedNameIsBoundedUtf8InOneLine) {
  const auto taken = [](const std::string& name) {
    const auto parsed = Parse({"serve", "--model", "null", "--served-model-name", name.c_str()});
    return std::holds_alternative<ServeOptions>(parsed);
  };
  EXPECT_TRUE(taken(std::string(255, 'x')));
  EXPECT_TRUE(taken(std::string(256, 'x')));
  EXPECT_FALSE(taken(std::string(257, 'x')));
  EXPECT_TRUE(taken("mod\u00e8le 1"));
  EXPECT_FALSE(taken("a\xFF"));
  EXPECT_FALSE(taken("a\nb"));
  EXPECT_FALSE(taken("a\x1B[1m"));
}

TEST(Options, AModelIsNeeded) {
  auto parsed = Parse({"serve"});
  ASSERT_TRUE(std::holds_alternative<Exit>(parsed));
  EXPECT_EQ(std::get<Exit>(parsed).code, 1);
  EXPECT_THAT(std::get<Exit>(parsed).text, HasSubstr("--model"));
  EXPECT_THAT(Refused({"--model", ""}), HasSubstr("--model"));
}

struct Bound {
  const char* option;
  const char* at_low;
  const char* below;
  const char* at_high;
  const char* above;
};

class OptionBounds : public ::testing::TestWithParam<Bound> {};

TEST_P(OptionBounds, AreAcceptedAtAndRefusedBeyondByName) {
  const Bound& bound = GetParam();
  // Room for every bound of the two options that are checked against each other.
  std::vector<const char*> base;
  if (std::string(bound.option) == "--max-running") base = {"--max-batch-tokens", "65536"};
  if (std::string(bound.option) == "--max-batch-tokens") base = {"--max-running", "1"};
  auto with = [&](const char* value) {
    std::vector<const char*> arguments = base;
    arguments.insert(arguments.end(), {bound.option, value});
    return arguments;
  };
  EXPECT_EQ(Refused(with(bound.at_low)), "accepted");
  EXPECT_EQ(Refused(with(bound.at_high)), "accepted");
  EXPECT_THAT(Refused(with(bound.below)), AllOf(HasSubstr(bound.option), HasSubstr(bound.below)));
  EXPECT_THAT(Refused(with(bound.above)), AllOf(HasSubstr(bound.option), HasSubstr(bound.above)));
  EXPECT_THAT(Refused(with("many")), AllOf(HasSubstr(bound.option), HasSubstr("many")));
  EXPECT_THAT(Refused(with("99999999999999999999")), HasSubstr(bound.option));
}

INSTANTIATE_TEST_SUITE_P(
    All, OptionBounds,
    ::testing::Values(Bound{"--port", "0", "-1", "65535", "65536"},
                      Bound{"--page-size", "1", "0", "1024", "1025"},
                      Bound{"--kv-memory", "1KiB", "1023", "16TiB", "17592186044417"},
                      Bound{"--threads", "1", "0", "256", "257"},
                      Bound{"--max-batch-tokens", "2", "1", "65536", "65537"},
                      Bound{"--mixed-prefill-tokens", "1", "0", "65536", "65537"},
                      Bound{"--max-running", "1", "0", "4096", "4097"},
                      Bound{"--max-queue", "1", "0", "1000000", "1000001"},
                      Bound{"--max-passes", "0", "-1", "1000000", "1000001"},
                      Bound{"--priority-ageing", "1ms", "0s", "24h", "86400001ms"},
                      Bound{"--drain-timeout", "0s", "-1s", "24h", "86400001ms"}),
    [](const auto& tested) {
      std::string name;
      for (char c : std::string(tested.param.option)) {
        if (c != '-') name += c;
      }
      return name;
    });

TEST(Options, AStepMustHoldMoreTokensThanRequestsRun) {
  EXPECT_THAT(Refused({"--max-running", "8", "--max-batch-tokens", "8"}),
              AllOf(HasSubstr("--max-batch-tokens"), HasSubstr("--max-running")));
  EXPECT_EQ(Refused({"--max-running", "8", "--max-batch-tokens", "9"}), "accepted");
}

TEST(Options, TheInstructionsAreThoseThatThisMachineRuns) {
  EXPECT_EQ(Accepted({}).cpu_variant, "") << "the quickest";
  EXPECT_EQ(Accepted({"--cpu-variant", "auto"}).cpu_variant, "");
  for (const std::string& name : model::CpuVariants())
    EXPECT_EQ(Accepted({"--cpu-variant", name.c_str()}).cpu_variant, name);
  EXPECT_EQ(Accepted({"--cpu-variant", "portable"}).cpu_variant, "portable") << "runs anywhere";
  setenv("BANYAN_CPU_VARIANT", "portable", 1);
  EXPECT_EQ(Accepted({}).cpu_variant, "portable");
  unsetenv("BANYAN_CPU_VARIANT");
  for (const char* value : {"", "abacus", "PORTABLE", "portable "}) {
    EXPECT_THAT(Refused({"--cpu-variant", value}),
                AllOf(HasSubstr("--cpu-variant"), HasSubstr(absl::StrCat("'", value, "'")),
                      HasSubstr("auto"), HasSubstr("portable")));
  }
}

TEST(Options, ThreadsAreBoundOnRequest) {
  EXPECT_FALSE(Accepted({}).bind_threads);
  EXPECT_TRUE(Accepted({"--bind-threads", "on"}).bind_threads);
  EXPECT_THAT(Refused({"--bind-threads", "1"}),
              AllOf(HasSubstr("--bind-threads"), HasSubstr("on or off")));
}

TEST(Options, PrefixCachingIsOnOrOff) {
  EXPECT_EQ(Accepted({"--prefix-caching", "off"}).prefix_caching, scheduler::PrefixCaching::kOff);
  EXPECT_EQ(Accepted({"--prefix-caching", "on"}).prefix_caching, scheduler::PrefixCaching::kOn);
  setenv("BANYAN_PREFIX_CACHING", "off", 1);
  EXPECT_EQ(Accepted({}).prefix_caching, scheduler::PrefixCaching::kOff);
  unsetenv("BANYAN_PREFIX_CACHING");
  for (const char* value : {"", "no", "ON", "1"}) {
    EXPECT_THAT(Refused({"--prefix-caching", value}),
                AllOf(HasSubstr("--prefix-caching"), HasSubstr("on or off")));
  }
}

TEST(Options, EvictionIsOneOfThePolicies) {
  EXPECT_EQ(Accepted({}).eviction, radix::Eviction::kLru);
  for (const radix::Eviction eviction : radix::kEvictions) {
    const std::string name(Name(eviction));
    EXPECT_EQ(Accepted({"--eviction", name.c_str()}).eviction, eviction);
  }
  EXPECT_THAT(Refused({"--eviction", "clock"}), AllOf(HasSubstr("--eviction"), HasSubstr("reuse")));
}

TEST(Options, FairnessIsSetByPassesAndAgeing) {
  const ServeOptions options = Accepted({"--max-passes", "0", "--priority-ageing", "250ms"});
  EXPECT_EQ(options.max_passes, 0);
  EXPECT_EQ(options.priority_ageing, std::chrono::milliseconds(250));
}

TEST(Options, PagesHaveOneOfFiveFormats) {
  using kernels::KvFormat;
  EXPECT_EQ(Accepted({}).kv_format, KvFormat::kF16);
  EXPECT_EQ(Accepted({"--kv-dtype", "f16"}).kv_format, KvFormat::kF16);
  EXPECT_EQ(Accepted({"--kv-dtype", "bf16"}).kv_format, KvFormat::kBf16);
  EXPECT_EQ(Accepted({"--kv-dtype", "fp8"}).kv_format, KvFormat::kFp8);
  EXPECT_EQ(Accepted({"--kv-dtype", "int8"}).kv_format, KvFormat::kInt8);
  EXPECT_EQ(Accepted({"--kv-dtype", "int4"}).kv_format, KvFormat::kInt4);
  for (const char* wrong : {"fp9", "F16", "int 8", ""})
    EXPECT_THAT(Refused({"--kv-dtype", wrong}),
                AllOf(HasSubstr("--kv-dtype"), HasSubstr("f16 or bf16 or fp8 or int8 or int4")));
}

TEST(Options, WhatIsNotThereYetIsRefusedByName) {
  EXPECT_THAT(Refused({"--kv-dtype", "f32"}), HasSubstr("'f32' is not supported yet"));
  EXPECT_THAT(Refused({"--backend", "abacus"}),
              AllOf(HasSubstr("'abacus' is not known"), HasSubstr("(see banyan serve --help)")));
  EXPECT_THAT(Refused({"--log-format", "xml"}), HasSubstr("text or json"));
  EXPECT_THAT(Refused({"--api-keys", "file"}), HasSubstr("--api-keys"));
  EXPECT_EQ(std::get<Exit>(Parse({"frobnicate"})).text,
            "banyan: 'frobnicate' is no command (see banyan --help)");
}

TEST(Options, TheBackendIsTheCpuOrADevice) {
  EXPECT_EQ(Accepted({}).backend, model::Backend::kCpu);
  EXPECT_EQ(Accepted({"--backend", "cpu"}).kv_memory, std::int64_t{1} << 30);
  const auto accepted = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"serve", "--model", "some.gguf", "--backend", "cuda"});
    return std::get<ServeOptions>(Parse(std::move(arguments)));
  };
  const ServeOptions device = accepted({});
  EXPECT_EQ(device.backend, model::Backend::kCuda);
  EXPECT_EQ(device.device, 0);
  EXPECT_EQ(device.kv_memory, 0) << "what it has free";
  EXPECT_FALSE(device.deterministic);
  const ServeOptions second =
      accepted({"--device", "1", "--deterministic", "on", "--kv-memory", "2GiB"});
  EXPECT_EQ(second.device, 1);
  EXPECT_EQ(second.kv_memory, std::int64_t{2} << 30);
  EXPECT_TRUE(second.deterministic);
  EXPECT_THAT(Refused({"--backend", "cuda"}), HasSubstr("a model without weights"));
  EXPECT_THAT(Refused({"--device", "-1"}), HasSubstr("--device"));
  EXPECT_THAT(Refused({"--device", "1024"}), HasSubstr("--device"));
  EXPECT_THAT(Refused({"--deterministic", "yes"}), HasSubstr("--deterministic"));
}

TEST(Options, APolicyOfWhatIsKept) {
  using scheduler::KvPolicy;
  EXPECT_EQ(Accepted({}).kv_policy, std::nullopt);
  EXPECT_EQ(Accepted({"--kv-policy", "exact"}).kv_policy, std::nullopt);
  EXPECT_EQ(Accepted({"--kv-policy", "streaming"}).kv_policy,
            (KvPolicy{.sinks = 4, .window = 1024}));
  EXPECT_EQ(Accepted({"--kv-policy", "streaming:window=512"}).kv_policy,
            (KvPolicy{.sinks = 4, .window = 512}));
  EXPECT_EQ(Accepted({"--kv-policy", "streaming:sinks=0,window=64"}).kv_policy,
            (KvPolicy{.sinks = 0, .window = 64}));
  EXPECT_THAT(
      Refused({"--kv-policy", "streeming"}),
      AllOf(
          HasSubstr("--kv-policy"),
          HasSubstr("'streeming' is not known (use exact, streaming, h2o, scissorhands, snapkv or "
                    "quest)")));
  EXPECT_THAT(Refused({"--kv-policy", "streaming:budget=5"}), HasSubstr("'budget' is no member"));
  EXPECT_THAT(Refused({"--kv-policy", "streaming:"}), HasSubstr("'' is no member"));
  KvPolicy snapkv{.type = KvPolicy::Type::kSnapKv, .budget = 256};
  snapkv.pooled = 5;
  EXPECT_EQ(Accepted({"--kv-policy", "snapkv:budget=256,pooled=5"}).kv_policy, snapkv);
  EXPECT_EQ(Accepted({"--kv-policy", "h2o"}).kv_policy, (KvPolicy{.type = KvPolicy::Type::kH2o}));
  KvPolicy quest{.type = KvPolicy::Type::kQuest, .budget = 256};
  EXPECT_EQ(quest.dense_layers, 2);
  quest.dense_layers = 0;
  EXPECT_EQ(Accepted({"--kv-policy", "quest:budget=256,dense_layers=0"}).kv_policy, quest);
  EXPECT_THAT(Refused({"--kv-policy", "quest:recent=5"}),
              HasSubstr("'recent' is no member of a quest policy (use budget or dense_layers)"));
  EXPECT_THAT(Refused({"--kv-policy", "quest:dense_layers=1025"}),
              HasSubstr("dense_layers must be between 0 and 1024"));
  EXPECT_THAT(Refused({"--kv-policy", "h2o:pooled=5"}),
              HasSubstr("'pooled' is no member of a h2o policy (use budget, recent or observe)"));
  EXPECT_THAT(Refused({"--kv-policy", "scissorhands:history=65"}),
              HasSubstr("history must be between 1 and 64"));
  for (const char* wrong : {"streaming:window", "streaming:window=", "streaming:window=many",
                            "streaming:window=-1", "streaming:window=99999999999"}) {
    EXPECT_THAT(Refused({"--kv-policy", wrong}), HasSubstr("window"));
  }
}

TEST(Options, TheEnvironmentAndAFileSetThemToo) {
  setenv("BANYAN_PORT", "81", 1);
  setenv("BANYAN_MAX_QUEUE", "7", 1);
  EXPECT_EQ(Accepted({}).port, 81);
  EXPECT_EQ(Accepted({"--port", "82"}).port, 82) << "the command line wins";

  const std::string path = ::testing::TempDir() + "/banyan_options_test.toml";
  std::ofstream(path) << "port = 83\nkv-memory = \"3MiB\"\n";
  const ServeOptions options = Accepted({"--config", path.c_str()});
  EXPECT_EQ(options.port, 83) << "the file wins over the environment";
  EXPECT_EQ(options.kv_memory, 3 << 20);
  EXPECT_EQ(options.max_queue, 7);
  EXPECT_EQ(Accepted({"--config", path.c_str(), "--port", "84"}).port, 84);

  setenv("BANYAN_CONFIG", path.c_str(), 1);
  EXPECT_EQ(Accepted({}).port, 83) << "the file may be named by the environment";
  EXPECT_EQ(Accepted({"--port", "84"}).port, 84);
  setenv("BANYAN_CONFIG", "/nowhere.toml", 1);
  EXPECT_THAT(Refused({}), HasSubstr("/nowhere.toml"));
  EXPECT_EQ(Accepted({"--config", path.c_str()}).port, 83) << "the command line wins";
  unsetenv("BANYAN_CONFIG");

  setenv("BANYAN_MAX_QUEUE", "0", 1);
  EXPECT_NE(Refused({}), "accepted");
  unsetenv("BANYAN_MAX_QUEUE");
  unsetenv("BANYAN_PORT");

  std::ofstream(path) << "prot = 83\n";
  EXPECT_THAT(Refused({"--config", path.c_str()}), HasSubstr("prot"));
  std::ofstream(path) << "port = 70000\n";
  EXPECT_THAT(Refused({"--config", path.c_str()}), HasSubstr("70000"));
  std::remove(path.c_str());
  EXPECT_THAT(Refused({"--config", path.c_str()}), HasSubstr(path));
}

TEST(Options, AChatTemplateIsAFileOfAModelWithWeights) {
  auto parsed = Parse({"serve", "--model", "m.gguf", "--chat-template", "t.jinja"});
  EXPECT_EQ(std::get<ServeOptions>(parsed).chat_template, "t.jinja");
  setenv("BANYAN_CHAT_TEMPLATE", "u.jinja", 1);
  parsed = Parse({"serve", "--model", "m.gguf"});
  EXPECT_EQ(std::get<ServeOptions>(parsed).chat_template, "u.jinja");
  unsetenv("BANYAN_CHAT_TEMPLATE");
  EXPECT_THAT(Refused({"--chat-template", "t.jinja"}), HasSubstr("--chat-template"));
}

TEST(ModelOptions, InfoTakesAFile) {
  auto parsed = Parse({"model", "info", "m.gguf"});
  EXPECT_EQ(std::get<ModelInfoOptions>(parsed).file, "m.gguf");
  EXPECT_EQ(std::get<ModelInfoOptions>(parsed).format, ReportFormat::kText);
  parsed = Parse({"model", "info", "--json", "m.gguf"});
  EXPECT_EQ(std::get<ModelInfoOptions>(parsed).format, ReportFormat::kJson);
}

TEST(ModelOptions, GetPutsAModelIntoTheCacheOrWhereItIsTold) {
  const auto target = [](std::vector<const char*> more) {
    more.insert(more.begin(), {"model", "get", "smollm2"});
    auto parsed = Parse(std::move(more));
    EXPECT_EQ(std::get<ModelGetOptions>(parsed).model, FindKnownModel("smollm2"));
    return std::get<ModelGetOptions>(parsed).target;
  };
  const std::string file = "SmolLM2-135M-Instruct.Q4_1.gguf";
  unsetenv("BANYAN_CACHE");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/x", 1);
  EXPECT_EQ(target({}), "/home/x/.cache/banyan/models/" + file);
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(target({}), "/xdg/banyan/models/" + file);
  setenv("BANYAN_CACHE", "/own", 1);
  EXPECT_EQ(target({}), "/own/models/" + file);
  EXPECT_EQ(target({"--to", "some.gguf"}), "some.gguf");
  EXPECT_EQ(target({"--to", "folder/"}), "folder/" + file);
  EXPECT_EQ(target({"--to", "/tmp"}), "/tmp/" + file) << "a folder that is there";
  unsetenv("BANYAN_CACHE");
  unsetenv("XDG_CACHE_HOME");
}

// Regression: the cache was looked for, and made, in the working directory.
TEST(ModelOptions, WithoutAHomeThePlaceMustBeNamed) {
  unsetenv("HOME");
  const auto parsed = Parse({"model", "get", "smollm2"});
  ASSERT_TRUE(std::holds_alternative<Exit>(parsed));
  EXPECT_EQ(std::get<Exit>(parsed).code, 1);
  EXPECT_THAT(std::get<Exit>(parsed).text, AllOf(HasSubstr("--to"), HasSubstr("HOME")));
  EXPECT_EQ(std::get<ModelGetOptions>(Parse({"model", "get", "smollm2", "--to", "m.gguf"})).target,
            "m.gguf");
  setenv("HOME", "/home/x", 1);
}

TEST(ModelOptions, WhatIsMissingOrUnknownIsNamed) {
  const auto refused = [](std::vector<const char*> arguments) {
    return RefusedLine(Parse(std::move(arguments)));
  };
  EXPECT_THAT(refused({"model"}), HasSubstr("banyan model --help"));
  EXPECT_THAT(refused({"model", "sell"}), HasSubstr("sell"));
  EXPECT_THAT(refused({"model", "info"}), HasSubstr("FILE"));
  EXPECT_THAT(refused({"model", "info", "a", "b"}), HasSubstr("b"));
  EXPECT_THAT(refused({"model", "get"}), HasSubstr("NAME"));
  EXPECT_THAT(refused({"model", "get", "gpt"}), AllOf(HasSubstr("'gpt'"), HasSubstr("smollm2")));
}

TEST(ModelOptions, HelpNamesTheKnownModelsAndTheirTerms) {
  const Exit exit = std::get<Exit>(Parse({"model", "get", "--help"}));
  EXPECT_EQ(exit.code, 0);
  EXPECT_THAT(exit.text, AllOf(HasSubstr("smollm2"), HasSubstr("Apache-2.0"),
                               HasSubstr("gemma3-270m"), HasSubstr("Gemma Terms of Use")));
  EXPECT_THAT(std::get<Exit>(Parse({"model", "--help"})).text,
              AllOf(HasSubstr("info"), HasSubstr("get")));
}

TEST(Options, HelpNamesEveryOptionWithItsDefaultAndVariable) {
  const Exit exit = std::get<Exit>(Parse({"serve", "--help"}));
  EXPECT_EQ(exit.code, 0);
  for (const char* option : {"--model",
                             "--host",
                             "--port",
                             "--kv-memory",
                             "--page-size",
                             "--kv-dtype",
                             "--backend",
                             "--device",
                             "--deterministic",
                             "--cpu-variant",
                             "--threads",
                             "--max-batch-tokens",
                             "--max-running",
                             "--max-queue",
                             "--served-model-name",
                             "--prefix-caching",
                             "--eviction",
                             "--bind-threads",
                             "--max-passes",
                             "--mixed-prefill-tokens",
                             "--priority-ageing",
                             "--drain-timeout",
                             "--log-format",
                             "--chat-template",
                             "--config",
                             "BANYAN_KV_MEMORY",
                             "1GiB",
                             "SIGTERM"}) {
    EXPECT_THAT(exit.text, HasSubstr(option));
  }
}

TEST(Options, VersionIsPrinted) {
  const Exit exit = std::get<Exit>(Parse({"--version"}));
  EXPECT_EQ(exit.code, 0);
  EXPECT_THAT(exit.text, ::testing::MatchesRegex("banyan [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Quantity, BytesHaveBinaryUnits) {
  EXPECT_EQ(*ParseBytes("17"), 17);
  EXPECT_EQ(*ParseBytes("17B"), 17);
  EXPECT_EQ(*ParseBytes("3KiB"), 3072);
  EXPECT_EQ(*ParseBytes("2GiB"), std::int64_t{2} << 30);
  EXPECT_EQ(*ParseBytes("8388607TiB"), std::int64_t{8388607} << 40);
  for (const char* bad : {"", "GiB", "1 GiB", "1GB", "1.5GiB", "0x10", "+1", "1gib"}) {
    EXPECT_EQ(ParseBytes(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(ParseBytes("8388608TiB").status().code(), absl::StatusCode::kOutOfRange);
}

TEST(Quantity, DurationsAreSecondsUnlessTheySayOtherwise) {
  EXPECT_EQ(ParseDuration("2")->count(), 2000);
  EXPECT_EQ(ParseDuration("250ms")->count(), 250);
  EXPECT_EQ(ParseDuration("3m")->count(), 180'000);
  EXPECT_EQ(ParseDuration("1h")->count(), 3'600'000);
  EXPECT_FALSE(ParseDuration("1d").ok());
}

TEST(Quantity, IsReadable) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(134515008), "134,515,008");
  EXPECT_EQ(RoundedBytes(1023), "1,023 bytes");
  EXPECT_EQ(RoundedBytes(1024), "1.0 KiB");
  EXPECT_EQ(RoundedBytes(5'000'000'000), "4.7 GiB");
  EXPECT_EQ(RoundedBytes(std::int64_t{5000} << 40), "5000.0 TiB");
}

TEST(Quantity, BytesAreWrittenAsTheyAreRead) {
  for (const char* text : {"1B", "1023B", "1KiB", "1536KiB", "1GiB", "16TiB"}) {
    EXPECT_EQ(FormatBytes(*ParseBytes(text)), text);
  }
}

}  // namespace
}  // namespace banyan::server
