/** The file of `--image-credential-provider-config`: programs that know credentials for registries. */

import { join } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import { lengthOfTimeMs } from '#base/duration.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'

export type CredentialProviderConfig = {
  /** The program's, in the directory of such programs. */
  name: string
  /** Images it is asked about, as in Docker's configuration: `*.dkr.ecr.*.amazonaws.com`. */
  matchImages: string[]
  defaultCacheDuration: string
  apiVersion: string
  args?: string[]
  env?: { name: string; value: string }[]
  tokenAttributes?: TokenAttributes
}

/** The program is given a token of the pod's service account. */
export type TokenAttributes = {
  serviceAccountTokenAudience: string
  /** What an answer is good for: the token it was given for, or all of the account. */
  cacheType: 'Token' | 'ServiceAccount'
  requireServiceAccount: boolean
  requiredServiceAccountAnnotationKeys?: string[]
  optionalServiceAccountAnnotationKeys?: string[]
}

const group = 'kubelet.config.k8s.io'
const newest = 'credentialprovider.kubelet.k8s.io/v1'
const apiVersions = [newest, `${newest}alpha1`, `${newest}beta1`]
const cacheTypes = ['ServiceAccount', 'Token']

type FilesToRead = Pick<Files, 'readText' | 'list' | 'statTarget'>

/** A file, or all of a directory. Throws with what is wrong, and where. */
export async function readCredentialProviderConfig(path: string, files: FilesToRead): Promise<CredentialProviderConfig[]> {
  const found = await files.statTarget(path)
  if (found === undefined) throw new Error(`unable to access path "${path}": no such file or directory`)
  const paths = found.kind === 'directory' ? await filesIn(path, files) : [path]
  const providers: CredentialProviderConfig[] = []
  const names = new Set<string>()
  for (const each of paths) {
    for (const provider of await providersIn(each, files)) {
      if (names.has(provider.name)) throw new Error(`duplicate provider name "${provider.name}" found in configuration file(s)`)
      names.add(provider.name)
      providers.push(provider)
    }
  }
  const wrong = [
    ...(providers.length === 0 ? ['providers: Required value: at least 1 item in plugins is required'] : []),
    ...providers.flatMap(whatIsWrong),
  ]
  if (wrong.length > 0) throw new Error(`failed to validate credential provider config: ${wrong.join(', ')}`)
  return providers
}

async function filesIn(directory: string, files: FilesToRead): Promise<string[]> {
  const names = (await files.list(directory)).filter((name) => /\.(?:json|ya?ml)$/.test(name))
  if (names.length === 0) throw new Error(`no configuration files found in directory "${directory}"`)
  return names.toSorted().map((name) => join(directory, name))
}

async function providersIn(path: string, files: FilesToRead): Promise<CredentialProviderConfig[]> {
  const { load } = jsYaml()
  try {
    const document = load(await files.readText(path)) as { kind?: string; apiVersion?: string; providers?: unknown } | null
    if (document?.kind !== 'CredentialProviderConfig') throw new Error(`failed to decode "${document?.kind ?? ''}" (wrong Kind)`)
    const { apiVersion = '', providers = [] } = document
    if (!apiVersion.startsWith(`${group}/`)) {
      throw new Error(`failed to decode CredentialProviderConfig, unexpected Group: ${apiVersion.split('/')[0]}`)
    }
    if (!Array.isArray(providers)) throw new Error('providers is not a list')
    return providers as CredentialProviderConfig[]
  } catch (error) {
    throw new Error(`error decoding config "${path}": ${errorMessage(error)}`, { cause: error })
  }
}

function whatIsWrong(provider: CredentialProviderConfig): string[] {
  const { name = '', apiVersion = '', matchImages = [], defaultCacheDuration, tokenAttributes } = provider
  const wrong: string[] = []
  const invalid = (field: string, value: string, why: string) => wrong.push(`providers.${field}: Invalid value: "${value}": ${why}`)
  if (name.includes('/')) invalid('name', name, "provider name cannot contain '/'")
  if (name.includes(' ')) invalid('name', name, 'provider name cannot contain spaces')
  if (name === '.' || name === '..') invalid('name', name, `provider name cannot be '${name}'`)
  if (apiVersion === '') wrong.push('providers.apiVersion: Required value')
  else if (!apiVersions.includes(apiVersion)) wrong.push(`providers.apiVersion: ${unsupported(apiVersion, apiVersions)}`)
  if (matchImages.length === 0) wrong.push('providers.matchImages: Required value: at least 1 item in matchImages is required')
  if (defaultCacheDuration === undefined) wrong.push('providers.defaultCacheDuration: Required value')
  else if ((lengthOfTimeMs(defaultCacheDuration) ?? -1) < 0) {
    invalid('defaultCacheDuration', defaultCacheDuration, 'must be greater than or equal to 0')
  }
  if (tokenAttributes !== undefined) wrong.push(...wrongOfToken(tokenAttributes, apiVersion))
  return wrong
}

function wrongOfToken(attributes: TokenAttributes, apiVersion: string): string[] {
  const at = 'providers.tokenAttributes'
  const { serviceAccountTokenAudience: audience = '', cacheType = '', requireServiceAccount: isRequired } = attributes
  const { requiredServiceAccountAnnotationKeys: required = [], optionalServiceAccountAnnotationKeys: optional = [] } = attributes
  const wrong: string[] = []
  if (audience === '') wrong.push(`${at}.serviceAccountTokenAudience: Required value`)
  if (isRequired === undefined) wrong.push(`${at}.requireServiceAccount: Required value`)
  if (apiVersion !== newest) wrong.push(`${at}: Forbidden: tokenAttributes is only supported for ${newest} API version`)
  if (isRequired === false && required.length > 0) {
    const why = 'requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set'
    wrong.push(`${at}.requiredServiceAccountAnnotationKeys: Forbidden: ${why}`)
  }
  const both = required.filter((key) => optional.includes(key))
  if (both.length > 0) wrong.push(`${at}: Invalid value: ${JSON.stringify(both)}: annotation keys cannot be both required and optional`)
  if (cacheType === '') {
    const why = `cacheType is required to be set when tokenAttributes is specified. Supported values are: ${cacheTypes.join(', ')}`
    wrong.push(`${at}.cacheType: Required value: ${why}`)
  } else if (!cacheTypes.includes(cacheType)) wrong.push(`${at}.cacheType: ${unsupported(cacheType, cacheTypes)}`)
  return wrong
}

const unsupported = (value: string, known: readonly string[]): string =>
  `Unsupported value: "${value}": supported values: ${known.map((each) => `"${each}"`).join(', ')}`
