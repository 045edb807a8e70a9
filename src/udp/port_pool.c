/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free pairs of ports, as a queue in a circle.
 */
#include "udp/port_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/splitmix.h"

static int read_port(const char *text, const char **end, uint16_t *port)
{
	char *after;
	unsigned long n = strtoul(text, &after, 10);

	if (*text < '0' || *text > '9' || !n || n > UINT16_MAX)
		return -EINVAL;
	*port = (uint16_t)n;
	*end = after;
	return 0;
}

static unsigned first_even(const struct port_range *r)
{
	return r->from + (r->from & 1u);
}

unsigned port_range_pairs(const struct port_range *r)
{
	unsigned first = first_even(r), end = r->to + 1u;

	return r->from && end > first ? (end - first) / 2 : 0;
}

int port_range_parse(struct port_range *out, const char *text, struct cr_err *e)
{
	struct port_range r;
	const char *at;

	if (read_port(text, &at, &r.from) || *at != '-' ||
	    read_port(at + 1, &at, &r.to) || *at)
		return cr_fail(e, -EINVAL,
			       "must be two ports from 1 to 65535, such as "
			       "30000-40000");
	if (!port_range_pairs(&r))
		return cr_fail(e, -EINVAL,
			       "%.32s has no even port with the odd one above "
			       "it",
			       text);
	*out = r;
	return 0;
}

const char *port_range_text(const struct port_range *r,
			    char buf[PORT_RANGE_TEXT])
{
	(void)snprintf(buf, PORT_RANGE_TEXT, "%u-%u", r->from, r->to);
	return buf;
}

/* Fisher and Yates: every order is as likely as any other. */
static void shuffle(uint16_t *queue, unsigned n, uint64_t seed)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(splitmix64(&seed) % i);
		uint16_t x = queue[i - 1];

		queue[i - 1] = queue[j];
		queue[j] = x;
	}
}

int port_pool_init(struct port_pool *p, const struct port_range *r,
		   uint64_t seed)
{
	unsigned n = port_range_pairs(r);

	*p = (struct port_pool){
		.first = first_even(r),
		.npairs = n,
		.nfree = n,
		.queue = calloc(n, sizeof(*p->queue)),
		.taken = calloc(n, sizeof(*p->taken)),
	};
	if (n && (!p->queue || !p->taken)) {
		port_pool_fini(p);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++)
		p->queue[i] = (uint16_t)i;
	shuffle(p->queue, n, seed);
	return 0;
}

void port_pool_fini(struct port_pool *p)
{
	free(p->queue);
	free(p->taken);
	*p = (struct port_pool){ 0 };
}

unsigned port_pool_take(struct port_pool *p)
{
	unsigned pair;

	if (!p->nfree)
		return 0;
	pair = p->queue[p->head];
	p->head = (p->head + 1) % p->npairs;
	p->nfree--;
	p->taken[pair] = true;
	return p->first + 2 * pair;
}

void port_pool_give(struct port_pool *p, unsigned port)
{
	unsigned pair = (port - p->first) / 2;

	CR_ASSERT(port >= p->first && pair < p->npairs && p->taken[pair]);
	p->taken[pair] = false;
	p->queue[(p->head + p->nfree) % p->npairs] = (uint16_t)pair;
	p->nfree++;
}
