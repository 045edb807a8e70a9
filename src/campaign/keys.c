/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a campaign file: tables, and the readers of texts that are no
 * numbers. What a key may be with others is checked where its section is read.
 */
#include "campaign/section.h"

#include <errno.h>
#include <string.h>

#include "codecs/registry.h"
#include "rtp/jitter.h"

#define DAY (86400 * CR_SEC)
#define HOUR (3600 * CR_SEC)
#define LONG CAMPAIGN_COST_MAX /* of one job, one gap */

_Static_assert(LONG <= CR_TASK_LONGEST, "what a file may say of a cost is one");

/* Rows of OPT() with the arguments that each kind of key has: a value in
 * @member of struct @type, name, bounds, default, help. */
/* clang-format off */
#define ROW(type, member, key, what, lo, hi, value, words, ...)                \
	OPT(what, key, NULL, __VA_ARGS__, .min = (lo), .max = (hi),            \
	    .dflt = (value), .names = (words), FIELD_IN(struct type, member))
#define INT(type, member, name, min, max, dflt, ...)                           \
	ROW(type, member, name, FIELD_INT, min, max, dflt, NULL, __VA_ARGS__)
#define TIME(type, member, name, min, max, dflt, ...)                          \
	ROW(type, member, name, FIELD_TIME, min, max, dflt, NULL, __VA_ARGS__)
#define SHARE(type, member, name, min, max, dflt, ...)                         \
	ROW(type, member, name, FIELD_SHARE, min, max, dflt, NULL, __VA_ARGS__)
#define FLAG(type, member, name, dflt, help)                                   \
	ROW(type, member, name, FIELD_BOOL, 0, 1, dflt, NULL, help)
#define WORD(type, member, name, names, dflt, help)                            \
	ROW(type, member, name, FIELD_CHOICE, 0, 0, dflt, names, help)
/* clang-format on */
#define RATE(type, member, key, text)                                          \
	OPT(FIELD_RATE, key, NULL, text, FIELD_IN(struct type, member),        \
	    .min = CAMPAIGN_RATE_MIN, .max = CAMPAIGN_RATE_MAX)
/* One, or a range of it. */
#define SPAN(lo, hi) .flags = FIELD_RANGE, .min = (lo), .max = (hi)
/* Crystals are within 100 ppm. */
#define DRIFT(type, ...)                                                       \
	OPT(FIELD_SHARE, "drift", NULL, __VA_ARGS__,                           \
	    FIELD_IN(struct type, drift), SPAN(-CR_PPM / 10, CR_PPM / 10))
#define TEXT(key, ...) OPT(FIELD_TEXT, key, NULL, __VA_ARGS__, .min = 0)
/* A text of a member; @how reads it, NULL: as it is. */
#define READ(type, member, key, how, ...)                                      \
	TEXT(key, __VA_ARGS__, FIELD_IN(struct type, member), .read = (how))
#define LIST(type, member, key, text)                                          \
	OPT(FIELD_TEXTS, key, NULL, text, FIELD_IN(struct type, member))
#define SECTION(key, keys, ...)                                                \
	OPT(FIELD_OBJECT, key, NULL, __VA_ARGS__, .members = keys)
/* One whose values are those of a member, as a section of @type. */
#define PART(type, member, key, keys, ...)                                     \
	SECTION(key, keys, __VA_ARGS__, FIELD_IN(struct type, member))
/* Keys of some models only; needed by some. */
#define OF(model) (1u << (model))
#define ONLY(set) .models = (set)
#define EACH(set) .models = (set), .needed_by = (set)
#define EXPECT_SHARE(key, text) OPT(FIELD_SHARE, key, NULL, text, .max = CR_PPM)
#define EXPECT_TIME(key, text) OPT(FIELD_TIME, key, NULL, text, .max = HOUR)
#define END                                                                    \
	{                                                                      \
		.name = NULL                                                   \
	}

/* --- texts --- */

