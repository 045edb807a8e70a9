/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the AMR-NB library calls functions that have a kernel, and how
 * often those fall back to the library's own: the linker sends calls of S and
 * of stock_S through counters (--wrap; the list is in CMakeLists.txt, too).
 */
#ifndef TESTS_UNIT_CODECS_KERNELS_AMRNB_COUNTED_H
#define TESTS_UNIT_CODECS_KERNELS_AMRNB_COUNTED_H

/** Those with a fall-back for some inputs. */
#define COUNTED_FUNCTIONS(X)                                                   \
	X(Autocorr)                                                            \
	X(Convolve)                                                            \
	X(G_pitch)                                                             \
	X(Levinson)                                                            \
	X(MR475_gain_quant)                                                    \
	X(Pitch_fr)                                                            \
	X(Pitch_ol)                                                            \
	X(Pitch_ol_wgh)                                                        \
	X(Post_Process)                                                        \
	X(Pre_Process)                                                         \
	X(Pred_lt_3or6)                                                        \
	X(Q_plsf_3)                                                            \
	X(Qua_gain)                                                            \
	X(Residu)                                                              \
	X(Syn_filt)                                                            \
	X(agc)                                                                 \
	X(agc2)                                                                \
	X(calc_filt_energies)                                                  \
	X(code_10i40_35bits)                                                   \
	X(code_2i40_11bits)                                                    \
	X(code_2i40_9bits)                                                     \
	X(code_3i40_14bits)                                                    \
	X(code_4i40_17bits)                                                    \
	X(code_8i40_31bits)                                                    \
	X(comp_corr)                                                           \
	X(cor_h_x)                                                             \
	X(cor_h_x2)                                                            \
	X(ph_disp)                                                             \
	X(set_sign12k2)                                                        \
	X(subframePreProc)                                                     \
	X(vad1)

#define COUNTED_INDEX(S) COUNTED_##S,
enum { COUNTED_FUNCTIONS(COUNTED_INDEX) COUNTED_N };
#undef COUNTED_INDEX

struct counted {
	const char *name;
	unsigned calls, stock; /* of S, of stock_S */
};

/** Since the program began. One thread. */
extern struct counted counted[COUNTED_N];

#endif
