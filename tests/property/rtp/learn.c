/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A party and attackers at one open port. The party sends with gaps of at most
 * 200 ms while it speaks, loses packets, pauses, changes its SSRC, changes its
 * address with and without an offer. The attackers spray, copy its SSRC and
 * numbers, send ten times as fast in sequence, and may come first. Who has been
 * heard for long enough leads, and is followed by nobody but who has its SSRC,
 * however long it is silent; and it gets its place back. What must hold is
 * checked after each packet, from outside: see check_*(). A failing run
 * is shrunk by leaving packets out, and printed.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "learn_scene.h"
#include "seed.h"

#define RUNS 4000u

/* --- what must hold ------------------------------------------------------ */

/* What an observer knows. */
struct view {
	struct learn learn;
	const struct scene *run;
	unsigned long long in, results[LEARN_WAITING + 1];
	unsigned signalled;
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

	cr_ns attack, attacked; /* the first and last packet of attackers */
	unsigned attacks;

	/* Of whoever is heard: how many of its packets there are a slot behind
	 * the one before, and the last of them. */
	cr_ns slot;
	unsigned slots;
	bool led;	 /* the party, at @led_at; nobody is expected since */
	unsigned led_at; /* and one attacker at most has been heard */
	bool lost;	 /* to an attacker */
	bool followed_rival; /* from whom the party took it, who may have led */
	unsigned rival;
	cr_ns offered;	   /* the last offer */
	cr_ns streak_from; /* its first packet */
	cr_ns streak_slot; /* as @slot, @slots of the streak */
	unsigned streak_slots;
};

static bool fail_with(const char *what, bool ok, const char **why)
{
	if (!ok)
		*why = what;
	return ok;
}

/* Where answers go while @e is heard. */
static unsigned answers(const struct view *v, const struct event *e)
{
	return v->run->mode == LEARN_ASYMMETRIC ? v->signalled : e->address;
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
			 v->noticed ||
				 address_equal(learn_to(&v->learn),
					       &scene_place[answers(v, e)]),
			 why);
}

/* Does it lead, beyond doubt? */
static bool leads(const struct view *v)
{
	return v->followed >= LEARN_PROOF &&
	       (v->slots >= LEARN_LEAD || v->last_place == v->signalled);
}

/* Could attackers have been heard for long enough? */
static bool may_lead(const struct view *v)
{
	return v->attacked - v->attack >= (LEARN_LEAD - 2) * LEARN_SLOT;
}

/* Nobody takes a call over while its party speaks, but for those for whom
 * signalling vouches more. */
static bool check_attacker(struct view *v, const struct event *e, bool ok,
			   const char **why)
{
	bool speaks = v->holds && e->at - v->party.at <= SPEAKS &&
		      (!v->followed_rival || e->address != v->rival) &&
		      scene_rank(e->address, v->signalled) <=
			      scene_rank(v->party.address, v->signalled);

	if (v->run->mode == LEARN_STRICT &&
	    !fail_with("strict: a foreigner is heard", !ok, why))
		return false;
	if (!fail_with("taken over while the party speaks", !ok || !speaks,
		       why))
		return false;
	return fail_with(
		"a stranger follows the party that leads",
		!ok || !v->led || !v->party_was_last ||
			e->ssrc == v->last_ssrc ||
			e->at - v->offered <= LEARN_WINDOW ||
			scene_rank(e->address, v->signalled) >
				scene_rank(v->last_place, v->signalled),
		why);
}

/* Did all foreigners stop so long before @now that they are absent, and does
 * none lead? Of a stray packet nobody thinks longer than of a silence. */
static bool foreigners_are_gone(const struct view *v, cr_ns now)
{
	cr_ns quiet = v->attacks ? now - v->attacked : CR_NEVER;

	return !v->party_was_last && !v->lost && v->any && !may_lead(v) &&
	       (quiet > LEARN_ABSENCE ||
		(v->attacks < LEARN_PROOF && quiet > LEARN_SILENCE));
}

/* May the party's packet be refused for its address? */
static bool may_be_foreign(const struct view *v, const struct event *e)
{
	unsigned rank = scene_rank(e->address, v->signalled);

	if (v->run->mode == LEARN_STRICT)
		return rank < 2;
	return v->any && e->address != v->last_place &&
	       rank <= scene_rank(v->last_place, v->signalled) &&
	       !foreigners_are_gone(v, e->at);
}

/* When must this packet of the party be accepted? The first two that prove it
 * may be lost. */
static bool must_be_heard(const struct view *v, const struct event *e)
{
	unsigned rank = scene_rank(e->address, v->signalled);

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
	 * changed its SSRC; or it led; or nobody is in its way, and it was
	 * heard for longer */
	return !v->any || e->address == v->last_place ||
	       rank > scene_rank(v->last_place, v->signalled) ||
	       (v->led && e->address == v->led_at) ||
	       (v->streak_slots > LEARN_LEAD &&
		foreigners_are_gone(v, v->streak_from));
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
	return v->followed >= LEARN_PROOF &&
	       ((v->run->mode != LEARN_DELAYED &&
		 v->run->mode != LEARN_ASYMMETRIC) ||
		e->at - v->taken > LEARN_WINDOW);
}

