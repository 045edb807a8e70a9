/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The legs by name.
 */
#include "media/legs.h"

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
