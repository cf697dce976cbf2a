/**
 * Plays recorded conversations against the kinds alone, with no server: decode, default, the rules of create and update, compare.
 * `node test/golden-kinds.ts --golden DIR [--group apps] [--only PREFIX] [--area validation-core] [--verbose]`
 *
 * What an earlier step answered is taken as the stored object, so that a mistake in one step does not hide the next.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { DecodeError } from '#api/codec/decode-error.ts'
import { canonicalize, decodeValue } from '#api/codec/json.ts'
import { builtInKinds } from '#api/kinds.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { StatusError } from '#api/meta/status-error.ts'
import type { KubernetesObject, ResourceDefinition, RuleContext, UpdateRules } from '#api/resource.ts'
import { beforeCreate } from '#apiserver/registry/before-create.ts'
import { beforeUpdate } from '#apiserver/registry/before-update.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type Fields = { [key: string]: Json }

export type Step = {
  method: string
  path: string
  body?: Json
  headers?: Record<string, string | null>
  capture?: Record<string, string>
  compare?: string
  expect: { status: number; headers?: { warning?: string[] }; body?: Json }
}
export type Scenario = { id: string; area: string; serviceAccount?: boolean; steps: Step[] }

export type Difference = { scenario: string; step: number; at: string; expected: unknown; actual: unknown }
export type Tally = { played: number; matched: number; skipped: number; differences: Difference[] }

const namespace = 'ns-0123456789'
const prefix = 'id-0123456789'
const uid = '11111111-1111-4111-8111-111111111111'

const now = '2026-01-02T03:04:05Z'
const gates = new FeatureGates()
const context: RuleContext = { now, isEnabled: gates.isEnabled }

export function readScenarios(file: string): Scenario[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Scenario)
}

type Target = { definition: ResourceDefinition; name: string | undefined; subresource: string | undefined }

function targetOf(path: string, definitions: readonly ResourceDefinition[]): Target | undefined {
  const [plain = ''] = path.split('?')
  const parts = plain.split('/').filter(Boolean)
  const group = parts[0] === 'apis' ? (parts[1] ?? '') : ''
  const version = parts[0] === 'apis' ? parts[2] : parts[1]
  let rest = parts.slice(parts[0] === 'apis' ? 3 : 2)
  if (rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'finalize' && rest[2] !== 'status') rest = rest.slice(2)
  const [plural, name, subresource] = rest
  const definition = definitions.find((each) => each.group === group && each.version === version && each.plural === plural)
  return definition && { definition, name, subresource }
}

/** Conflicts, refusals to decode and the like are the server's. */
const unplayable = [400, 403, 404, 409, 500]

/** Plays the steps that create or replace; others only tell what is stored, or are left out. */
export function play(scenario: Scenario, definitions: readonly ResourceDefinition[], tally: Tally): void {
  const stored = new Map<string, Json>()
  const names: Record<string, Json> = { NS: namespace, ID: prefix }
  for (const [index, step] of scenario.steps.entries()) {
    const target = targetOf(step.path, definitions)
    const expected = filled(step.expect.body ?? null, names)
    const key = target && `${target.definition.plural}/${target.name ?? nameOf(expected)}`
    const answer = target && answerOf(step, target, stored.get(key ?? ''), names)
    const isUntold = step.compare === 'status' || expected === null
    for (const [name, source] of Object.entries(step.capture ?? {})) names[name] = valueAt(expected, source) ?? ''
    if (key !== undefined && step.expect.status < 300 && step.method !== 'GET') {
      stored.set(
        isUntold ? `${target?.definition.plural}/${nameOf(answer?.body ?? null)}` : key,
        isUntold ? (answer?.body ?? null) : expected,
      )
    }
    if (answer === undefined || unplayable.includes(step.expect.status)) {
      tally.skipped++
      continue
    }
    tally.played++
    const found =
      firstDifference(step.expect.status, answer.status, '$.status') ??
      (isUntold ? undefined : firstDifference(comparable(expected), comparable(answer.body), '$')) ??
      firstDifference(warningsOf(step, names), answer.warnings, '$warnings')
    if (found === undefined) tally.matched++
    else tally.differences.push({ scenario: scenario.id, step: index, ...found })
  }
}

