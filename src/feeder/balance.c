/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums, and the sentences about those that are not equal.
 */
#include "feeder/balance.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A counter, and how it is called. */
struct part {
	const char *name;
	uint64_t n;
};

/* clang-format off */
#define COUNTER(name) { #name, s->daemon[CALL_COUNTER_##name] }
/* clang-format on */

__attribute__((format(printf, 2, 3))) static void fault(struct balance *b,
							const char *fmt, ...)
{
	va_list ap;

	if (b->count == BALANCE_FAULTS_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(b->faults[b->count++], BALANCE_TEXT, fmt, ap);
	va_end(ap);
}

static uint64_t sum_parts(const struct part *p, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += p[i].n;
	return sum;
}

/* "done 490, expired 2": those that are not 0. */
static const char *list_counts(const struct part *p, unsigned n, char *buf,
			       size_t size)
{
	size_t at = 0;

	(void)snprintf(buf, size, "nothing");
	for (unsigned i = 0; i < n && at < size; i++)
		if (p[i].n)
			at += (size_t)snprintf(buf + at, size - at,
					       "%s%s %" PRIu64, at ? ", " : "",
					       p[i].name, p[i].n);
	return buf;
}

/* @whole must be what @p add up to. */
static void must_be(struct balance *b, const char *what, uint64_t whole,
		    const struct part *p, unsigned n)
{
	uint64_t sum = sum_parts(p, n);
	char text[160];

	if (sum == whole)
		return;
	fault(b,
	      "%" PRIu64 " %s, of which the daemon counted %" PRIu64
	      ": %" PRIu64 " %s (%s)",
	      whole, what, sum, sum < whole ? whole - sum : sum - whole,
	      sum < whole ? "are missing" : "too many",
	      list_counts(p, n, text, sizeof(text)));
}

#define MUST_BE(b, what, whole, parts)                                         \
	must_be(b, what, whole, parts, sizeof(parts) / sizeof((parts)[0]))

static void judge_received(const struct balance_side *s, struct balance *b)
{
	const struct part in[] = {
		COUNTER(packets_in), COUNTER(duplicates), COUNTER(reordered),
		COUNTER(seq_jumps),  COUNTER(too_big),	  COUNTER(wrong_source),
		COUNTER(wrong_ssrc), COUNTER(probation),  COUNTER(wrong_pt),
		COUNTER(port_drops), COUNTER(unread),	  COUNTER(late_in),
		COUNTER(overflowed), COUNTER(surplus),
	};
	const struct part frames[] = {
		COUNTER(done),	      COUNTER(expired),	  COUNTER(shed),
		COUNTER(overwritten), COUNTER(concealed), COUNTER(malformed),
		COUNTER(cancelled),
	};
	const struct part relayed[] = {
		COUNTER(packets_out),
		COUNTER(no_destination),
		COUNTER(on_hold),
		COUNTER(send_failed),
	};

	MUST_BE(b, "packets were sent", phone_sent(s->phone), in);
	if (s->relay)
		MUST_BE(b, "packets were taken in",
			s->daemon[CALL_COUNTER_packets_in], relayed);
	else
		MUST_BE(b, "frames were taken in, or made",
			s->daemon[CALL_COUNTER_packets_in] +
				s->daemon[CALL_COUNTER_synthesized],
			frames);
}

static void judge_sent(const struct balance_side *s, struct balance *b)
{
	const uint64_t *d = s->daemon;
	uint64_t out = d[CALL_COUNTER_packets_out];
	uint64_t made = out + d[CALL_COUNTER_no_destination] +
			d[CALL_COUNTER_on_hold] + d[CALL_COUNTER_send_failed] +
			d[CALL_COUNTER_excess];
	/* frames that need not lead to a packet: digits, noise, what was made
	 */
	uint64_t quiet = d[CALL_COUNTER_events] + d[CALL_COUNTER_cn_in] +
			 d[CALL_COUNTER_synthesized] + d[CALL_COUNTER_muted];
	uint64_t done = d[CALL_COUNTER_done];
	/* and pauses leave as comfort noise when some of them were shed */
	uint64_t least =
		done > quiet && !d[CALL_COUNTER_pauses] ? done - quiet : 0;
	uint64_t most = done + d[CALL_COUNTER_concealed] +
			d[CALL_COUNTER_missing] + d[CALL_COUNTER_events_out];
	uint64_t came = s->heard->count.packets + s->drops;

	if (came != out)
		fault(b,
		      "the daemon sent %" PRIu64 " packets to the other party, "
		      "where %" PRIu64 " came: %" PRIu64 " %s",
		      out, came, out > came ? out - came : came - out,
		      out > came ? "are missing" : "too many");
	if (s->one_to_one && (made < least || made > most))
		fault(b,
		      "%" PRIu64 " packets came of %" PRIu64 " transcoded: "
		      "expected %" PRIu64 " to %" PRIu64,
		      made, done, least, most);
}

static void judge_numbers(const struct balance_side *s, struct balance *b)
{
	const struct heard_counts *h = &s->heard->count;
	const struct part wrong[] = {
		{ "unknown SSRC", h->wrong_ssrc },
		{ "number twice", h->repeated },
		{ "behind a newer one", h->overtaken },
		{ "number far off", h->restarts },
		{ "timestamp does not rise", h->backward },
		{ "unknown payload type", h->foreign },
		{ "cannot be read", h->malformed },
		{ "speech within a digit", h->in_digit },
		{ "digit beyond those kept", h->more_digits },
	};
	uint64_t gaps = heard_gaps(s->heard);
	/* what was lost on the way shows, too */
	uint64_t explained = s->daemon[CALL_COUNTER_missing] +
			     s->daemon[CALL_COUNTER_jitter_missed] + s->drops;
	char text[160];

	if (sum_parts(wrong, sizeof(wrong) / sizeof(wrong[0])))
		fault(b, "the other party was sent what is wrong: %s",
		      list_counts(wrong, sizeof(wrong) / sizeof(wrong[0]), text,
				  sizeof(text)));
	if (s->reported && gaps > explained)
		fault(b,
		      "the other party misses %" PRIu64 " numbers, but only "
		      "%" PRIu64 " packets were missing before",
		      gaps, explained);
}

static bool is_as_sent(const struct balance_side *s,
		       const struct phone_digit *sent,
		       const struct heard_digit *came)
{
	/* Of what was sent in a digit's clock, in the other's. */
	uint32_t want = (uint32_t)((uint64_t)sent->duration * s->clock_out /
				   s->phone->clock);

	return came->ends && came->duration + 1 >= want &&
	       came->duration <= want + 1;
}

/* What came is compared with what was sent, in order; a digit of which nothing
 * was left may be left out, and others may have been lost. */
static void judge_digits(const struct balance_side *s, struct balance *b)
{
	const char *digits = s->phone->flow->party.dtmf.digits;
	const struct heard *h = s->heard;
	unsigned at = 0;

	for (unsigned i = 0; digits[i]; i++)
		b->digits_sent += s->phone->digits[i].packets > 0;
	for (unsigned i = 0; i < h->ndigits; i++) {
		const struct heard_digit *came = &h->digits[i];
		char code = heard_digit_key(came);

		while (digits[at] &&
		       (digits[at] != code || !s->phone->digits[at].packets))
			at++;
		if (!digits[at]) {
			fault(b,
			      "digit %c came as number %u, where it was not "
			      "dialled (%s)",
			      code, i + 1, digits);
			return;
		}
		b->digits_right += is_as_sent(s, &s->phone->digits[at], came);
		at++;
	}
}

void balance_judge(const struct balance_side *s, struct balance *out)
{
	*out = (struct balance){ 0 };
	if (s->reported) {
		judge_received(s, out);
		judge_sent(s, out);
	} else {
		fault(out, "the daemon did not tell what it counted");
	}
	if (!s->relay)
		judge_numbers(s, out);
	judge_digits(s, out);
}
