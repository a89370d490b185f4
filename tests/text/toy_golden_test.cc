// Families of pre-tokenizers and kinds of vocabularies against goldens of the reference library on
// made-up vocabularies (tests/text/oracle/make_toy_goldens.py names how they are made).
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "boost/json.hpp"
#include "gtest/gtest.h"
#include "tests/text/toy_metadata.h"
#include "text/codec.h"
#include "text/pre_tokenizer.h"

namespace banyan::text {
namespace {

namespace json = boost::json;

json::value Goldens() {
  const char* data = std::getenv("BANYAN_TESTDATA");
  EXPECT_NE(data, nullptr);
  std::ifstream stream(std::string(data) + "/text/toy_goldens.json");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  return json::parse(text);
}

TEST(ToyGoldens, EveryFamilyCutsWhereTheReferenceDoes) {
  const json::value goldens = Goldens();
  const auto texts = json::value_to<std::vector<std::string>>(goldens.at("texts"));
  std::size_t compared = 0;
  for (const auto& [name, lists] : goldens.at("families").as_object()) {
    const auto pre_tokenizer = PreTokenizer::ForName(std::string_view(name));
    ASSERT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.status();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::vector<std::size_t> lengths;
      (*pre_tokenizer)->ForEachRun(texts[i], [&](std::string_view run) {
        lengths.push_back(run.size());
      });
      EXPECT_EQ(lengths, json::value_to<std::vector<std::size_t>>(lists.at(i)))
          << name << ": " << json::serialize(json::value(texts[i]));
      ++compared;
    }
  }
  std::cout << "compared " << compared << " texts\n";
  EXPECT_GE(compared, 800u);
}

std::unique_ptr<const Codec> MakeCodec(const json::value& toy) {
  ToyMetadata metadata;
  metadata.values.clear();
  const auto set = [&](const char* key, ToyMetadata::Value value) {
    metadata.values[std::string("tokenizer.ggml.") + key] = std::move(value);
  };
  set("model", json::value_to<std::string>(toy.at("model")));
  set("tokens", json::value_to<std::vector<std::string>>(toy.at("tokens")));
  set("token_type", json::value_to<std::vector<std::int64_t>>(toy.at("types")));
  set("scores", json::value_to<std::vector<double>>(toy.at("scores")));
  if (!toy.at("merges").is_null()) {
    set("merges", json::value_to<std::vector<std::string>>(toy.at("merges")));
  }
  set("add_space_prefix", toy.at("add_space_prefix").as_bool());
  set("unknown_token_id", std::int64_t{0});
  set("bos_token_id", std::int64_t{1});
  set("eos_token_id", std::int64_t{2});
  auto codec = Codec::FromMetadata(metadata);
  EXPECT_TRUE(codec.ok()) << codec.status();
  return codec.ok() ? *std::move(codec) : nullptr;
}

TEST(ToyGoldens, VocabulariesOfCharactersEncodeAndDecodeAsTheReferenceDoes) {
  const json::value goldens = Goldens();
  std::size_t compared = 0;
  for (const json::value& toy : goldens.at("vocabularies").as_array()) {
    const auto codec = MakeCodec(toy);
    ASSERT_NE(codec, nullptr);
    for (const auto& [list, control] : {std::pair{"plain", ControlTokens::kPlainText},
                                        std::pair{"recognized", ControlTokens::kRecognize}}) {
      for (const json::value& entry : toy.at(list).as_array()) {
        const auto ids = codec->Encode(json::value_to<std::string>(entry.at("text")), control);
        ASSERT_TRUE(ids.ok()) << ids.status();
        EXPECT_EQ(*ids, json::value_to<std::vector<TokenId>>(entry.at("ids")))
            << toy.at("name") << " " << list << ": " << json::serialize(entry.at("text"));
        ++compared;
      }
    }
    for (const json::value& entry : toy.at("decoded").as_array()) {
      EXPECT_EQ(codec->Decode(json::value_to<std::vector<TokenId>>(entry.at("ids"))),
                json::value_to<std::string>(entry.at("text")))
          << toy.at("name");
    }
  }
  std::cout << "compared " << compared << " texts\n";
  EXPECT_GE(compared, 800u);
}

}  // namespace
}  // namespace banyan::text
