/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The party of an endpoint: learned from its packets, and kept against
 * others. The rules are in the header. This file does not parse packets.
 */
#include "rtp/learn.h"

#include <string.h>

/* Numbers that the current source may be ahead of its last packet to prove
 * itself, and that a packet may be behind to be just late: as wide as the
 * window in which rtp_source_update() knows late packets from duplicates. */
#define NEAR 64u
/* Numbers that a source that goes on elsewhere may be ahead: MAX_DROPOUT of RFC
 * 3550, A.1. */
#define MAX_DROPOUT 3000u

/* Higher is better; the current address has one of the first three. */
enum { RANK_OTHER, RANK_HOST, RANK_SIGNALLED, RANK_CURRENT };

/* A packet from a source that is not the current one. */
struct newcomer {
	const struct learn_arrival *p;
	cr_ns now;
	bool here; /* from the current address */
	uint8_t rank;
};

/* Packets of the party, so far. */
static unsigned long long heard_so_far(const struct learn *l)
{
	return counter_read(&l->accepted);
}

static uint8_t rank_of_address(const struct learn *l,
			       const struct sockaddr_storage *a)
{
	if (address_equal(a, &l->terms.signalled))
		return RANK_SIGNALLED;
	if (address_same_host(a, &l->terms.signalled) ||
	    address_same_host(a, &l->terms.host))
		return RANK_HOST;
	return RANK_OTHER;
}

/* May no packet be taken from a source of this rank? */
static bool shut_to(const struct learn *l, uint8_t rank)
{
	return l->terms.mode == LEARN_STRICT && rank < RANK_SIGNALLED;
}

/* Is this the address at which the one before the current one led? */
static bool is_former(const struct learn *l, const struct newcomer *n)
{
	return address_equal(n->p->from, &l->former);
}

static bool is_source_silent(const struct learn *l, cr_ns now)
{
	return now - (l->proven ? l->heard : l->since) > l->terms.silence;
}

/* Sources on notice are as good as absent. */
static bool is_absent(const struct learn *l, cr_ns now)
{
	if (l->on_notice || !l->proven)
		return l->on_notice || is_source_silent(l, now);
	return now - l->heard > l->terms.absence;
}

/* May its party come from elsewhere, with any SSRC? */
static bool is_expected(const struct learn *l, cr_ns now)
{
	return l->on_notice ||
	       (l->repeated && now - l->opened <= l->terms.window);
}

/* Does it go on with what the current source sent, from elsewhere? */
static bool goes_on_with_source(const struct learn *l,
				const struct learn_arrival *p)
{
	uint16_t ahead = (uint16_t)(p->seq - l->seq);

	return l->proven && p->ssrc == l->ssrc && ahead && ahead <= MAX_DROPOUT;
}

/* Could the endpoint be taken over from this other address now, with proof? */
static bool is_open(const struct learn *l, const struct newcomer *n)
{
	if (n->rank > l->rank || is_former(l, n) ||
	    (is_source_silent(l, n->now) && goes_on_with_source(l, n->p)) ||
	    (l->contested && n->now - l->opened <= l->terms.window &&
	     n->rank == l->rank))
		return true;
	return is_absent(l, n->now) &&
	       (!l->leads || n->p->ssrc == l->ssrc || is_expected(l, n->now));
}

/* Does this packet alone make it the current source? */
static bool one_is_enough(const struct learn *l, const struct newcomer *n)
{
	bool silent = l->known && is_source_silent(l, n->now);

	if (!l->known)
		return true;
	if (n->here)
		return l->proven && silent;
	return (silent || l->on_notice) &&
	       (n->rank > l->rank || goes_on_with_source(l, n->p));
}

static uint32_t slot_at(cr_ns now)
{
	return (uint32_t)(now / LEARN_SLOT);
}

static void vote(uint32_t *votes, uint32_t *slot, uint32_t now)
{
	*votes += !*votes || *slot != now;
	*slot = now;
}

static void settle_source(struct learn *l)
{
	bool heard = l->votes >= LEARN_LEAD || l->rank == RANK_SIGNALLED;

	l->leads = l->leads || (l->proven && heard);
	l->contested = l->contested && !l->leads;
	l->settled = l->proven && !l->on_notice && heard;
}

/* Another address is the current one: what it did before, and what another SSRC
 * of the address before did, counts anew or as any other's. */
static void move_to(struct learn *l, const struct newcomer *n, bool swapped)
{
	for (unsigned i = 0; i < LEARN_RIVALS; i++) {
		struct learn_rival *r = &l->rival[i];

		if (address_equal(&r->from, n->p->from) ||
		    (swapped && r->rank == RANK_CURRENT))
			r->run = 0;
		else if (r->rank == RANK_CURRENT)
			r->rank = l->rank;
	}
	l->at = *n->p->from;
	l->rank = n->rank;
}

