/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow's contract, in the words that call.start has for it.
 */
#include "campaign/parts.h"

int read_contract(const struct section *s, struct campaign_flow *f)
{
	const struct section *k = section_below(s, "contract");
	struct contract *to = &f->terms.contract;
	struct contract_flaw flaw;
	int rc = section_values(k, to);

	if (!rc)
		rc = read_rate(k, "rate", &to->rate_ppm);
	if (!rc)
		rc = read_rate(k, "peak", &to->peak_ppm);
	if (rc)
		return rc;
	if (section_has(k, "burst") &&
	    section_has(section_below(s, "release"), "burst"))
		return section_fail(k, "burst",
				    "burst: release says it already: leave one "
				    "of them out");
	if (contract_check(&f->terms, f->ptime,
			   (enum release_kind)f->release.kind, &flaw))
		return section_fail(k, flaw.member, "%s: %s", flaw.member,
				    flaw.text);
	return 0;
}
