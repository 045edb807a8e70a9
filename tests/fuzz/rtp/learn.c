/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any packets, offers and times for who an endpoint's party is. The first octet
 * is the mode and whether an SSRC is told. Then each packet has 4 octets:
 * address, SSRC and what it is; sequence number (2); time since the one before,
 * in units of 8 ms, where 255 goes back.
 */
#include <string.h>

#include "base/assert.h"
#include "rtp/learn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PLACES 8u
static const char *const texts[PLACES] = {
	"10.0.0.1:4000",      "10.0.0.1:4002",	    "192.0.2.1:4000",
	"203.0.113.7:9",      "203.0.113.8:9",	    "[2001:db8::1]:4000",
	"[2001:db8::1]:4002", "[2001:db8::2]:4000",
};

static struct sockaddr_storage place(unsigned i)
{
	struct sockaddr_storage a;

	CR_ASSERT(!address_parse(texts[i % PLACES], &a));
	return a;
}

static struct learn_terms terms(unsigned mode, unsigned signalled)
{
	struct learn_terms t = { .mode = (enum learn_mode)(mode % LEARN_MODES),
				 .host = place(2),
				 .ssrc_signalled = mode & 4,
				 .ssrc = 1 };

	if (signalled < PLACES)
		t.signalled = place(signalled);
	return t;
}

static unsigned long long sum(const struct learn *l)
{
	unsigned long long c[LEARN_NCOUNTERS];

	learn_counts(l, c);
	return c[LEARN_COUNTER_accepted] + c[LEARN_COUNTER_foreign_address] +
	       c[LEARN_COUNTER_foreign_ssrc] + c[LEARN_COUNTER_waiting];
}

/* What holds for each packet, whoever sends what. */
static void packet(struct learn *l, const uint8_t *p, cr_ns now)
{
	const struct sockaddr_storage from = place(p[0] & 7u);
	const struct learn_arrival a = { .from = &from,
					 .ssrc = 1 + (p[0] >> 3 & 7u),
					 .seq = (uint16_t)(p[1] << 8 | p[2]),
					 .valid = !(p[0] & 64u) };
	struct sockaddr_storage to = *learn_to(l);
	unsigned long long before = sum(l), heard = l->accepted;
	unsigned result = learn_packet(l, &a, now);

	CR_ASSERT(sum(l) == before + 1);
	CR_ASSERT(result <= LEARN_WAITING && result != 7);
	CR_ASSERT((l->accepted != heard) == learn_accepts(result));
	if (!learn_accepts(result)) {
		CR_ASSERT(!memcmp(&to, learn_to(l), sizeof(to)));
		return;
	}
	CR_ASSERT(l->known && l->ssrc == a.ssrc);
	CR_ASSERT(!l->terms.ssrc_signalled || a.ssrc == l->terms.ssrc);
	CR_ASSERT(l->terms.mode != LEARN_STRICT ||
		  address_equal(&from, &l->terms.signalled));
	if (l->terms.mode == LEARN_ASYMMETRIC)
		CR_ASSERT(
			!memcmp(&l->terms.signalled, learn_to(l), sizeof(to)));
	if (result & LEARN_NEW_ADDRESS)
		CR_ASSERT(address_equal(learn_to(l), &from));
	else
		CR_ASSERT(address_equal(learn_to(l), &to));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct learn_terms t = terms(size ? data[0] : 0, 0);
	struct learn l;
	cr_ns now = 0;

	learn_init(&l, &t);
	for (size_t i = 1; i + 4 <= size; i += 4) {
		const uint8_t *p = data + i;

		now += p[3] == 255 ? -8 * CR_MS : p[3] * 8 * CR_MS;
		if (p[0] & 128u) {
			t = terms(p[1], p[2] % (PLACES + 1));
			learn_again(&l, &t, now);
		} else {
			packet(&l, p, now);
		}
	}
	return 0;
}
