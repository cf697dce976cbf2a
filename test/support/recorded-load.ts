/** A day of requests as it was recorded, to be played again. */

/**
 * Requests in each five minutes of 13 July 1995, one hour a line, to the web server of NASA's Kennedy Space Center: its public log
 * (NASA-HTTP in the Internet Traffic Archive, ita.ee.lbl.gov), counted. A space shuttle started at 9:41, and in the evening the log has
 * two gaps.
 */
const counts = [
  ...[218, 321, 282, 283, 318, 279, 292, 228, 340, 304, 234, 252],
  ...[364, 306, 223, 223, 227, 299, 309, 294, 287, 276, 286, 246],
  ...[280, 291, 287, 273, 288, 273, 249, 219, 169, 215, 206, 190],
  ...[161, 186, 191, 181, 177, 196, 198, 272, 275, 202, 237, 221],
  ...[236, 213, 246, 122, 123, 131, 187, 236, 197, 177, 141, 180],
  ...[191, 277, 231, 230, 185, 223, 230, 232, 220, 175, 240, 261],
  ...[213, 190, 198, 232, 313, 277, 343, 385, 363, 383, 398, 383],
  ...[345, 410, 427, 568, 518, 595, 559, 635, 641, 688, 496, 167],
  ...[550, 722, 650, 955, 1048, 1077, 1105, 1167, 1207, 1097, 661, 1334],
  ...[1431, 1436, 1348, 1229, 712, 1063, 1145, 1432, 959, 1277, 1500, 1390],
  ...[1105, 1033, 1108, 1039, 911, 310, 577, 833, 927, 788, 802, 781],
  ...[930, 838, 841, 870, 763, 781, 817, 831, 788, 799, 801, 688],
  ...[697, 875, 860, 725, 868, 791, 651, 542, 633, 697, 589, 606],
  ...[484, 501, 438, 627, 640, 662, 608, 552, 718, 590, 652, 859],
  ...[687, 690, 704, 151, 815, 768, 603, 645, 576, 645, 562, 627],
  ...[420, 610, 592, 664, 610, 577, 567, 569, 693, 689, 693, 614],
  ...[574, 726, 726, 579, 637, 547, 537, 673, 615, 578, 527, 432],
  ...[445, 136, 2, 10, 249, 409, 344, 405, 415, 448, 289, 432],
  ...[426, 451, 341, 335, 403, 399, 446, 393, 343, 280, 381, 352],
  ...[273, 23, 333, 394, 309, 229, 327, 304, 75, 2, 0, 0],
  ...[0, 0, 315, 253, 252, 162, 212, 160, 276, 271, 212, 253],
  ...[302, 309, 357, 276, 378, 303, 274, 199, 246, 311, 354, 373],
  ...[350, 357, 232, 320, 261, 210, 256, 308, 229, 355, 206, 266],
  ...[248, 253, 231, 370, 399, 327, 281, 316, 232, 259, 301, 204],
]
const binMinutes = 5
const secondsOfBin = binMinutes * 60

/** That server was asked five times a second at most. Today so many ask where one did then. */
const askersOfOne = 400

/** Requests a second, with straight lines between the middles of the five minutes that were counted. */
export function recordedLoad(minute: number): number {
  const place = Math.max(0, minute / binMinutes - 0.5)
  const index = Math.floor(place)
  const [from = 0, to = from] = [counts[index % counts.length], counts[(index + 1) % counts.length]]
  return Math.round(((from + (to - from) * (place - index)) * askersOfOne) / secondsOfBin)
}
