/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legs by name. A leg's name is what its receiver's inlet gives each packet
 * as a tag (udp/inlet.h): a number, not a pointer, so that what comes late
 * cannot reach a leg that has gone, nor its successor.
 *
 * Thread rule: control adds and removes; receivers find, without a lock, under
 * rcu_read_begin() from look-up to last use.
 */
#ifndef MEDIA_LEGS_H
#define MEDIA_LEGS_H

#include "media/leg.h"
#include "udp/sockets.h"

/** Set in the tag of a leg's RTCP port, beside its name. */
#define LEGS_RTCP (UINT64_C(1) << 31)

/** Zero is empty. */
struct legs {
	struct sockets places; /**< tags are the legs' addresses */
};

/** Name @l: l->key, never 0. 0 or -ENOMEM. */
int legs_add(struct legs *t, struct leg *l);
/** A receiver may still have it until a grace period has passed. */
void legs_del(struct legs *t, struct leg *l);
/** The leg that @key names, with or without LEGS_RTCP, or NULL. */
static inline struct leg *legs_find(const struct legs *t, uint64_t key)
{
	struct sockets_entry e;

	key &= ~LEGS_RTCP;
	return sockets_find(&t->places, key, &e) ? (void *)(uintptr_t)e.tag
						 : NULL;
}
/** Free the memory. */
void legs_fini(struct legs *t);

#endif
