/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of codec-feeder on a terminal or in a log.
 */
#include "app/feeder/progress.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/clock.h"

#define TERMINAL_EVERY (200 * CR_MS)
#define LOG_EVERY (5 * CR_SEC)

void feeder_progress_init(struct feeder_progress *p, FILE *out)
{
	*p = (struct feeder_progress){ .out = out,
				       .terminal = isatty(fileno(out)) == 1 };
}

static void write_line(FILE *f, const struct session_progress *s)
{
	if (s->total) {
		(void)fprintf(f, "%s: %u of %u", s->phase, s->done, s->total);
		return;
	}
	(void)fprintf(f,
		      "%u calls up, %" PRIu64 " sent, %" PRIu64
		      " received, %" PRIu64 " lost or under way, %lld s left",
		      s->up, s->sent, s->received, s->lost,
		      (long long)((s->left + CR_SEC - 1) / CR_SEC));
	if (s->refused)
		(void)fprintf(f, ", %u refused", s->refused);
}

void feeder_progress_show(void *arg, const struct session_progress *s)
{
	struct feeder_progress *p = arg;
	cr_ns now = clock_now();
	bool last = s->total && s->done == s->total;

	if (now < p->next && !last)
		return;
	p->next = now + (p->terminal ? TERMINAL_EVERY : LOG_EVERY);
	if (p->terminal)
		(void)fputs("\r\033[K", p->out);
	write_line(p->out, s);
	if (!p->terminal)
		(void)fputc('\n', p->out);
	p->open = p->terminal;
	(void)fflush(p->out);
}

void feeder_progress_end(struct feeder_progress *p)
{
	if (p->open)
		(void)fputc('\n', p->out);
	p->open = false;
}
