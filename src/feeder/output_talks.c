/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of conversations: as JSON, and its faults for people.
 */
#include <inttypes.h>

#include "feeder/output.h"
#include "feeder/talk.h"
#include "run/json.h"

bool output_balanced(const struct output *o)
{
	return o->result->total->faults == 0;
}

static json_t *sent_json(const struct phone *p)
{
	json_t *o = json_object();

#define PUT(name, help) run_put_int(o, #name, (int64_t)p->count.name);
	PHONE_COUNTS(PUT)
#undef PUT
	return o;
}

static json_t *digits_json(const struct heard *h)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < h->ndigits; i++) {
		const struct heard_digit *d = &h->digits[i];
		const char code[] = { heard_digit_key(d), 0 };

		(void)json_array_append_new(
			list, json_pack("{s:s,s:I,s:I,s:I}", "digit", code,
					"units", (json_int_t)d->duration,
					"packets", (json_int_t)d->packets,
					"ends", (json_int_t)d->ends));
	}
	return list;
}

static json_t *heard_json(const struct heard *h)
{
	json_t *o = json_object();

#define PUT(name, help) run_put_int(o, #name, (int64_t)h->count.name);
	HEARD_COUNTS(PUT)
#undef PUT
	run_put_int(o, "gaps", (int64_t)heard_gaps(h));
	run_put(o, "digits", digits_json(h));
	return o;
}

static json_t *faults_json(const struct balance *b)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < b->count; i++)
		(void)json_array_append_new(list, json_string(b->faults[i]));
	return list;
}

/* What side @i of @t said: what was sent, counted, and came. */
static json_t *side_json(const struct talk *t, unsigned i)
{
	const struct feeder_call *c = t->side[i];
	const struct balance *b = &t->balance[i];

	return json_pack("{s:I,s:o,s:O?,s:o,s:I,s:I,s:O?,s:o}", "call",
			 (json_int_t)c->id, "sent", sent_json(c->phone),
			 "daemon", c->counts, "heard", heard_json(c->heard),
			 "digits_sent", (json_int_t)b->digits_sent,
			 "digits_right", (json_int_t)b->digits_right, "party",
			 json_object_get(t->told, i ? "b" : "a"), "faults",
			 faults_json(b));
}

json_t *output_talks_json(const struct session_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->ntalks; i++) {
		const struct talk *t = &r->talks[i];

		if (!t->began)
			continue;
		(void)json_array_append_new(
			list,
			json_pack("{s:s,s:I,s:b,s:o,s:o}", "flow",
				  campaign_title(t->side[0]->flow), "index",
				  (json_int_t)t->side[0]->plan->index, "relay",
				  (int)t->relay, "a", side_json(t, 0), "b",
				  side_json(t, 1)));
	}
	return list;
}

static void print_side(const struct output *o, const struct talk *t, unsigned i,
		       FILE *f)
{
	const struct feeder_call *c = t->side[i];

	for (unsigned k = 0; k < t->balance[i].count; k++)
		(void)fprintf(f, "UNACCOUNTED %s:%u: %s-%u, from %c: %s\n",
			      o->cfg->campaign->path, c->flow->line,
			      campaign_title(c->flow), c->plan->index,
			      i ? 'b' : 'a', t->balance[i].faults[k]);
}

void output_talks_print(const struct output *o, FILE *f)
{
	const struct session_result *r = o->result;
	size_t began = 0;

	for (size_t i = 0; i < r->ntalks; i++) {
		began += r->talks[i].began;
		print_side(o, &r->talks[i], 0, f);
		print_side(o, &r->talks[i], 1, f);
	}
	if (!began)
		return;
	(void)fprintf(f, "conversations  %zu; ", began);
	if (output_balanced(o))
		(void)fprintf(f, "every packet accounted for");
	else
		(void)fprintf(f, "%" PRIu64 " faults in their balance",
			      r->total->faults);
	(void)fprintf(f, "; digits: %" PRIu64 " of %" PRIu64 " right\n",
		      r->total->digits_right, r->total->digits_sent);
}
