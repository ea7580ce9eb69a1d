// SPDX-License-Identifier: Apache-2.0
// The tables of the store; docs/explanation/store.md explains them to users. The schema's version is PRAGMA user_version.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

constexpr int64_t kApplicationId = 0x4174616c;  // "Atal": which program's file this is

constexpr int64_t kSchemaVersion = 10;
// The oldest one that is read, and brought up to date by the first writer. Since then chunks may have format 2.
constexpr int64_t kOldestSchemaVersion = 6;

// SQL: for all rows of `windows`, which are in two indexes of their times.
std::string select_windows(const std::string &columns, const std::string &condition);

// Throws unless the file is a store of this version. Changes nothing. An empty database passes.
void check_is_store(Database &database);

// Creates the tables in an empty database. Sets up journal and vacuum.
void prepare_for_writing(Database &database, bool full_sync);

// Tables that older programs of the same schema did not make.
void add_missing_tables(Database &database);

// SQL: when the families of the hosts were collected, as in the table `collected`, of a begin until ?1: newest_sample.
std::string select_collected(Database &database);
// The time of the newest sample or stack; 0: none.
int64_t newest_sample(Database &database);

// A temporary table `old_entities`, as `entities` was until schema 9; and its rows into the tables of today.
void make_old_entities(Database &database);
void take_old_entities(Database &database);

}  // namespace atalaya::store
