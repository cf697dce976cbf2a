import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { FromStorage, ValueTransformer } from '#apiserver/encryption/transformer.ts'
import type { Random } from '#base/random.ts'

const nonceBytes = 12
const tagBytes = 16
const blockBytes = 16
export const seedBytes = 32
const tooShort = 'the stored data was shorter than the required size'

/** AES-GCM: nonce, then the sealed value with its tag; the place in the store is authenticated along with it. */
export function aesGcmTransformer(key: Uint8Array, random: Random): ValueTransformer {
  return {
    toStorage: (bytes, place) => sealed(key, random.bytes(nonceBytes), bytes, place),
    fromStorage: (bytes, place) => opened(key, bytes, place),
  }
}

/**
 * AES-GCM under a key of its own for each value, derived from the seed and 32 random bytes that are stored in front:
 * a seed never wears out, however many values it protects.
 */
export function derivedKeyTransformer(seed: Uint8Array, random: Random): ValueTransformer {
  return {
    toStorage(bytes, place) {
      const info = random.bytes(seedBytes)
      return Buffer.concat([info, sealed(derivedKey(seed, info), random.bytes(nonceBytes), bytes, place)])
    },
    fromStorage(bytes, place) {
      if (bytes.length < seedBytes) throw new Error(tooShort)
      return opened(derivedKey(seed, bytes.subarray(0, seedBytes)), bytes.subarray(seedBytes), place)
    },
  }
}

/** AES-CBC with padding: nothing tells whether a value was tampered with, which is why upstream advises against it. */
export function aesCbcTransformer(key: Uint8Array, random: Random): ValueTransformer {
  const algorithm = `aes-${key.length * 8}-cbc`
  return {
    toStorage(bytes) {
      const iv = random.bytes(blockBytes)
      const cipher = createCipheriv(algorithm, key, iv)
      return Buffer.concat([iv, cipher.update(bytes), cipher.final()])
    },
    fromStorage(bytes) {
      if (bytes.length < blockBytes) throw new Error(tooShort)
      if (bytes.length % blockBytes !== 0) throw new Error('the stored data is not a multiple of the block size')
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, blockBytes))
      try {
        return { bytes: Buffer.concat([decipher.update(bytes.subarray(blockBytes)), decipher.final()]), isStale: false }
      } catch {
        throw new Error('invalid padding on input')
      }
    },
  }
}

function sealed(key: Uint8Array, nonce: Uint8Array, bytes: Uint8Array, place: string): Buffer {
  const cipher = createCipheriv(gcm(key), key, nonce)
  cipher.setAAD(Buffer.from(place))
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
}

function opened(key: Uint8Array, bytes: Uint8Array, place: string): FromStorage {
  if (bytes.length < nonceBytes + tagBytes) throw new Error(tooShort)
  const decipher = createDecipheriv(gcm(key), key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(place))
  decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes))
  try {
    const head = decipher.update(bytes.subarray(nonceBytes, bytes.length - tagBytes))
    return { bytes: Buffer.concat([head, decipher.final()]), isStale: false }
  } catch {
    throw new Error('cipher: message authentication failed')
  }
}

/** HKDF's second half with SHA-256: the seed is random already, and one block is all that is asked for. */
function derivedKey(seed: Uint8Array, info: Uint8Array): Uint8Array {
  return createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest()
}

function gcm(key: Uint8Array): 'aes-128-gcm' | 'aes-192-gcm' | 'aes-256-gcm' {
  switch (key.length) {
    case 16:
      return 'aes-128-gcm'
    case 24:
      return 'aes-192-gcm'
    case 32:
      return 'aes-256-gcm'
    default:
      throw new Error(`crypto/aes: invalid key size ${key.length}`)
  }
}
