/** The one-time authenticator Poly1305 (RFC 8439), on ten limbs of 13 bits: products and their sums stay exact in doubles. */

const limbs = 10
const limbSize = 8192

export function poly1305(message: Uint8Array, key: Uint8Array): Uint8Array {
  const r = limbsOf(clamped(key.subarray(0, 16)), 0)
  const accumulator = new Float64Array(limbs)
  const block = new Uint8Array(17)
  for (let offset = 0; offset < message.length; offset += 16) {
    const size = Math.min(16, message.length - offset)
    block.fill(0)
    block.set(message.subarray(offset, offset + size))
    block[size] = 1
    const added = limbsOf(block, block[16] ?? 0)
    for (let index = 0; index < limbs; index++) accumulator[index] = at(accumulator, index) + at(added, index)
    multiply(accumulator, r)
  }
  return tagOf(accumulator, key.subarray(16, 32))
}

function clamped(r: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(r)
  for (const index of [3, 7, 11, 15]) copy[index] = byte(copy, index) & 15
  for (const index of [4, 8, 12]) copy[index] = byte(copy, index) & 252
  return copy
}

/** 128 bits, little-endian, and the 129th. */
function limbsOf(bytes: Uint8Array, top: number): Float64Array {
  const result = new Float64Array(limbs)
  for (let index = 0; index < limbs; index++) {
    const bit = index * 13
    const start = bit >> 3
    const window = byte(bytes, start) | (byte(bytes, start + 1) << 8) | (byte(bytes, start + 2) << 16)
    // Bytes past the sixteenth are not part of the number; the top bit is put in below.
    result[index] = ((start + 2 > 15 ? window & (start + 1 > 15 ? 0xff : 0xffff) : window) >> (bit & 7)) & 8191
  }
  result[9] = at(result, 9) + top * 2048
  return result
}

/** accumulator = accumulator * r mod 2^130 - 5, but for carries that the next step takes in. */
function multiply(accumulator: Float64Array, r: Float64Array): void {
  const product = new Float64Array(limbs)
  for (let index = 0; index < limbs; index++) {
    let sum = 0
    for (let j = 0; j < limbs; j++) sum += at(accumulator, j) * (j <= index ? at(r, index - j) : 5 * at(r, index + limbs - j))
    product[index] = sum
  }
  carry(product)
  accumulator.set(product)
}

function carry(value: Float64Array): void {
  let over = 0
  for (let index = 0; index < limbs; index++) {
    const sum = at(value, index) + over
    over = Math.floor(sum / limbSize)
    value[index] = sum - over * limbSize
  }
  const wrapped = at(value, 0) + over * 5
  const small = Math.floor(wrapped / limbSize)
  value[0] = wrapped - small * limbSize
  value[1] = at(value, 1) + small
}

function tagOf(accumulator: Float64Array, pad: Uint8Array): Uint8Array {
  carry(accumulator)
  carry(accumulator)
  // Whole multiples of the modulus go: h + 5 reaches 2^130 exactly when h has one too many.
  const plusFive = Float64Array.from(accumulator)
  plusFive[0] = at(plusFive, 0) + 5
  let over = 0
  for (let index = 0; index < limbs; index++) {
    const sum = at(plusFive, index) + over
    over = Math.floor(sum / limbSize)
    plusFive[index] = sum - over * limbSize
  }
  for (let index = 0; index < limbs; index++) accumulator[index] = over * at(plusFive, index) + (1 - over) * at(accumulator, index)
  const tag = new Uint8Array(16)
  let bits = 0
  let width = 0
  let next = 0
  let sum = 0
  for (let index = 0; index < 16; index++) {
    while (width < 8) {
      bits += at(accumulator, next++) * 2 ** width
      width += 13
    }
    sum += (bits & 255) + byte(pad, index)
    tag[index] = sum & 255
    sum >>= 8
    bits = Math.floor(bits / 256)
    width -= 8
  }
  return tag
}

const at = (value: Float64Array, index: number): number => value[index] ?? 0
const byte = (bytes: Uint8Array, index: number): number => bytes[index] ?? 0
