/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls by SSRC: lock-free look-ups by the receivers while the control
 * thread adds and removes (liburcu's cds_lfht).
 *
 * Readers hold rcu_read_begin() from look-up to last use; threads that call
 * anything here are registered with liburcu.
 */
#ifndef MEDIA_CALL_TABLE_H
#define MEDIA_CALL_TABLE_H

#include "media/call.h"

struct call_table;

/** For about as many as @calls: more take longer to find. NULL: out of memory.
 */
struct call_table *call_table_new(unsigned calls);

void call_table_free(struct call_table *t); /**< must be empty; NULL is fine */

/** Add @c under its SSRC. -EEXIST when the SSRC is taken. Control thread. */
int call_table_add(struct call_table *t, struct call *c);

/** Take @c out; rx may still hold it until a grace period has passed. */
void call_table_del(struct call_table *t, struct call *c);

/** Under rcu_read_begin(): the call that @ssrc names, or NULL. */
struct call *call_table_find(struct call_table *t, uint32_t ssrc);

/** How many calls have been taken out so far. A reader that finds no more than
 * when it looked up a call, in this read-side section or one before, may go on
 * with that call in this one. Any thread. */
uint64_t call_table_removals(const struct call_table *t);

#endif
