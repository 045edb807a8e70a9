/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: what control and its receiver do with it; where packets go to;
 * and the endpoints by name. Its RTCP is endpoint_rtcp.c's.
 */
#include "media/endpoint.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "media/endpoint_rtcp.h"

/* --- where packets go to --- */

_Static_assert(DESTINATION_WORDS * sizeof(uint64_t) >=
		       sizeof(struct sockaddr_in6),
	       "an address fits");

void destination_init(struct destination *w)
{
	memset(w, 0, sizeof(*w));
	(void)pthread_mutex_init(&w->lock, NULL);
}

void destination_fini(struct destination *w)
{
	(void)pthread_mutex_destroy(&w->lock);
}

/* Lock held: readers wait, or do not believe what they read. */
static unsigned begin_destination_change(struct destination *w)
{
	unsigned version =
		atomic_load_explicit(&w->version, memory_order_relaxed);

	atomic_store_explicit(&w->version, version + 1, memory_order_relaxed);
	/* odd before the words change */
	atomic_thread_fence(memory_order_release);
	return version;
}

static void end_destination_change(struct destination *w, unsigned version)
{
	/* release, pairs with read_destination() */
	atomic_store_explicit(&w->version, version + 2, memory_order_release);
}

void destination_set(struct destination *w, const struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS] = { 0 };
	unsigned version;

	if (to->ss_family)
		memcpy(word, to, address_length(to));
	(void)pthread_mutex_lock(&w->lock);
	version = begin_destination_change(w);
	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		atomic_store_explicit(&w->word[i], word[i],
				      memory_order_relaxed);
	end_destination_change(w, version);
	(void)pthread_mutex_unlock(&w->lock);
}

void destination_hold(struct destination *w, bool held)
{
	unsigned version;

	(void)pthread_mutex_lock(&w->lock);
	version = begin_destination_change(w);
	atomic_store_explicit(&w->held, held, memory_order_relaxed);
	end_destination_change(w, version);
	(void)pthread_mutex_unlock(&w->lock);
}

/* What is there, as a whole. False: it is written. */
static bool read_destination(const struct destination *w, unsigned *version,
			     bool *held, uint64_t word[DESTINATION_WORDS])
{
	unsigned before =
		atomic_load_explicit(&w->version, memory_order_acquire);
	bool is_held;

	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		word[i] =
			atomic_load_explicit(&w->word[i], memory_order_relaxed);
	is_held = atomic_load_explicit(&w->held, memory_order_relaxed);
	/* the words before the second look */
	atomic_thread_fence(memory_order_acquire);
	if (before % 2 ||
	    before != atomic_load_explicit(&w->version, memory_order_relaxed))
		return false;
	*version = before;
	*held = is_held;
	return true;
}

bool destination_try(const struct destination *w, unsigned *version, bool *held,
		     struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];

	if (!read_destination(w, version, held, word))
		return false;
	memset(to, 0, sizeof(*to));
	if (!*held)
		memcpy(to, word, sizeof(word));
	return true;
}

unsigned destination_read(const struct destination *w,
			  struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];
	unsigned version;
	bool held;

	while (!read_destination(w, &version, &held, word))
		;
	memset(to, 0, sizeof(*to));
	memcpy(to, word, sizeof(word));
	return version;
}

/* --- an endpoint --- */

struct endpoint *endpoint_new(const struct endpoint_cfg *cfg)
{
	struct endpoint *l = aligned_alloc(CACHE_LINE, sizeof(*l));

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->cfg = *cfg;
	l->terms = cfg->terms;
	(void)pthread_mutex_init(&l->lock, NULL);
	destination_init(&l->to);
	destination_set(&l->to, &cfg->terms.signalled);
	learn_init(&l->learn, &cfg->terms);
	l->poll_at = l->due[ENDPOINT_OWN] = l->due[ENDPOINT_RECEIVE_STAGE] =
		CR_NEVER;
	return l;
}

void endpoint_free(struct endpoint *l)
{
	if (!l)
		return;
	endpoint_rtcp_close(l);
	destination_fini(&l->to);
	(void)pthread_mutex_destroy(&l->lock);
	free(l);
}

