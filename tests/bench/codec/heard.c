/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is heard of simulated calls: the speech that codec-feeder would send of
 * each, transcoded as codec-runner does, but for the frames that the simulator
 * has lost. Of each call FOLDER gets FLOW-INDEX.src.wav and
 * FLOW-INDEX.heard.wav, as of codec-feeder --dump.
 *
 *     bench-heard CAMPAIGN SEED NANOSECONDS FATES FOLDER [KEY=VALUE...]
 *     bench-heard CAMPAIGN [KEY=VALUE...]
 *
 * The second only tells whether there is speech in all flows.
 * campaigns/codec_sweep/score.py compares the files by PESQ.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "campaign/plan.h"
#include "feeder/dump.h"
#include "feeder/source.h"
#include "media/pipeline.h"

static const struct field rows[] = { { .name = NULL } };

static const struct cli_line operands[] = {
	{ "CAMPAIGN", "The campaign file (YAML) that was played." },
	{ "SEED", "That of the run: it says what each call speaks." },
	{ "NANOSECONDS", "The run's duration." },
	{ "FATES", "A file with a line for each call: the name of its flow, "
		   "its number in that, and a character for each frame: \".\" "
		   "came, anything else did not." },
	{ "FOLDER", "Which is there; it gets FLOW-NUMBER.src.wav, what is "
		    "said, and FLOW-NUMBER.heard.wav of each call." },
	{ "KEY=VALUE", "A value of the campaign, as of codec-sim --set." },
	{ NULL, NULL }
};
static const struct cli_line examples[] = {
	{ "bench-heard calls.yaml flows.talk.count=5",
	  "Is there speech in all flows?" },
	{ "bench-heard calls.yaml 7 2000000000 fates out",
	  "With fates of \"talk 0 ...cc....\": 180 ms of the first call of a "
	  "flow, which has lost two frames." },
	{ NULL, NULL }
};
static const struct cli_line exits[] = {
	{ "0", "All flows have speech; the files are written." },
	{ "1", "The run broke off: no recordings, disk full." },
	{ "2", "Wrong command line, campaign or fates, or a flow of which PESQ "
	       "could tell nothing." },
	{ NULL, NULL }
};

static const struct cli cli = {
	.program = "bench-heard",
	.synopsis = "CAMPAIGN SEED NANOSECONDS FATES FOLDER [KEY=VALUE]...\n"
		    "CAMPAIGN [KEY=VALUE]...",
	.summary = "write what is heard of simulated calls",
	.text = "The speech that codec-feeder would send of each call, "
		"transcoded as codec-runner does, but for the frames that "
		"the simulator has lost: as codec-feeder --dump writes it of "
		"calls that were played.\n"
		"Without FATES it only tells whether all flows have speech "
		"that PESQ can compare. campaigns/sweep compares the files.",
	.opts = rows,
	.operands = operands,
	.examples = examples,
	.exits = exits,
	.min_args = 1,
	.max_args = -1,
};

struct job {
	struct campaign *campaign;
	uint64_t seed;
	cr_ns duration;
	const char *folder;
	struct source **sources; /* [flow_count]; NULL: not opened yet */
	struct pipeline_scratch scratch;
};

/* One call. */
struct hearing {
	const struct campaign_flow *flow;
	struct source_voice voice;
	struct pipeline *pipeline;
	struct dump *said, *heard;
	uint32_t units; /* of a packet of the output */
};

/* --- flows that PESQ can tell something of --- */

/* Why not; NULL: it can. */
static const char *flow_lack(const struct campaign_flow *f)
{
	unsigned rate;

	if (f->synthetic)
		return "it has no codecs, so nothing is said";
	if (flow_is_two_way(f))
		return "it is a two-way flow, which this does not follow";
	if (f->voice.kind == VOICE_TALK)
		return "voice {model: talk} is levels alone, without speech; "
		       "{model: turns} has some";
	if (f->talk.spurt)
		return "in the pauses of talk nothing is sent of the speech; "
		       "voice {model: turns} has pauses";
	rate = codec_use_rate(&f->in);
	if (rate != codec_use_rate(&f->out) || (rate != 8000 && rate != 16000))
		return "PESQ compares speech of 8 kHz, or of 16 kHz, with the "
		       "same";
	return NULL;
}

static int check_flows(const struct campaign *c, struct cr_err *e)
{
	for (unsigned f = 0; f < c->flow_count; f++) {
		const char *lack = flow_lack(&c->flows[f]);

		if (lack)
			return cr_fail(e, -EINVAL, "no PESQ of flow %s: %s",
				       flow_title(&c->flows[f]), lack);
	}
	return 0;
}

/* --- a call --- */

static unsigned packet_samples(const struct codec_use *endpoint, cr_ns packet)
{
	return (unsigned)(packet * codec_use_rate(endpoint) / CR_SEC);
}

static void hearing_close(struct hearing *h)
{
	pipeline_close(h->pipeline);
	dump_free(h->said);
	dump_free(h->heard);
}

static int hearing_open(struct hearing *h, const struct campaign_flow *f,
			struct cr_err *e)
{
	struct pipeline_cfg cfg = { 0 };
	int rc = source_codec_use(&f->in, &cfg.in);
	cr_ns packet;

	if (!rc)
		rc = source_codec_use(&f->out, &cfg.out);
	if (rc)
		return cr_fail(e, rc, "no PESQ of flow %s: no RTP payloads",
			       f->name);
	rc = pipeline_open(&h->pipeline, &cfg, e);
	if (rc)
		return rc;
	packet = codec_use_packet(&cfg.out);
	pipeline_first_ts(h->pipeline, 0);
	h->flow = f;
	h->units = (uint32_t)(packet * codec_use_clock(&cfg.out) / CR_SEC);
	h->said = dump_new(&f->in, packet_samples(&f->in, f->ptime));
	h->heard = dump_new(&f->out, packet_samples(&f->out, packet));
	if (h->said && h->heard)
		return 0;
	return cr_fail(e, -ENOMEM, "out of memory for %s", f->name);
}

