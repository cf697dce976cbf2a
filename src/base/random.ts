import { randomBytes, randomUUID } from 'node:crypto'

/** Where every component gets its chance from: the machine's, or a seed's. */
export type Random = {
  /** A number in [0, 1). */
  float(): number
  /** A whole number in [0, below). */
  int(below: number): number
  bytes(size: number): Uint8Array
  /** A version 4 UUID, lower case. */
  uuid(): string
}

/** Unpredictable: fit for secrets, tokens and serial numbers. */
export const systemRandom: Random = {
  float: () => Math.random(),
  int: (below) => Math.floor(Math.random() * below),
  bytes: (size) => randomBytes(size),
  uuid: () => randomUUID(),
}

/** The same seed gives the same sequence (sfc32). Never for secrets outside of simulations. */
export function seededRandom(seed: number): Random {
  let a = 0x9e3779b9
  let b = 0x243f6a88
  let c = seed | 0
  let counter = Math.floor(seed / 2 ** 32) | 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let round = 0; round < 12; round++) next()
  const random: Random = {
    float: () => next() / 2 ** 32,
    int: (below) => Math.floor((next() / 2 ** 32) * below),
    bytes: (size) => Uint8Array.from({ length: size }, () => next() & 0xff),
    uuid: () => uuidFrom(random.bytes(16)),
  }
  return random
}

function uuidFrom(bytes: Uint8Array): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Kubernetes' alphabet for generated names: no vowels, nothing that looks like something else. */
const nameAlphabet = 'bcdfghjklmnpqrstvwxz2456789'

export function nameSuffix(random: Random, length = 5): string {
  let suffix = ''
  for (let index = 0; index < length; index++) suffix += nameAlphabet[random.int(nameAlphabet.length)]
  return suffix
}
