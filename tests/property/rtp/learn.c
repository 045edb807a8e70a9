/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A party and attackers at one open port. The party sends with gaps of at most
 * 200 ms while it speaks, loses packets, pauses, changes its SSRC, changes its
 * address with and without an offer. The attackers spray, copy its SSRC and
 * numbers, send ten times as fast in sequence, and may come first. What must
 * hold is checked after each packet, from outside: see check_*(). A failing run
 * is shrunk by leaving packets out, and printed.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "rtp/learn.h"
#include "seed.h"

#define RUNS 4000u
#define EVENTS_MAX 4096u
#define SPEAKS (200 * CR_MS) /* the longest gap of a party that speaks */

enum who { PARTY, ATTACKER, OFFER }; /* an offer tells @address */

struct event {
	cr_ns at;
	enum who who;
	unsigned address; /* index of places */
	uint32_t ssrc;
	uint16_t seq;
	bool valid;
};

/* Where somebody may be. The party is at one of the first six: told, the same
 * host, signalling's host, and strange ones. */
enum {
	TOLD,
	PORT,
	HOST,
	STRANGE,
	MOVED,
	ELSEWHERE,
	NEIGHBOUR, /* an attacker whom signalling would believe */
	ATTACKERS,
	PLACES = 13
};
static const char *const texts[PLACES] = {
	"10.0.0.1:4000",  "10.0.0.1:4002",	"192.0.2.1:4000",
	"203.0.113.7:9",  "[2001:db8::1]:4000", "203.0.113.8:9",
	"192.0.2.1:5000", "198.51.100.1:1",	"198.51.100.2:1",
	"198.51.100.3:1", "198.51.100.4:1",	"[2001:db8::2]:1",
	"198.51.100.6:1",
};
static struct sockaddr_storage place[PLACES];

struct run {
	enum learn_mode mode;
	unsigned home; /* where the party is at first */
	struct event event[EVENTS_MAX];
	unsigned n;
};

/* How far signalling vouches for an address; for strange ones: 0. */
static unsigned rank_of(unsigned address, unsigned told)
{
	if (address == told)
		return 2;
	return address == HOST || address == NEIGHBOUR ||
	       (address == PORT && told == TOLD);
}

/* --- what must hold ------------------------------------------------------ */

/* What an observer knows. */
struct view {
	struct learn learn;
	const struct run *run;
	unsigned long long in, results[LEARN_WAITING + 1];
	unsigned told;
	bool any;	    /* something was accepted */
	uint32_t last_ssrc; /* of the last accepted packet */
	unsigned last_place;
	bool noticed; /* an offer told another address, nobody new yet */

	/* The party's packets. */
	bool party_any;
	struct event party; /* the last valid one */
	/* It was heard, and made no pause since, or has proved itself. */
	bool holds;
	cr_ns taken;	     /* when it became the current source */
	unsigned followed;   /* its accepted packets in a row, in order */
	bool party_was_last; /* nobody else was accepted since */
	cr_ns party_heard;   /* its last accepted one */
	uint16_t heard_seq;
	unsigned streak; /* waiting in a row, in sequence, same SSRC, place */

	cr_ns attacked; /* the last packet of an attacker */
	unsigned attacks;
};

static bool fail_with(const char *what, bool ok, const char **why)
{
	if (!ok)
		*why = what;
	return ok;
}

/* In = accepted + each kind of refusal; the flags say what has changed. */
static bool check_books(struct view *v, const struct event *e, unsigned result,
			const struct sockaddr_storage *before, const char **why)
{
	unsigned long long c[LEARN_NCOUNTERS];
	bool ok = learn_accepts(result);
	unsigned kind = ok ? 0 : result;

	v->in++;
	if (!fail_with("no such result", result <= LEARN_WAITING, why))
		return false;
	v->results[kind]++;
	learn_counts(&v->learn, c);
	if (!fail_with("sums",
		       c[LEARN_COUNTER_accepted] == v->results[0] &&
			       c[LEARN_COUNTER_foreign_address] ==
				       v->results[LEARN_FOREIGN_ADDRESS] &&
			       c[LEARN_COUNTER_foreign_ssrc] ==
				       v->results[LEARN_FOREIGN_SSRC] &&
			       c[LEARN_COUNTER_waiting] ==
				       v->results[LEARN_WAITING] &&
			       v->in == c[0] + c[1] + c[2] + c[3],
		       why))
		return false;
	if (!fail_with("answers moved without a word",
		       (ok && (result & LEARN_NEW_ADDRESS)) ==
			       !address_equal(before, learn_to(&v->learn)),
		       why))
		return false;
	if (!ok)
		return true;
	return fail_with("SSRC changed without a word",
			 (bool)(result & LEARN_NEW_SSRC) ==
				 (!v->any || v->last_ssrc != e->ssrc),
			 why) &&
	       fail_with("answers do not go to the party",
			 v->noticed || address_equal(learn_to(&v->learn),
						     &place[e->address]),
			 why);
}

