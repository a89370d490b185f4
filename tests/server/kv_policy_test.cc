// Policies as --kv-policy and --configs write them.
#include "server/kv_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace banyan::server {
namespace {

using scheduler::KvPolicy;
using ::testing::HasSubstr;

std::string Refused(std::string_view text) {
  const auto policy = ParseKvPolicy(text);
  return policy.ok() ? "accepted" : std::string(policy.status().message());
}

TEST(KvPolicyText, ExactHasNoMembers) {
  ASSERT_TRUE(ParseKvPolicy("exact").ok());
  EXPECT_EQ(*ParseKvPolicy("exact"), std::nullopt);
  EXPECT_EQ(Refused("exact:window=5"), "an exact policy has no members, and 'window=5' is given");
  EXPECT_THAT(Refused("exact:"), HasSubstr("an exact policy has no members"));
  EXPECT_THAT(Refused("exactly"), HasSubstr("'exactly' is not known"));
}

TEST(KvPolicyText, AMemberIsThereOnce) {
  EXPECT_EQ(Refused("streaming:sinks=4,window=64,sinks=8"), "sinks is there twice");
  EXPECT_EQ(Refused("h2o:budget=64,budget=64"), "budget is there twice");
  EXPECT_EQ(Refused("h2o:budget=64,recent=8,observe=8"), "accepted");
}

// At its bounds, and one beyond.
TEST(KvPolicyText, EveryMemberHasItsBounds) {
  for (int i = 0; i < scheduler::kKvPolicyTypes; ++i) {
    const auto type = static_cast<KvPolicy::Type>(i);
    for (const KvPolicyMember& member : MembersOf(type)) {
      const auto with = [&](std::int64_t value) {
        return std::string(Name(type)) + ":" + std::string(member.name) + "=" +
               std::to_string(value);
      };
      for (const std::int64_t value : {member.least, member.most}) {
        const auto policy = ParseKvPolicy(with(value));
        ASSERT_TRUE(policy.ok()) << with(value) << ": " << policy.status();
        EXPECT_EQ(member.get(**policy), value) << with(value);
      }
      for (const std::int64_t value : {member.least - 1, member.most + 1}) {
        EXPECT_THAT(Refused(with(value)), HasSubstr(std::string(member.name) + " must be between"))
            << with(value);
      }
    }
  }
}

}  // namespace
}  // namespace banyan::server
