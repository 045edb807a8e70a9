/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitter buffer whose output is written as a line: "7@120" is the packet
 * numbered 7, played at 120 ms, "c20@140" 20 ms to be concealed, "|@160" a
 * pause.
 */
#ifndef TESTS_JITTER_LINE_H
#define TESTS_JITTER_LINE_H

#include <stdio.h>

#include "cmocka_cr.h"
#include "jitter_watch.h"

#define LINE 2000

static struct jitter_watch w;
static char line[LINE];
static cr_ns ptime;

static inline void open_as(enum jitter_kind kind, cr_ns least, cr_ns most)
{
	const struct jitter_cfg cfg = { .kind = kind,
					.least = least * CR_MS,
					.most = most * CR_MS,
					.clock = 8000,
					.slots = 16 };

	watch_open(&w, &cfg);
	line[0] = '\0';
	ptime = 20;
}

static inline void close_it(void)
{
	if (w.broken)
		fail_msg("broken: %s", w.broken);
	watch_close(&w);
}

static inline void print_step(enum jitter_next what,
			      const struct jitter_output *out)
{
	size_t n = strlen(line);
	char *p = line + n;

	if (n > LINE - 40)
		return;
	if (n)
		*p++ = ' ';
	n = LINE - (size_t)(p - line);
	if (what == JITTER_PLAY)
		(void)snprintf(p, n, "%u@%lld", out->seq,
			       (long long)(w.now / CR_MS));
	else if (what == JITTER_CONCEAL)
		(void)snprintf(p, n, "c%u@%lld", out->duration / 8,
			       (long long)(w.now / CR_MS));
	else
		(void)snprintf(p, n, "|@%lld", (long long)(w.now / CR_MS));
}

/* Until @ms, and all at its time. */
static inline const char *until(cr_ns ms)
{
	struct jitter_output out;
	cr_ns due;

	while ((due = jitter_due(w.j)) <= ms * CR_MS)
		print_step(watch_one(&w, cr_ns_max(due, w.now), &out), &out);
	w.now = cr_ns_max(w.now, ms * CR_MS);
	return line;
}

static inline enum jitter_put put_packet(cr_ns ms, struct watch_packet p)
{
	(void)until(ms);
	p.at = ms * CR_MS;
	return watch_put(&w, &p);
}

/* Number @seq of a sender that never stops. */
static inline enum jitter_put put(cr_ns ms, unsigned seq)
{
	return put_packet(ms,
			  (struct watch_packet){
				  .seq = (uint16_t)seq,
				  .ts = (uint32_t)(seq * (unsigned)ptime * 8),
			  });
}

/* From @from to @to - 1, on time. */
static inline void put_all(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		assert_int_equal(put((cr_ns)i * ptime, i), JITTER_TAKEN);
}

static inline unsigned long long counted(const atomic_ullong *counter)
{
	return watch_counted(&w, counter);
}

#define COUNTED(name) counted(&jitter_counts(w.j)->name)

#endif
