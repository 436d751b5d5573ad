#include "store/postgres/words.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>

namespace semel::store::postgres {
namespace {

using Words = std::vector<std::string>;

TEST(Words, AreHeardOnceInTheirOrderWhereverTheyComeFrom) {
  WordReceiver here, elsewhere;
  ASSERT_FALSE(here.address().empty());
  EXPECT_NE(here.address(), elsewhere.address());
  EXPECT_EQ(here.read(), Words{});
  WordSender one, another;
  ASSERT_TRUE(one.reaches(here.address()));
  one.say(here.address(), "a");
  one.say(here.address(), "b");
  EXPECT_EQ(here.read(), (Words{"a", "b"}));
  ASSERT_TRUE(another.reaches(here.address()));
  another.say(here.address(), std::string(8000, 'x'));
  one.say(here.address(), "c");
  EXPECT_EQ(here.read(), (Words{"c", std::string(8000, 'x')}));
  EXPECT_EQ(here.read(), Words{});
  EXPECT_EQ(elsewhere.read(), Words{});
}

TEST(Words, ThereIsADescriptorForTheDoorAndForEveryoneWhoSpoke) {
  WordReceiver here;
  const auto descriptors = [&] {
    std::vector<int> out;
    here.add_descriptors(out);
    return out.size();
  };
  EXPECT_EQ(descriptors(), 1u);
  {
    WordSender one;
    ASSERT_TRUE(one.reaches(here.address()));
    here.read();
    EXPECT_EQ(descriptors(), 2u);
  }
  here.read();
  EXPECT_EQ(descriptors(), 1u) << "who went is forgotten";
}

// X12
TEST(Words, WithoutDescriptorsTheDoorIsShutAndWhoSpokeIsStillHeard) {
  WordReceiver here;
  WordSender one, late;
  ASSERT_TRUE(one.reaches(here.address()));
  here.read();
  ASSERT_TRUE(late.reaches(here.address()));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 0;
  ::setrlimit(RLIMIT_NOFILE, &none);
  one.say(here.address(), "still heard");
  EXPECT_EQ(here.read(), Words{"still heard"});
  ::setrlimit(RLIMIT_NOFILE, &before);
  std::vector<int> descriptors;
  here.add_descriptors(descriptors);
  EXPECT_EQ(descriptors.size(), 1u) << "of the one who spoke; nobody knocks in vain for ever";
  EXPECT_FALSE(WordSender().reaches(here.address()));
}

TEST(Words, NobodyIsReachedWhereNobodyIs) {
  WordSender one;
  EXPECT_FALSE(one.reaches(""));
  EXPECT_FALSE(one.reaches("semel-of-another-machine"));
  one.say("semel-of-another-machine", "lost");
}

// D22
TEST(Words, OneWhoDiedIsNotReachedAfterTheFirstWordThatGotLost) {
  auto here = std::make_unique<WordReceiver>();
  const std::string address = here->address();
  WordSender one;
  ASSERT_TRUE(one.reaches(address));
  one.say(address, "heard by nobody");
  here.reset();
  EXPECT_TRUE(one.reaches(address)) << "nothing told it";
  one.say(address, "lost");
  EXPECT_FALSE(one.reaches(address));
}

}  // namespace
}  // namespace semel::store::postgres
