import { createHash } from 'node:crypto'
import { aesCbcTransformer, aesGcmTransformer } from '#apiserver/encryption/aes.ts'
import {
  type EncryptionConfiguration,
  groupResource,
  type KeysConfiguration,
  type ProviderConfiguration,
  parseEncryptionConfiguration,
} from '#apiserver/encryption/configuration.ts'
import { grpcKmsService } from '#apiserver/encryption/kms-service.ts'
import { KmsTransformer } from '#apiserver/encryption/kms-transformer.ts'
import { secretboxTransformer } from '#apiserver/encryption/secretbox.ts'
import {
  identityTransformer,
  type PrefixedTransformer,
  prefixedTransformers,
  type ValueTransformer,
} from '#apiserver/encryption/transformer.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import { FollowedFiles } from '#base/followed-files.ts'
import type { GrpcChannel } from '#base/grpc.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'

export type EncryptionOptions = {
  files: Files
  /** Of the EncryptionConfiguration. */
  path: string
  clock: Clock
  random: Random
  log: Logger
  /** Reads the file again when it changes. `keys`: for the resources that it names at the start alone. */
  reload?: boolean | 'keys'
  /** How key services are reached. */
  connect: (endpoint: string) => Promise<GrpcChannel>
}

type Loaded = { text: string; byResource: Map<string, ValueTransformer>; kms: KmsTransformer[] }

const settleMs = 200
/** Requests under way may still read with what was just replaced. */
const closeAfterMs = 10_000

/** Which resources are kept under which ciphers, as the file says now. */
export class EncryptionAtRest implements Disposable {
  readonly #options: EncryptionOptions
  readonly #listeners = new Set<() => void>()
  readonly #changes: FollowedFiles
  #loaded: Loaded
  /** Key services of earlier configurations, each with the timer that closes it. */
  readonly #replaced = new Map<Loaded, Timer>()

  private constructor(options: EncryptionOptions, loaded: Loaded, changes: FollowedFiles) {
    this.#options = options
    this.#loaded = loaded
    this.#changes = changes
    changes.readAgain(
      () => this.#load(),
      (error) => options.log.error('failed to reload EncryptionConfiguration, keeping the old one', { error: String(error) }),
    )
  }

  static async open(options: EncryptionOptions): Promise<EncryptionAtRest> {
    const { files, path, reload, clock } = options
    using stack = new DisposableStack()
    const changes = stack.use(FollowedFiles.at(reload ? [path] : [], files, { clock, ms: settleMs }))
    const encryption = new EncryptionAtRest(options, await load(options), changes)
    stack.move()
    return encryption
  }

