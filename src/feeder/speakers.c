/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines from a pipe to a limit for each flow.
 */
#include "feeder/speakers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "campaign/plan.h"

#define LINE_BYTES 8192u /* of all flows that a campaign may have */

struct speakers {
	struct speakers_cfg cfg;
	struct event *readable;
	unsigned nflows, lines; /* lines: read so far */
	size_t filled;
	char text[LINE_BYTES]; /* what is read and not yet a line */
	unsigned *asked;       /* [nflows] by the line being read */
	atomic_uint *limit;    /* [nflows] */
};

struct speakers *speakers_new(const struct speakers_cfg *cfg)
{
	struct speakers *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	s->nflows = cfg->campaign->flow_count;
	s->limit = calloc(s->nflows, sizeof(*s->limit));
	s->asked = calloc(s->nflows, sizeof(*s->asked));
	if (s->limit && s->asked)
		return s;
	speakers_free(s);
	return NULL;
}

void speakers_free(struct speakers *s)
{
	if (!s)
		return;
	if (s->readable)
		event_free(s->readable);
	free(s->limit);
	free(s->asked);
	free(s);
}

const atomic_uint *speakers_limit(const struct speakers *s, unsigned flow)
{
	return &s->limit[flow];
}

/* "FLOW=N" */
static int take_speaker_word(struct speakers *s, char *word, struct cr_err *e)
{
	const struct campaign_flow *flows = s->cfg.campaign->flows;
	char *digits = strchr(word, '='), *rest, hint[300];
	const char *names[65] = { NULL };
	unsigned long long n;

	if (!digits)
		return cr_fail(e, -EINVAL, "'%s' is not FLOW=N", word);
	*digits++ = '\0';
	n = strtoull(digits, &rest, 10);
	if (*digits < '0' || *digits > '9' || *rest || n > PLAN_CALLS_MAX)
		return cr_fail(e, -EINVAL, "%s=%s: needs a number from 0 to %u",
			       word, digits, PLAN_CALLS_MAX);
	for (unsigned i = 0; i < s->nflows; i++) {
		if (!strcmp(flows[i].name, word)) {
			s->asked[i] = (unsigned)n;
			return 0;
		}
		if (i < 64)
			names[i] = flows[i].name;
	}
	return cr_fail(e, -EINVAL, "no flow '%s'; %s", word,
		       nearest_hint(word, names, hint, sizeof(hint)));
}

int speakers_take_line(struct speakers *s, const char *line, struct cr_err *e)
{
	char words[LINE_BYTES], *save = NULL;
	int rc = 0;

	(void)snprintf(words, sizeof(words), "%s", line);
	for (unsigned i = 0; i < s->nflows; i++)
		s->asked[i] = atomic_load_explicit(&s->limit[i],
						   memory_order_relaxed);
	for (char *w = strtok_r(words, " \t\r", &save); w && !rc;
	     w = strtok_r(NULL, " \t\r", &save))
		rc = take_speaker_word(s, w, e);
	for (unsigned i = 0; i < s->nflows && !rc; i++)
		atomic_store_explicit(&s->limit[i], s->asked[i],
				      memory_order_relaxed);
	return rc;
}

static void give_up(struct speakers *s, int err, const char *why)
{
	char text[500];

	(void)event_del(s->readable);
	(void)snprintf(text, sizeof(text), "--speakers: line %u: %.450s",
		       s->lines, why);
	s->cfg.failed(s->cfg.arg, err, text);
}

/* Take the next line. False: stop. */
static bool take_next_speaker(struct speakers *s, const char *line)
{
	struct cr_err e = { "" };
	int rc;

	s->lines++;
	if (!strcmp(line, "end")) {
		(void)event_del(s->readable);
		s->cfg.end(s->cfg.arg);
		return false;
	}
	rc = speakers_take_line(s, line, &e);
	if (rc)
		give_up(s, rc, e.text);
	else
		s->cfg.set(s->cfg.arg, clock_now(), line);
	return !rc;
}

/* Take what is whole. */
static void take_lines(struct speakers *s)
{
	char *from = s->text, *end;

	while ((end = strchr(from, '\n')) != NULL) {
		*end = '\0';
		if (!take_next_speaker(s, from))
			return;
		from = end + 1;
	}
	s->filled -= (size_t)(from - s->text);
	memmove(s->text, from, s->filled + 1);
	if (s->filled < sizeof(s->text) - 1)
		return;
	s->lines++;
	give_up(s, -EINVAL, "it is too long");
}

static void on_speaker_readable(evutil_socket_t fd, short what, void *arg)
{
	struct speakers *s = arg;
	ssize_t n =
		read(fd, s->text + s->filled, sizeof(s->text) - 1 - s->filled);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* who speaks goes on to */
		(void)event_del(s->readable);
		if (s->filled)
			(void)take_next_speaker(s, s->text);
		return;
	}
	s->filled += (size_t)n;
	s->text[s->filled] = '\0';
	if (strlen(s->text) < s->filled) {
		s->lines++;
		give_up(s, -EINVAL, "it has a zero octet");
		return;
	}
	take_lines(s);
}

int speakers_read(struct speakers *s, struct event_base *base, struct cr_err *e)
{
	s->readable = event_new(base, s->cfg.fd, EV_READ | EV_PERSIST,
				on_speaker_readable, s);
	if (!s->readable)
		return cr_fail(e, -ENOMEM, "out of memory for events");
	if (event_add(s->readable, NULL))
		return cr_fail(e, -EINVAL,
			       "--speakers: standard input has to be a pipe, "
			       "a socket or a terminal");
	return 0;
}
