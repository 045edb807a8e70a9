/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of call.start that call.change has, too.
 */
#include "node/call_terms.h"

#include <errno.h>

#include "base/units.h"

#define NEUTRAL 1024
/* No job takes longer; so that sums never overflow. */
#define COST_MAX (1000 * CR_SEC)

const char *const call_class_names[] = { "hard", "soft", "best-effort", NULL };

static const char *const contract_known[] = { "rate", "burst", "peak", "mean",
					      "p99",  "worst", NULL };

/* --- reading --- */

/* What goes when the member is missing: @now, or, when it is null, @first. */
static int64_t kept(const struct args *a, const char *key, int64_t now,
		    int64_t first)
{
	return args_null(a, key) ? first : now;
}

static cr_ns cost_of(struct args *m, const char *key, cr_ns now)
{
	return args_time(m, key, 1, COST_MAX, kept(m, key, now, 0));
}

static void contract_of(struct args *a, struct contract *k)
{
	struct args m = args_of(args_member(a, "contract"), "contract.",
				contract_known, a->err);

	if (args_null(a, "contract"))
		*k = (struct contract){ 0 };
	k->rate_ppm = args_rate(&m, "rate", kept(&m, "rate", k->rate_ppm, 0));
	k->burst =
		args_int(&m, "burst", 0, 1000, kept(&m, "burst", k->burst, 0));
	k->peak_ppm = args_rate(&m, "peak", kept(&m, "peak", k->peak_ppm, 0));
	k->mean = cost_of(&m, "mean", k->mean);
	k->p99 = cost_of(&m, "p99", k->p99);
	k->worst = cost_of(&m, "worst", k->worst);
	a->failed |= m.failed;
}

static void check(struct args *a, const struct call_cfg *cfg)
{
	const struct contract_use use = {
		.cls = cfg->cls,
		.period = cfg->release.period,
		.rel_deadline = cfg->release.rel_deadline,
		.release = cfg->release.kind,
	};
	struct contract_flaw flaw;
	char member[40];

	if (a->failed || !contract_check(&cfg->said, &use, &flaw))
		return;
	(void)snprintf(member, sizeof(member), "contract.%s", flaw.member);
	(void)args_fail(a, member, "%s", flaw.text);
}

bool call_terms_read(struct args *a, struct call_cfg *cfg)
{
	cr_ns period = cfg->release.period;

	cfg->cls = (enum cr_class)args_enum(
		a, "class", call_class_names,
		(int)kept(a, "class", (int64_t)cfg->cls, CR_SOFT));
	cfg->weight =
		(uint32_t)args_int(a, "weight", 1, 100000,
				   kept(a, "weight", cfg->weight, NEUTRAL));
	cfg->nice = (int)args_int(a, "nice", -20, 19,
				  kept(a, "nice", cfg->nice, 0));
	cfg->release.rel_deadline = args_time(
		a, "deadline", CR_US, CR_SEC * 10,
		kept(a, "deadline", cfg->release.rel_deadline, period));
	contract_of(a, &cfg->said);
	check(a, cfg);
	return !a->failed;
}

/* --- call.change --- */

static const char *const change_known[] = {
	"call", "class", "deadline", "weight", "nice", "contract", "out",
	/* of call.start, to be refused by name */
	"in", "ptime", "release", "port", "ssrc", "keep", "pair", NULL
};
static const char *const out_known[] = { "mode",
					 /* the same */
					 "codec", "pt", "rate", "octet_align",
					 "dtx", "address", "ssrc", "spin",
					 NULL };

/* Members of @known from number @from on. */
static void refuse_fixed(struct args *a, const char *const *known,
			 unsigned from)
{
	for (; known[from]; from++)
		if (args_has(a, known[from]))
			(void)args_fail(a, known[from],
					"cannot change while the call runs: "
					"stop it and start another");
}

static void mode_of(struct args *a, struct pipeline_side *out)
{
	struct args m =
		args_of(args_member(a, "out"), "out.", out_known, a->err);

	refuse_fixed(&m, out_known, 1);
	if (args_has(&m, "mode"))
		out->cfg.mode = args_mode(&m, out->codec);
	a->failed |= m.failed;
}

int call_change_params(struct call_cfg *to, const json_t *params,
		       struct cr_err *e)
{
	struct args a = args_of(params, "", change_known, e);
	struct call_cfg cfg = *to;

	refuse_fixed(&a, change_known, 7);
	if (!a.failed && json_object_size(params) < 2)
		(void)args_fail(&a, "params",
				"nothing to change: give class, deadline, "
				"weight, nice, contract or out.mode");
	mode_of(&a, &cfg.media.out);
	if (!call_terms_read(&a, &cfg))
		return -EINVAL;
	*to = cfg;
	return 0;
}

bool call_change_names_mode(const json_t *params)
{
	return json_object_get(json_object_get(params, "out"), "mode") != NULL;
}

/* --- telling --- */

static void put_rate(json_t *o, const char *key, int64_t ppm)
{
	char text[UNITS_TEXT];

	if (ppm)
		(void)json_object_set_new(o, key,
					  json_string(units_format_rate(
						  ppm, text, sizeof(text))));
}

static void put_time(json_t *o, const char *key, cr_ns t)
{
	char text[UNITS_TEXT];

	if (t)
		(void)json_object_set_new(
			o, key,
			json_string(units_format_time(t, text, sizeof(text))));
}

json_t *call_contract_json(const struct contract *k)
{
	json_t *o = json_object();

	put_rate(o, "rate", k->rate_ppm);
	if (k->burst)
		(void)json_object_set_new(o, "burst", json_integer(k->burst));
	put_rate(o, "peak", k->peak_ppm);
	put_time(o, "mean", k->mean);
	put_time(o, "p99", k->p99);
	put_time(o, "worst", k->worst);
	return o;
}

json_t *call_admitted_json(const struct call_cfg *cfg)
{
	const struct cr_task t = { .cls = cfg->cls,
				   .cost = cfg->cost,
				   .contract = cfg->contract };
	double demand = (double)cr_task_demand(&t);

	return json_pack("{s:f,s:f,s:f,s:f,s:f}", "load",
			 demand / (double)cfg->release.period, "cost_us",
			 demand / 1e3, "mean_us", (double)cfg->cost.mean / 1e3,
			 "p99_us", (double)cfg->cost.p99 / 1e3, "worst_us",
			 (double)cr_task_worst(&t) / 1e3);
}