static int read_name_key(const char *text, void *to, struct cr_err *e)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t n = strlen(text);

	if (!n || n >= CAMPAIGN_NAME_MAX || strspn(text, allowed) != n)
		return cr_fail(e, -EINVAL,
			       "name=%.64s: needs 1 to %u letters, digits or "
			       "-_.",
			       text, CAMPAIGN_NAME_MAX - 1);
	memcpy(to, text, n + 1);
	return 0;
}

static int read_codec_key(const char *text, void *to, struct cr_err *e)
{
	struct cr_err why;

	return codec_named(to, text, &why)
		       ? cr_fail(e, -EINVAL, "codec: %.350s", why.text)
		       : 0;
}

static int read_digits_key(const char *text, void *to, struct cr_err *e)
{
	static const char valid[] = "0123456789*#ABCD";
	size_t n = strlen(text);

	if (!n || n > CAMPAIGN_DIGITS_MAX || strspn(text, valid) != n)
		return cr_fail(e, -EINVAL,
			       "digits=%.80s: needs 1 to %u of 0-9, *, #, A-D",
			       text, CAMPAIGN_DIGITS_MAX);
	memcpy(to, text, n + 1);
	return 0;
}

/* "5/s", "90%", "20%..110%..20%"; with the unit of a share, as 5 would be
 * 500 %, and 5/s is meant. */
static int read_poisson(const char *text, void *to, struct cr_err *e)
{
	static const struct field rate = {
		.kind = FIELD_RATE,
		.flags = FIELD_ZERO,
		.min = CAMPAIGN_RATE_MIN,
		.max = CAMPAIGN_RATE_MAX,
	};
	static const struct field share = {
		.kind = FIELD_SHARE,
		.flags = FIELD_ZERO | FIELD_UNIT,
		.min = CR_PPM / 1000,
		.max = 100 * CR_PPM,
	};
	struct campaign_poisson *p = to;
	bool some = false;

	p->rates = field_series(&rate, text, p->rate, CAMPAIGN_RATES);
	p->of_hold = !p->rates;
	if (p->of_hold)
		p->rates = field_series(&share, text, p->rate, CAMPAIGN_RATES);
	for (unsigned i = 0; i < p->rates; i++)
		some |= p->rate[i] != 0;
	if (some)
		return 0;
	return cr_fail(
		e, -EINVAL,
		"poisson=%.64s: needs a number per second, such as 5/s, from "
		"0.001/s to 100000/s, or a share of what keeps count calls up, "
		"such as 90%%, from 0.1%% to 10000%%; or a ramp of up to %u of "
		"them, such as 20%%..110%%..20%%",
		text, CAMPAIGN_RATES);
}

/* --- tables --- */

static const char *const preempts[] = { "frame", "quantum", "full", NULL };
static const char *const classes[] = { "hard", "soft", "best-effort", NULL };
static const char *const releases[] = { "sporadic", "periodic", "rate", "lbap",
					NULL };
const char *const campaign_ports_names[] = { "shared", "own", NULL };
static const char *const numberings[] = { "random", "continue", NULL };
static const char *const addresses[] = { "known", "learned", NULL };
static const char *const fills[] = { "auto", "never", "signalled", "always",
				     NULL };
static const char *const learns[] = { "auto", "strict", "immediate", "delayed",
				      NULL };
static const char *const holds[] = { "constant", "exponential", NULL };
static const struct field_word ages[] = { { "none", CR_NEVER },
					  { "auto", CAMPAIGN_AGE_AUTO },
					  { 0 } };
static const char *const voices[] = { "unknown", "talk", "recordings", "turns",
				      NULL };
static const char *const costs[] = { "measured",  "constant",	 "normal",
				     "lognormal", "exponential", "trace",
				     NULL };
static const char *const arrivals[] = { "plan",	  "periodic", "poisson",
					"bursty", "closed",   "loop",
					"trace",  "envelope", NULL };

