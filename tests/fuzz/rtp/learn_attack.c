/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any attack on a party that speaks: nobody else is ever heard, and the party
 * always, but for the first two packets of another SSRC. It sends its first
 * packet, then one at least in every 200 ms.
 *
 * The first octet is the mode and where the party is. Then each packet of an
 * attacker has 4 octets: from where and with which SSRC, its number less the
 * party's (2), and the time since the packet before in ms. When the first octet
 * has its highest bit, the party sends, too, or changes its SSRC.
 */
#include "base/assert.h"
#include "rtp/learn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SPEAKS (200 * CR_MS)

/* The party is at one of the first three; signalling vouches for it as much as
 * for anybody, or more. */
enum { TOLD, PORT, STRANGE, PLACES = 8 };
static const char *const texts[PLACES] = {
	"10.0.0.1:4000",  "10.0.0.1:4002",  "203.0.113.7:9",  "198.51.100.1:1",
	"198.51.100.2:1", "198.51.100.3:1", "198.51.100.4:1", "198.51.100.5:1",
};

struct play {
	struct learn learn;
	struct sockaddr_storage at; /* the party */
	uint32_t ssrc;
	uint16_t seq;
	cr_ns sent;
	unsigned same; /* packets since it changed its SSRC, 2 at first */
};

static struct sockaddr_storage place(unsigned i)
{
	struct sockaddr_storage a;

	CR_ASSERT(!address_parse(texts[i % PLACES], &a));
	return a;
}

static void party_sends(struct play *p, cr_ns now)
{
	const struct learn_arrival a = {
		.from = &p->at, .ssrc = p->ssrc, .seq = p->seq++, .valid = true
	};

	CR_ASSERT(learn_accepts(learn_packet(&p->learn, &a, now)) ||
		  p->same < LEARN_PROOF - 1);
	p->same++;
	p->sent = now;
}

/* All that it sends until @now, at the last moment. */
static void party_until(struct play *p, cr_ns now)
{
	while (now - p->sent >= SPEAKS)
		party_sends(p, p->sent + SPEAKS);
}

/* Not before the SSRC before was heard, which proves the party. */
static void party_changes(struct play *p, uint16_t seq)
{
	if (p->same < 2 * LEARN_PROOF)
		return;
	p->ssrc++;
	p->seq = seq;
	p->same = 0;
}

static void attacker_sends(struct play *p, const uint8_t *d, cr_ns now)
{
	const struct sockaddr_storage from =
		place(3u + (d[0] & 7u) % (PLACES - 3u));
	const struct learn_arrival a = {
		.from = &from,
		.ssrc = p->ssrc + (d[0] >> 3 & 3u),
		.seq = (uint16_t)(p->seq + (d[1] << 8 | d[2])),
		.valid = !(d[0] & 32u),
	};

	CR_ASSERT(!learn_accepts(learn_packet(&p->learn, &a, now)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned mode = size ? data[0] % 3u : 0;
	unsigned home = size && mode != LEARN_STRICT ? data[0] / 3u % 3u : TOLD;
	struct learn_terms t = { .mode = (enum learn_mode)mode,
				 .signalled = place(TOLD) };
	struct play p = { .at = place(home), .ssrc = 7, .same = 2 };
	cr_ns now = 0;

	learn_init(&p.learn, &t);
	party_sends(&p, 0);
	for (size_t i = 1; i + 4 <= size; i += 4) {
		now += data[i + 3] * CR_MS;
		party_until(&p, now);
		if ((data[i] & 192u) == 192u)
			party_changes(&p, (uint16_t)(data[i + 1] << 8));
		if (data[i] & 128u)
			party_sends(&p, now);
		attacker_sends(&p, data + i, now);
	}
	return 0;
}
