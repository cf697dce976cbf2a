import { isAbsolute } from 'node:path'
import type { Program } from '#api/cel/environment.ts'
import { accessCel } from '#api/cel/load.ts'
import { Check } from '#api/meta/check.ts'
import { dns1123Subdomain } from '#api/meta/names.ts'
import { ConfigDocument } from '#apiserver/config-document.ts'
import { omitEmpty } from '#base/omit-empty.ts'

/** AuthorizationConfiguration of apiserver.config.k8s.io/v1. */
export type AuthorizationConfiguration = { authorizers: AuthorizerConfiguration[] }

export type AuthorizerConfiguration = { type: AuthorizerType; name: string; webhook?: WebhookConfiguration }

export type AuthorizerType = (typeof authorizerTypes)[number]
const authorizerTypes = ['ABAC', 'AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC', 'Webhook'] as const

export type WebhookConfiguration = {
  timeoutMs: number
  /** Zero: not remembered. */
  allowedTtlMs: number
  refusedTtlMs: number
  version: 'v1' | 'v1beta1'
  onError: 'deny' | 'noOpinion'
  kubeconfigFile: string
  /** Only requests for which all of them hold are asked about. */
  conditions?: readonly Program[]
}

const webhookFields = [
  ...['timeout', 'authorizedTTL', 'cacheAuthorizedRequests', 'unauthorizedTTL', 'cacheUnauthorizedRequests', 'subjectAccessReviewVersion'],
  ...['matchConditionSubjectAccessReviewVersion', 'failurePolicy', 'connectionInfo', 'matchConditions'],
]

export async function parseAuthorizationConfiguration(text: string, path: string): Promise<AuthorizationConfiguration> {
  const versions = ['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1']
  const { document, root } = await ConfigDocument.read(text, path, 'AuthorizationConfiguration', versions, ['authorizers'])
  const check = new Check(undefined)
  const authorizers = document.list(root['authorizers'], 'authorizers', (item, at) => authorizer(document, item, at, check.dynamic(at)))
  if (authorizers.length === 0) check.dynamic('authorizers').required('at least one authorization mode must be defined')
  for (const [index, { type, name }] of authorizers.entries()) {
    const earlier = authorizers.slice(0, index)
    const place = check.dynamic('authorizers').at(index)
    if (type !== 'Webhook' && earlier.some((other) => other.type === type)) place.dynamic('type').duplicate(type)
    if (name !== '' && earlier.some((other) => other.name === name)) place.dynamic('name').duplicate(name)
  }
  document.mustBeSound(check.errors)
  return { authorizers }
}

/** What --authorization-mode says, in the form of the file. */
export function configurationOfModes(modes: readonly string[], webhook?: WebhookConfiguration): AuthorizationConfiguration {
  return {
    authorizers: modes.map((mode) => {
      const type = authorizerTypes.find((known) => known === mode)
      if (type === undefined) throw new Error(`--authorization-mode: there is no mode ${mode}; there are ${authorizerTypes.join(', ')}`)
      if (type !== 'Webhook') return { type, name: mode.toLowerCase() }
      if (webhook === undefined) throw new Error('--authorization-webhook-config-file is required with the mode Webhook')
      return { type, name: mode.toLowerCase(), webhook }
    }),
  }
}

function authorizer(document: ConfigDocument, value: unknown, at: string, check: Check<unknown>): AuthorizerConfiguration {
  const map = document.map(value, at, ['type', 'name', 'webhook'])
  const type = document.text(map['type'], `${at}.type`)
  const name = document.text(map['name'], `${at}.name`)
  const known = authorizerTypes.find((one) => one === type)
  if (type === '') check.dynamic('type').required()
  else if (known === undefined) check.dynamic('type').notSupported(authorizerTypes, type)
  if (name === '') check.dynamic('name').required()
  else {
    const flaws = dns1123Subdomain(name)
    if (flaws.length > 0) check.dynamic('name').invalid(`authorizer name is invalid: ${flaws.join(', ')}`, name)
  }
  if (known !== 'Webhook') {
    if (map['webhook'] !== undefined) check.dynamic('webhook').invalid('may only be specified when type=Webhook', 'non-null')
    return { type: known ?? 'AlwaysDeny', name }
  }
  if (map['webhook'] === undefined) {
    check.dynamic('webhook').required('required when type=Webhook')
    return { type: known, name }
  }
  return { type: known, name, webhook: webhook(document, map['webhook'], `${at}.webhook`, check) }
}