type Answer = { status: number; body: Json; warnings: string[] }

function answerOf(step: Step, target: Target, stored: Json | undefined, names: Record<string, Json>): Answer | undefined {
  const { definition, name, subresource } = target
  const isStrange = typeof step.body !== 'object' || step.body === null || Array.isArray(step.body) || step.path.includes('dryRun')
  if (isStrange) return undefined
  const sent = filled(step.body as Json, names)
  if (definition.schema === '') return undefined
  if (step.method === 'POST' && subresource === undefined && name === undefined) {
    const object = decoded(definition, sent)
    return object && created(definition, object, step)
  }
  const type = step.headers?.['Content-Type'] ?? ''
  const isPut = step.method === 'PUT'
  const isMerge = step.method === 'PATCH' && type === 'application/merge-patch+json'
  if ((!isPut && !isMerge) || stored === undefined) return undefined
  const rules = (subresource === undefined ? definition : definition.subresources?.[subresource]) as UpdateRules<KubernetesObject>
  if (rules === undefined || 'replicas' in rules) return undefined
  const prev = structuredClone(stored) as unknown as KubernetesObject
  const next = decoded(definition, isPut ? sent : merged(structuredClone(stored), step.body as Json, names))
  return next && updated(definition, rules, next, prev)
}

function created(definition: ResourceDefinition, object: KubernetesObject, step: Step): Answer | undefined {
  const metadata = { ...object.metadata }
  if (!metadata.name && metadata.generateName) metadata.name = `${metadata.generateName}abcde`
  if (definition.scope === 'Namespaced') metadata.namespace = namespace
  metadata.uid = uid
  object.metadata = metadata
  return answered(201, definition, object, () => {
    definition.defaults?.(object)
    admit(definition, object, true)
    if (step.expect.status < 300) allocate(object, step.expect.body as Fields)
    return beforeCreate(definition, object, context)
  })
}

function updated(
  definition: ResourceDefinition,
  rules: UpdateRules<KubernetesObject>,
  next: KubernetesObject,
  prev: KubernetesObject,
): Answer | undefined {
  const metadata = { ...next.metadata }
  if (definition.scope === 'Namespaced') metadata.namespace = namespace
  if (!metadata.resourceVersion && prev.metadata?.resourceVersion) metadata.resourceVersion = prev.metadata.resourceVersion
  next.metadata = metadata
  return answered(200, definition, next, () => {
    definition.defaults?.(next)
    if (rules === definition) admit(definition, next, false)
    deepFreeze(prev)
    return beforeUpdate(definition, rules, next, prev, context)
  })
}

function answered(status: number, definition: ResourceDefinition, object: KubernetesObject, rules: () => string[]): Answer | undefined {
  try {
    const warnings = rules()
    const apiVersion = definition.group === '' ? definition.version : `${definition.group}/${definition.version}`
    if (object.metadata) object.metadata.resourceVersion ||= '1'
    const body = canonicalize(structuredClone({ ...object, kind: definition.kind, apiVersion }), definition.schema)
    return { status, body: body as unknown as Json, warnings: [...deprecation(definition), ...warnings] }
  } catch (error) {
    if (error instanceof StatusError)
      return { status: error.code, body: error.status as unknown as Json, warnings: deprecation(definition) }
    // Most often a body that the decoder would have refused.
    return { status: 0, body: String(error), warnings: [] }
  }
}

function deprecation({ version, kind, deprecated }: ResourceDefinition): string[] {
  if (deprecated === undefined) return []
  const instead = deprecated.replacement === undefined ? '' : `; use ${deprecated.replacement}`
  return [`${version} ${kind} is deprecated in v${deprecated.deprecatedIn}+${instead}`]
}