  /**
   * For the lifetime of the server: it follows the configuration. Undefined when the file does not name the resource
   * and cannot come to do so.
   */
  transformerFor(group: string, resource: string): ValueTransformer | undefined {
    const { reload } = this.#options
    if (!reload || (reload === 'keys' && this.#current(group, resource) === undefined)) return this.#current(group, resource)
    return {
      toStorage: (bytes, key) => (this.#current(group, resource) ?? identityTransformer).toStorage(bytes, key),
      fromStorage: (bytes, key) => (this.#current(group, resource) ?? identityTransformer).fromStorage(bytes, key),
    }
  }

  /** Tells configurations apart. */
  get hash(): string {
    return configurationHash(this.#loaded.text)
  }

  /** Why a key service cannot be relied on: for the health check `kms-providers`. */
  get problems(): string[] {
    return this.#loaded.kms.map(({ problem }) => problem).filter((problem) => problem !== undefined)
  }

  /** Tells after another configuration took effect: then is the time to write stale values anew. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  [Symbol.dispose](): void {
    this.#changes[Symbol.dispose]()
    for (const timer of this.#replaced.values()) timer.cancel()
    for (const loaded of [this.#loaded, ...this.#replaced.keys()]) closeServices(loaded)
  }

  #current(group: string, resource: string): ValueTransformer | undefined {
    const { byResource } = this.#loaded
    return byResource.get(`${resource}.${group}`) ?? byResource.get(`*.${group}`) ?? byResource.get('*.*')
  }

  async #load(): Promise<void> {
    const { files, path, clock, log } = this.#options
    if ((await files.readText(path)) === this.#loaded.text) return
    const loaded = await load(this.#options)
    const unhealthy = loaded.kms.find(({ problem }) => problem !== undefined)
    if (unhealthy !== undefined) {
      closeServices(loaded)
      throw new Error(unhealthy.problem)
    }
    const replaced = this.#loaded
    this.#loaded = loaded
    this.#replaced.set(
      replaced,
      clock.after(closeAfterMs, () => {
        this.#replaced.delete(replaced)
        closeServices(replaced)
      }),
    )
    log.info('reloaded EncryptionConfiguration', { path })
    for (const listener of this.#listeners) listener()
  }
}

export const configurationHash = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

function closeServices({ kms }: Loaded): void {
  for (const service of kms) service[Symbol.dispose]()
}

async function load(options: EncryptionOptions): Promise<Loaded> {
  const text = await options.files.readText(options.path)
  const configuration = await parseEncryptionConfiguration(text, options.path)
  const kms: KmsTransformer[] = []
  try {
    return { text, kms, byResource: await transformers(configuration, options, kms) }
  } catch (error) {
    for (const one of kms) one[Symbol.dispose]()
    throw error
  }
}

async function transformers(
  configuration: EncryptionConfiguration,
  options: EncryptionOptions,
  kms: KmsTransformer[],
): Promise<Map<string, ValueTransformer>> {
  const byResource = new Map<string, PrefixedTransformer[]>()
  for (const { resources, providers } of configuration.resources) {
    const list: PrefixedTransformer[] = []
    for (const provider of providers) list.push(await prefixed(provider, options, kms))
    for (const name of resources) {
      const { group, resource } = groupResource(name)
      for (const mask of [`*.${group}`, '*.*']) {
        if (byResource.has(mask)) throw new Error(`resource ${JSON.stringify(name)} is masked by earlier rule ${JSON.stringify(mask)}`)
      }
      byResource.set(`${resource}.${group}`, [...(byResource.get(`${resource}.${group}`) ?? []), ...list])
    }
  }
  return new Map([...byResource].map(([name, list]) => [name, prefixedTransformers(list, 'no matching prefix found')]))
}

async function prefixed(provider: ProviderConfiguration, options: EncryptionOptions, kms: KmsTransformer[]): Promise<PrefixedTransformer> {
  const { clock, random, log } = options
  const { aesgcm, aescbc, secretbox } = provider
  const aesNoMatch = 'no matching key was found for the provided AES transformer'
  if (aesgcm !== undefined) return byKey('k8s:enc:aesgcm:v1:', aesgcm, (key) => aesGcmTransformer(key, random), aesNoMatch)
  if (aescbc !== undefined) return byKey('k8s:enc:aescbc:v1:', aescbc, (key) => aesCbcTransformer(key, random), aesNoMatch)
  if (secretbox !== undefined) {
    const noMatch = 'no matching key was found for the provided Secretbox transformer'
    return byKey('k8s:enc:secretbox:v1:', secretbox, (key) => secretboxTransformer(key, random), noMatch)
  }
  if (provider.kms === undefined) return { prefix: '', transformer: identityTransformer }
  const { name, endpoint, timeoutMs } = provider.kms
  const service = grpcKmsService(await options.connect(endpoint), timeoutMs)
  const transformer = await KmsTransformer.start({ name, service, clock, random, log })
  kms.push(transformer)
  return { prefix: `k8s:enc:kms:v2:${name}:`, transformer }
}

/** The first key writes; the others are there to read what they wrote. */
function byKey(
  prefix: string,
  { keys }: KeysConfiguration,
  make: (key: Uint8Array) => ValueTransformer,
  noMatch: string,
): PrefixedTransformer {
  const list = keys.map(({ name, secret }) => ({ prefix: `${name}:`, transformer: make(Buffer.from(secret, 'base64')) }))
  return { prefix, transformer: prefixedTransformers(list, noMatch) }
}
