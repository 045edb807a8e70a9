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

void destination_init(struct destination *dest)
{
	memset(dest, 0, sizeof(*dest));
	(void)pthread_mutex_init(&dest->lock, NULL);
}

void destination_fini(struct destination *dest)
{
	(void)pthread_mutex_destroy(&dest->lock);
}

/* Lock held: readers wait, or do not believe what they read. */
static unsigned begin_destination_change(struct destination *dest)
{
	unsigned version =
		atomic_load_explicit(&dest->version, memory_order_relaxed);

	atomic_store_explicit(&dest->version, version + 1,
			      memory_order_relaxed);
	/* odd before the words change */
	atomic_thread_fence(memory_order_release);
	return version;
}

static void end_destination_change(struct destination *dest, unsigned version)
{
	/* release, pairs with read_destination() */
	atomic_store_explicit(&dest->version, version + 2,
			      memory_order_release);
}

void destination_set(struct destination *dest,
		     const struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS] = { 0 };
	unsigned version;

	if (to->ss_family)
		memcpy(word, to, address_length(to));
	(void)pthread_mutex_lock(&dest->lock);
	version = begin_destination_change(dest);
	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		atomic_store_explicit(&dest->word[i], word[i],
				      memory_order_relaxed);
	end_destination_change(dest, version);
	(void)pthread_mutex_unlock(&dest->lock);
}

void destination_hold(struct destination *dest, bool held)
{
	unsigned version;

	(void)pthread_mutex_lock(&dest->lock);
	version = begin_destination_change(dest);
	atomic_store_explicit(&dest->held, held, memory_order_relaxed);
	end_destination_change(dest, version);
	(void)pthread_mutex_unlock(&dest->lock);
}

/* Read all of it at one moment. False: it is being written. */
static bool read_destination(const struct destination *dest, unsigned *version,
			     bool *held, uint64_t word[DESTINATION_WORDS])
{
	unsigned before =
		atomic_load_explicit(&dest->version, memory_order_acquire);
	bool is_held;

	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		word[i] = atomic_load_explicit(&dest->word[i],
					       memory_order_relaxed);
	is_held = atomic_load_explicit(&dest->held, memory_order_relaxed);
	/* the words before the second look */
	atomic_thread_fence(memory_order_acquire);
	if (before % 2 || before != atomic_load_explicit(&dest->version,
							 memory_order_relaxed))
		return false;
	*version = before;
	*held = is_held;
	return true;
}

bool destination_try(const struct destination *dest, unsigned *version,
		     bool *held, struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];

	if (!read_destination(dest, version, held, word))
		return false;
	memset(to, 0, sizeof(*to));
	if (!*held)
		memcpy(to, word, sizeof(word));
	return true;
}

unsigned destination_read(const struct destination *dest,
			  struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];
	unsigned version;
	bool held;

	while (!read_destination(dest, &version, &held, word))
		;
	memset(to, 0, sizeof(*to));
	memcpy(to, word, sizeof(word));
	return version;
}

/* --- an endpoint --- */

struct endpoint *endpoint_new(const struct endpoint_cfg *cfg)
{
	struct endpoint *ep = aligned_alloc(CACHE_LINE, sizeof(*ep));

	if (!ep)
		return NULL;
	memset(ep, 0, sizeof(*ep));
	ep->cfg = *cfg;
	ep->terms = cfg->terms;
	(void)pthread_mutex_init(&ep->lock, NULL);
	destination_init(&ep->to);
	destination_set(&ep->to, &cfg->terms.signalled);
	learn_init(&ep->learn, &cfg->terms);
	ep->poll_at = ep->due[ENDPOINT_OWN] = ep->due[ENDPOINT_RECEIVE_STAGE] =
		CR_NEVER;
	return ep;
}

void endpoint_free(struct endpoint *ep)
{
	if (!ep)
		return;
	endpoint_rtcp_close(ep);
	destination_fini(&ep->to);
	(void)pthread_mutex_destroy(&ep->lock);
	free(ep);
}

void endpoint_feed(struct endpoint *ep, struct stream *s)
{
	/* release: the receiver finds it complete */
	atomic_store_explicit(&ep->stream, s, memory_order_release);
}

/* Do answers go to the address of @terms at once? As learn_again() has it, a
 * party that was heard keeps its place unless another address is told than
 * before: behind NAT it is somewhere else, and its next packet may be long in
 * coming. */