#define T campaign_overhead
static const struct field overhead_keys[] = {
	TIME(T, decision, "decision", 0, CR_SEC, 0,
	     "one choice of the scheduler"),
	TIME(T, context, "context", 0, CR_SEC, 0,
	     "a CPU goes over to another call"),
	TIME(T, migration, "migration", 0, CR_SEC, 0,
	     "a call comes from another CPU"),
	TIME(T, release, "release", 0, CR_SEC, 0, "a job becomes ready"),
	TIME(T, lock, "lock", 0, CR_SEC, 0,
	     "a choice holds the run queue's lock, others wait"),
	END
};
#undef T

#define T campaign_receivers
static const struct field receivers_keys[] = {
	INT(T, count, "count", 0, CR_MAX_CPUS, 0, "0: received at no cost"),
	TIME(T, cost, "cost", 0, CR_SEC, 0, "CPU time of a packet"),
	TIME(T, wake, "wake", 0, CR_SEC, 0,
	     "CPU time before the first packet after a sleep"),
	INT(T, waiting, "waiting", 1, CAMPAIGN_WAITING_MAX, CAMPAIGN_WAITING,
	    "packets that a receiver's socket holds"),
	END
};
#undef T

#define T campaign_platform
static const struct field platform_keys[] = {
	INT(T, cpus, "cpus", 1, CR_MAX_CPUS, 1,
	    "workers of the daemon, processors of the simulator"),
	TEXT("run-queues", "global, partitioned, or a number (global)"),
	WORD(T, preempt, "preempt", preempts, 0,
	     "simulator: when a job can be interrupted"),
	TIME(T, quantum, "quantum", CR_US, 10 * CR_SEC, CR_MS,
	     "simulator: grid of preempt: quantum"),
	PART(T, overhead, "overhead", overhead_keys,
	     "simulator: CPU time that the machine takes for itself"),
	PART(T, receivers, "receivers", receivers_keys,
	     "simulator: who takes packets from the sockets"),
	END
};
static const struct field daemon_keys[] = {
	FLAG(T, admission, "admission", 1,
	     "refuse calls beyond the policy's bound"),
	OPT(FIELD_TIME, "max-age", NULL,
	    "shed frames older than this: none, auto (by their deadlines, as "
	    "the daemon does by default), or a time (none)",
	    FIELD_IN(struct T, max_age), .min = CR_MS, .max = CR_NEVER,
	    .dflt = CR_NEVER, .words = ages),
	WORD(T, shed, "shed", shed_names, SHED_AGE,
	     "frames that are given up in overload: by age alone, so that "
	     "the scheduler decides; an even pattern of each call's; or the "
	     "quietest first, as the daemon does by default"),
	TIME(T, shed_wait, "shed-wait", SHED_WAIT_MIN, SHED_WAIT_MAX, 0,
	     "pattern, quiet: only while frames of the class wait so long "
	     "(the longer of ptime and deadline)"),
	INT(T, convert_floor, "convert-floor", 0, 1000, 0,
	    "frames a second that each conversion gets even when calls want "
	    "the CPU"),
	WORD(T, ports, "ports", campaign_ports_names, PORTS_SHARED,
	     "the daemon's UDP ports (as the campaign's ports)"),
	END
};
#undef T

/* Of T's member @in ("in."), or of T itself. */
/* clang-format off */
#define ENDPOINT_ROWS(in)                                                      \
	READ(T, in codec, "codec", read_codec_key,                             \
	     "name; codec-runner --codecs lists them"),                        \
	TEXT("mode", "bit rate of the codec: 12.2"),                           \
	INT(T, in cfg.sample_rate, "rate", 8000, 48000, 0,                     \
	    "Hz; codecs with a free rate"),                                    \
	FLAG(T, in amr.octet_align, "octet-align", 0,                              \
	     "AMR, AMR-WB: octet-aligned payloads (RFC 4867)"),                \
	FLAG(T, in cfg.dtx, "dtx", 0,                                          \
	     "AMR, AMR-WB, opus, speex: discontinuous transmission"),          \
	INT(T, in cfg.complexity, "complexity", 0, 10, -1,                     \
	    "opus: how much the encoder tries (the codec's)",                  \
	    .flags = FIELD_PLUS_ONE),                 \
	INT(T, in cfg.fec, "fec", 0, 100, 0,                                   \
	    "opus: packet loss to protect from, percent"),                     \
	TIME(T, in cfg.spin, "spin", CR_US, CR_SEC, 0,                         \
	     "codec spin: CPU time of a frame")
