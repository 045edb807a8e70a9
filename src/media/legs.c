/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legs by name.
 */
#include "media/legs.h"

_Static_assert(SOCKETS_CHUNK *SOCKETS_CHUNKS <= LEGS_RTCP,
	       "the low half of a name is a place");

int legs_add(struct legs *t, struct leg *l)
{
	const struct sockets_entry e = { l->cfg.fd, (uintptr_t)l };

	return sockets_add(&t->places, &e, &l->key);
}

void legs_del(struct legs *t, struct leg *l)
{
	sockets_del(&t->places, l->key);
}

void legs_fini(struct legs *t)
{
	sockets_fini(&t->places);
}