static bool moves(const struct endpoint *ep, const struct learn_terms *terms)
{
	const struct learn_terms *before = &ep->cfg.terms;
	struct sockaddr_storage now;

	if (!terms->signalled.ss_family)
		return false;
	if (terms->mode == LEARN_STRICT || terms->mode == LEARN_ASYMMETRIC)
		return true;
	(void)destination_read(&ep->to, &now);
	return !now.ss_family ||
	       (before->signalled.ss_family &&
		!address_equal(&before->signalled, &terms->signalled));
}

void endpoint_again(struct endpoint *ep, const struct learn_terms *terms)
{
	(void)pthread_mutex_lock(&ep->lock);
	ep->terms = *terms;
	/* release, pairs with has_new_terms() */
	atomic_fetch_add_explicit(&ep->version, 1, memory_order_release);
	/* before the receiver can have these terms, and learn more */
	if (moves(ep, terms))
		destination_set(&ep->to, &terms->signalled);
	(void)pthread_mutex_unlock(&ep->lock);
	ep->cfg.terms = *terms;
}

void endpoint_hold(struct endpoint *ep, bool held)
{
	destination_hold(&ep->to, held);
}

static bool has_new_terms(const struct endpoint *ep)
{
	return atomic_load_explicit(&ep->version, memory_order_acquire) !=
	       ep->terms_taken;
}

static void take_learn_terms(struct endpoint *ep, cr_ns now)
{
	struct learn_terms terms;

	(void)pthread_mutex_lock(&ep->lock);
	terms = ep->terms;
	ep->terms_taken =
		atomic_load_explicit(&ep->version, memory_order_relaxed);
	(void)pthread_mutex_unlock(&ep->lock);
	learn_again(&ep->learn, &terms, now);
}

/* Answers go where learn_to() says. Control may have set a newer address just
 * before: then there are newer terms, too. */
static void set_destination(struct endpoint *ep, cr_ns now)
{
	destination_set(&ep->to, learn_to(&ep->learn));
	while (has_new_terms(ep)) {
		take_learn_terms(ep, now);
		destination_set(&ep->to, learn_to(&ep->learn));
	}
}

/* For a process that may have to go on. */
static void note_learned(struct endpoint *ep)
{
	unsigned long long count[LEARN_NCOUNTERS];

	learn_counts(&ep->learn, count);
	for (unsigned i = 0; i < LEARN_NCOUNTERS; i++)
		atomic_store_explicit(&ep->cfg.state->learned[i], count[i],
				      memory_order_relaxed);
}

unsigned endpoint_receive(struct endpoint *ep, const struct learn_arrival *p,
			  cr_ns now)
{
	unsigned result;

	if (has_new_terms(ep)) {
		take_learn_terms(ep, now);
		set_destination(ep, now);
	}
	result = learn_packet(&ep->learn, p, now);
	if (__builtin_expect(ep->cfg.state != NULL, 0))
		note_learned(ep);
	if (learn_accepts(result) && result & LEARN_NEW_ADDRESS)
		set_destination(ep, now);
	return result;
}

/* --- time --- */

bool endpoint_begin_polls(struct endpoint *ep, struct wheel *w)
{
	ep->wheel = w;
	if (!ep->cfg.first_poll)
		return false;
	ep->poll_at = ep->due[ENDPOINT_OWN] = ep->cfg.first_poll;
	return wheel_arm(w, &ep->timer, ep->poll_at);
}

void endpoint_end_polls(struct endpoint *ep)
{
	wheel_close(ep->wheel, &ep->timer);
}

cr_ns endpoint_poll(struct endpoint *ep, cr_ns now)
{
	cr_ns due = CR_NEVER;

	if (ep->rtcp)
		due = cr_ns_min(due, endpoint_rtcp_poll(ep, now));
	return due;
}

void endpoint_wait(struct endpoint *ep, enum endpoint_part part, cr_ns due)
{
	ep->due[part] = due;
	due = cr_ns_min(ep->due[ENDPOINT_OWN], ep->due[ENDPOINT_RECEIVE_STAGE]);
	if (due == ep->poll_at)
		return;
	ep->poll_at = due;
	(void)wheel_arm(ep->wheel, &ep->timer, due);
}

/* --- the endpoints by name --- */

_Static_assert(SOCKETS_CHUNK *SOCKETS_CHUNKS <= ENDPOINTS_RTCP,
	       "the low half of a name is a place");

int endpoints_add(struct endpoints *t, struct endpoint *ep)
{
	const struct sockets_entry e = { ep->cfg.fd, (uintptr_t)ep };

	return sockets_add(&t->places, &e, &ep->key);
}

void endpoints_del(struct endpoints *t, struct endpoint *ep)
{
	sockets_del(&t->places, ep->key);
}

void endpoints_fini(struct endpoints *t)
{
	sockets_fini(&t->places);
}
