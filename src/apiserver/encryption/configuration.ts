import { Check } from '#api/meta/check.ts'
import { ConfigDocument } from '#apiserver/config-document.ts'
import { defined } from '#base/defined.ts'

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
  resource: ['resources', 'providers'],
  provider: ['aesgcm', 'aescbc', 'secretbox', 'identity', 'kms'],
  keys: ['keys'],
  key: ['name', 'secret'],
  kms: ['apiVersion', 'name', 'endpoint', 'timeout', 'cachesize'],
} as const

/** Reads the file's text (YAML or JSON); throws with everything that is wrong with it. Secrets are not repeated. */
export async function parseEncryptionConfiguration(text: string, path: string): Promise<EncryptionConfiguration> {
  if (text.trim() === '') throw new Error(`encryption provider configuration file ${JSON.stringify(path)} is empty`)
  const { document, root } = await ConfigDocument.read(text, path, 'EncryptionConfiguration', ['apiserver.config.k8s.io/v1'], ['resources'])
  const configuration = {
    resources: document.list(root['resources'], 'resources', (item, at) => resourceConfiguration(document, item, at)),
  }
  const check = new Check(configuration)
  validate(check)
  document.mustBeSound(check.errors)
  return configuration
}

function resourceConfiguration(document: ConfigDocument, value: unknown, at: string): ResourceConfiguration {
  const map = document.map(value, at, fields.resource)
  return {
    resources: document.list(map['resources'], `${at}.resources`, (name, where) => document.text(name, where)),
    providers: document.list(map['providers'], `${at}.providers`, (item, where) => provider(document, item, where)),
  }
}

function provider(document: ConfigDocument, value: unknown, at: string): ProviderConfiguration {
  const map = document.map(value, at, fields.provider)
  const result: ProviderConfiguration = {}
  for (const cipher of ['aesgcm', 'aescbc', 'secretbox'] as const) {
    if (map[cipher] !== undefined) result[cipher] = keys(document, map[cipher], `${at}.${cipher}`)
  }
  if (map['identity'] !== undefined) result.identity = {}
  if (map['kms'] !== undefined) result.kms = kms(document, map['kms'], `${at}.kms`)
  return result
}

function keys(document: ConfigDocument, value: unknown, at: string): KeysConfiguration {
  const map = document.map(value, at, fields.keys)
  return {
    keys: document.list(map['keys'], `${at}.keys`, (item, where) => {
      const key = document.map(item, where, fields.key)
      return { name: document.text(key['name'], `${where}.name`), secret: document.text(key['secret'], `${where}.secret`) }
    }),
  }
}

function kms(document: ConfigDocument, value: unknown, at: string): KmsConfiguration {
  const map = document.map(value, at, fields.kms)
  const { cachesize } = map
  return {
    // v1 where nothing is said, as upstream has it: so that v2 is somebody's decision.
    apiVersion: document.optionalText(map['apiVersion'], `${at}.apiVersion`) ?? 'v1',
    name: document.text(map['name'], `${at}.name`),
    endpoint: document.text(map['endpoint'], `${at}.endpoint`),
    timeoutMs: document.duration(map['timeout'], `${at}.timeout`, 3000),
    ...defined({ cachesize: typeof cachesize === 'number' ? cachesize : undefined }),
  }
}

function validate(check: Check<EncryptionConfiguration>): void {
  const { resources } = check.value
  if (resources.length === 0) check.at('resources').required('at least one resources is required')
  const kmsNames = new Set<string>()
  for (const [index, item] of resources.entries()) {
    const at = check.at('resources').at(index)
    if (item.resources.length === 0) at.at('resources').required(`at least one resources[${index}].resources is required`)
    validateResources(at.at('resources'))
    if (item.providers.length === 0) at.at('providers').required(`at least one resources[${index}].providers is required`)
    for (const place of at.at('providers').items()) validateProvider(place, kmsNames)
  }
}