/* Nobody takes a call over while its party speaks, but for those for whom
 * signalling vouches more. */
static bool check_attacker(struct view *v, const struct event *e, bool ok,
			   const char **why)
{
	bool speaks = v->holds && e->at - v->party.at <= SPEAKS &&
		      rank_of(e->address, v->told) <=
			      rank_of(v->party.address, v->told);

	if (v->run->mode == LEARN_STRICT &&
	    !fail_with("strict: a foreigner is heard", !ok, why))
		return false;
	return fail_with("taken over while the party speaks", !ok || !speaks,
			 why);
}

/* Did all foreigners stop so long before @now that they are absent? Of a stray
 * packet nobody thinks longer than of a silence. */
static bool foreigners_are_gone(const struct view *v, cr_ns now)
{
	cr_ns quiet = v->attacks ? now - v->attacked : CR_NEVER;

	return !v->party_was_last &&
	       (quiet > LEARN_ABSENCE ||
		(v->attacks < LEARN_PROOF && quiet > LEARN_SILENCE));
}

/* May the party's packet be refused for its address? */
static bool may_be_foreign(const struct view *v, const struct event *e)
{
	unsigned rank = rank_of(e->address, v->told);

	if (v->run->mode == LEARN_STRICT)
		return rank < 2;
	return v->any && e->address != v->last_place &&
	       rank <= rank_of(v->last_place, v->told) &&
	       !foreigners_are_gone(v, e->at);
}

/* When must this packet of the party be accepted? The first two that prove it
 * may be lost. */
static bool must_be_heard(const struct view *v, const struct event *e)
{
	unsigned rank = rank_of(e->address, v->told);

	if (!e->valid || (v->run->mode == LEARN_STRICT && rank < 2))
		return false;
	/* from elsewhere, after a silence, with the next number */
	if (v->party_was_last && v->followed >= LEARN_PROOF &&
	    v->last_ssrc == e->ssrc &&
	    (uint16_t)(e->seq - v->heard_seq - 1) < 2000 &&
	    e->at - v->party_heard > LEARN_SILENCE)
		return true;
	if (v->streak < LEARN_PROOF - 1)
		return false;
	/* signalling vouches for it more than for whom it hears; or it has
	 * changed its SSRC; or nobody is in its way */
	return !v->any || e->address == v->last_place ||
	       rank > rank_of(v->last_place, v->told) ||
	       foreigners_are_gone(v, e->at - (LEARN_PROOF - 1) * SPEAKS);
}

static bool follows(const struct view *v, const struct event *e)
{
	return v->party_any && v->party.ssrc == e->ssrc &&
	       v->party.address == e->address &&
	       e->seq == (uint16_t)(v->party.seq + 1);
}

/* After a pause, has it its place for sure? In the window a pause costs. */
static bool is_proven(const struct view *v, const struct event *e)
{
	return v->followed >= LEARN_PROOF && (v->run->mode != LEARN_DELAYED ||
					      e->at - v->taken > LEARN_WINDOW);
}

static bool check_party(struct view *v, const struct event *e, unsigned result,
			const char **why)
{
	bool must, new, ok = learn_accepts(result);
	bool in_order = v->party_any && v->party.ssrc == e->ssrc &&
			(uint16_t)(e->seq - v->party.seq) < 60;

	if (e->valid && !follows(v, e))
		v->streak = 0;
	must = must_be_heard(v, e);
	if (ok) {
		v->party_heard = e->at;
		v->heard_seq = e->seq;
	}
	if (!e->valid)
		return true;
	if (e->at - v->party.at > SPEAKS || e->address != v->party.address)
		v->holds = false;
	if (!fail_with("the party is not heard", ok || !must, why) ||
	    !fail_with("the party's address is refused",
		       result != LEARN_FOREIGN_ADDRESS || may_be_foreign(v, e),
		       why))
		return false;
	v->streak = result == LEARN_WAITING ? v->streak + 1 : 0;
	if (ok) {
		new = !v->party_was_last || e->address != v->last_place;
		v->taken = new ? e->at : v->taken;
		v->followed = in_order && !new ? v->followed + 1 : 1;
		v->holds = !v->noticed && (v->holds || new || is_proven(v, e));
		v->party_was_last = true;
	}
	v->party = *e;
	v->party_any = true;
	return true;
}

