/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow's contract, in the words that call.start has for it.
 */
#include <errno.h>

#include "campaign/campaign.h"
#include "campaign/convert.h"

#define CONTRACT_ROW(...)                                                      \
	KEY_ROW(struct raw_contract, struct contract, __VA_ARGS__)

static const struct key_row contract_rows[] = { CONTRACT_KEYS(
	CONTRACT_ROW, KEY_SKIP){ { .name = NULL }, 0 } };

static int read_rates(struct loader *l, const char *path,
		      const struct raw_contract *raw, struct contract *k)
{
	int rc = 0;

	if (raw->rate)
		rc = convert_rate(l, path, "rate", raw->rate, &k->rate_ppm);
	if (!rc && raw->peak)
		rc = convert_rate(l, path, "peak", raw->peak, &k->peak_ppm);
	return rc;
}

int convert_contract(struct loader *l, const char *path,
		     const struct raw_flow *raw, struct campaign_flow *f)
{
	const struct contract_use use = {
		.cls = f->cls,
		.period = f->ptime,
		.rel_deadline = f->cls == CR_BE ? f->ptime : f->deadline,
		.release = (enum release_kind)f->release.kind,
	};
	struct contract_flaw flaw;
	char buf[PLACE_MAX];
	int rc = convert_rows(l, contract_rows,
			      convert_below(buf, path, "contract"),
			      &raw->contract, &f->contract);

	if (!rc)
		rc = read_rates(l, buf, &raw->contract, &f->contract);
	if (rc)
		return rc;
	if (raw->contract.burst && raw->release.burst)
		return convert_fail(l, buf, "burst",
				    "burst: release says it already: leave one "
				    "of them out");
	if (contract_check(&f->contract, &use, &flaw))
		return convert_fail(l, buf, flaw.member, "%s: %s", flaw.member,
				    flaw.text);
	return 0;
}
