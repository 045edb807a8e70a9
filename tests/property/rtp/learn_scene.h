/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A party, attackers and offers: packets at random, in the order of time.
 */
#ifndef TESTS_LEARN_SCENE_H
#define TESTS_LEARN_SCENE_H

#include "rtp/learn.h"

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
extern struct sockaddr_storage scene_place[PLACES];

/* What happens. */
struct scene {
	enum learn_mode mode;
	unsigned home; /* where the party is at first */
	struct event event[EVENTS_MAX];
	unsigned n;
};

/* How far signalling vouches for an address; for strange ones: 0. */
unsigned scene_rank(unsigned address, unsigned signalled);

/* A group's setup: the places. */
int scene_setup(void **state);

void scene_make(struct scene *r, uint64_t *seed);
void scene_show(const struct scene *r);

#endif
