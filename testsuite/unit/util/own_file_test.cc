// SPDX-License-Identifier: GPL-2.0-or-later
// All the ways in which a ledger can be in the wrong hands; each is one line that names the path.
#include "core/util/own_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace market {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr uid_t kSlurm = 990, kStranger = 1990;

class OwnFile : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    std::string name = (std::filesystem::temp_directory_path() / "own-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    top = name;
    chmod(top.c_str(), 0755);
    std::filesystem::create_directory(folder());
    std::ofstream(file()) << "x";
    set(folder(), kSlurm, 0700);
    set(file(), kSlurm, 0600);
  }
  void TearDown() override {
    std::error_code ignored;
    if (!top.empty()) std::filesystem::remove_all(top, ignored);
  }
  static void set(const std::string& path, uid_t owner, mode_t mode) {
    ASSERT_EQ(chown(path.c_str(), owner, 0), 0);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  std::string folder() const { return top + "/ledger"; }
  std::string file() const { return folder() + "/market.db"; }
  std::string fault(uid_t owner = kSlurm) {
    const auto found = fault_of_own_file(file(), owner);
    if (!found) return "none";
    EXPECT_THAT(*found, Not(HasSubstr("\n")));
    return *found;
  }
  std::string top;
};

TEST_F(OwnFile, OfSlurmUserOrRootIsRight) {
  EXPECT_EQ(fault(), "none");
  set(file(), 0, 0600);
  set(folder(), 0, 0755);
  EXPECT_EQ(fault(), "none");
  EXPECT_EQ(fault(0), "none");
}

TEST_F(OwnFile, OfSomebodyElseIsNot) {
  set(file(), kStranger, 0600);
  EXPECT_THAT(fault(), StartsWith(file() + ": belongs to uid 1990"));
  set(file(), kSlurm, 0600);
  EXPECT_THAT(fault(0), StartsWith(file() + ": belongs to uid 990"));
  set(folder(), kStranger, 0700);
  EXPECT_THAT(fault(), StartsWith(folder() + ": belongs to uid 1990"));
  set(folder(), kSlurm, 0700);
  set(top, kStranger, 0755);
  EXPECT_THAT(fault(), StartsWith(top + ": belongs to uid 1990"));
}

TEST_F(OwnFile, EveryModeThatLetsOthersInIsNot) {
  for (const mode_t mode : {0640u, 0620u, 0604u, 0602u, 0666u, 0610u}) {
    set(file(), kSlurm, mode);
    EXPECT_THAT(fault(), StartsWith(file() + ": mode")) << mode;
    EXPECT_THAT(fault(), HasSubstr("chmod go-rwx"));
  }
  set(file(), kSlurm, 0600);
  for (const mode_t mode : {0770u, 0702u, 01777u}) {
    set(folder(), kSlurm, mode);
    EXPECT_THAT(fault(), StartsWith(folder() + ": mode")) << mode;
  }
  set(folder(), kSlurm, 0755);
  EXPECT_EQ(fault(), "none");
  for (const mode_t mode : {0775u, 0757u}) {
    set(top, 0, mode);
    EXPECT_THAT(fault(), StartsWith(top + ": mode")) << mode;
  }
  set(top, 0, 01777);  // as /tmp: nobody can rename another's folder there
  EXPECT_EQ(fault(), "none");
}

TEST_F(OwnFile, ALinkIsNot) {
  std::filesystem::rename(file(), folder() + "/real.db");
  std::filesystem::create_symlink(folder() + "/real.db", file());
  EXPECT_THAT(fault(), StartsWith(file() + ": a symbolic link"));
  std::filesystem::rename(folder() + "/real.db", folder() + "/other.db");
  EXPECT_THAT(fault(), StartsWith(file() + ": a symbolic link")) << "to a file that is yet to be";
  std::filesystem::remove(file());
  std::filesystem::rename(folder() + "/other.db", file());
  std::filesystem::rename(folder(), top + "/real");
  std::filesystem::create_symlink(top + "/real", folder());
  EXPECT_THAT(fault(), StartsWith(folder() + ": a symbolic link"));
}

TEST_F(OwnFile, WhatIsNoFileIsNot) {
  std::filesystem::remove(file());
  EXPECT_EQ(fault(), "none") << "it may be made there";
  set(folder(), kSlurm, 0770);
  EXPECT_THAT(fault(), StartsWith(folder() + ": mode"));
  set(folder(), kSlurm, 0700);
  std::filesystem::create_directory(file());
  EXPECT_THAT(fault(), HasSubstr("not a file"));
}

}  // namespace
}  // namespace market
