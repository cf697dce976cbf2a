/** The stream cipher XSalsa20: Salsa20 with a nonce long enough to be random. */

const sigma = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const

/** As many bytes of the stream as asked for, from its beginning. */
export function xsalsa20Stream(size: number, nonce: Uint8Array, key: Uint8Array): Uint8Array {
  const subkey = hsalsa20(words(nonce, 0, 4), words(key, 0, 8))
  const [n0, n1] = words(nonce, 16, 2)
  const stream = new Uint8Array(Math.ceil(size / 64) * 64)
  const view = new DataView(stream.buffer)
  for (let block = 0; block * 64 < size; block++) {
    const input = state(subkey, [n0 ?? 0, n1 ?? 0, block, 0])
    const output = rounds(input)
    for (let index = 0; index < 16; index++)
      view.setUint32(block * 64 + index * 4, ((output[index] ?? 0) + (input[index] ?? 0)) >>> 0, true)
  }
  return stream.subarray(0, size)
}

function hsalsa20(nonce: readonly number[], key: readonly number[]): number[] {
  const output = rounds(state(key, nonce))
  return [0, 5, 10, 15, 6, 7, 8, 9].map((index) => (output[index] ?? 0) >>> 0)
}

function state(key: readonly number[], middle: readonly number[]): Int32Array {
  return Int32Array.of(
    ...[sigma[0], ...key.slice(0, 4), sigma[1], ...middle, sigma[2], ...key.slice(4, 8), sigma[3]].map((word) => word | 0),
  )
}

/** Which words each quarter-round of a double round works on: columns, then rows. */
const quarters = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const

function rounds(input: Int32Array): Int32Array {
  const x = Int32Array.from(input)
  for (let round = 0; round < 20; round += 2) {
    for (const [a, b, c, d] of quarters) {
      x[b] = word(x, b) ^ rotated(word(x, a) + word(x, d), 7)
      x[c] = word(x, c) ^ rotated(word(x, b) + word(x, a), 9)
      x[d] = word(x, d) ^ rotated(word(x, c) + word(x, b), 13)
      x[a] = word(x, a) ^ rotated(word(x, d) + word(x, c), 18)
    }
  }
  return x
}

const word = (x: Int32Array, index: number): number => x[index] ?? 0
const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits))

function words(bytes: Uint8Array, from: number, count: number): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: count }, (_, index) => view.getUint32(from + index * 4, true))
}