/* clang-format on */
#define T codec_use
static const struct field endpoint_keys[] = { ENDPOINT_ROWS(), END };
#undef T

#define T campaign_release
static const struct field release_keys[] = {
	WORD(T, kind, "model", releases, 0, "release model"),
	INT(T, x, "x", 1, RELEASE_MAX_X, 0, "rate: jobs in every y",
	    EACH(OF(RELEASE_RATE))),
	TIME(T, y, "y", CR_US, 10 * CR_SEC, 0,
	     "rate: time in which x jobs come", EACH(OF(RELEASE_RATE))),
	INT(T, burst, "burst", 1, 1000, 0,
	    "lbap: jobs that may come ahead of time", ONLY(OF(RELEASE_LBAP))),
	END
};
#undef T

#define T contract
static const struct field contract_keys[] = {
	RATE(T, rate_ppm, "rate", "jobs per second, 40/s (one per ptime)"),
	INT(T, burst, "burst", 0, 1000, 0, "jobs beyond the rate"),
	RATE(T, peak_ppm, "peak",
	     "jobs per second at any time, 500/s (no bound)"),
	TIME(T, mean, "mean", 1, LONG, 0,
	     "declared CPU time of a job (measured)"),
	TIME(T, p99, "p99", 1, LONG, 0,
	     "declared 99th percentile of it (measured)"),
	TIME(T, worst, "worst", 1, LONG, 0, "declared worst case of it (p99)"),
	END
};
#undef T

#define T campaign_start
static const struct field start_keys[] = {
	TIME(T, at, "at", 0, 30 * DAY, 0,
	     "the first call, from the campaign's begin"),
	TIME(T, spread, "spread", 0, 30 * DAY, 0,
	     "calls begin over this time, evenly or by poisson"),
	READ(T, poisson, "poisson", read_poisson,
	     "at random: mean calls per second, 5/s, or share of what keeps "
	     "count calls up, 90%; a ramp of them: 20%..110%..20%"),
	END
};
#undef T

#define T campaign_hold
static const struct field hold_keys[] = {
	ROW(T, exponential, "model", FIELD_CHOICE, 0, 0, 0, holds,
	    "distribution of holding times", .with = "mean"),
	TIME(T, mean, "mean", CR_MS, 30 * DAY, CR_NEVER,
	     "holding time (to the end)"),
	END
};
#undef T

#define T campaign_network
static const struct field network_keys[] = {
	TIME(T, jitter, "jitter", 0, CR_SEC, 0,
	     "delay, uniform from 0 to this; order is kept"),
	SHARE(T, loss, "loss", 0, 990000, 0, "share lost"),
	INT(T, burst, "burst", 1, 1000, 1, "mean number lost in a row",
	    .with = "loss"),
	SHARE(T, reorder, "reorder", 0, 500000, 0,
	      "share that comes behind its successors"),
	INT(T, depth, "depth", 1, 100, 1, "reorder: behind how many of them",
	    .with = "reorder"),
	SHARE(T, duplicate, "duplicate", 0, CR_PPM, 0,
	      "share that comes twice"),
	END
};
#undef T

#define T campaign_buffer
static const struct field buffer_keys[] = {
	WORD(T, kind, "buffer", jitter_kinds, JITTER_OFF, "kind of buffer"),
	TIME(T, least, "least", 0, JITTER_MOST_MAX, 20 * CR_MS,
	     "adaptive: least delay", ONLY(OF(JITTER_ADAPTIVE))),
	TIME(T, most, "most", JITTER_MOST_MIN, JITTER_MOST_MAX, 200 * CR_MS,
	     "adaptive: largest delay; fixed: the delay",
	     ONLY(OF(JITTER_FIXED) | OF(JITTER_ADAPTIVE))),
	END
};
#undef T

