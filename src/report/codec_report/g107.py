# SPDX-License-Identifier: Apache-2.0
"""The E-model of ITU-T G.107 (06/2015): a rating R from transmission figures.

All of its default values (Table 2), but delay, codec and loss: a call between
two quiet rooms on handsets. R runs from 0 to 100, 93.2 without any impairment
beyond the defaults. The wideband model of G.107.1 (06/2019) has its own scale,
to 129; its echo terms need echo paths that nobody here has, and are left out.
"""
import math

SLR, RLR, STMR = 8.0, 2.0, 15.0  # loudness ratings, dB
DS, DR = 3.0, 3.0                # D-values of the telephones
TELR, WEPL = 65.0, 110.0         # echo: talker loudness, weighted path loss, dB
QDU = 1.0                        # quantizing distortion units
NC, NFOR = -70.0, -64.0          # circuit noise, noise floor, dBm0p, dBmp
PS, PR = 35.0, 35.0              # room noise, dB(A)
LSTR = STMR + DR
OLR = SLR + RLR

WIDEBAND_BEST = 129.0


def _log_sum(*levels):
    return 10 * math.log10(sum(10 ** (level / 10) for level in levels))


def noise():
    """No: the sum of all noise at the 0 dBr point, dBm0p (7-3 to 7-7)."""
    sender = PS - SLR - DS - 100 + 0.004 * (PS - OLR - DS - 14) ** 2
    room = PR + 10 * math.log10(1 + 10 ** ((10 - LSTR) / 10))
    receiver = RLR - 121 + room + 0.008 * (room - 35) ** 2
    return _log_sum(NC, sender, receiver, NFOR + RLR)


def basic():
    """Ro: signal to noise (7-2)."""
    return 15 - 1.5 * (SLR + noise())


def simultaneous(delay_ms):
    """Is: loudness, sidetone, quantizing (7-8 to 7-17)."""
    loud = OLR + 0.2 * (64 + noise() - RLR)
    too_loud = 20 * ((1 + (loud / 8) ** 8) ** (1 / 8) - loud / 8)
    side = -10 * math.log10(10 ** (-STMR / 10) + math.exp(-delay_ms / 4)
                            * 10 ** (-TELR / 10))
    sidetone = (12 * (1 + ((side - 13) / 6) ** 8) ** (1 / 8)
                - 28 * (1 + ((side + 1) / 19.4) ** 35) ** (1 / 35)
                - 13 * (1 + ((side - 3) / 33) ** 13) ** (1 / 13) + 29)
    signal = 37 - 15 * math.log10(QDU)
    g = 1.07 + 0.258 * signal + 0.0602 * signal ** 2
    y = (basic() - 100) / 15 + 46 / 8.4 - g / 9
    z = 46 / 30 - g / 40
    return too_loud + sidetone + 15 * math.log10(1 + 10 ** y + 10 ** z)


def _echo(difference, floor):
    return difference / 2 + math.sqrt(difference ** 2 / 4 + floor)


def talker_echo(delay_ms):
    """Idte (7-19 to 7-22), T = delay_ms."""
    t = delay_ms
    level = (TELR - 40 * math.log10((1 + t / 10) / (1 + t / 150))
             + 6 * math.exp(-0.3 * t ** 2))
    quality = 80 + 2.5 * (level - 14)
    base = -1.5 * (noise() - RLR)
    return (_echo(base - quality, 100) - 1) * (1 - math.exp(-t))


def listener_echo(delay_ms):
    """Idle (7-25, 7-26), Tr = twice delay_ms."""
    quality = 10.5 * (WEPL + 7) * (2 * delay_ms + 1) ** -0.25
    return _echo(basic() - quality, 169)


def absolute_delay(delay_ms):
    """Idd (7-27, 7-28): what too long a delay does without any echo."""
    if delay_ms <= 100:
        return 0.0
    x = math.log2(delay_ms / 100)
    return 25 * ((1 + x ** 6) ** (1 / 6)
                 - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)


def delayed(delay_ms):
    """Id: what comes of a one-way delay from mouth to ear, in ms."""
    return (talker_echo(delay_ms) + listener_echo(delay_ms)
            + absolute_delay(delay_ms))


def equipment(ie, bpl, loss, burst_ratio=1.0):
    """Ie-eff (7-29). loss: 0..1; bpl: unused without loss; burst_ratio: mean
    length of the runs of losses over that of random losses."""
    if not loss:
        return ie
    percent = 100 * loss
    return ie + (95 - ie) * percent / (percent / burst_ratio + bpl)


def rating(delay_ms, ie_eff):
    """R of a narrow-band call."""
    return basic() - simultaneous(delay_ms) - delayed(delay_ms) - ie_eff


def wideband_rating(delay_ms, ie_eff):
    """R of a wideband call (G.107.1, 7-1), echo perfectly controlled."""
    return WIDEBAND_BEST - absolute_delay(delay_ms) - ie_eff


def mos(r):
    """MOS-CQE of a narrow-band R (Annex B), 1 to 4.5.

    The polynomial falls below 1 for small R; 1 is the scale's end.
    """
    if r <= 0:
        return 1.0
    if r >= 100:
        return 4.5
    return max(1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6, 1.0)


def wideband_mos(r):
    """MOS of a wideband R (G.107.1 Annex A)."""
    return mos(r / 1.29)
