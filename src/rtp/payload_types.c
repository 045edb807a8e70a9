/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint's payload types, and the packets of those that nobody named. SDP
 * is not read here, and no codec is opened.
 */
#include "rtp/payload_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned what_of(enum payload_type_kind kind, unsigned index)
{
	return (unsigned)kind << 6 | index;
}

static int check_type(const struct payload_types *t, unsigned pt,
		      struct cr_err *e)
{
	char meaning[64];
	unsigned what;

	if (pt > 127)
		return cr_fail(e, -ERANGE,
			       "payload type %u is too large: use 0 to 63 or "
			       "96 to 127",
			       pt);
	if (pt >= 64 && pt <= 95)
		return cr_fail(e, -EINVAL,
			       "payload type %u cannot be told from RTCP (RFC "
			       "5761): use 0 to 63 or 96 to 127",
			       pt);
	if (!t->what[pt])
		return 0;
	what = t->what[pt];
	if (payload_type_kind(what) == PAYLOAD_TYPE_SPEECH)
		(void)snprintf(meaning, sizeof(meaning), "codec %u of the list",
			       payload_type_codec(what));
	else
		(void)snprintf(meaning, sizeof(meaning), "%s/%u",
			       payload_type_kind(what) == PAYLOAD_TYPE_EVENT
				       ? "telephone-event"
				       : "CN",
			       (unsigned)payload_type_hz(t, what));
	return cr_fail(e, -EEXIST,
		       "payload type %u is given twice: it is %s already", pt,
		       meaning);
}

int payload_types_add_speech(struct payload_types *t, unsigned pt,
			     unsigned codec, struct cr_err *e)
{
	int err = check_type(t, pt, e);

	if (err)
		return err;
	if (codec >= PAYLOAD_TYPES_CODECS)
		return cr_fail(
			e, -ERANGE,
			"payload type %u: an endpoint has at most %u codecs",
			pt, PAYLOAD_TYPES_CODECS);
	t->what[pt] = (uint8_t)what_of(PAYLOAD_TYPE_SPEECH, codec);
	return 0;
}

/* Add a type of a kind that has a clock. */
static int add_clock(struct payload_types *t, enum payload_type_kind kind,
		     const struct payload_type_clock *add, struct cr_err *e)
{
	bool event = kind == PAYLOAD_TYPE_EVENT;
	struct payload_type_clock *list = event ? t->event : t->noise;
	uint8_t *n = event ? &t->events : &t->noises;
	const char *name = event ? "telephone-event" : "CN";

	if (!add->clock)
		return cr_fail(
			e, -EINVAL,
			"payload type %u: %s needs a clock, such as 8000",
			add->pt, name);
	if (*n == PAYLOAD_TYPES_CLOCKS)
		return cr_fail(
			e, -ENOSPC,
			"payload type %u: an endpoint has at most %u types of "
			"%s",
			add->pt, PAYLOAD_TYPES_CLOCKS, name);
	t->what[add->pt] = (uint8_t)what_of(kind, *n);
	list[(*n)++] = *add;
	return 0;
}

int payload_types_add_event(struct payload_types *t, unsigned pt,
			    unsigned clock, struct cr_err *e)
{
	const struct payload_type_clock add = { clock, (uint8_t)pt };
	int err = check_type(t, pt, e);

	return err ? err : add_clock(t, PAYLOAD_TYPE_EVENT, &add, e);
}

int payload_types_add_noise(struct payload_types *t, unsigned pt,
			    unsigned clock, struct cr_err *e)
{
	const struct payload_type_clock add = { clock, (uint8_t)pt };
	int err = check_type(t, pt, e);

	return err ? err : add_clock(t, PAYLOAD_TYPE_NOISE, &add, e);
}

int payload_types_of_speech(const struct payload_types *t, unsigned codec)
{
	for (unsigned pt = 0; pt < sizeof(t->what); pt++)
		if (payload_type_kind(t->what[pt]) == PAYLOAD_TYPE_SPEECH &&
		    payload_type_codec(t->what[pt]) == codec)
			return (int)pt;
	return -1;
}

static int type_of(const struct payload_type_clock *list, unsigned n,
		   unsigned clock)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i].clock == clock)
			return list[i].pt;
	return -1;
}

int payload_types_of_event(const struct payload_types *t, unsigned clock)
{
	return type_of(t->event, t->events, clock);
}

int payload_types_of_noise(const struct payload_types *t, unsigned clock)
{
	return type_of(t->noise, t->noises, clock);
}

#define PACKETS_MASK ((UINT64_C(1) << 56) - 1)

static uint64_t get_unknown(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

/* One thread writes. */
static void put_unknown(_Atomic uint64_t *n, uint64_t v)
{
	atomic_store_explicit(n, v, memory_order_relaxed);
}

void payload_unknown_count(struct payload_unknown *u, uint8_t pt)
{
	for (unsigned i = 0; i < PAYLOAD_UNKNOWN_TYPES; i++) {
		uint64_t n = get_unknown(&u->type[i]);

		if (!n)
			n = (uint64_t)(1u + (pt & 127u)) << 56;
		if (n >> 56 == 1u + (pt & 127u)) {
			put_unknown(&u->type[i], n + 1);
			return;
		}
	}
	put_unknown(&u->others, get_unknown(&u->others) + 1);
}

uint64_t payload_unknown_type(const struct payload_unknown *u, unsigned i,
			      uint8_t *pt)
{
	uint64_t n;

	if (i >= PAYLOAD_UNKNOWN_TYPES) {
		*pt = 255;
		return get_unknown(&u->others);
	}
	n = get_unknown(&u->type[i]);
	*pt = (uint8_t)((n >> 56) - 1);
	return n & PACKETS_MASK;
}

uint64_t payload_unknown_sum(const struct payload_unknown *u)
{
	uint64_t sum = get_unknown(&u->others);

	for (unsigned i = 0; i < PAYLOAD_UNKNOWN_TYPES; i++)
		sum += get_unknown(&u->type[i]) & PACKETS_MASK;
	return sum;
}

const char *payload_unknown_text(const struct payload_unknown *u, char *buf,
				 size_t size)
{
	size_t at = 0;
	uint8_t pt;

	buf[0] = '\0';
	for (unsigned i = 0; i <= PAYLOAD_UNKNOWN_TYPES && at < size; i++) {
		unsigned long long n = payload_unknown_type(u, i, &pt);
		const char *comma = at ? ", " : "";
		int more = 0;

		if (n && pt < 128)
			more = snprintf(buf + at, size - at,
					"%s%llu of type %u", comma, n, pt);
		else if (n)
			more = snprintf(buf + at, size - at, "%s%llu of others",
					comma, n);
		at += more > 0 ? (size_t)more : 0;
	}
	return buf;
}
