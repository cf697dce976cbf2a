import { createHash } from 'node:crypto'
import { aesGcmTransformer, derivedKeyTransformer, seedBytes } from '#apiserver/encryption/aes.ts'
import {
  type Annotations,
  decodeEncryptedObject,
  type EncryptedObject,
  encodeEncryptedObject,
  type KeySourceType,
} from '#apiserver/encryption/kms-messages.ts'
import type { KmsService } from '#apiserver/encryption/kms-service.ts'
import type { FromStorage, ValueTransformer } from '#apiserver/encryption/transformer.ts'
import type { Clock, Timer } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'

export type KmsTransformerOptions = { name: string; service: KmsService; clock: Clock; random: Random; log: Logger }

/** What new values are written with. */
type Writer = {
  readonly transformer: ValueTransformer
  readonly keyId: string
  readonly encryptedKeySource: Uint8Array
  readonly annotations: Annotations
  /** Without a word from the service past this time, nothing is written any more; reading goes on. */
  validUntilMs: number
}

const healthyIntervalMs = 60_000
const unhealthyIntervalMs = 10_000
const writableWithoutServiceMs = 180_000
const maxKeyIdBytes = 1024
const maxKeySourceBytes = 1024
const maxAnnotationsBytes = 32 * 1024
/** Opened seeds to remember: one for each start of a server, and for each change of the service's key. */
const maxKnownSeeds = 10_000

/**
 * Values under keys derived from a seed, and the seed, sealed by the service, beside each value. The service is asked
 * when it starts, when its key changes and when a seed is met for the first time; not for each value.
 */
export class KmsTransformer implements ValueTransformer, Disposable {
  readonly #options: KmsTransformerOptions
  readonly #known = new Map<string, ValueTransformer | Promise<ValueTransformer>>()
  #writer: Writer | undefined
  #version = ''
  #problem: string | undefined
  #timer: Timer | undefined
  #probing: Promise<void> | undefined

  private constructor(options: KmsTransformerOptions) {
    this.#options = options
    this.#problem = `kms provider ${options.name} was not asked yet`
  }

  /** Resolves after the first word from the service, good or bad; a bad one is followed up until there is a good one. */
  static async start(options: KmsTransformerOptions): Promise<KmsTransformer> {
    const transformer = new KmsTransformer(options)
    await transformer.#probe()
    return transformer
  }

  /** Why the service cannot be relied on at the moment. */
  get problem(): string | undefined {
    return this.#problem
  }

  toStorage(bytes: Uint8Array, key: string): Uint8Array {
    const writer = this.#writer
    if (writer === undefined) throw new Error(`kms provider ${this.#options.name} gave no key yet: ${this.#problem}`)
    const nowMs = this.#options.clock.now()
    if (nowMs > writer.validUntilMs) {
      const expired = new Date(writer.validUntilMs).toISOString()
      throw new Error(`encryptedDEKSource with keyID hash ${JSON.stringify(hash(writer.keyId))} expired at ${expired}`)
    }
    const encryptedData = writer.transformer.toStorage(bytes, key) as Uint8Array
    const { keyId, encryptedKeySource, annotations } = writer
    return encodeEncryptedObject({ encryptedData, keyId, encryptedKeySource, annotations, keySourceType: 'seed' })
  }