#define T campaign_talk
static const struct field talk_keys[] = {
	TIME(T, spurt, "spurt", CR_MS, 600 * CR_SEC, 0, "mean talk spurt",
	     .with = "pause"),
	TIME(T, pause, "pause", CR_MS, 600 * CR_SEC, 0,
	     "mean pause; nothing is sent in it", .with = "spurt"),
	END
};
#undef T

#define T campaign_voice
static const struct field voice_keys[] = {
	WORD(T, kind, "model", voices, VOICE_UNKNOWN,
	     "what is known of how loud frames are"),
	OPT(FIELD_TIME, "spurt", NULL,
	    "talk: mean talk spurt (1.2s); turns: its length, or drawn "
	    "evenly (700ms..1800ms)",
	    SPAN(CR_MS, 600 * CR_SEC), ONLY(OF(VOICE_TALK) | OF(VOICE_TURNS))),
	OPT(FIELD_TIME, "pause", NULL,
	    "noise is sent in it. talk: its mean (1.2s); turns: its length, "
	    "or drawn evenly (600ms..1600ms)",
	    SPAN(CR_MS, 600 * CR_SEC), ONLY(OF(VOICE_TALK) | OF(VOICE_TURNS))),
	INT(T, level, "level", 6, 90, 26, "talk: of spurts, -dBov",
	    ONLY(OF(VOICE_TALK))),
	INT(T, noise, "noise", 2, 90, 65, "talk, turns: of pauses, -dBov",
	    ONLY(OF(VOICE_TALK) | OF(VOICE_TURNS))),
	END
};
#undef T

#define T campaign_dtmf
static const struct field dtmf_keys[] = {
	READ(T, digits, "digits", read_digits_key, "0-9, *, #, A-D"),
	OPT(FIELD_TIME, "length", NULL,
	    "of a digit, 40ms, or drawn evenly, 40ms..400ms (100ms)",
	    FIELD_IN(struct T, length), SPAN(40 * CR_MS, CAMPAIGN_DIGIT_MAX),
	    .dflt = 100 * CR_MS),
	TIME(T, at, "at", 0, 30 * DAY, CR_SEC,
	     "the first digit, from the call's begin"),
	TIME(T, interval, "interval", 20 * CR_MS, HOUR, 100 * CR_MS,
	     "from a digit's end to the next one"),
	INT(T, volume, "volume", 0, 63, 10, "-dBm0"),
	INT(T, pt, "pt", 0, 127, 101, "payload type of telephone-event"),
	END
};
#undef T

#define T campaign_cn
static const struct field cn_keys[] = {
	INT(T, level, "level", 0, 127, 60, "of the noise, -dBov"),
	TIME(T, interval, "interval", 20 * CR_MS, HOUR, 200 * CR_MS,
	     "from a packet of a pause to the next one"),
	INT(T, pt, "pt", 0, 127, 13, "payload type of CN"), END
};
#undef T

#define WHEN_ROWS                                                              \
	TIME(T, when.at, "at", 0, 30 * DAY, 0,                                 \
	     "the first time, from the call's begin (every)"),                 \
		TIME(T, when.every, "every", 20 * CR_MS, 30 * DAY, 0,          \
		     "and then each time (once)")

#define T campaign_ssrc_change
static const struct field ssrc_change_keys[] = {
	WHEN_ROWS,
	WORD(T, numbering, "numbering", numberings, NUMBERING_RANDOM,
	     "of packets and timestamps under the new SSRC"),
	END
};
#undef T

#define T campaign_address_change
static const struct field address_change_keys[] = {
	WHEN_ROWS,
	FLAG(T, signalled, "signalled", 0,
	     "the daemon is told with call.change"),
	END
};
#undef T

