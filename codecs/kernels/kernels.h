/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec kernels: which functions do the work inside the codec libraries, the
 * library's own (stock) or ours (avx2). They give the same bits; README.md of
 * codecs tells how they get there.
 *
 * A program starts with the fastest that its build and CPU have.
 */
#ifndef CODECS_KERNELS_KERNELS_H
#define CODECS_KERNELS_KERNELS_H

#include "cr/error.h"

enum cr_kernels {
	CR_KERNELS_AUTO,  /**< the fastest there is here */
	CR_KERNELS_STOCK, /**< the library's own         */
	CR_KERNELS_AVX2,
};

/** Their names, in that order and NULL-terminated, as options take them. */
extern const char *const cr_kernels_names[];

/**
 * Use @want from now on. Not while another thread is inside a codec; codec
 * states live on. Returns 0, or -ENOTSUP with @e: the CPU lacks what they
 * need, or the program was built without them.
 */
int cr_kernels_choose(enum cr_kernels want, struct cr_err *e);

/** Why ours cannot be used here, what that costs and what to do about it:
 * lines of whole sentences; NULL where they can. */
const char *cr_kernels_missing(void);

/** The kernels in use: CR_KERNELS_STOCK or CR_KERNELS_AVX2. */
enum cr_kernels cr_kernels_active(void);

#endif
