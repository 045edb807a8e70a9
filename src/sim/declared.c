/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs and contracts from the campaign: what the flow says, what its models of
 * cost and arrival say, and what is measured, in this order.
 */
#include "sim/declared.h"

#include "sim/arrival.h"

/* Best effort has none, but a task has. */
static cr_ns rel_deadline(const struct campaign_flow *f)
{
	return f->terms.cls == CR_BE ? f->ptime : f->terms.deadline;
}

struct release_cfg declared_release(const struct campaign_flow *f)
{
	struct release_cfg r = {
		.kind = (enum release_kind)f->release.kind,
		.period = f->ptime,
		.rel_deadline = rel_deadline(f),
		.x = (unsigned)f->release.x,
		.y = f->release.y,
		.burst = (unsigned)f->release.burst,
	};

	contract_release(&f->terms.contract, f->release_named, &r);
	return r;
}

/* Rounded up, as far as a contract counts. */
static uint32_t quotient_up(int64_t a, int64_t b)
{
	return (uint32_t)cr_ns_min((a + b - 1) / b, UINT32_MAX);
}

/* What a flow of work by a TSpec promises, in jobs of the largest size. */
static struct cr_contract of_envelope(const struct campaign_flow *f)
{
	const struct campaign_arrival *m = &f->arrival;
	cr_ns largest = envelope_largest(f);

	return (struct cr_contract){
		.jobs = 1,
		.per = cr_ns_max(largest * CR_PPM / m->rate_ppm, 1),
		.burst = quotient_up(m->depth, largest) - 1,
		.peak_jobs_per_sec =
			quotient_up(m->peak_ppm * (CR_SEC / CR_PPM), largest),
		.largest = largest,
	};
}

/* A cost that is bounded by the campaign is declared by that; of others
 * schedulers have the estimate alone. */
static cr_ns largest_of(const struct campaign_flow *f)
{
	if (f->terms.contract.worst)
		return f->terms.contract.worst;
	return f->cost.max < CAMPAIGN_COST_MAX ? f->cost.max : 0;
}

static struct cr_contract contract_of(const struct campaign_flow *f)
{
	const struct release_cfg r = declared_release(f);
	struct cr_contract c = contract_promise(&f->terms.contract, &r);

	c.largest = largest_of(f);
	if (f->terms.contract.rate_ppm)
		return c;
	if (f->arrival.kind == ARRIVAL_ENVELOPE)
		return of_envelope(f);
	if (f->arrival.kind == ARRIVAL_TSPEC) {
		c.jobs = 1;
		c.per = CR_SEC * CR_PPM / f->arrival.rate_ppm;
		c.burst = (uint32_t)f->arrival.bucket - 1;
		c.peak_jobs_per_sec = quotient_up(f->arrival.peak_ppm, CR_PPM);
	}
	return c;
}

struct core_terms declare(const struct campaign_flow *f,
			  const struct cost_model *m)
{
	return (struct core_terms){
		.cls = f->terms.cls,
		.rel_deadline = rel_deadline(f),
		.cost = contract_cost(&f->terms.contract, &m->estimate),
		.nice = f->terms.nice,
		.weight = f->terms.weight,
		.contract = contract_of(f),
	};
}
