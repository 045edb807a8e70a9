/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoints by name.
 */
#include "media/endpoints.h"

_Static_assert(SOCKETS_CHUNK *SOCKETS_CHUNKS <= ENDPOINTS_RTCP,
	       "the low half of a name is a place");

int endpoints_add(struct endpoints *t, struct endpoint *l)
{
	const struct sockets_entry e = { l->cfg.fd, (uintptr_t)l };

	return sockets_add(&t->places, &e, &l->key);
}

void endpoints_del(struct endpoints *t, struct endpoint *l)
{
	sockets_del(&t->places, l->key);
}

void endpoints_fini(struct endpoints *t)
{
	sockets_fini(&t->places);
}