const protections: Record<string, string> = {
  PersistentVolume: 'kubernetes.io/pv-protection',
  PersistentVolumeClaim: 'kubernetes.io/pvc-protection',
}

/** What the default admission plugins do. */
function admit({ group, kind }: ResourceDefinition, object: KubernetesObject, isCreate: boolean): void {
  if (group !== '') return
  const { metadata = {} } = object
  const protection = protections[kind]
  if (isCreate && protection) metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), protection])]
  if (isCreate && kind === 'Node') taintUntilReady((object as unknown as { spec: Fields }).spec)
  if (kind === 'Pod') admitPod((object as unknown as { spec: Fields }).spec, isCreate)
}

function taintUntilReady(spec: Fields): void {
  const taints = (spec['taints'] ?? []) as Fields[]
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
  if (!taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) taints.push(taint)
  spec['taints'] = taints
}

function admitPod(spec: Fields, isCreate: boolean): void {
  if (isCreate) {
    spec['serviceAccountName'] ||= 'default'
    spec['serviceAccount'] = spec['serviceAccountName']
    if (spec['automountServiceAccountToken'] !== false) mountToken(spec)
  }
  const tolerations = (spec['tolerations'] ?? []) as Fields[]
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    const isTolerated = tolerations.some(
      (each) => (each['key'] === key || !each['key']) && (!each['effect'] || each['effect'] === 'NoExecute'),
    )
    if (!isTolerated) tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })
  }
  spec['tolerations'] = tolerations
  spec['priority'] ??= 0
  spec['preemptionPolicy'] ??= 'PreemptLowerPriority'
}

function mountToken(spec: Fields): void {
  const name = 'kube-api-access-abcde'
  const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount'
  for (const list of ['initContainers', 'containers']) {
    for (const container of (spec[list] ?? []) as Fields[]) {
      const mounts = (container['volumeMounts'] ?? []) as Fields[]
      if (!mounts.some((mount) => mount['mountPath'] === mountPath)) mounts.push({ name, readOnly: true, mountPath })
      container['volumeMounts'] = mounts
    }
  }
  const sources: Json[] = [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] } },
  ]
  spec['volumes'] = [...((spec['volumes'] ?? []) as Json[]), { name, projected: { sources, defaultMode: 420 } }]
}

/** What services are given by allocators that do not run here. */
function allocate(object: KubernetesObject, expected: Fields | undefined): void {
  if (expected?.['kind'] !== 'Service') return
  const spec = (object as { spec?: Fields }).spec ?? {}
  const given = (expected['spec'] ?? {}) as Fields
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort']) {
    if (given[field] !== undefined) spec[field] = structuredClone(withNumbers(given[field]))
  }
  const ports = (spec['ports'] ?? []) as Fields[]
  for (const [index, port] of ((given['ports'] ?? []) as Fields[]).entries()) {
    const own = ports[index]
    if (own && port['nodePort'] !== undefined) own['nodePort'] = withNumbers(port['nodePort'])
  }
}

const withNumbers = (value: Json): Json => {
  if (value === '<port>') return 30000
  if (value === '<ip>') return '10.96.1.2'
  return Array.isArray(value) ? value.map(withNumbers) : value
}

/** Undefined for what the decoder refuses: that is not the kinds' business. */
function decoded({ schema }: ResourceDefinition, value: Json): KubernetesObject | undefined {
  try {
    return decodeValue(structuredClone(value), schema).object as KubernetesObject
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

function filled(value: Json, names: Record<string, Json>): Json {
  if (typeof value === 'string') {
    const whole = /^\$\{(\w+)\}$/.exec(value)?.[1]
    if (whole !== undefined && names[whole] !== undefined) return names[whole]
    return value
      .replaceAll('-<suffix>', '-abcde')
      .replaceAll('<time>', now)
      .replaceAll('<uid:1>', uid)
      .replace(/\$\{REPEAT:(.):(\d+)\}/g, (_, char: string, count: string) => char.repeat(Number(count)))
      .replace(/\$\{(\w+)\}/g, (text, name: string) => (names[name] === undefined ? text : String(names[name])))
  }
  if (Array.isArray(value)) return value.map((each) => filled(each, names))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [String(filled(key, names)), filled(each, names)]))
}

