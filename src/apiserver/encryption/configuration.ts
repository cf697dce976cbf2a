import { Check } from '#api/meta/check.ts'

/** EncryptionConfiguration of apiserver.config.k8s.io/v1. */
export type EncryptionConfiguration = { resources: ResourceConfiguration[] }
export type ResourceConfiguration = { resources: string[]; providers: ProviderConfiguration[] }
export type ProviderConfiguration = {
  aesgcm?: KeysConfiguration
  aescbc?: KeysConfiguration
  secretbox?: KeysConfiguration
  identity?: object
  kms?: KmsConfiguration
}
export type KeysConfiguration = { keys: { name: string; secret: string }[] }
export type KmsConfiguration = { apiVersion: string; name: string; endpoint: string; timeoutMs: number; cachesize?: number }

const fields = {
  configuration: ['apiVersion', 'kind', 'resources'],
  resource: ['resources', 'providers'],
  provider: ['aesgcm', 'aescbc', 'secretbox', 'identity', 'kms'],
  keys: ['keys'],
  key: ['name', 'secret'],
  kms: ['apiVersion', 'name', 'endpoint', 'timeout', 'cachesize'],
} as const

/** Reads the file's text (YAML or JSON); throws with everything that is wrong with it. Secrets are not repeated. */
export async function parseEncryptionConfiguration(text: string, path: string): Promise<EncryptionConfiguration> {
  if (text.trim() === '') throw new Error(`encryption provider configuration file ${JSON.stringify(path)} is empty`)
  const { load } = await import('js-yaml')
  const read = new Reader(path)
  const root = read.map(load(text), '', fields.configuration)
  if (root['kind'] !== 'EncryptionConfiguration' || root['apiVersion'] !== 'apiserver.config.k8s.io/v1') {
    throw new Error(
      `${path}: expected kind EncryptionConfiguration of apiserver.config.k8s.io/v1, found ${root['kind']} of ${root['apiVersion']}`,
    )
  }
  const configuration = {
    resources: read.list(root['resources'], 'resources').map((item, index) => resourceConfiguration(read, item, `resources[${index}]`)),
  }
  const check = new Check()
  validate(configuration, check)
  if (check.failed) throw new Error(`${path}: ${check.errors.map(({ field, body }) => `${field}: ${body}`).join(', ')}`)
  return configuration
}

function resourceConfiguration(read: Reader, value: unknown, at: string): ResourceConfiguration {
  const map = read.map(value, at, fields.resource)
  return {
    resources: read.list(map['resources'], `${at}.resources`).map((name, index) => read.text(name, `${at}.resources[${index}]`)),
    providers: read.list(map['providers'], `${at}.providers`).map((item, index) => provider(read, item, `${at}.providers[${index}]`)),
  }
}

function provider(read: Reader, value: unknown, at: string): ProviderConfiguration {
  const map = read.map(value, at, fields.provider)
  const result: ProviderConfiguration = {}
  for (const cipher of ['aesgcm', 'aescbc', 'secretbox'] as const) {
    if (map[cipher] !== undefined) result[cipher] = keys(read, map[cipher], `${at}.${cipher}`)
  }
  if (map['identity'] !== undefined) result.identity = {}
  if (map['kms'] !== undefined) result.kms = kms(read, map['kms'], `${at}.kms`)
  return result
}

function keys(read: Reader, value: unknown, at: string): KeysConfiguration {
  const map = read.map(value, at, fields.keys)
  return {
    keys: read.list(map['keys'], `${at}.keys`).map((item, index) => {
      const key = read.map(item, `${at}.keys[${index}]`, fields.key)
      return { name: read.text(key['name'], `${at}.name`), secret: read.text(key['secret'], `${at}.secret`) }
    }),
  }
}

function kms(read: Reader, value: unknown, at: string): KmsConfiguration {
  const map = read.map(value, at, fields.kms)
  const { cachesize } = map
  return {
    // v1 where nothing is said, as upstream has it: so that v2 is somebody's decision.
    apiVersion: map['apiVersion'] === undefined ? 'v1' : read.text(map['apiVersion'], `${at}.apiVersion`),
    name: read.text(map['name'], `${at}.name`),
    endpoint: read.text(map['endpoint'], `${at}.endpoint`),
    timeoutMs: map['timeout'] === undefined ? 3000 : durationMs(read.text(map['timeout'], `${at}.timeout`)),
    ...(typeof cachesize === 'number' ? { cachesize } : {}),
  }
}

function validate({ resources }: EncryptionConfiguration, check: Check): void {
  if (resources.length === 0) check.at('resources').required('at least one resources is required')
  const kmsNames = new Set<string>()
  for (const [index, item] of resources.entries()) {
    const at = check.at('resources').at(index)
    if (item.resources.length === 0) at.at('resources').required(`at least one resources[${index}].resources is required`)
    validateResources(item.resources, at.at('resources'))
    if (item.providers.length === 0) at.at('providers').required(`at least one resources[${index}].providers is required`)
    for (const [position, one] of item.providers.entries()) validateProvider(one, at.at('providers').at(position), kmsNames)
  }
}

