/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoints by name. An endpoint's name is what its receiver's inlet gives
 * each packet as a tag (udp/inlet.h): a number, not a pointer, so that what
 * comes late cannot reach an endpoint that has gone, nor its successor.
 *
 * Thread rule: control adds and removes; receivers find, without a lock, under
 * rcu_read_begin() from look-up to last use.
 */
#ifndef MEDIA_ENDPOINTS_H
#define MEDIA_ENDPOINTS_H

#include "media/endpoint.h"
#include "udp/sockets.h"

/** Set in the tag of an endpoint's RTCP port, beside its name. */
#define ENDPOINTS_RTCP (UINT64_C(1) << 31)

/** Zero is empty. */
struct endpoints {
	struct sockets places; /**< tags are the endpoints' addresses */
};

/** Name @l: l->key, never 0. 0 or -ENOMEM. */
int endpoints_add(struct endpoints *t, struct endpoint *l);
/** A receiver may still have it until a grace period has passed. */
void endpoints_del(struct endpoints *t, struct endpoint *l);
/** The endpoint that @key names, with or without ENDPOINTS_RTCP, or NULL. */
static inline struct endpoint *endpoints_find(const struct endpoints *t,
					      uint64_t key)
{
	struct sockets_entry e;

	key &= ~ENDPOINTS_RTCP;
	return sockets_find(&t->places, key, &e) ? (void *)(uintptr_t)e.tag
						 : NULL;
}
/** Free the memory. */
void endpoints_fini(struct endpoints *t);

#endif