#define T campaign_flow
static const struct field party_keys[] = {
	ENDPOINT_ROWS(in.),
	DRIFT(T, "its clock is so much fast: 50ppm, -100ppm..100ppm"),
	WORD(T, party.address, "address", addresses, ADDRESS_KNOWN,
	     "whether the daemon is told its address at the start"),
	WORD(T, party.learn, "learn", learns, CAMPAIGN_LEARN_AUTO,
	     "how the daemon learns its address"),
	FLAG(T, party.conceal, "conceal", 0,
	     "the daemon conceals what is lost of its packets"),
	WORD(T, party.fill, "fill", fills, 0,
	     "the daemon sends noise while it is silent: never, signalled (by "
	     "SID or CN), always; or as it does when nothing is said"),
	SHARE(T, party.deaf, "deaf", 0, CR_PPM, 0,
	      "a fault to be found: share of what it is sent that it drops "
	      "unseen"),
	PART(T, network, "network", network_keys,
	     "what happens to its packets"),
	PART(T, buffer, "jitter", buffer_keys,
	     "the daemon's jitter buffer for its packets"),
	PART(T, talk, "talk", talk_keys, "its talk spurts"),
	PART(T, party.cn, "cn", cn_keys,
	     "comfort noise in its pauses (RFC 3389)"),
	PART(T, party.dtmf, "dtmf", dtmf_keys,
	     "digits that it dials (RFC 4733)"),
	PART(T, party.ssrc, "ssrc-change", ssrc_change_keys,
	     "it goes on with another SSRC"),
	PART(T, party.port, "address-change", address_change_keys,
	     "it goes on from another port"),
	END
};
#undef T

#define T campaign_cost
static const struct field cost_keys[] = {
	WORD(T, kind, "model", costs, 0, "cost model"),
	TIME(T, mean, "mean", 1, LONG, 0, "CPU time of a job",
	     EACH(OF(COST_CONSTANT) | OF(COST_NORMAL) | OF(COST_LOGNORMAL) |
		  OF(COST_EXPONENTIAL))),
	TIME(T, sd, "sd", 0, LONG, 0, "standard deviation",
	     EACH(OF(COST_NORMAL) | OF(COST_LOGNORMAL))),
	TIME(T, min, "min", 1, LONG, 1, "smaller costs are set to this",
	     ONLY(~OF(COST_CONSTANT))),
	TIME(T, max, "max", 1, CAMPAIGN_COST_MAX, CAMPAIGN_COST_MAX,
	     "larger costs are set to this; declared as the worst case",
	     ONLY(~OF(COST_CONSTANT))),
	SHARE(T, warm, "warm", CR_PPM / 100, CR_PPM, 0,
	      "cost of a job that follows one of its call on its CPU"),
	INT(T, half_life, "half-life", 1, 1000000, 16,
	    "turns of other calls that leave half of that gain"),
	READ(T, file, "file", NULL, "trace", EACH(OF(COST_TRACE))),
	END
};
#undef T

#define T campaign_arrival
static const struct field arrival_keys[] = {
	WORD(T, kind, "model", arrivals, 0, "arrival model"),
	INT(T, burst, "burst", 1, 100000, 0, "bursty: jobs in a burst",
	    EACH(OF(ARRIVAL_BURSTY))),
	TIME(T, spacing, "spacing", 0, LONG, 0,
	     "bursty: between jobs of a burst", ONLY(OF(ARRIVAL_BURSTY))),
	SHARE(T, rate_ppm, "rate", 1, 100 * CR_PPM, 0,
	      "envelope: share of the CPU, 48%", EACH(OF(ARRIVAL_ENVELOPE))),
	SHARE(T, peak_ppm, "peak", 1, 100 * CR_PPM, 0,
	      "envelope: the most at any time (no bound)",
	      ONLY(OF(ARRIVAL_ENVELOPE))),
	TIME(T, depth, "depth", 1, LONG, 0, "envelope: work beyond the rate",
	     EACH(OF(ARRIVAL_ENVELOPE))),
	OPT(FIELD_TIME, "on", NULL,
	    "envelope: a burst lasts, 50ms..100ms (no pauses)",
	    FIELD_IN(struct T, on), .with = "off", SPAN(1, LONG),
	    ONLY(OF(ARRIVAL_ENVELOPE))),
	OPT(FIELD_TIME, "off", NULL, "envelope: a pause lasts, 10ms..20ms",
	    FIELD_IN(struct T, off), .with = "on", SPAN(1, LONG),
	    ONLY(OF(ARRIVAL_ENVELOPE))),
	READ(T, file, "file", NULL, "trace", EACH(OF(ARRIVAL_TRACE))),
	END
};
#undef T

