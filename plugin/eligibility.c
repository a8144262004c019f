// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/eligibility.h"

#include "plugin/compat/limits_api.h"

enum { MOST_ALTERNATES = 16 };

static bool has_text(const char* text) {
  return text && text[0];
}

static bool enforces_associations(void) {
  return accounting_enforce & ACCOUNTING_ENFORCE_ASSOCS;
}

// Slurm follows the alternates of a partition that takes no jobs.
static const part_record_t* taking_jobs(const part_record_t* part) {
  for (int i = 0; part && i < MOST_ALTERNATES; i++) {
    if ((part->state_up & PARTITION_SUBMIT) || !part->alternate) break;
    part = find_part_record(part->alternate);
  }
  return part;
}

static const part_record_t* unnamed_partition(const job_desc_msg_t* request) {
  const slurmctld_resv_t* resv =
      has_text(request->reservation) ? find_resv_name(request->reservation) : NULL;

  return resv && resv->part_ptr ? resv->part_ptr : default_part_loc;
}

const char* eligibility_partitions(const job_desc_msg_t* request, arena_t* arena) {
  char *names, *name, *rest = NULL, *list = NULL;
  const char* result;

  if (!has_text(request->partition)) {
    const part_record_t* part = taking_jobs(unnamed_partition(request));

    return part ? part->name : NULL;
  }
  names = arena_copy(arena, request->partition);
  for (name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    const part_record_t* part = taking_jobs(find_part_record(name));

    xstrfmtcat(list, "%s%s", list ? "," : "", part ? part->name : name);
  }
  result = arena_copy(arena, list ? list : request->partition);
  xfree(list);
  return result;
}

// AllowGroups is left to Slurm: validate_group() may ask the directory service and writes to the
// partition.
static int check_partition(part_record_t* part, const job_desc_msg_t* request, uint32_t owner,
                           uint32_t asker) {
  if ((part->flags & PART_FLAG_REQ_RESV) && !has_text(request->reservation))
    return ESLURM_ACCESS_DENIED;
  if ((part->flags & PART_FLAG_ROOT_ONLY) && asker != 0 && asker != slurm_conf.slurm_user_id)
    return ESLURM_ACCESS_DENIED;
  if ((part->flags & PART_FLAG_NO_ROOT) && owner == 0) return ESLURM_USER_ID_MISSING;
  if (!validate_alloc_node(part, request->alloc_node)) return ESLURM_ACCESS_DENIED;
  return SLURM_SUCCESS;
}

// The association that Slurm will take. It stays valid while job READ is held: Slurm frees one only
// after it went through the jobs under job WRITE.
static bool find_association(uint32_t user, const char* account, const char* partition,
                             slurmdb_assoc_rec_t** assoc) {
  char* stored = xstrdup(account);  // as Slurm stores names
  slurmdb_assoc_rec_t wanted = {.acct = stored, .partition = (char*)partition, .uid = user};
  int code;

  xstrtolower(stored);
  code = assoc_mgr_fill_in_assoc(acct_db_conn, &wanted, accounting_enforce, assoc, false);
  xfree(stored);
  return code == SLURM_SUCCESS;
}

bool eligibility_account(uint32_t user, const char* account, const char* partition) {
  slurmdb_assoc_rec_t* assoc = NULL;

  return find_association(user, account, partition, &assoc);
}

int eligibility_check(const job_desc_msg_t* request, uint32_t owner, uint32_t asker,
                      const char* partition, char** message) {
  part_record_t* part = partition ? find_part_record((char*)partition) : NULL;
  slurmdb_assoc_rec_t* assoc = NULL;
  int code;

  if (!part) return SLURM_SUCCESS;  // an unknown one, or several: the market says it better
  code = check_partition(part, request, owner, asker);
  if (code) return code;
  // Without a default account the market may still find the one that pays.
  if (!find_association(owner, request->account, part->name, &assoc))
    return request->account ? ESLURM_INVALID_ACCOUNT : SLURM_SUCCESS;
  return compat_check_limits(request, part, assoc, asker, message);
}

const char* eligibility_qos(uint32_t user, const char* account, const char* partition,
                            const char* named, bool or_default, arena_t* arena) {
  assoc_mgr_lock_t locks = {.qos = READ_LOCK};
  slurmdb_qos_rec_t wanted = {.name = has_text(named) ? (char*)named : NULL}, *found = NULL;
  slurmdb_assoc_rec_t* assoc = NULL;
  const char* name = NULL;

  if (!find_association(user, account, partition, &assoc)) assoc = NULL;
  if (!assoc && or_default && !find_association(user, NULL, partition, &assoc)) assoc = NULL;
  assoc_mgr_get_default_qos_info(assoc, &wanted);
  assoc_mgr_lock(&locks);
  if (assoc_mgr_fill_in_qos(acct_db_conn, &wanted, accounting_enforce, &found, true) ==
          SLURM_SUCCESS &&
      found)
    name = arena_copy(arena, found->name);
  assoc_mgr_unlock(&locks);
  return name;
}

const char* eligibility_default_account(uint32_t user, arena_t* arena) {
  assoc_mgr_lock_t locks = {.user = READ_LOCK};
  slurmdb_user_rec_t record = {.uid = user};
  const char* account = NULL;

  assoc_mgr_lock(&locks);
  if (assoc_mgr_user_list && list_count(assoc_mgr_user_list) &&
      assoc_mgr_fill_in_user(acct_db_conn, &record, 0, NULL, true) == SLURM_SUCCESS)
    account = arena_copy(arena, record.default_acct);
  assoc_mgr_unlock(&locks);
  return account;
}

market_accounts_t eligibility_own_accounts(uint32_t user, arena_t* arena) {
  assoc_mgr_lock_t locks = {.assoc = READ_LOCK};
  market_accounts_t own = {0};
  const slurmdb_assoc_rec_t* assoc;
  const char** names;
  list_itr_t* each;

  if (!enforces_associations()) return own;
  assoc_mgr_lock(&locks);
  if (assoc_mgr_assoc_list) {
    each = list_iterator_create(assoc_mgr_assoc_list);
    while ((assoc = list_next(each))) own.count += assoc->uid == user;
    names = arena_array(arena, own.count, sizeof(*names));
    own.count = 0;
    list_iterator_reset(each);
    while ((assoc = list_next(each)))
      if (assoc->uid == user)
        names[own.count++] = arena_copy(arena, assoc->acct ? assoc->acct : "");
    list_iterator_destroy(each);
    own.names = names;
  }
  assoc_mgr_unlock(&locks);
  return own;
}

market_accounts_t eligibility_coordinated(uint32_t user, arena_t* arena) {
  assoc_mgr_lock_t locks = {.user = READ_LOCK};
  market_accounts_t coordinated = {0};
  slurmdb_user_rec_t wanted = {.uid = user}, *found = NULL;
  const slurmdb_coord_rec_t* coordinator;
  const char** names;
  list_itr_t* each;

  assoc_mgr_lock(&locks);
  if (assoc_mgr_user_list && list_count(assoc_mgr_user_list) &&
      assoc_mgr_fill_in_user(acct_db_conn, &wanted, 0, &found, true) == SLURM_SUCCESS && found &&
      found->coord_accts) {
    names = arena_array(arena, list_count(found->coord_accts), sizeof(*names));
    each = list_iterator_create(found->coord_accts);
    while ((coordinator = list_next(each)))
      names[coordinated.count++] = arena_copy(arena, coordinator->name ? coordinator->name : "");
    list_iterator_destroy(each);
    coordinated.names = names;
  }
  assoc_mgr_unlock(&locks);
  return coordinated;
}