static void hear(void *arg, const struct pipeline_packet *p)
{
	struct hearing *h = arg;

	if (!p->silent)
		dump_put(h->heard, p->ts / h->units, p->payload, p->bytes);
}

/* Frame @k has been said; has it come? */
static void hearing_frame(struct hearing *h, struct pipeline_scratch *scratch,
			  uint64_t k, bool came)
{
	uint64_t clock = pipeline_input_clock(h->pipeline, 0);
	struct pipeline_input in = {
		.meta.rtp_ts = (uint32_t)(k * (uint64_t)h->flow->ptime * clock /
					  CR_SEC)
	};
	size_t bytes;

	in.payload = source_payload(&h->voice, k, &bytes);
	if (!bytes)
		return; /* DTX */
	in.meta.bytes = (uint16_t)bytes;
	dump_put(h->said, k, in.payload, bytes);
	if (came)
		(void)pipeline_run(h->pipeline, scratch, &in, hear, h);
}

static int hearing_write(const struct hearing *h, unsigned index,
			 const char *folder, struct cr_err *e)
{
	char name[CAMPAIGN_NAME_MAX + 32];
	int rc;

	(void)snprintf(name, sizeof(name), "%s-%u.src", h->flow->name, index);
	rc = dump_write_speech(h->said, folder, name, e);
	(void)snprintf(name, sizeof(name), "%s-%u.heard", h->flow->name, index);
	return rc ? rc : dump_write_speech(h->heard, folder, name, e);
}

/* --- all calls --- */

static int open_source(struct job *j, unsigned flow, struct cr_err *e)
{
	const struct source_cfg cfg = { .flow = &j->campaign->flows[flow],
					.base = j->campaign->path,
					.seed = j->seed,
					.duration = j->duration };

	return j->sources[flow] ? 0 : source_open(&j->sources[flow], &cfg, e);
}

static int hear_call(struct job *j, unsigned flow, unsigned index,
		     const char *fates, struct cr_err *e)
{
	struct hearing h = { 0 };
	int rc = open_source(j, flow, e);

	if (!rc)
		rc = hearing_open(&h, &j->campaign->flows[flow], e);
	if (!rc) {
		source_voice_init(&h.voice, j->sources[flow],
				  plan_call_seed(j->seed, flow, index));
		for (uint64_t k = 0; fates[k]; k++)
			hearing_frame(&h, &j->scratch, k, fates[k] == '.');
		rc = hearing_write(&h, index, j->folder, e);
	}
	hearing_close(&h);
	return rc;
}

/* A line of the fates: FLOW INDEX CHARACTERS. */
static int hear_line(struct job *j, char *line, struct cr_err *e)
{
	const struct campaign *c = j->campaign;
	char *rest, *name = strtok_r(line, " \n", &rest);
	const char *index = strtok_r(NULL, " \n", &rest);
	const char *fates = strtok_r(NULL, " \n", &rest);
	unsigned f = 0;

	while (name && f < c->flow_count && strcmp(c->flows[f].name, name) != 0)
		f++;
	if (!fates || f == c->flow_count)
		return cr_fail(e, -EINVAL, "fates: no flow %s, or no fates",
			       name ? name : "");
	return hear_call(j, f, (unsigned)strtoul(index, NULL, 10), fates, e);
}

static int hear_all(struct job *j, const char *path, struct cr_err *e)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	if (!f)
		return cr_fail(e, -errno, "%s: %s", path, strerror(errno));
	j->sources = calloc(j->campaign->flow_count, sizeof(*j->sources));
	if (!j->sources)
		rc = cr_fail(e, -ENOMEM, "out of memory");
	while (!rc && getline(&line, &room, f) > 0)
		rc = hear_line(j, line, e);
	for (unsigned i = 0; j->sources && i < j->campaign->flow_count; i++)
		source_close(j->sources[i]);
	free(j->sources);
	free(line);
	(void)fclose(f);
	return rc;
}

/* The second of the two ways to be called? @n operands at @operand. */
static bool only_checks(int n, char *const *operand)
{
	return n == 1 || strchr(operand[1], '=');
}

int main(int argc, char **argv)
{
	static struct job j;
	int first = cli_parse_or_exit(&cli, argc, argv);
	char **operand = argv + first;
	bool checks = only_checks(argc - first, operand);
	int words = checks ? 1 : 5, more = argc - first - words;
	struct campaign_settings set = { .item = (const char *const *)operand +
						 words };
	struct cr_err e = { "" };
	int rc;

	if (more < 0) {
		(void)fprintf(stderr,
			      "bench-heard: SEED, NANOSECONDS, FATES "
			      "and FOLDER belong together; see --help\n");
		return 2;
	}
	set.count = (unsigned)more;
	rc = campaign_load(operand[0], &set, &j.campaign, &e);
	if (!rc)
		rc = check_flows(j.campaign, &e);
	if (!rc && !checks) {
		j.seed = strtoull(operand[1], NULL, 10);
		j.duration = strtoll(operand[2], NULL, 10);
		j.folder = operand[4];
		rc = hear_all(&j, operand[3], &e);
	}
	campaign_free(j.campaign);
	if (!rc)
		return 0;
	(void)fprintf(stderr, "bench-heard: %s\n", e.text);
	return rc == -EINVAL ? 2 : 1;
}
