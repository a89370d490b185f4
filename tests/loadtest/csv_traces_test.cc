// Azure's and BurstGPT's traces: columns, dates, lengths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/loadtest/trace_text.h"

namespace banyan::loadtest {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kAzureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens\n";

TEST(Azure, ARowIsARequestThatSharesNothing) {
  const auto workload = ReadText(absl::StrCat(kAzureHeader,
                                              "2023-11-16 18:15:46.6805900,374,44\n"
                                              "2023-11-16 18:15:50.9951690,374,109\n"));
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->source, "azure trace");
  EXPECT_EQ(workload->block_tokens, 0);
  ASSERT_THAT(workload->conversations, SizeIs(2));
  const Conversation& second = workload->conversations[1];
  EXPECT_EQ(second.id, "3") << "its line";
  EXPECT_EQ(second.turns[0].at, Tick(4'314'579'000));
  EXPECT_EQ(second.turns[0].output_tokens, 109);
  EXPECT_EQ(second.turns[0].messages[0].segments[0].tokens, 374);
  EXPECT_NE(second.turns[0].messages[0].segments[0].key,
            workload->conversations[0].turns[0].messages[0].segments[0].key);
}

// How long after midnight of 2024-02-28 in Greenwich `date` is; nullopt when it cannot be read.
std::optional<Tick> SinceMidnight(std::string_view date) {
  const auto workload = ReadText(
      absl::StrCat(kAzureHeader, "2024-02-28 00:00:00,1,1\n", std::string(date), ",1,1\n"));
  if (!workload.ok()) return std::nullopt;
  return workload->conversations[1].turns[0].at;
}

TEST(Azure, DatesAreReadWithFractionsAndZones) {
  using std::chrono::hours;
  EXPECT_EQ(SinceMidnight("2024-02-28 00:00:00.001163+00:00"), Tick(1'163'000));
  EXPECT_EQ(SinceMidnight("2024-02-28 00:00:00.123456789"), Tick(123'456'789));
  EXPECT_EQ(SinceMidnight("2024-02-29T00:00:00Z"), hours(24)) << "a leap year";
  EXPECT_EQ(SinceMidnight("2024-03-01 00:00:00"), hours(48));
  EXPECT_EQ(SinceMidnight("2024-02-28 03:00:00+02:00"), hours(1));
  EXPECT_EQ(SinceMidnight("2024-02-28 03:00:00-0130"), Tick(hours(4)) + std::chrono::minutes(30));
}

TEST(Azure, WhatIsNoDateIsAFault) {
  for (const char* const date :
       {"", "2024", "2023-02-29 00:00:00", "2024-13-01 00:00:00", "2024-02-28 24:00:00",
        "2024-02-28 00:60:00", "2024-02-28 00:00:61", "2024-02-28 00:00:00.",
        "2024-02-28 00:00:00.1234567891", "2024-02-28 00:00:00+25:00", "2024-02-28 00:00:00 ago",
        "2024-02-28 00:00", "1970-01-01 00:00:00", "2201-01-01 00:00:00", "-024-02-28 00:00:00",
        "12.5"}) {
    EXPECT_EQ(SinceMidnight(date), std::nullopt) << date;
  }
}

TEST(Azure, ColumnsAreFoundByName) {
  const auto workload = ReadText(
      "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\r\n"
      "2024-10-15 00:00:00.0000000,2,900,120\r\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->conversations[0].turns[0].messages[0].segments[0].tokens, 900);
  EXPECT_EQ(workload->conversations[0].turns[0].output_tokens, 120);
  EXPECT_THAT(FaultOf("TIMESTAMP,ContextTokens\n"), HasSubstr("no column GeneratedTokens"));
  EXPECT_THAT(FaultOf("TIMESTAMP,ContextTokens,GeneratedTokens,ContextTokens\n"),
              HasSubstr("the column ContextTokens is there twice"));
}

TEST(Azure, ARowOfAnotherShapeIsAFault) {
  const auto fault = [](std::string_view row) {
    return FaultOf(absl::StrCat(kAzureHeader, std::string(row), "\n"));
  };
  EXPECT_EQ(fault("2024-02-28 00:00:00,1,1"), "");
  EXPECT_THAT(fault("2024-02-28 00:00:00,1"),
              HasSubstr("trace:2: 2 fields, where the header has 3"));
  EXPECT_THAT(fault("2024-02-28 00:00:00,1,1,1"), HasSubstr("4 fields"));
  EXPECT_THAT(fault("2024-02-28 00:00:00,0,1"), HasSubstr("the prompt's length is '0'"));
  EXPECT_THAT(fault("2024-02-28 00:00:00,-5,1"), HasSubstr("the prompt's length is '-5'"));
  EXPECT_THAT(fault("2024-02-28 00:00:00,2147483648,1"), HasSubstr("the prompt's length"));
  EXPECT_THAT(fault("2024-02-28 00:00:00,1,nan"), HasSubstr("the answer's length is 'nan'"));
  EXPECT_THAT(fault("2024-02-28 00:00:00,1,1.0"), HasSubstr("the answer's length"));
  EXPECT_THAT(fault("2024-02-28 00:00:00,1,"), HasSubstr("the answer's length is ''"));
  EXPECT_THAT(fault(std::string(100, ',')), HasSubstr("65 fields")) << "counted no further";
}

TEST(Azure, AHeaderAloneHoldsNoRequest) {
  EXPECT_THAT(FaultOf(kAzureHeader), HasSubstr("there is no request in it"));
}

TEST(BurstGpt, TimesCountFromTheFirstRequest) {
  const auto workload = ReadText(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45.5,GPT-4,1087,0,1087,API log\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->source, "burstgpt trace");
  EXPECT_EQ(workload->conversations[0].turns[0].at, Tick(0));
  EXPECT_EQ(workload->conversations[1].turns[0].at, Milliseconds(40500));
  EXPECT_EQ(workload->conversations[1].turns[0].messages[0].segments[0].tokens, 1087);
  EXPECT_EQ(workload->conversations[1].turns[0].output_tokens, 1) << "it failed when recorded";
}

TEST(BurstGpt, RequestsOfASessionAreNumbered) {
  const auto workload = ReadText(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
      "Log Type\n"
      "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log\n"
      "19440111.0,,3,GPT-4,5,5,10,API log\n"
      "19440161.0,1722ac82,2,ChatGPT,36,29,65,Conversation log\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->conversations[0].id, "1722ac82");
  EXPECT_EQ(workload->conversations[1].id, "3");
  EXPECT_EQ(workload->conversations[2].id, "1722ac82");
  EXPECT_EQ(workload->conversations[2].turns[0].number, 2);
  EXPECT_EQ(workload->conversations[2].turns[0].at, std::chrono::seconds(51));
}

TEST(BurstGpt, ATimestampThatIsNoNumberIsAFault) {
  for (const char* const time : {"nan", "-1", "inf", "", "x", "1e300"}) {
    EXPECT_THAT(FaultOf(absl::StrCat(
                    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n", time,
                    ",ChatGPT,1,1,2,API log\n")),
                HasSubstr("the timestamp is"))
        << time;
  }
}

}  // namespace
}  // namespace banyan::loadtest
