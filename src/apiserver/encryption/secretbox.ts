import { timingSafeEqual } from 'node:crypto'
import { poly1305 } from '#apiserver/encryption/poly1305.ts'
import type { ValueTransformer } from '#apiserver/encryption/transformer.ts'
import { xsalsa20Stream } from '#apiserver/encryption/xsalsa20.ts'
import type { Random } from '#base/random.ts'

const nonceBytes = 24
const tagBytes = 16
const keyBytes = 32

/** NaCl's secretbox: nonce, tag, then the value under XSalsa20. OpenSSL has neither half, so both are ours. */
export function secretboxTransformer(key: Uint8Array, random: Random): ValueTransformer {
  return {
    toStorage(bytes) {
      const nonce = random.bytes(nonceBytes)
      return Buffer.concat([nonce, seal(bytes, nonce, key)])
    },
    fromStorage(bytes) {
      if (bytes.length < nonceBytes + tagBytes) throw new Error('the stored data was shorter than the required size')
      const message = open(bytes.subarray(nonceBytes), bytes.subarray(0, nonceBytes), key)
      if (message === undefined) throw new Error('output array was not large enough for encryption')
      return { bytes: message, isStale: false }
    },
  }
}

export function seal(message: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array {
  const stream = xsalsa20Stream(keyBytes + message.length, nonce, key)
  const box = xored(message, stream)
  return Buffer.concat([poly1305(box, stream.subarray(0, keyBytes)), box])
}

/** Undefined when the box was not sealed with the key and nonce, or was changed since. */
export function open(box: Uint8Array, nonce: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  const body = box.subarray(tagBytes)
  const stream = xsalsa20Stream(keyBytes + body.length, nonce, key)
  if (!timingSafeEqual(poly1305(body, stream.subarray(0, keyBytes)), box.subarray(0, tagBytes))) return undefined
  return xored(body, stream)
}

function xored(bytes: Uint8Array, stream: Uint8Array): Uint8Array {
  return bytes.map((value, index) => value ^ (stream[keyBytes + index] ?? 0))
}
