/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of the E-model in C, for test_g107.py. Without arguments: for each
 * line "CODEC MODE CODEC MODE DELAY_MS LOSS BURST_RATIO" on stdin, "R MOS WIDE"
 * or "none". With any: a line "CODEC MODE" for each mode that is built in.
 */
#include <stdio.h>

#include "cr/codec.h"
#include "observe/g107.h"

static void list(void)
{
	for (unsigned i = 0; cr_codecs[i]; i++)
		for (unsigned k = 0; k < cr_codecs[i]->nmodes; k++)
			printf("%s %s\n", cr_codecs[i]->name,
			       cr_codecs[i]->modes[k].name);
}

int main(int argc, char **argv)
{
	char in[32], in_mode[32], out[32], out_mode[32];
	struct g107_call c;

	(void)argv;
	if (argc > 1)
		list();
	else
		while (scanf("%31s %31s %31s %31s %lf %lf %lf", in, in_mode,
			     out, out_mode, &c.delay_ms, &c.loss,
			     &c.burst_ratio) == 7) {
			struct g107_codec one, two;
			struct g107_rating r;

			c.in = &one;
			c.out = &two;
			if (g107_codec_of(in, in_mode, &one) &&
			    g107_codec_of(out, out_mode, &two) &&
			    g107_rate(&c, &r))
				printf("%.12g %.12g %d\n", r.r, r.mos, r.wide);
			else
				puts("none");
		}
	return 0;
}
