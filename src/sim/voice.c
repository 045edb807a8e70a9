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

/* Can a receiver tell, without the codec? */
static bool is_rated(const struct campaign_flow *f)
{
	static const char *const pcm[] = { "pcmu", "pcma", "l16" };

	for (unsigned i = 0; i < sizeof(pcm) / sizeof(pcm[0]); i++)
		if (!f->synthetic && !strcmp(f->in.codec->name, pcm[i]))
			return true;
	return f->synthetic;
}

static int open_corpus(struct voice_model *m, const struct campaign *c,
		       struct cr_err *e)
{
	const struct campaign_flow *f = m->flow;
	char(*paths)[4096] = calloc(PATTERNS_MAX, sizeof(*paths));
	const char *patterns[PATTERNS_MAX + 1] = { NULL };
	int rc;

	if (!paths)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < f->input_count && i < PATTERNS_MAX; i++)
		patterns[i] = cost_model_path(paths[i], sizeof(paths[i]),
					      c->path, f->input[i]);
	rc = speech_open(&m->corpus, RATE, f->input_count ? patterns : NULL, e);
	free(paths);
	return rc;
}

int voice_model_open(struct voice_model *m, const struct campaign *c,
		     const struct campaign_flow *f, struct cr_err *e)
{
	*m = (struct voice_model){ .seed = (uint64_t)c->seed };
	if (f->voice.kind == VOICE_UNKNOWN || !is_rated(f))
		return 0;
	m->flow = f;
	return f->voice.kind == VOICE_RECORDINGS ? open_corpus(m, c, e) : 0;
}

void voice_model_close(struct voice_model *m)
{
	speech_close(m->corpus);
	*m = (struct voice_model){ 0 };
}

/* --- of a call --- */

void voice_init(struct voice *v, const struct voice_model *m, uint64_t seed,
		uint64_t index)
{
	*v = (struct voice){ .model = m, .random = random_fork(seed, 5) };
	/* as if the call had been going on: some begin with a pause */
	v->talking = random_chance(&v->random, CR_PPM / 2);
	if (m->corpus)
		speech_reader_init(&v->reader, m->corpus, m->seed, index);
}

/* A level of @db below that of a full-scale square wave, which is a factor of
 * two below the loudest step: 4 steps are 3.01 dB. */
static uint8_t level_of(int64_t db)
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

static uint8_t talk(struct voice *v)
{
	const struct campaign_voice *cfg = &v->model->flow->voice;
	int64_t db;

	take_turns(v);
	if (v->talking)
		db = cfg->level - SPURT_ABOVE +
		     random_time(&v->random, SPURT_ABOVE + SPURT_BELOW);
	else
		db = cfg->noise - PAUSE_SPREAD +
		     random_time(&v->random, (cr_ns)2 * PAUSE_SPREAD);
	return level_of(db > 0 ? db : 0);
}

static uint8_t play(struct voice *v)
{
	int16_t pcm[SAMPLES_MAX];
	cr_ns want = v->model->flow->ptime * (cr_ns)RATE / CR_SEC;
	size_t n = want < 1		? 1
		   : want < SAMPLES_MAX ? (size_t)want
					: SAMPLES_MAX;
	uint64_t sum = 0;

	speech_read(&v->reader, pcm, n);
	for (size_t i = 0; i < n; i++)
		sum += (uint64_t)((int32_t)pcm[i] * pcm[i]);
	return importance_of_square(sum / n);
}

uint8_t voice_at(struct voice *v, uint64_t frame)
{
	while (v->next <= frame) {
		v->latest = v->model->corpus ? play(v) : talk(v);
		v->next++;
	}
	return v->latest;
}
