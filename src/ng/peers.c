/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/peers.h"

#include <bsd/sys/tree.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/address.h"
#include "ng/message.h"

/* --- rates --- */

struct host {
	RB_ENTRY(host) by_address;
	TAILQ_ENTRY(host) by_use;
	struct in6_addr address;
	cr_ns full; /* when its bucket is full again */
};

RB_HEAD(host_tree, host);
TAILQ_HEAD(host_list, host);

struct rate_limit {
	struct rate_limit_cfg cfg;
	cr_ns each; /* ns of one request */
	struct host_tree tree;
	struct host_list uses; /* the oldest first */
	unsigned n;
	struct host hosts[];
};

static int host_cmp(struct host *a, struct host *b)
{
	return memcmp(&a->address, &b->address, sizeof(a->address));
}

RB_PROTOTYPE(host_tree, host, by_address, host_cmp)
RB_GENERATE(host_tree, host, by_address, host_cmp)

struct rate_limit *rate_limit_new(const struct rate_limit_cfg *cfg)
{
	struct rate_limit *a =
		calloc(1, sizeof(*a) + cfg->hosts * sizeof(a->hosts[0]));

	if (!a)
		return NULL;
	a->cfg = *cfg;
	a->each = CR_SEC / cfg->per_second;
	RB_INIT(&a->tree);
	TAILQ_INIT(&a->uses);
	return a;
}

static struct host *host_of(struct rate_limit *a,
			    const struct sockaddr_storage *from)
{
	struct host key = { .address = address_mapped(from) };
	struct host *known = RB_FIND(host_tree, &a->tree, &key), *h = known;

	if (!h)
		h = a->n < a->cfg.hosts ? NULL : TAILQ_FIRST(&a->uses);
	if (h)
		TAILQ_REMOVE(&a->uses, h, by_use);
	if (h && !known)
		(void)RB_REMOVE(host_tree, &a->tree, h);
	if (!known) {
		h = h ? h : &a->hosts[a->n++];
		*h = (struct host){ .address = key.address };
		(void)RB_INSERT(host_tree, &a->tree, h);
	}
	TAILQ_INSERT_TAIL(&a->uses, h, by_use);
	return h;
}

cr_ns rate_limit_take(struct rate_limit *a, const struct sockaddr_storage *from,
		      cr_ns now)
{
	struct host *h = host_of(a, from);
	cr_ns full = cr_ns_max(h->full, now) + a->each;
	cr_ns wait = full - now - a->cfg.burst * a->each;

	if (wait > 0)
		return wait;
	h->full = full;
	return 0;
}

/* --- replies --- */

enum { KEY_BYTES = NG_COOKIE_MAX + 64 };

struct reply {
	RB_ENTRY(reply) by_key;
	TAILQ_ENTRY(reply) by_age;
	char key[KEY_BYTES]; /* "COOKIE ADDRESS" */
	cr_ns asked;
	char *text; /* NULL: worked on */
	size_t bytes;
};

RB_HEAD(reply_tree, reply);
TAILQ_HEAD(reply_list, reply);

struct ng_replies {
	struct ng_replies_cfg cfg;
	struct reply_tree tree;
	struct reply_list ages; /* the oldest first */
	size_t bytes;
};

static int reply_cmp(struct reply *a, struct reply *b)
{
	return strcmp(a->key, b->key);
}

RB_PROTOTYPE(reply_tree, reply, by_key, reply_cmp)
RB_GENERATE(reply_tree, reply, by_key, reply_cmp)

struct ng_replies *ng_replies_new(const struct ng_replies_cfg *cfg)
{
	struct ng_replies *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->cfg = *cfg;
	RB_INIT(&r->tree);
	TAILQ_INIT(&r->ages);
	return r;
}

static void forget_reply(struct ng_replies *r, struct reply *one)
{
	(void)RB_REMOVE(reply_tree, &r->tree, one);
	TAILQ_REMOVE(&r->ages, one, by_age);
	r->bytes -= sizeof(*one) + one->bytes;
	free(one->text);
	free(one);
}

void ng_replies_free(struct ng_replies *r)
{
	if (!r)
		return;
	while (!TAILQ_EMPTY(&r->ages))
		forget_reply(r, TAILQ_FIRST(&r->ages));
	free(r);
}

/* Room for @more octets. */
static void make_reply_room(struct ng_replies *r, cr_ns now, size_t more)
{
	struct reply *oldest = TAILQ_FIRST(&r->ages);

	/* The analyzer believes that the one freed is still first.
	 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	while (oldest && (now - oldest->asked > r->cfg.life ||
			  r->bytes + more > r->cfg.bytes_max)) {
		forget_reply(r, oldest);
		oldest = TAILQ_FIRST(&r->ages);
	}
}

static void set_key(struct reply *one, const struct sockaddr_storage *from,
		    const char *cookie)
{
	char address[56];

	(void)snprintf(one->key, sizeof(one->key), "%.*s %s",
		       (int)NG_COOKIE_MAX, cookie,
		       address_text(from, address, sizeof(address)));
}

static struct reply *find_reply(struct ng_replies *r,
				const struct sockaddr_storage *from,
				const char *cookie)
{
	struct reply key;

	set_key(&key, from, cookie);
	return RB_FIND(reply_tree, &r->tree, &key);
}

enum ng_replies_is ng_replies_ask(struct ng_replies *r,
				  const struct sockaddr_storage *from,
				  const char *cookie, cr_ns now,
				  const char **text, size_t *bytes)
{
	struct reply *one;

	make_reply_room(r, now, sizeof(*one));
	one = find_reply(r, from, cookie);
	if (one) {
		*text = one->text;
		*bytes = one->bytes;
		return one->text ? NG_REPLIES_DONE : NG_REPLIES_WORKING;
	}
	one = calloc(1, sizeof(*one));
	if (!one)
		return NG_REPLIES_FULL;
	set_key(one, from, cookie);
	one->asked = now;
	(void)RB_INSERT(reply_tree, &r->tree, one);
	TAILQ_INSERT_TAIL(&r->ages, one, by_age);
	r->bytes += sizeof(*one);
	return NG_REPLIES_NEW;
}

void ng_replies_put(struct ng_replies *r, const struct sockaddr_storage *from,
		    const char *cookie, const char *text, size_t bytes)
{
	struct reply *one = find_reply(r, from, cookie);
	char *copy;

	if (!one || one->text)
		return;
	copy = malloc(bytes ? bytes : 1);
	if (!copy) { /* asked again, it is worked on again */
		forget_reply(r, one);
		return;
	}
	memcpy(copy, text, bytes);
	one->text = copy;
	one->bytes = bytes;
	r->bytes += bytes;
	make_reply_room(r, one->asked, 0);
}
