// SPDX-License-Identifier: Apache-2.0
// The tables of the store; docs/explanation/store.md explains them to users. The schema's version is PRAGMA user_version.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/shared/store/sqlite/file/database.h"

namespace atalaya::store {

constexpr int64_t kApplicationId = 0x4174616c;  // "Atal": the id of this program in its files

constexpr int64_t kSchemaVersion = 10;
// The oldest version that is read; the first writer converts it. Since then chunks may have format 2.
constexpr int64_t kOldestSchemaVersion = 6;

// SQL that selects from all rows of `windows`, which are in two indexes of their times.
std::string select_windows(const std::string &columns, const std::string &condition);

// Throws unless the file is a store of this version. Changes nothing. Accepts an empty database.
void check_is_store(Database &database);

// Creates the tables in an empty database. Sets up journal and vacuum.
void prepare_for_writing(Database &database, bool full_sync);

// Adds tables that older programs of the same schema did not create.
void add_missing_tables(Database &database);

// SQL that selects when the families of the hosts were collected, as in the table `collected`, from a start to ?1:
// newest_sample.
std::string select_collected(Database &database);
// Returns the time of the newest sample or stack; 0: none.
int64_t newest_sample(Database &database);

// Creates a temporary table `old_entities` in the form that `entities` had until schema 9. The second function writes its rows
// to the current tables.
void make_old_entities(Database &database);
void take_old_entities(Database &database);

}  // namespace atalaya::store