static bool same_exactly(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	return address_equal(a, b) && (a->ss_family != AF_INET6 ||
				       a6->sin6_scope_id == b6->sin6_scope_id);
}

/* Should @a make room rather than @b? */
static bool is_worse(const struct learn_rival *a, const struct learn_rival *b)
{
	if (!a->run || !b->run)
		return !a->run && b->run;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->run != b->run ? a->run < b->run : a->heard < b->heard;
}

/* Does it keep its place when @n wants one? */
static bool keeps_place(const struct learn *l, const struct learn_rival *r,
			const struct newcomer *n)
{
	uint8_t rank = n->here ? RANK_CURRENT : n->rank;

	if (!r->run || r->rank != rank)
		return r->run && r->rank > rank;
	return r->run > 1 && n->now - r->heard <= l->terms.silence;
}

/* The rival from this address, or a place for it; NULL: all are better. */
static struct learn_rival *rival_place(struct learn *l,
				       const struct newcomer *n)
{
	struct learn_rival *worst = l->rival;

	for (unsigned i = 0; i < LEARN_RIVALS; i++) {
		struct learn_rival *r = &l->rival[i];

		if (r->run && address_equal(&r->from, n->p->from))
			return r;
		if (is_worse(r, worst))
			worst = r;
	}
	if (keeps_place(l, worst, n))
		return NULL;
	*worst = (struct learn_rival){ .from = *n->p->from };
	return worst;
}

/* An SSRC that was replaced, while the newer one is heard? */
static bool is_replaced(const struct learn *l, const struct newcomer *n)
{
	return n->here && l->replaced_known && n->p->ssrc == l->replaced;
}

/* The length of its run of packets in sequence with this one, 0: as long as
 * before, for it has come before or is late. */
static uint8_t run_with(const struct learn *l, const struct learn_rival *r,
			const struct newcomer *n)
{
	uint16_t ahead = (uint16_t)(n->p->seq - r->seq);

	if (!r->run || n->p->ssrc != r->ssrc)
		return 1;
	if (is_replaced(l, n) && heard_so_far(l) != r->mark)
		return 1;
	if (ahead == 1)
		return (uint8_t)(r->run + (r->run < LEARN_PROOF));
	return !ahead || ahead > (uint16_t)-NEAR ? 0 : 1;
}

/* Follow the newcomer's sequence; returns its place, or NULL. */
static struct learn_rival *rival_note(struct learn *l, const struct newcomer *n)
{
	struct learn_rival *r = rival_place(l, n);
	uint8_t run = r ? run_with(l, r, n) : 0;

	if (!r)
		return NULL;
	if (run) {
		r->run = run;
		r->seq = n->p->seq;
	}
	r->ssrc = n->p->ssrc;
	r->rank = n->here ? RANK_CURRENT : n->rank;
	r->heard = n->now;
	r->mark = heard_so_far(l);
	if (!l->leads)
		vote(&r->votes, &r->slot, slot_at(n->now));
	return r;
}

/* Is a newcomer's proof enough for it? In a contest it is one slot ahead
 * already when it comes before the party in that slot. */
static bool proof_is_enough(const struct learn *l, const struct newcomer *n,
			    const struct learn_rival *r)
{
	if (n->here || n->rank > l->rank || is_former(l, n))
		return true;
	if (!is_absent(l, n->now))
		return r->votes > l->votes + 1;
	return l->leads || !l->proven || n->p->ssrc == l->ssrc ||
	       is_expected(l, n->now) || r->votes > l->votes;
}

/* The window begins, with the source that has just been taken. */
static void contest_open(struct learn *l, cr_ns now)
{
	for (unsigned i = 0; i < LEARN_RIVALS; i++)
		l->rival[i].votes = 0;
	l->contested =
		l->rank < RANK_SIGNALLED && (l->terms.mode == LEARN_DELAYED ||
					     l->terms.mode == LEARN_ASYMMETRIC);
	l->repeated = false;
	l->opened = now;
	l->votes = 1;
	l->slot = slot_at(now);
}

/* Let @r's place have the current source, whose slots still count. Others
 * who lacked the proof fall behind the winner, and may still come in this slot.
 */