function webhook(document: ConfigDocument, value: unknown, at: string, check: Check<unknown>): WebhookConfiguration {
  const map = document.map(value, at, webhookFields)
  const timeoutMs = document.duration(map['timeout'], `${at}.timeout`, 0)
  if (timeoutMs === 0) check.dynamic('timeout').required()
  else if (timeoutMs > 30_000) check.dynamic('timeout').invalid('must be > 0s and <= 30s', map['timeout'])
  const version = oneOf(
    document.text(map['subjectAccessReviewVersion'], `${at}.subjectAccessReviewVersion`),
    ['v1', 'v1beta1'],
    check.dynamic('subjectAccessReviewVersion'),
  )
  const policy = oneOf(document.text(map['failurePolicy'], `${at}.failurePolicy`), ['NoOpinion', 'Deny'], check.dynamic('failurePolicy'))
  const conditions = matchConditions(document, map['matchConditions'], `${at}.matchConditions`, check.dynamic('matchConditions'))
  const reviewVersion = document.text(map['matchConditionSubjectAccessReviewVersion'], `${at}.matchConditionSubjectAccessReviewVersion`)
  if (reviewVersion !== '' && reviewVersion !== 'v1')
    check.dynamic('matchConditionSubjectAccessReviewVersion').notSupported(['v1'], reviewVersion)
  else if (reviewVersion === '' && conditions.length > 0)
    check.dynamic('matchConditionSubjectAccessReviewVersion').required('required if match conditions are specified')
  const remembered = (ttl: string, cache: string, absentMs: number) =>
    document.flag(map[cache], `${at}.${cache}`, true) ? document.duration(map[ttl], `${at}.${ttl}`, absentMs) || absentMs : 0
  return {
    timeoutMs,
    allowedTtlMs: remembered('authorizedTTL', 'cacheAuthorizedRequests', 5 * 60_000),
    refusedTtlMs: remembered('unauthorizedTTL', 'cacheUnauthorizedRequests', 30_000),
    version: version === 'v1beta1' ? 'v1beta1' : 'v1',
    onError: policy === 'Deny' ? 'deny' : 'noOpinion',
    ...omitEmpty({ conditions }),
    kubeconfigFile: kubeconfigFile(document, map['connectionInfo'], `${at}.connectionInfo`, check.dynamic('connectionInfo')),
  }
}

const maxConditions = 64

function matchConditions(document: ConfigDocument, value: unknown, at: string, check: Check<unknown>): Program[] {
  const texts = document.list(value, at, (item, where) =>
    document.text(document.map(item, where, ['expression'])['expression'], `${where}.expression`),
  )
  if (texts.length > maxConditions) {
    check.tooMany(texts.length, maxConditions)
    return []
  }
  const programs: Program[] = []
  for (const [index, text] of texts.entries()) {
    const place = check.with(texts).at(index).dynamic('expression')
    if (text.trim() === '') place.required()
    else if (texts.indexOf(text) < index) place.duplicate(text)
    else {
      const result = accessCel().compileAccessCondition(text)
      if ('detail' in result) place.invalid(result.detail, text)
      else programs.push(result.program)
    }
  }
  return programs
}

function kubeconfigFile(document: ConfigDocument, value: unknown, at: string, check: Check<unknown>): string {
  const map = document.optionalMap(value, at, ['type', 'kubeConfigFile'])
  const type = document.text(map['type'], `${at}.type`)
  const file = document.text(map['kubeConfigFile'], `${at}.kubeConfigFile`)
  if (type === '') check.dynamic('type').required()
  else if (type === 'InClusterConfig') check.dynamic('type').forbidden('this server does not run in a pod: use KubeConfigFile')
  else if (type !== 'KubeConfigFile') check.dynamic('type').notSupported(['InClusterConfig', 'KubeConfigFile'], type)
  else if (file === '') check.dynamic('kubeConfigFile').required()
  else if (!isAbsolute(file)) check.dynamic('kubeConfigFile').invalid('must be an absolute path', file)
  return file
}

function oneOf(value: string, supported: readonly string[], check: Check<unknown>): string {
  if (value === '') check.required()
  else if (!supported.includes(value)) check.notSupported(supported, value)
  return value
}
