/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow's contract, in the words that call.start has for it.
 */
#include "campaign/parts.h"

int read_contract(const struct section *s, struct campaign_flow *f)
{
	const struct section *k = section_below(s, "contract");
	const struct contract_use use = {
		.cls = f->cls,
		.period = f->ptime,
		.rel_deadline = f->cls == CR_BE ? f->ptime : f->deadline,
		.release = (enum release_kind)f->release.kind,
	};
	struct contract_flaw flaw;
	int rc = section_values(k, &f->contract);

	if (!rc)
		rc = read_rate(k, "rate", &f->contract.rate_ppm);
	if (!rc)
		rc = read_rate(k, "peak", &f->contract.peak_ppm);
	if (rc)
		return rc;
	if (section_has(k, "burst") &&
	    section_has(section_below(s, "release"), "burst"))
		return section_fail(k, "burst",
				    "burst: release says it already: leave one "
				    "of them out");
	if (contract_check(&f->contract, &use, &flaw))
		return section_fail(k, flaw.member, "%s: %s", flaw.member,
				    flaw.text);
	return 0;
}