static void note_offer(struct view *v, const struct event *e)
{
	const struct learn_terms t = { .mode = v->run->mode,
				       .told = place[e->address],
				       .host = place[HOST] };

	learn_again(&v->learn, &t, e->at);
	if (v->told != e->address) {
		v->holds = false; /* it is expected to move */
		v->streak = 0;
		v->followed = 0;
		v->noticed = v->any && v->last_place != e->address;
	}
	v->told = e->address;
}

static void note_accepted(struct view *v, const struct event *e)
{
	if (v->any && v->last_place != e->address)
		v->noticed = false;
	if (address_equal(learn_to(&v->learn), &place[e->address]))
		v->noticed = false;
	if (e->who == ATTACKER) {
		v->holds = v->party_was_last = false;
		v->followed = 0;
	}
	v->any = true;
	v->last_ssrc = e->ssrc;
	v->last_place = e->address;
}

static bool step(struct view *v, const struct event *e, const char **why)
{
	const struct learn_arrival p = { .from = &place[e->address],
					 .ssrc = e->ssrc,
					 .seq = e->seq,
					 .valid = e->valid };
	struct sockaddr_storage before = *learn_to(&v->learn);
	unsigned result;
	bool ok;

	if (e->who == OFFER) {
		note_offer(v, e);
		return true;
	}
	result = learn_packet(&v->learn, &p, e->at);
	ok = learn_accepts(result);
	if (!check_books(v, e, result, &before, why))
		return false;
	if (e->who == PARTY ? !check_party(v, e, result, why)
			    : !check_attacker(v, e, ok, why))
		return false;
	if (ok)
		note_accepted(v, e);
	if (e->who == ATTACKER) {
		v->attacks++;
		v->attacked = e->at;
	}
	return true;
}

/* Does all hold? *@why: what does not. */
static bool holds(const struct run *r, const char **why)
{
	struct view v = { .run = r, .told = TOLD };
	const struct learn_terms t = { .mode = r->mode,
				       .told = place[TOLD],
				       .host = place[HOST] };

	learn_init(&v.learn, &t);
	for (unsigned i = 0; i < r->n; i++)
		if (!step(&v, &r->event[i], why))
			return false;
	return true;
}

/* --- what they do -------------------------------------------------------- */

static void add(struct run *r, const struct event *e)
{
	if (r->n < EVENTS_MAX)
		r->event[r->n++] = *e;
}

/* The party's packets until @end, and the offers when it moves. */
static void make_party(struct run *r, uint64_t *s, cr_ns start, cr_ns end)
{
	unsigned loss = test_below(s, 3) * test_below(s, 20); /* percent */
	cr_ns ptime = (1 + test_below(s, 20)) * 10 * CR_MS;
	struct event e = { .at = start,
			   .who = PARTY,
			   .address = r->home,
			   .ssrc = (uint32_t)test_random(s),
			   .seq = (uint16_t)test_random(s),
			   .valid = true };
	unsigned steady = 0; /* packets since something changed */

	for (; e.at < end; e.at += ptime, e.seq++, steady++) {
		unsigned what = test_below(s, 400);

		if (ptime <= 60 * CR_MS && test_below(s, 100) < loss)
			continue;
		if (steady > 8 && what == 0) { /* another SSRC */
			e.ssrc = (uint32_t)test_random(s);
			e.seq = (uint16_t)test_random(s);
			steady = 0;
		} else if (steady > 8 && what == 1) { /* a pause */
			e.at += test_below(s, 8000) * CR_MS;
			steady = 0;
		} else if (steady > 8 && what == 2) { /* NAT */
			e.address = rank_of(e.address, TOLD) ? PORT : ELSEWHERE;
			steady = 0;
		} else if (steady > 8 && what == 3) { /* a transfer */
			struct event offer = { .at = e.at,
					       .who = OFFER,
					       .address = MOVED };

			add(r, &offer);
			e.address = MOVED;
			e.ssrc = (uint32_t)test_random(s);
			steady = 0;
		} else if (what == 4) { /* an offer that repeats the address */
			struct event offer = { .at = e.at,
					       .who = OFFER,
					       .address = e.address == MOVED
								  ? MOVED
								  : TOLD };

			add(r, &offer);
		}
		e.valid = test_below(s, 50) > 0;
		add(r, &e);
	}
}