  fromStorage(bytes: Uint8Array, key: string): FromStorage | Promise<FromStorage> {
    const object = decodeEncryptedObject(bytes)
    mustBeSound(object)
    const transformer = this.#transformerFor(object)
    const read = (found: ValueTransformer): FromStorage => {
      const { bytes: plain } = found.fromStorage(object.encryptedData, key) as FromStorage
      return { bytes: plain, isStale: object.keyId !== this.#writer?.keyId || object.keySourceType !== 'seed' }
    }
    return transformer instanceof Promise ? transformer.then(read) : read(transformer)
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#options.service[Symbol.dispose]()
  }

  #transformerFor({
    encryptedKeySource,
    keyId,
    annotations,
    keySourceType,
  }: EncryptedObject): ValueTransformer | Promise<ValueTransformer> {
    const cacheKey = cacheKeyOf(keySourceType, encryptedKeySource, keyId, annotations)
    const known = this.#known.get(cacheKey)
    if (known !== undefined) return known
    const { service, random } = this.#options
    const asked = service
      .decrypt({ ciphertext: encryptedKeySource, uid: random.uuid(), keyId, annotations })
      .then((source) => {
        const found = keySourceType === 'seed' ? derivedKeyTransformer(mustBeSeed(source), random) : aesGcmTransformer(source, random)
        this.#remember(cacheKey, found)
        return found
      })
      .catch((error: unknown) => {
        this.#known.delete(cacheKey)
        throw new Error(`failed to decrypt DEK, error: ${errorMessage(error)}`, { cause: error })
      })
    this.#known.set(cacheKey, asked)
    return asked
  }

  #remember(cacheKey: string, transformer: ValueTransformer): void {
    this.#known.set(cacheKey, transformer)
    if (this.#known.size > maxKnownSeeds) this.#known.delete(this.#known.keys().next().value ?? '')
  }

  /** Asks now, if nobody does already, and plans when to ask next. */
  #probe(): Promise<void> {
    this.#probing ??= this.#askForStatus()
      .then(
        () => {
          this.#problem = undefined
        },
        (error: unknown) => {
          this.#problem = errorMessage(error)
          this.#options.log.warn('KMS plugin is unhealthy', { name: this.#options.name, problem: this.#problem })
        },
      )
      .finally(() => {
        this.#probing = undefined
        this.#timer?.cancel()
        const delayMs = this.#problem === undefined ? healthyIntervalMs : unhealthyIntervalMs
        this.#timer = this.#options.clock.after(delayMs, () => void this.#probe())
      })
    return this.#probing
  }

  async #askForStatus(): Promise<void> {
    const { service, name, clock } = this.#options
    const validUntilMs = clock.now() + writableWithoutServiceMs
    const { version, healthz, keyId } = await service.status()
    const problems: string[] = []
    if (healthz !== 'ok') problems.push(`got unexpected healthz status: ${healthz}`)
    if (version !== 'v2' && version !== 'v2beta1') problems.push(`expected KMSv2 API version v2, got ${version}`)
    else if (this.#version !== '' && this.#version !== version) {
      problems.push(`KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`)
    } else this.#version = version
    const flaw = flawOfKeyId(keyId)
    if (flaw !== undefined) problems.push(`got invalid KMSv2 KeyID hash ${JSON.stringify(hash(keyId))}: ${flaw}`)
    else if (this.#writer?.keyId === keyId) this.#writer.validUntilMs = validUntilMs
    else await this.#rotate(keyId, validUntilMs).catch((error: unknown) => problems.push(String(error)))
    if (problems.length > 0) throw new Error(`kmsv2 Provider ${name} is not healthy, error: ${problems.join(', ')}`)
  }

  /** A new seed, sealed by the service's present key. The old one stays in use where that fails. */
  async #rotate(statusKeyId: string, validUntilMs: number): Promise<void> {
    const { service, random } = this.#options
    const seed = random.bytes(seedBytes)
    const { ciphertext, keyId, annotations } = await service.encrypt(random.uuid(), seed)
    mustBeSound({ encryptedData: Uint8Array.of(0), keyId, encryptedKeySource: ciphertext, annotations, keySourceType: 'seed' })
    if (keyId !== statusKeyId) {
      throw new Error(`failed to rotate DEK: status keyID hash ${hash(statusKeyId)}, encrypt keyID hash ${hash(keyId)}`)
    }
    const transformer = derivedKeyTransformer(seed, random)
    this.#writer = { transformer, keyId, encryptedKeySource: ciphertext, annotations, validUntilMs }
    this.#remember(cacheKeyOf('seed', ciphertext, keyId, annotations), transformer)
  }
}

function mustBeSound({ encryptedData, keyId, encryptedKeySource, annotations }: EncryptedObject): void {
  if (encryptedData.length === 0) throw new Error('encrypted data is empty')
  if (encryptedKeySource.length === 0) throw new Error('failed to validate encrypted DEK source: encrypted DEK source is empty')
  if (encryptedKeySource.length > maxKeySourceBytes) {
    throw new Error(
      `failed to validate encrypted DEK source: encrypted DEK source is ${encryptedKeySource.length} bytes, which exceeds the max size of ${maxKeySourceBytes}`,
    )
  }
  const flaw = flawOfKeyId(keyId)
  if (flaw !== undefined) throw new Error(`failed to validate key id: ${flaw}`)
  const size = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (size > maxAnnotationsBytes) {
    throw new Error(
      `failed to validate annotations: total size of annotations is ${size}, which exceeds the max size of ${maxAnnotationsBytes}`,
    )
  }
}

function flawOfKeyId(keyId: string): string | undefined {
  if (keyId === '') return 'keyID is empty'
  const size = Buffer.byteLength(keyId)
  return size > maxKeyIdBytes ? `keyID is ${size} bytes, which exceeds the max size of ${maxKeyIdBytes}` : undefined
}

function mustBeSeed(source: Uint8Array): Uint8Array {
  if (source.length < seedBytes) throw new Error(`invalid seed length ${source.length} used for key generation`)
  return source
}

function cacheKeyOf(type: KeySourceType, source: Uint8Array, keyId: string, annotations: Annotations): string {
  const digest = createHash('sha256')
    .update(`${type} ${source.length} `)
    .update(source)
    .update(` ${JSON.stringify(keyId)}`)
  for (const [key, value] of Object.entries(annotations).sort(([left], [right]) => (left < right ? -1 : 1))) {
    digest.update(` ${JSON.stringify(key)} ${value.length} `).update(value)
  }
  return digest.digest('base64')
}

/** Key names are secrets of a kind: logs get their hash. */
const hash = (text: string): string => (text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`)