/* For how long is who is at that place heard? */
static void note_heard(struct view *v, const struct event *e, bool new)
{
	if (new)
		v->slots = 0;
	if (new || e->at - v->slot >= LEARN_SLOT) {
		v->slot = e->at;
		v->slots++;
	}
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
	if (v->streak == 1) {
		v->streak_from = e->at;
		v->streak_slots = 0;
	}
	if (v->streak == 1 || e->at - v->streak_slot >= LEARN_SLOT) {
		v->streak_slot = e->at;
		v->streak_slots++;
	}
	if (ok) {
		new = !v->party_was_last || e->address != v->last_place;
		if (v->any && !v->party_was_last) {
			v->followed_rival = may_lead(v);
			v->rival = v->last_place;
		}
		v->taken = new ? e->at : v->taken;
		v->followed = in_order && !new ? v->followed + 1 : 1;
		v->holds = !v->noticed && (v->holds || new || is_proven(v, e));
		v->party_was_last = true;
		note_heard(v, e, new);
		if (e->address != v->led_at &&
		    (v->lost || e->ssrc != v->last_ssrc))
			v->led = false;
		if (leads(v)) {
			v->led = !v->noticed;
			v->led_at = e->address;
		}
		v->lost = false;
	}
	v->party = *e;
	v->party_any = true;
	return true;
}

static void note_offer(struct view *v, const struct event *e)
{
	const struct learn_terms t = { .mode = v->run->mode,
				       .signalled = scene_place[e->address],
				       .host = scene_place[HOST] };

	learn_again(&v->learn, &t, e->at);
	v->offered = e->at;
	if (v->signalled != e->address) {
		v->led = false;
		v->holds = false; /* it is expected to move */
		v->streak = 0;
		v->followed = 0;
		v->noticed = v->any && v->last_place != e->address;
	}
	v->signalled = e->address;
}

static void note_accepted(struct view *v, const struct event *e)
{
	if (v->any && v->last_place != e->address)
		v->noticed = false;
	if (address_equal(learn_to(&v->learn), &scene_place[e->address]))
		v->noticed = false;
	if (e->who == ATTACKER) {
		bool new = v->party_was_last || v->last_place != e->address;

		/* who followed who followed it, or was vouched for more */
		if (v->lost && new)
			v->led = false;
		if (scene_rank(e->address, v->signalled) >
		    scene_rank(v->led_at, v->signalled))
			v->led = false;
		v->lost = v->led || v->lost;
		note_heard(v, e, new);
		v->holds = v->party_was_last = false;
		v->followed = 0;
	}
	v->any = true;
	v->last_ssrc = e->ssrc;
	v->last_place = e->address;
}

static bool step(struct view *v, const struct event *e, const char **why)
{
	const struct learn_arrival p = { .from = &scene_place[e->address],
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
		v->attack = v->attacks++ ? v->attack : e->at;
		v->attacked = e->at;
	}
	return true;
}

/* Does all hold? *@why: what does not. */
static bool holds(const struct scene *r, const char **why)
{
	struct view v = { .run = r,
			  .signalled = TOLD,
			  .offered = -CR_SEC * 60 };
	const struct learn_terms t = { .mode = r->mode,
				       .signalled = scene_place[TOLD],
				       .host = scene_place[HOST] };

	learn_init(&v.learn, &t);
	for (unsigned i = 0; i < r->n; i++)
		if (!step(&v, &r->event[i], why))
			return false;
	return true;
}

/* --- a failing run ------------------------------------------------------- */

/* Leave out @count from @from on, if it still fails. */
static bool leave_out(struct scene *r, unsigned from, unsigned count)
{
	static struct scene less;
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

static void shrink(struct scene *r)
{
	for (unsigned part = r->n / 2; part; part /= 2)
		for (unsigned i = 0; i + part <= r->n;)
			if (!leave_out(r, i, part))
				i += part;
	for (unsigned i = 0; i < r->n;)
		i = leave_out(r, i, 1) ? 0 : i + 1;
}

static void the_party_is_heard_and_nobody_else(void **state)
{
	static struct scene r;
	uint64_t s = test_seed();
	unsigned runs = TEST_TRIES(RUNS);
	const char *why = "";

	for (unsigned i = 0; i < runs; i++) {
		scene_make(&r, &s);
		if (holds(&r, &why))
			continue;
		shrink(&r);
		(void)holds(&r, &why);
		scene_show(&r);
		fail_msg("run %u, shrunk to %u packets: %s", i, r.n, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_party_is_heard_and_nobody_else),
	};

	return cmocka_run_group_tests(tests, scene_setup, NULL);
}