function validateResources(resources: readonly string[], check: Check): void {
  const parsed = resources.map(groupResource)
  const isRepeated = new Set(resources).size !== resources.length
  const overlaps = parsed.some((one, index) =>
    parsed.some((other, position) => {
      if (index === position || resources[index] === resources[position]) return false
      return (one.group === '*' && one.resource === '*') || (one.group === other.group && (one.resource === '*' || other.resource === '*'))
    }),
  )
  if (isRepeated) check.invalid(resources, 'the same resource cannot be specified multiple times')
  if (overlaps) {
    check.invalid(
      resources,
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
    )
  }
  for (const [index, name] of resources.entries()) {
    const flaw = flawOfResource(name)
    if (flaw !== undefined) check.at(index).invalid(name, flaw)
  }
}

function flawOfResource(name: string): string | undefined {
  const { group, resource } = groupResource(name)
  if (/[A-Z]/.test(name)) return 'resource name should not contain capital letters'
  if (name === '*') return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
  if (['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations'].includes(name)) {
    return 'resources which do not have REST API/s cannot be encrypted'
  }
  if (group === 'events.k8s.io') {
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
  }
  if (group === 'extensions') return "'extensions' group has been removed and cannot be used for encryption"
  return group === '*' && resource !== '*' ? 'encrypting the same resource across groups is not supported' : undefined
}

function validateProvider(one: ProviderConfiguration, check: Check, kmsNames: Set<string>): void {
  const named = Object.keys(one)
  if (named.length === 0) {
    check.invalid('', 'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity')
    return
  }
  if (named.length > 1) check.invalid('', 'more than one provider specified in a single element, should split into different list elements')
  if (one.aesgcm !== undefined) validateKeys(one.aesgcm, check.at('aesgcm.keys'), [16, 24, 32])
  if (one.aescbc !== undefined) validateKeys(one.aescbc, check.at('aescbc.keys'), [16, 24, 32])
  if (one.secretbox !== undefined) validateKeys(one.secretbox, check.at('secretbox.keys'), [32])
  if (one.kms !== undefined) validateKms(one.kms, check.at('kms'), kmsNames)
}

function validateKeys({ keys: list }: KeysConfiguration, check: Check, lengths: readonly number[]): void {
  if (list.length === 0) check.required('at least one keys is required')
  for (const [index, { name, secret }] of list.entries()) {
    const at = check.at(index)
    if (name === '') at.at('name').required('name is a mandatory field for a key')
    if (secret === '') {
      at.at('secret').required('secret is a mandatory field for a key')
      continue
    }
    if (secret.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(secret)) {
      at.at('secret').invalid('REDACTED', 'secrets must be base64 encoded')
      continue
    }
    const size = Buffer.from(secret, 'base64').length
    if (!lengths.includes(size)) {
      at.at('secret').invalid('REDACTED', `secret is not of the expected length, got ${size}, expected one of [${lengths.join(' ')}]`)
    }
  }
}

function validateKms({ name, timeoutMs, endpoint, apiVersion, cachesize }: KmsConfiguration, check: Check, names: Set<string>): void {
  if (name === '') check.at('name').required('name is a mandatory field for a provider')
  if (name.includes(':')) check.at('name').invalid(name, `invalid KMS provider name ${name}, must not contain ':'`)
  if (names.has(name)) check.at('name').invalid(name, `duplicate KMS provider name ${name}, names must be unique`)
  names.add(name)
  if (!(timeoutMs > 0)) check.at('timeout').invalid(`${timeoutMs}ms`, 'timeout should be a positive value')
  if (endpoint === '') check.at('endpoint').invalid('', 'endpoint is a mandatory field for a kms')
  else if (!endpoint.startsWith('unix:')) {
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1] ?? ''
    check.at('endpoint').invalid(endpoint, `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`)
  }
  if (apiVersion === 'v1') check.at('apiVersion').invalid(apiVersion, 'KMSv1 is deprecated and not available here: set apiVersion to v2')
  else if (apiVersion !== 'v2') {
    check.at('apiVersion').invalid(apiVersion, `unsupported apiVersion ${apiVersion} for KMS provider, only v1 and v2 are supported`)
  }
  if (cachesize !== undefined) check.at('cachesize').invalid(cachesize, 'cachesize is not supported in v2')
}

export function groupResource(text: string): { group: string; resource: string } {
  const dot = text.indexOf('.')
  return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) }
}

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Go's form of a length of time: `3s`, `1m30s`, `500ms`. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return Number.NaN
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (units[unit ?? ''] ?? 0), 0)
}

/** Takes parsed YAML apart; unknown fields and wrong types are errors, as a typo must not leave secrets in the clear. */
class Reader {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  map(value: unknown, at: string, known: readonly string[]): Record<string, unknown> {
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new Error(`${this.#path}: ${at || 'the document'} is not a map`)
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) throw new Error(`${this.#path}: unknown field "${at === '' ? key : `${at}.${key}`}"`)
    }
    return value as Record<string, unknown>
  }

  list(value: unknown, at: string): unknown[] {
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) throw new Error(`${this.#path}: ${at} is not a list`)
    return value
  }

  text(value: unknown, at: string): string {
    if (value === undefined || value === null) return ''
    if (typeof value !== 'string') throw new Error(`${this.#path}: ${at} is not a string`)
    return value
  }
}