/* One attacker, who sees what the party sends. */
static void make_attacker(struct run *r, uint64_t *s, unsigned party,
			  unsigned who, cr_ns start, cr_ns end)
{
	unsigned strategy = test_below(s, 4);
	cr_ns gap = test_below(s, 3) ? 2 * CR_MS + test_below(s, 30) * CR_MS
				     : 400 * CR_MS;
	struct event e = { .who = ATTACKER,
			   .address = who,
			   .valid = true,
			   .ssrc = (uint32_t)test_random(s),
			   .seq = (uint16_t)test_random(s) };
	unsigned seen = 0;

	if (test_below(s, 4) == 0) /* a stray packet or two */
		end = start + gap;
	for (e.at = start; e.at < end; e.at += gap) {
		while (seen < party && r->event[seen].at <= e.at)
			seen++;
		e.seq++;
		if (strategy == 0 || strategy == 1)
			e.seq = (uint16_t)test_random(s);
		if (strategy == 0)
			e.ssrc = (uint32_t)test_random(s);
		if (strategy >= 2 && seen && r->event[seen - 1].who == PARTY) {
			e.ssrc = strategy == 3 ? r->event[seen - 1].ssrc
					       : e.ssrc;
			e.seq = strategy == 3
					? (uint16_t)(r->event[seen - 1].seq + 1)
					: e.seq;
		}
		add(r, &e);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->who != y->who ? (int)x->who - (int)y->who
				: (x->seq > y->seq) - (x->seq < y->seq);
}

static void make(struct run *r, uint64_t *s)
{
	cr_ns start = test_below(s, 3) ? 0 : test_below(s, 9000) * CR_MS;
	cr_ns end = start + (2 + test_below(s, 20)) * CR_SEC;
	unsigned attackers = test_below(s, 4), party;

	r->n = 0;
	r->mode = (enum learn_mode)test_below(s, 3);
	r->home = test_below(s, STRANGE + 1);
	if (r->mode == LEARN_STRICT)
		r->home = TOLD;
	make_party(r, s, start, end);
	party = r->n;
	for (unsigned i = 0; i < attackers; i++) {
		cr_ns first = test_below(s, 2) ? 0 : start;

		first += test_below(s, 3000) * CR_MS;
		make_attacker(r, s, party,
			      test_below(s, 8) ? ATTACKERS + test_below(s, 6)
					       : NEIGHBOUR,
			      first, first + test_below(s, 12000) * CR_MS);
	}
	qsort(r->event, r->n, sizeof(r->event[0]), by_time);
}

/* --- a failing run ------------------------------------------------------- */

/* Leave out @count from @from on, if it still fails. */
static bool leave_out(struct run *r, unsigned from, unsigned count)
{
	static struct run less;
	const char *why;

	less = *r;
	less.n -= count;
	memmove(less.event + from, less.event + from + count,
		(less.n - from) * sizeof(less.event[0]));
	if (holds(&less, &why))
		return false;
	*r = less;
	return true;
}

static void shrink(struct run *r)
{
	for (unsigned part = r->n / 2; part; part /= 2)
		for (unsigned i = 0; i + part <= r->n;)
			if (!leave_out(r, i, part))
				i += part;
	for (unsigned i = 0; i < r->n;)
		i = leave_out(r, i, 1) ? 0 : i + 1;
}

static void show(const struct run *r)
{
	static const char *const who[] = { "party", "attacker", "offer" };

	printf("mode %u\n", r->mode);
	for (unsigned i = 0; i < r->n; i++) {
		const struct event *e = &r->event[i];

		printf("%8lld ms %-8s %-18s ssrc %08x seq %5u%s\n",
		       (long long)(e->at / CR_MS), who[e->who],
		       texts[e->address], e->ssrc, e->seq,
		       e->valid ? "" : " not valid");
	}
}

static void the_party_is_heard_and_nobody_else(void **state)
{
	static struct run r;
	uint64_t s = test_seed();
	unsigned runs = TEST_TRIES(RUNS);
	const char *why = "";

	(void)state;
	for (unsigned i = 0; i < runs; i++) {
		make(&r, &s);
		if (holds(&r, &why))
			continue;
		shrink(&r);
		(void)holds(&r, &why);
		show(&r);
		fail_msg("run %u, shrunk to %u packets: %s", i, r.n, why);
	}
}

static int places(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PLACES; i++)
		if (address_parse(texts[i], &place[i]))
			return -1;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_party_is_heard_and_nobody_else),
	};

	return cmocka_run_group_tests(tests, places, NULL);
}