void endpoint_feed(struct endpoint *l, struct stream *s)
{
	/* release: the receiver finds it complete */
	atomic_store_explicit(&l->stream, s, memory_order_release);
}

/* Do answers go to the address of @terms at once? As learn_again() has it, a
 * party that was heard keeps its place unless another address is told than
 * before: behind NAT it is somewhere else, and its next packet may be long in
 * coming. */
static bool moves(const struct endpoint *l, const struct learn_terms *terms)
{
	const struct learn_terms *before = &l->cfg.terms;
	struct sockaddr_storage now;

	if (!terms->signalled.ss_family)
		return false;
	if (terms->mode == LEARN_STRICT || terms->mode == LEARN_ASYMMETRIC)
		return true;
	(void)destination_read(&l->to, &now);
	return !now.ss_family ||
	       (before->signalled.ss_family &&
		!address_equal(&before->signalled, &terms->signalled));
}

void endpoint_again(struct endpoint *l, const struct learn_terms *terms)
{
	(void)pthread_mutex_lock(&l->lock);
	l->terms = *terms;
	/* release, pairs with has_new_terms() */
	atomic_fetch_add_explicit(&l->version, 1, memory_order_release);
	/* before the receiver can have these terms, and learn more */
	if (moves(l, terms))
		destination_set(&l->to, &terms->signalled);
	(void)pthread_mutex_unlock(&l->lock);
	l->cfg.terms = *terms;
}

void endpoint_hold(struct endpoint *l, bool held)
{
	destination_hold(&l->to, held);
}

static bool has_new_terms(const struct endpoint *l)
{
	return atomic_load_explicit(&l->version, memory_order_acquire) !=
	       l->terms_taken;
}

static void take_learn_terms(struct endpoint *l, cr_ns now)
{
	struct learn_terms terms;

	(void)pthread_mutex_lock(&l->lock);
	terms = l->terms;
	l->terms_taken =
		atomic_load_explicit(&l->version, memory_order_relaxed);
	(void)pthread_mutex_unlock(&l->lock);
	learn_again(&l->learn, &terms, now);
}

/* Answers go where learn_to() says. Control may have set a newer way just
 * before: then there are newer terms, too. */
static void set_destination(struct endpoint *l, cr_ns now)
{
	destination_set(&l->to, learn_to(&l->learn));
	while (has_new_terms(l)) {
		take_learn_terms(l, now);
		destination_set(&l->to, learn_to(&l->learn));
	}
}

unsigned endpoint_hear(struct endpoint *l, const struct learn_arrival *p,
		       cr_ns now)
{
	unsigned result;

	if (has_new_terms(l)) {
		take_learn_terms(l, now);
		set_destination(l, now);
	}
	result = learn_packet(&l->learn, p, now);
	if (learn_accepts(result) && result & LEARN_NEW_ADDRESS)
		set_destination(l, now);
	return result;
}

/* --- time --- */

bool endpoint_begin_polls(struct endpoint *l, struct wheel *w)
{
	l->wheel = w;
	if (!l->cfg.first_poll)
		return false;
	l->poll_at = l->due[ENDPOINT_OWN] = l->cfg.first_poll;
	return wheel_arm(w, &l->timer, l->poll_at);
}

void endpoint_end_polls(struct endpoint *l)
{
	wheel_close(l->wheel, &l->timer);
}

cr_ns endpoint_poll(struct endpoint *l, cr_ns now)
{
	cr_ns due = CR_NEVER;

	if (l->rtcp)
		due = cr_ns_min(due, endpoint_rtcp_poll(l, now));
	return due;
}

void endpoint_wait(struct endpoint *l, enum endpoint_part part, cr_ns due)
{
	l->due[part] = due;
	due = cr_ns_min(l->due[ENDPOINT_OWN], l->due[ENDPOINT_RECEIVE_STAGE]);
	if (due == l->poll_at)
		return;
	l->poll_at = due;
	(void)wheel_arm(l->wheel, &l->timer, due);
}

/* --- the endpoints by name --- */

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
