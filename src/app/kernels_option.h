/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option --codec-kernels, which several programs have.
 */
#ifndef APP_KERNELS_OPTION_H
#define APP_KERNELS_OPTION_H

#include "codecs/kernels/kernels.h"

/** Use @want (cr_kernels_choose()); where that cannot be had, exits with 2 and
 * a message that names @program. */
void kernels_option_use(const char *program, enum cr_kernels want);

#endif