function validateResources(check: Check<readonly string[]>): void {
  const resources = check.value
  const parsed = resources.map(groupResource)
  const isRepeated = new Set(resources).size !== resources.length
  const overlaps = parsed.some((one, index) =>
    parsed.some((other, position) => {
      if (index === position || resources[index] === resources[position]) return false
      return (one.group === '*' && one.resource === '*') || (one.group === other.group && (one.resource === '*' || other.resource === '*'))
    }),
  )
  if (isRepeated) check.invalid('the same resource cannot be specified multiple times')
  if (overlaps) {
    check.invalid("using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked")
  }
  for (const at of check.items()) {
    const name = at.value
    const flaw = flawOfResource(name)
    if (flaw !== undefined) at.invalid(flaw)
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

function validateProvider(check: Check<ProviderConfiguration>, kmsNames: Set<string>): void {
  const one = check.value
  const named = Object.keys(one)
  if (named.length === 0) {
    check.invalid('provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity', '')
    return
  }
  if (named.length > 1) check.invalid('more than one provider specified in a single element, should split into different list elements', '')
  if (one.aesgcm !== undefined) validateKeys(one.aesgcm, check.at('aesgcm').at('keys'), [16, 24, 32])
  if (one.aescbc !== undefined) validateKeys(one.aescbc, check.at('aescbc').at('keys'), [16, 24, 32])
  if (one.secretbox !== undefined) validateKeys(one.secretbox, check.at('secretbox').at('keys'), [32])
  if (one.kms !== undefined) validateKms(check.at('kms').present, kmsNames)
}

function validateKeys(
  { keys: list }: KeysConfiguration,
  check: Check<KeysConfiguration['keys'] | undefined>,
  lengths: readonly number[],
): void {
  if (list.length === 0) check.required('at least one keys is required')
  for (const [index, { name, secret }] of list.entries()) {
    const at = check.at(index)
    if (name === '') at.at('name').required('name is a mandatory field for a key')
    if (secret === '') {
      at.at('secret').required('secret is a mandatory field for a key')
      continue
    }
    if (secret.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(secret)) {
      at.at('secret').invalid('secrets must be base64 encoded', 'REDACTED')
      continue
    }
    const size = Buffer.from(secret, 'base64').length
    if (!lengths.includes(size)) {
      at.at('secret').invalid(`secret is not of the expected length, got ${size}, expected one of [${lengths.join(' ')}]`, 'REDACTED')
    }
  }
}

function validateKms(check: Check<KmsConfiguration>, names: Set<string>): void {
  const { name, timeoutMs, endpoint, apiVersion, cachesize } = check.value
  if (name === '') check.at('name').required('name is a mandatory field for a provider')
  if (name.includes(':')) check.at('name').invalid(`invalid KMS provider name ${name}, must not contain ':'`)
  if (names.has(name)) check.at('name').invalid(`duplicate KMS provider name ${name}, names must be unique`)
  names.add(name)
  if (!(timeoutMs > 0)) check.dynamic('timeout').invalid('timeout should be a positive value', `${timeoutMs}ms`)
  if (endpoint === '') check.at('endpoint').invalid('endpoint is a mandatory field for a kms', '')
  else if (!endpoint.startsWith('unix:')) {
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1] ?? ''
    check.at('endpoint').invalid(`unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`)
  }
  if (apiVersion === 'v1') check.at('apiVersion').invalid('KMSv1 is deprecated and not available here: set apiVersion to v2')
  else if (apiVersion !== 'v2') {
    check.at('apiVersion').invalid(`unsupported apiVersion ${apiVersion} for KMS provider, only v1 and v2 are supported`)
  }
  if (cachesize !== undefined) check.at('cachesize').invalid('cachesize is not supported in v2')
}

export function groupResource(text: string): { group: string; resource: string } {
  const dot = text.indexOf('.')
  return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) }
}