function merged(target: Json, patch: Json, names: Record<string, Json>): Json {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return filled(patch, names)
  const result: Fields = target !== null && typeof target === 'object' && !Array.isArray(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key] ?? null, value, names)
  }
  return result
}

function nameOf(object: Json): string {
  return String(valueAt(object, 'metadata.name') ?? '')
}

function valueAt(value: Json, path: string): Json | undefined {
  let found: Json | undefined = value
  for (const part of path.split('.')) {
    if (found === null || typeof found !== 'object') return undefined
    found = (found as Fields)[part]
  }
  return found
}

function warningsOf(step: Step, names: Record<string, Json>): string[] {
  const texts = (step.expect.headers?.warning ?? []).map((text) => /^299 - "((?:[^"\\]|\\.)*)"$/.exec(text)?.[1] ?? text)
  return texts.map((text) => String(filled(text.replace(/\\(.)/g, '$1'), names)))
}

const ofServer = ['uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'selfLink']

/** Without what only a server adds. */
function comparable(value: Json): Json {
  const plain = JSON.parse(JSON.stringify(value ?? null)) as Json
  if (plain === null || typeof plain !== 'object' || Array.isArray(plain)) return plain
  const metadata = plain['metadata'] as Fields | undefined
  if (plain['kind'] !== 'Status' && metadata) for (const field of ofServer) delete metadata[field]
  return normalized(plain)
}

/** Values that differ from run to run look as they do in the recording. */
function normalized(value: Json): Json {
  if (typeof value === 'string') return value === '10.96.1.2' ? '<ip>' : value.replaceAll('-<suffix>', '-abcde')
  if (value === 30000) return '<port>'
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(normalized)
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, normalized(each)]))
}

function firstDifference(expected: unknown, actual: unknown, at: string): Omit<Difference, 'scenario' | 'step'> | undefined {
  if (isFields(expected) && isFields(actual)) {
    for (const key of [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort()) {
      const found = firstDifference(expected[key], actual[key], `${at}.${key}`)
      if (found) return found
    }
    return undefined
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let index = 0; index < Math.max(expected.length, actual.length); index++) {
      const found = firstDifference(expected[index], actual[index], `${at}[${index}]`)
      if (found) return found
    }
    return undefined
  }
  return Object.is(expected, actual) ? undefined : { at, expected, actual }
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const each of Object.values(value)) deepFreeze(each)
}

function main(): void {
  const { values } = parseArgs({
    options: {
      golden: { type: 'string' },
      group: { type: 'string' },
      only: { type: 'string', default: '' },
      area: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  })
  const directory = values.golden ?? process.env['GOLDEN'] ?? '../shared/golden'
  const chosen = values.group === undefined ? builtInKinds : builtInKinds.filter(({ group }) => groupIs(group, values.group ?? ''))
  for (const file of readdirSync(directory).sort()) {
    if (!file.endsWith('.jsonl') || (values.area !== undefined && file !== `${values.area}.jsonl`)) continue
    const tally: Tally = { played: 0, matched: 0, skipped: 0, differences: [] }
    for (const scenario of readScenarios(`${directory}/${file}`)) if (scenario.id.startsWith(values.only)) play(scenario, chosen, tally)
    if (tally.played === 0) continue
    console.log(`${file.padEnd(40)} ${tally.matched}/${tally.played} steps, ${tally.skipped} not played`)
    for (const { scenario, step, at, expected, actual } of values.verbose ? tally.differences : []) {
      console.log(`${scenario} step ${step} at ${at}\n  expected ${shown(expected)}\n  actual   ${shown(actual)}`)
    }
  }
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 1500)
const groupIs = (group: string, asked: string): boolean => (asked === 'core' ? group === '' : group.split('.')[0] === asked.split('.')[0])

if (process.argv[1] === new URL(import.meta.url).pathname) main()
