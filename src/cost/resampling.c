/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring sample-rate conversion. Its cost does not depend on the signal.
 */
#include "cost/cost.h"

#include <errno.h>

#include "cost/synth.h"
#include "cost/timing.h"
#include "resample/resample.h"

enum {
	STATES = 16, /* taking turns */
	ROUNDS = 40,
	FRAMES_PER_SEC = 50,
	FRAME_MAX = 960,
};

static void run(struct resample *const *states, unsigned from, struct times *t)
{
	struct synth speech;

	synth_init(&speech, from, 0);
	for (unsigned i = 0; i < (ROUNDS + 1) * STATES; i++) {
		int16_t in[FRAME_MAX], out[FRAME_MAX];
		cr_ns start;

		/* The first round meets cold caches: it does not count. */
		if (i == STATES)
			t->n = 0;
		synth_read(&speech, in, from / FRAMES_PER_SEC);
		start = clock_thread_cpu();
		(void)resample_run(states[i % STATES], in,
				   from / FRAMES_PER_SEC, out, FRAME_MAX);
		times_add(t, start);
	}
}

int cost_resample(unsigned from, unsigned to, struct cost_result *out,
		  struct cr_err *e)
{
	struct resample *states[STATES] = { NULL };
	struct times t;
	int ret = 0;

	if (times_init(&t))
		return cr_fail(e, -ENOMEM, "cost: out of memory");
	for (unsigned i = 0; !ret && i < STATES; i++)
		ret = resample_open(&states[i], from, to, e);
	if (!ret) {
		run(states, from, &t);
		*out = (struct cost_result){
			.cost = times_cost(&t),
			.frame = CR_SEC / FRAMES_PER_SEC,
			.frames = t.n,
			.synthetic = true,
		};
		times_quantiles(&t, out->quantile, COST_QUANTILES);
	}
	for (unsigned i = 0; i < STATES; i++)
		resample_close(states[i]);
	times_fini(&t);
	return ret;
}
