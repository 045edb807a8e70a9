/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Voices.
 */
#include "sim/voice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "media/importance.h"
#include "sim/cost_model.h"

#define RATE 8000u
#define SAMPLES_MAX (RATE / 1000u * 120u) /* a packet of 120 ms */
#define PATTERNS_MAX 256u /* what the loader of campaigns lets through */

/* Frames of a spurt are so much louder or softer than its mean, dB: what a
 * talker's vowels and consonants are apart. Those of a pause. */
#define SPURT_ABOVE 6
#define SPURT_BELOW 18
#define PAUSE_SPREAD 2

/* --- of a flow --- */

/* Can a receiver see it, without the codec? */
static bool is_rated(const struct campaign_flow *f)
{
	static const char *const pcm[] = { "pcmu", "pcma", "l16" };

	if (!f->synthetic && !strcmp(f->in.codec->name, "amr"))
		return importance_amr_shows(f->in.cfg.mode);
	for (unsigned i = 0; i < sizeof(pcm) / sizeof(pcm[0]); i++)
		if (!f->synthetic && !strcmp(f->in.codec->name, pcm[i]))
			return true;
	return f->synthetic;
}

static int open_corpus(struct voice_model *m, const struct voice_cfg *cfg,
		       struct cr_err *e)
{
	const struct campaign_flow *f = m->flow;
	char(*paths)[4096] = calloc(PATTERNS_MAX, sizeof(*paths));
	const char *patterns[PATTERNS_MAX + 1] = { NULL };
	int rc;

	if (!paths)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < f->input.count && i < PATTERNS_MAX; i++)
		patterns[i] =
			cost_model_path(paths[i], sizeof(paths[i]),
					cfg->campaign->path, f->input.item[i]);
	rc = speech_open(&m->corpus, RATE, f->input.count ? patterns : NULL, e);
	free(paths);
	return rc;
}

static void rate_segment(struct voice_model *m, unsigned i)
{
	uint8_t *levels = m->levels + (size_t)i * m->in.frames;
	/* at 8 kHz: that of PCMU and PCMA */
	cr_ns samples = m->flow->ptime * (cr_ns)RATE / CR_SEC;
	size_t n = (size_t)cr_ns_min(cr_ns_max(samples, 1), SAMPLES_MAX);
	bool turns = m->flow->voice.kind == VOICE_TURNS;
	struct speech_talker t;
	struct speech_reader r;

	if (turns)
		speech_talker_init(&t, &m->flow->voice.turns, m->corpus,
				   m->seed, i);
	else
		speech_reader_init(&r, m->corpus, m->seed, i);
	for (unsigned k = 0; k < m->in.frames; k++) {
		int16_t pcm[SAMPLES_MAX];
		uint64_t sum = 0;

		if (turns)
			speech_talker_read(&t, pcm, n);
		else
			speech_read(&r, pcm, n);
		for (size_t s = 0; s < n; s++)
			sum += (uint64_t)((int32_t)pcm[s] * pcm[s]);
		levels[k] = importance_of_square(sum / n);
	}
}

int voice_model_open(struct voice_model *m, const struct voice_cfg *cfg,
		     struct cr_err *e)
{
	int64_t kind = cfg->flow->voice.kind;
	int rc = 0;

	*m = (struct voice_model){ .seed = cfg->seed };
	if (kind == VOICE_UNKNOWN || !is_rated(cfg->flow))
		return 0;
	m->flow = cfg->flow;
	if (kind == VOICE_RECORDINGS || kind == VOICE_TURNS)
		rc = open_corpus(m, cfg, e);
	if (rc || !m->corpus)
		return rc;
	/* the feeder's segments (feeder/source.c) */
	m->in = segments_of(m->flow, cfg->duration);
	m->levels = malloc((size_t)m->in.count * m->in.frames);
	if (!m->levels)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < m->in.count; i++)
		rate_segment(m, i);
	return 0;
}

void voice_model_close(struct voice_model *m)
{
	speech_close(m->corpus);
	free(m->levels);
	*m = (struct voice_model){ 0 };
}

/* --- of a call --- */

void voice_init(struct voice *v, const struct voice_model *m, uint64_t seed)
{
	*v = (struct voice){ .model = m, .random = random_fork(seed, 5) };
	/* as if the call had been going on: some begin with a pause */
	v->talking = random_chance(&v->random, CR_PPM / 2);
	if (m->levels)
		segment_walk_init(&v->walk, m->in, seed);
}

/* A level of @db below that of a full-scale square wave, which is a factor of
 * two below the loudest step: 4 steps are 3.01 dB. */
static uint8_t importance_of_db(int64_t db)
{
	int64_t level = CR_IMPORTANCE_LOUDEST - 3 - db * 1329 / 1000;

	return (uint8_t)(level < CR_IMPORTANCE_QUIETEST ? CR_IMPORTANCE_QUIETEST
							: level);
}

static void take_turns(struct voice *v)
{
	const struct campaign_flow *f = v->model->flow;
	cr_ns mean;
	uint64_t frames;

	if (v->next < v->turn)
		return;
	v->talking = !v->talking;
	mean = v->talking ? f->voice.spurt : f->voice.pause;
	frames = (uint64_t)(random_exponential(&v->random, mean) / f->ptime);
	v->turn = v->next + (frames ? frames : 1);
}

uint8_t voice_at(struct voice *v, uint64_t frame)
{
	if (v->model->levels)
		return v->model->levels[segment_at(&v->walk, frame)];
	while (v->next <= frame) {
		const struct campaign_voice *cfg = &v->model->flow->voice;
		int64_t db;

		take_turns(v);
		if (v->talking)
			db = cfg->level - SPURT_ABOVE +
			     random_time(&v->random, SPURT_ABOVE + SPURT_BELOW);
		else
			db = cfg->noise - PAUSE_SPREAD +
			     random_time(&v->random, (cr_ns)2 * PAUSE_SPREAD);
		v->latest = importance_of_db(db > 0 ? db : 0);
		v->next++;
	}
	return v->latest;
}
