/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of all flows. What one costs is cost_model.c's.
 */
#include "sim/models.h"

#include <errno.h>
#include <stdlib.h>

#include "campaign/plan.h"

static int allocate(struct sim_models *m, const struct campaign *c,
		    struct cr_err *e)
{
	m->costs = calloc(c->flow_count, sizeof(*m->costs));
	m->replays = calloc(c->flow_count, sizeof(*m->replays));
	m->voices = calloc(c->flow_count, sizeof(*m->voices));
	m->counts = calloc(c->flow_count, sizeof(*m->counts));
	if (!m->costs || !m->replays || !m->voices || !m->counts)
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static int open_files(struct sim_models *m, const struct campaign *c,
		      const struct sim_terms *terms, struct cr_err *e)
{
	char path[4096];
	int rc = cost_models_open(m->costs, c, e);

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		const char *file = c->flows[f].arrival.file;

		rc = voice_model_open(&m->voices[f],
				      &(struct voice_cfg){ c, &c->flows[f],
							   terms->seed,
							   terms->duration },
				      e);
		if (file && !rc)
			rc = replay_open(&m->replays[f],
					 cost_model_path(path, sizeof(path),
							 c->path, file),
					 e);
	}
	return rc;
}

/* Calls of each flow: what load means follows from the cost. */
static int find_counts(struct sim_models *m, const struct campaign *c,
		       int64_t cpus, struct cr_err *e)
{
	double *share = calloc(c->flow_count, sizeof(*share));
	int rc;

	if (!share)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned f = 0; f < c->flow_count; f++)
		if (campaign_needs_share(c, f))
			share[f] = (double)m->costs[f].estimate.mean /
				   (double)c->flows[f].ptime;
	rc = campaign_counts(c, share, (double)cpus, 1, m->counts, e);
	free(share);
	return rc;
}

int sim_models_open(struct sim_models *m, const struct campaign *c,
		    const struct sim_terms *terms, struct cr_err *e)
{
	int rc = allocate(m, c, e);

	if (!rc)
		rc = open_files(m, c, terms, e);
	return rc ? rc : find_counts(m, c, terms->cpus, e);
}

void sim_models_close(struct sim_models *m, const struct campaign *c)
{
	if (m->costs)
		cost_models_close(m->costs, c);
	for (unsigned f = 0; m->replays && f < c->flow_count; f++)
		replay_close(&m->replays[f]);
	for (unsigned f = 0; m->voices && f < c->flow_count; f++)
		voice_model_close(&m->voices[f]);
	free(m->voices);
	free(m->costs);
	free(m->replays);
	free(m->counts);
	*m = (struct sim_models){ 0 };
}