static void contest_swap(struct learn *l, struct learn_rival *r)
{
	struct learn_rival won = *r;

	*r = (struct learn_rival){
		.from = l->at,
		.heard = l->heard,
		.ssrc = l->ssrc,
		.votes = l->votes,
		.slot = l->slot,
		.seq = l->seq,
		.run = LEARN_PROOF,
		.rank = l->rank,
	};
	l->votes = won.votes;
	l->slot = won.slot;
	for (unsigned i = 0; i < LEARN_RIVALS; i++)
		if (l->rival[i].votes >= l->votes)
			l->rival[i].votes = l->votes - 1;
}

/* The changes with the newcomer, compared with the source that was heard last,
 * and with where answers went. */
static unsigned changes_of(struct learn *l, const struct newcomer *n)
{
	bool first = !heard_so_far(l);
	bool ssrc = first ? !l->terms.ssrc_signalled : n->p->ssrc != l->ssrc;
	bool to = l->terms.mode != LEARN_ASYMMETRIC &&
		  !same_exactly(learn_to(l), n->p->from);

	if (!first && ssrc)
		counter_add(&l->ssrc_changes, 1);
	if (!first && !address_equal(&l->at, n->p->from))
		counter_add(&l->address_changes, 1);
	return (ssrc ? LEARN_NEW_SSRC : 0u) | (to ? LEARN_NEW_ADDRESS : 0u);
}

/* Another address is the current one. It leads at once if it did before, or
 * has the SSRC of one that leads; which may return, unless another one is
 * expected or vouched for. */
static void replace_source(struct learn *l, const struct newcomer *n,
			   bool proven)
{
	bool back = l->known && is_former(l, n);
	bool better = n->rank > l->rank && n->rank < RANK_SIGNALLED;
	bool same = l->known && l->leads && !l->on_notice &&
		    n->p->ssrc == l->ssrc && (back || !better);

	if (!l->known || back || l->on_notice || n->rank > l->rank)
		l->former.ss_family = 0;
	else if (l->leads && l->votes >= LEARN_LEAD)
		l->former = l->at;
	l->leads = back || same;
	l->proven = proven || same;
	move_to(l, n, false);
	contest_open(l, n->now);
	if (back)
		l->votes = LEARN_LEAD;
}

/* Make the newcomer the current source; @r: its place, if it has proved
 * itself. */
static unsigned take_newcomer(struct learn *l, const struct newcomer *n,
			      struct learn_rival *r)
{
	unsigned result = changes_of(l, n);
	bool won = r && !n->here && n->rank == l->rank && !is_former(l, n) &&
		   !is_absent(l, n->now); /* the contest: it goes on */

	l->replaced_known = n->here && l->known;
	l->replaced = l->ssrc;
	if (won) {
		contest_swap(l, r);
		move_to(l, n, true);
	} else if (!n->here) {
		replace_source(l, n, r);
	}
	l->proven = l->proven || r;
	l->known = true;
	l->on_notice = false;
	l->ssrc = n->p->ssrc;
	l->seq = n->p->seq;
	l->run = r ? LEARN_PROOF : 1;
	l->since = l->heard = n->now;
	settle_source(l);
	return result;
}

/* A packet of another source than the current one. */
static unsigned judge_newcomer(struct learn *l, const struct newcomer *n)
{
	struct learn_rival *r;

	if (!n->here &&
	    (shut_to(l, n->rank) || (l->known && !is_open(l, n)) ||
	     send_to_refuses(l->terms.may, n->p->from, 2, l->terms.local)))
		return LEARN_FOREIGN_ADDRESS;
	if (l->terms.ssrc_signalled && n->p->ssrc != l->terms.ssrc)
		return LEARN_FOREIGN_SSRC;
	if (!n->p->valid)
		return n->here ? LEARN_FOREIGN_SSRC : LEARN_WAITING;
	if (one_is_enough(l, n))
		return take_newcomer(l, n, NULL);
	r = rival_note(l, n);
	if (r && r->run == LEARN_PROOF && proof_is_enough(l, n, r))
		return take_newcomer(l, n, r);
	return is_replaced(l, n) ? LEARN_FOREIGN_SSRC : LEARN_WAITING;
}

/* The current source's own way to its proof. */
static void prove(struct learn *l, uint16_t seq)
{
	uint16_t ahead = (uint16_t)(seq - l->seq);

	if (!ahead || ahead > (uint16_t)-NEAR)
		return;
	l->run = ahead < NEAR ? l->run + 1 : 1;
	l->seq = seq;
	l->proven = l->run >= LEARN_PROOF;
}