const struct field expect_keys[] = {
	[METRIC_LOSS] = EXPECT_SHARE(
		"loss", "sent frames that never came back: <= 0.1%"),
	[METRIC_LATE] = EXPECT_SHARE(
		"late", "received frames behind the deadline: <= 1%"),
	[METRIC_MISSED] =
		EXPECT_SHARE("missed", "due frames late or never done: <= 0%"),
	[METRIC_ADMITTED] = EXPECT_SHARE("admitted", "calls accepted: >= 100%"),
	[METRIC_MEAN_DELAY] =
		EXPECT_TIME("mean-delay", "send to receive: <= 5ms"),
	[METRIC_P50_DELAY] =
		EXPECT_TIME("p50-delay", "send to receive: <= 5ms"),
	[METRIC_P99_DELAY] =
		EXPECT_TIME("p99-delay", "send to receive: <= 20ms"),
	[METRIC_P999_DELAY] =
		EXPECT_TIME("p99.9-delay", "send to receive: <= 40ms"),
	[METRIC_MAX_DELAY] =
		EXPECT_TIME("max-delay", "send to receive: <= 100ms"),
	[METRIC_P99_JITTER] =
		EXPECT_TIME("p99-jitter", "inter-arrival jitter: <= 10ms"),
	[METRIC_DIGITS] = EXPECT_SHARE(
		"digits", "dialled digits that came as they were: >= 100%"),
	[NCALL_METRICS] = END,
};

#define LATER(metric) [-NCALL_METRICS + (metric)]
const struct field conversions_expect_keys[] = {
	LATER(METRIC_FINISHED) =
		EXPECT_SHARE("finished", "conversions done: >= 100%"),
	LATER(METRIC_MEAN_TURNAROUND) = EXPECT_TIME(
		"mean-turnaround", "submission to end, of those done: <= 10s"),
	LATER(METRIC_MAX_TURNAROUND) =
		EXPECT_TIME("max-turnaround", "the longest of them: <= 20s"),
	LATER(NMETRICS) = END,
};

