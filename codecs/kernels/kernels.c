/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice between the libraries' own functions and ours.
 */
#include "codecs/kernels/kernels.h"

#include <errno.h>
#include <stdbool.h>

#ifdef CR_HAVE_KERNELS
#include <cpuid.h>

#include "codecs/kernels/kernel.h"

bool cr_kernels_fast;

static const char cpu_lacks[] =
	"this CPU lacks AVX2, BMI, BMI2 or LZCNT.\n"
	"Lost: to encode AMR and AMR-WB takes 3 to 6 times as much CPU time, "
	"so that a core serves about a third of the calls.\n"
	"What to do: run on a CPU that has them.";

/* clang has no name for it in __builtin_cpu_supports(). */
static bool cpu_has_lzcnt(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && c & bit_LZCNT;
}

/* All that AVX2 in kernel.h asks for. */
static bool cpu_has_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2") && cpu_has_lzcnt();
}

/* Before main, as also tests and small programs have no reason to be slow. */
__attribute__((constructor)) static void choose_at_start(void)
{
	cr_kernels_fast = cpu_has_avx2();
}
#else
#include "kernels_off.h" /* CR_KERNELS_OFF; made by cmake */

static bool cr_kernels_fast;
#endif

const char *const cr_kernels_names[] = { "auto", "stock", "avx2", NULL };

int cr_kernels_choose(enum cr_kernels want, struct cr_err *e)
{
#ifdef CR_HAVE_KERNELS
	bool can = cpu_has_avx2();

	if (want == CR_KERNELS_AVX2 && !can)
		return cr_fail(e, -ENOTSUP,
			       "avx2: this CPU lacks AVX2, BMI, BMI2 or "
			       "LZCNT; use auto or stock");
	cr_kernels_fast = want != CR_KERNELS_STOCK && can;
#else
	if (want == CR_KERNELS_AVX2)
		return cr_fail(e, -ENOTSUP,
			       "avx2: this program was built without them "
			       "(CR_CODEC_KERNELS); use auto or stock");
#endif
	return 0;
}

const char *cr_kernels_missing(void)
{
#ifdef CR_HAVE_KERNELS
	return cpu_has_avx2() ? NULL : cpu_lacks;
#else
	return CR_KERNELS_OFF;
#endif
}

enum cr_kernels cr_kernels_active(void)
{
	return cr_kernels_fast ? CR_KERNELS_AVX2 : CR_KERNELS_STOCK;
}