/* A packet of the current source, about which something is still open. */
static unsigned judge_own(struct learn *l, const struct learn_arrival *p,
			  cr_ns now)
{
	bool over = now - l->opened > l->terms.window;
	unsigned result = LEARN_ACCEPTED;

	if (p->valid && !l->proven)
		prove(l, p->seq);
	else if (p->valid)
		l->seq = p->seq;
	if (l->on_notice && over) {
		bool back = l->terms.mode != LEARN_ASYMMETRIC &&
			    !same_exactly(learn_to(l), &l->at);

		l->on_notice = false;
		result = back ? LEARN_NEW_ADDRESS : LEARN_ACCEPTED;
	}
	l->contested = l->contested && !over;
	l->heard = now;
	settle_source(l);
	return result;
}

static atomic_ullong *counter_of(struct learn *l, unsigned result)
{
	switch (result) {
	case LEARN_FOREIGN_ADDRESS:
		return &l->foreign_address;
	case LEARN_FOREIGN_SSRC:
		return &l->foreign_ssrc;
	case LEARN_WAITING:
		return &l->waiting;
	default:
		return &l->accepted;
	}
}

unsigned learn_any_packet(struct learn *l, const struct learn_arrival *p,
			  cr_ns now)
{
	struct newcomer n = { .p = p, .now = now };
	unsigned result;

	n.here = l->known && address_equal(&l->at, p->from);
	if (n.here && p->valid && l->votes < LEARN_LEAD) {
		vote(&l->votes, &l->slot, slot_at(now));
		settle_source(l);
	}
	if (n.here && p->ssrc == l->ssrc) {
		result = judge_own(l, p, now);
	} else {
		n.rank = n.here ? l->rank : rank_of_address(l, p->from);
		result = judge_newcomer(l, &n);
	}
	counter_add(counter_of(l, result), 1);
	return result;
}

/* The defaults for what is not said. */
static struct learn_terms filled(const struct learn_terms *t)
{
	struct learn_terms f = *t;

	f.silence = f.silence ? f.silence : LEARN_SILENCE;
	f.absence = cr_ns_max(f.absence ? f.absence : LEARN_ABSENCE, f.silence);
	f.window = f.window ? f.window : LEARN_WINDOW;
	return f;
}

void learn_init(struct learn *l, const struct learn_terms *terms)
{
	memset(l, 0, sizeof(*l));
	l->terms = filled(terms);
}

/* An offer has signalled where the party is: for the first time, or the same
 * address as before, or another one. */
static void expect(struct learn *l, bool first, bool same, cr_ns now)
{
	if (l->rank == RANK_SIGNALLED)
		l->on_notice = l->contested = false;
	if (same && !l->on_notice && !l->contested) {
		l->repeated = true;
		l->opened = now;
	} else if (first && l->rank == RANK_OTHER) {
		l->leads = false;
		contest_open(l, now);
	} else if (!first && !same && l->rank != RANK_SIGNALLED) {
		for (unsigned i = 0; i < LEARN_RIVALS; i++)
			l->rival[i].run = 0;
		l->on_notice = true;
		l->contested = l->repeated = false;
		l->opened = now;
	}
}

void learn_again(struct learn *l, const struct learn_terms *terms, cr_ns now)
{
	const struct learn_terms before = l->terms;
	bool signalled = terms->signalled.ss_family,
	     first = !before.signalled.ss_family;
	bool same = address_equal(&before.signalled, &terms->signalled);

	l->terms = filled(terms);
	if (!terms->signalled.ss_family)
		l->terms.signalled = before.signalled;
	if (!terms->host.ss_family)
		l->terms.host = before.host;
	if (!l->known)
		return;
	l->rank = rank_of_address(l, &l->at);
	l->known = !shut_to(l, l->rank) &&
		   (!terms->ssrc_signalled || l->ssrc == terms->ssrc);
	if (signalled)
		expect(l, first, same, now);
	settle_source(l);
	l->settled = l->settled && l->known;
}

const struct sockaddr_storage *learn_to(const struct learn *l)
{
	bool learned =
		l->known && !l->on_notice && l->terms.mode != LEARN_ASYMMETRIC;

	return learned ? &l->at : &l->terms.signalled;
}

void learn_counts(const struct learn *l,
		  unsigned long long out[LEARN_NCOUNTERS])
{
#define LEARN_READ(name, label, help)                                          \
	out[LEARN_COUNTER_##name] =                                            \
		atomic_load_explicit(&l->name, memory_order_relaxed);
	LEARN_COUNTERS(LEARN_READ)
#undef LEARN_READ
}

void learn_set_counts(struct learn *l,
		      const unsigned long long from[LEARN_NCOUNTERS])
{
#define LEARN_SET(name, label, help)                                           \
	atomic_store_explicit(&l->name, from[LEARN_COUNTER_##name],            \
			      memory_order_relaxed);
	LEARN_COUNTERS(LEARN_SET)
#undef LEARN_SET
}