#define T campaign_flow
#define NO_PARTIES ONLY(~OF(FLOW_TWO_WAY))
static const struct field flow_keys[] = {
	READ(T, name, "name", read_name_key, "of the flow, unique"),
	INT(T, count, "count", 1, 1000000, 0, "calls"),
	SHARE(T, load_ppm, "load", 1000, 100000000, 0,
	      "in place of count: share of the capacity calibrated here"),
	TEXT("like", "in place of count: as many calls as that flow above, "
		     "with which it shares its load"),
	TIME(T, ptime, "ptime", CR_MS, 120 * CR_MS, 0,
	     "speech in one packet (the input codec's frame)",
	     ONLY(~OF(FLOW_SYNTHETIC))),
	WORD(T, terms.cls, "class", classes, CR_SOFT, "service class"),
	TIME(T, terms.deadline, "deadline", CR_US, 10 * CR_SEC, 0,
	     "from arrival to answer (ptime, period)"),
	OPT(FIELD_TIME, "period", NULL, "synthetic flows: between two jobs",
	    .min = CR_US, .max = CR_TASK_LONGEST, ONLY(OF(FLOW_SYNTHETIC))),
	OPT(FIELD_SHARE, "share", NULL,
	    "synthetic flows: constant cost as a share of the period", .min = 1,
	    .max = 100 * CR_PPM, ONLY(OF(FLOW_SYNTHETIC))),
	DRIFT(T, "each caller's clock is so much fast: 50ppm, -100ppm..100ppm",
	      NO_PARTIES),
	ROW(T, party.relay, "relay", FIELD_BOOL, 0, 1, 1, NULL,
	    "two-way flows: without a codec, where both parties speak the "
	    "same",
	    ONLY(OF(FLOW_TWO_WAY))),
	INT(T, terms.nice, "nice", -20, 19, 0, "niceness of a call"),
	INT(T, terms.weight, "weight", 1, 100000, 1024,
	    "share of a call; 1024 is neutral"),
	INT(T, ring, "ring", 1, 1000000, 0,
	    "simulator: jobs that may wait; the oldest is dropped"),
	PART(T, in, "in", endpoint_keys, "what callers send", NO_PARTIES),
	PART(T, out, "out", endpoint_keys, "what they get back", NO_PARTIES),
	SECTION("a", party_keys,
		"in place of in and out: a two-way flow's party"),
	SECTION("b", party_keys, "the other one"),
	LIST(T, input, "input",
	     "WAV files, folders, globs (installed recordings)"),
	PART(T, release, "release", release_keys, "how frames become jobs",
	     NO_PARTIES),
	PART(T, terms.contract, "contract", contract_keys,
	     "what each call promises and declares"),
	PART(T, start, "start", start_keys, "when calls begin"),
	PART(T, hold, "hold", hold_keys, "how long they last"),
	PART(T, network, "network", network_keys, "what happens to packets",
	     NO_PARTIES),
	PART(T, buffer, "jitter", buffer_keys, "simulator: jitter buffer",
	     NO_PARTIES),
	PART(T, talk, "talk", talk_keys, "talk spurts", NO_PARTIES),
	PART(T, voice, "voice", voice_keys, "what is said, and how loud it is"),
	PART(T, cost, "cost", cost_keys, "simulator: what jobs cost"),
	PART(T, arrival, "arrival", arrival_keys, "simulator: when jobs come",
	     NO_PARTIES),
	SECTION("expect", expect_keys, "what must hold of these calls"),
	END
};
#undef T

#define T campaign_conversions
static const struct field conversions_keys[] = {
	INT(T, count, "count", 1, 10000, 0, "files"),
	TIME(T, length, "length", CR_SEC, HOUR, 60 * CR_SEC,
	     "speech in each file"),
	TIME(T, at, "at", 0, 30 * DAY, 0,
	     "all are submitted then, from the campaign's begin"),
	PART(T, out, "out", endpoint_keys, "what is made of them: amr, amr-wb"),
	LIST(T, input, "input", "as of flows"),
	SECTION("expect", conversions_expect_keys,
		"what must hold of conversions"),
	END
};
#undef T

#define T campaign
const struct field campaign_keys[] = {
	INT(T, seed, "seed", 0, INT64_MAX, 1, "of every random choice"),
	TIME(T, duration, "duration", CR_MS, 30 * DAY, 0,
	     "length of the campaign", .required = ""),
	WORD(T, ports, "ports", campaign_ports_names, PORTS_SHARED,
	     "UDP ports at both ends of a call"),
	PART(T, platform, "platform", platform_keys, "what it runs on"),
	PART(T, platform, "daemon", daemon_keys,
	     "what the daemon is started with"),
	LIST(T, schedulers, "schedulers",
	     "policies to compare, with options: \"NAME,OPTION=VALUE\""),
	OPT(FIELD_LIST, "flows", NULL, "calls", .required = "",
	    .members = flow_keys),
	PART(T, conversions, "conversions", conversions_keys,
	     "files that the daemon converts beside calls"),
	SECTION("expect", expect_keys, "what must hold of all calls"),
	END
};
#undef T
