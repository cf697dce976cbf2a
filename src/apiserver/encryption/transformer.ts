/** What a stored value was read as; stale means that it would be written differently now, and should be. */
import { errorMessage } from '#base/error-message.ts'
export type FromStorage = { readonly bytes: Uint8Array; readonly isStale: boolean }

/**
 * Turns values into what is stored, and back. `key` is where the value lies in the store: a value that was moved elsewhere
 * by somebody with access to the disk is not taken for the one that belongs there (with those ciphers that can tell).
 * Promises only when a key service outside of the process has to be asked.
 */
export type ValueTransformer = {
  toStorage(bytes: Uint8Array, key: string): Uint8Array | Promise<Uint8Array>
  fromStorage(bytes: Uint8Array, key: string): FromStorage | Promise<FromStorage>
}

/** A transformer whose values begin with a mark of their own. */
export type PrefixedTransformer = { readonly prefix: string; readonly transformer: ValueTransformer }

/** Writes with the first, reads with whichever's mark the value has; several may share one while keys are replaced. */
export function prefixedTransformers(list: readonly PrefixedTransformer[], noMatch: string): ValueTransformer {
  const marked = list.map(({ prefix, transformer }) => ({ prefix: Buffer.from(prefix), transformer }))
  const [first] = marked
  if (first === undefined) throw new Error('there must be a transformer to write with')
  return {
    toStorage(bytes, key) {
      const stored = first.transformer.toStorage(bytes, key)
      const withPrefix = (body: Uint8Array) => (first.prefix.length === 0 ? body : Buffer.concat([first.prefix, body]))
      return stored instanceof Promise ? stored.then(withPrefix) : withPrefix(stored)
    },
    fromStorage: (bytes, key) => readFrom(marked, 0, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), key, [], noMatch),
  }
}

type Marked = { readonly prefix: Buffer; readonly transformer: ValueTransformer }

function readFrom(
  list: readonly Marked[],
  from: number,
  bytes: Buffer,
  key: string,
  problems: string[],
  noMatch: string,
): FromStorage | Promise<FromStorage> {
  for (let index = from; index < list.length; index++) {
    const { prefix, transformer } = list[index] as Marked
    if (!bytes.subarray(0, prefix.length).equals(prefix)) continue
    const marked = (result: FromStorage) => (index === 0 ? result : { bytes: result.bytes, isStale: true })
    // The one without a mark says no to whatever is encrypted; that is no news.
    const remember = (error: unknown) => prefix.length > 0 && problems.push(errorMessage(error))
    try {
      const result = transformer.fromStorage(bytes.subarray(prefix.length), key)
      if (!(result instanceof Promise)) return marked(result)
      return result.then(marked, (error: unknown) => {
        remember(error)
        return readFrom(list, index + 1, bytes, key, problems, noMatch)
      })
    } catch (error) {
      remember(error)
    }
  }
  const distinct = [...new Set(problems)]
  throw new Error(distinct.length === 0 ? noMatch : distinct.length === 1 ? distinct[0] : `[${distinct.join(', ')}]`)
}

const encryptedPrefix = Buffer.from('k8s:enc:')

/** Stores values as they are. Refuses to read what is encrypted, rather than to hand it out. */
export const identityTransformer: ValueTransformer = {
  toStorage: (bytes) => bytes,
  fromStorage(bytes) {
    if (encryptedPrefix.equals(bytes.subarray(0, encryptedPrefix.length)))
      throw new Error('identity transformer tried to read encrypted data')
    return { bytes, isStale: false }
  },
}

/** A stored value that no key fits, or whose key service does not answer. */
export class UnreadableValue extends Error {
  override name = 'UnreadableValue'
  constructor(key: string, cause: unknown) {
    super(`unable to transform key ${JSON.stringify(key)}: ${errorMessage(cause)}`, { cause })
  }
}
