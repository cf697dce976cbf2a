/** Replays what an upstream server answered to patches and applies, as far as that needs no server: objects in, objects out. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApplyConflictError } from '#api/meta/apply/conflict.ts'
import { allBut, type FieldFilter } from '#api/meta/apply/field-filter.ts'
import { FieldManager } from '#api/meta/apply/field-manager.ts'
import { managerName } from '#api/meta/apply/manager-name.ts'
import { deducedType, type MergeType } from '#api/meta/apply/merge-type.ts'
import { customResourceType, type StructuralSchema } from '#api/meta/apply/open-api-merge-type.ts'
import { emptyObject, mergeTypeOf } from '#api/meta/apply/schema-merge-type.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { applyPatch, type PatchKind } from '#api/meta/patch/apply-patch.ts'
import { isObject, type JsonObject, type JsonValue, setField } from '#api/meta/patch/json-value.ts'
import { PatchError } from '#api/meta/patch/patch-error.ts'
import type { V1ManagedFieldsEntry } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { schemaNameOf, schemaOf } from '#api/schema/schema.ts'
import type { TypeSchema } from '#api/schema/type-schema.ts'
import { asTyped, expectCreator, expectKept, expectOwners } from './apply-expectations.ts'
import { readScenarios } from './scenario.ts'

const time = '<time>'

type Answer = { status: number; body?: JsonObject }
type Step = { method: string; path: string; headers?: Record<string, string>; body?: JsonValue; rawBody?: string; expect: Answer }
type Scenario = { id: string; steps: Step[] }

type CustomResourceDefinitionSpec = {
  group: string
  names: { plural: string }
  preserveUnknownFields?: boolean
  versions: { name: string; schema?: { openAPIV3Schema?: StructuralSchema }; subresources?: { status?: object } }[]
}

/** An object as the server has it. Where its answer was not recorded it is guessed, and lacks defaults. */
type Stored = { object: JsonObject; exact: boolean }

/** In plain JSON, as the parts under test take it; without those on what custom resources need a server for (`crds-…`). */
function scenarios(): Scenario[] {
  const all = readScenarios().filter(({ area }) => !area.startsWith('crds-'))
  return JSON.parse(JSON.stringify(all)) as Scenario[]
}

/** What a request speaks of. */
class Target {
  readonly step: Step
  readonly apiVersion: string
  readonly plural: string
  readonly name: string | undefined
  readonly subresource: string
  readonly query: URLSearchParams

  constructor(step: Step, path: string, match: RegExpExecArray) {
    this.step = step
    this.apiVersion = (match[1] ?? '').replace(/^\/apis?\//, '')
    this.plural = match[2] ?? ''
    this.name = match[3]
    this.subresource = match[4] ?? ''
    this.query = new URLSearchParams(step.path.slice(path.length + 1))
  }

  static of(step: Step): Target | undefined {
    const [path = ''] = (step.path ?? '').split('?')
    const match = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path)
    return match === null ? undefined : new Target(step, path, match)
  }

  get mediaType(): string {
    return this.step.headers?.['Content-Type'] ?? 'application/json'
  }

  get isApply(): boolean {
    return this.mediaType.startsWith('application/apply-patch')
  }

  get patchKind(): PatchKind {
    if (this.mediaType.includes('json-patch')) return 'json'
    return this.mediaType.includes('strategic') ? 'strategic' : 'merge'
  }

  get manager(): string {
    return managerName(this.query.get('fieldManager') ?? '', 'replay')
  }

  get succeeded(): boolean {
    return this.step.expect.status < 300
  }

  schemaOf(kind: string): TypeSchema | undefined {
    const [group = '', version = ''] = this.apiVersion.includes('/') ? this.apiVersion.split('/') : ['', this.apiVersion]
    const name = schemaNameOf({ group, version, kind })
    return name === undefined ? undefined : schemaOf(name)
  }
}

/** What each endpoint resets, where it is not the status of the object and the spec of the status. */
const otherResets: Readonly<Record<string, readonly string[]>> = {
  CertificateSigningRequest: ['spec', 'status'],
  'CertificateSigningRequest/approval': ['spec', 'status.certificate'],
  'CertificateSigningRequest/status': ['spec', 'status.conditions'],
  'Deployment/status': ['spec', 'metadata.labels'],
  'ResourceClaim/status': ['spec', 'metadata'],
  'VolumeAttachment/status': ['spec', 'metadata'],
}

/** Where the object whose owners are noted differs from that of the answer: it was converted, or had no values allotted yet. */
const notAsAnswered: readonly RegExp[] = [
  /^core\/secrets\/.*stringData/,
  /^core\/secrets\/apply-full/,
  /^core\/services\/invalid\/(affinity-config-none|update-to-(node-port|load-balancer)) /,
  /^apps\/daemonsets\/(status|apply-change) /,
  /^autoscaling\/hpa-v1\/(status|invalid\/annotation) /,
  /^batch\/jobs\/(dry-run|field-validation) .*controller-uid/,
]

function filterOf(kind: string, subresource: string, hasStatus: boolean): FieldFilter | undefined {
  const usual = subresource === 'status' ? ['spec'] : hasStatus ? ['status'] : []
  const reset = otherResets[subresource === '' ? kind : `${kind}/${subresource}`] ?? usual
  return reset.length > 0 ? allBut(reset) : undefined
}

class Replay {
  readonly failures: string[] = []
  readonly counts = { updates: 0, applies: 0, conflicts: 0, refusals: 0, patches: 0 }
  /** Answers to the same request in other scenarios. */
  readonly #creates = new Map<string, JsonObject>()

  constructor(all: readonly Scenario[]) {
    for (const { steps } of all) {
      for (const step of steps) {
        if (step.method === 'POST' && isStored(step.expect?.body)) this.#creates.set(this.#createKey(step), step.expect.body as JsonObject)
      }
    }
  }

  /** By apiVersion and plural name. */
  readonly #custom = new Map<string, { type: MergeType; hasStatus: boolean }>()

  #define({ spec }: JsonObject): void {
    const { group, names, versions, preserveUnknownFields } = spec as unknown as CustomResourceDefinitionSpec
    for (const { name, schema, subresources } of versions) {
      const type =
        schema?.openAPIV3Schema === undefined
          ? deducedType
          : customResourceType(schema.openAPIV3Schema, { preserveUnknownFields: preserveUnknownFields === true })
      this.#custom.set(`${group}/${name} ${names.plural}`, { type, hasStatus: subresources?.status !== undefined })
    }
  }

  #createKey(step: Step): string {
    return `${step.path} ${JSON.stringify(step.body)}`
  }

  run({ id, steps }: Scenario): void {
    const objects = new Map<string, Stored>()
    this.#custom.clear()
    for (const [index, step] of steps.entries()) {
      const target = Target.of(step)
      if (target === undefined || step.method === 'GET' || !step.expect || (step.method === 'POST' && target.subresource !== '')) continue
      try {
        this.#step(target, objects)
      } catch (error) {
        const failure = `${id} step ${index} (${step.method} ${target.mediaType}): ${(error as Error).message}`
        if (!notAsAnswered.some((pattern) => pattern.test(failure))) this.failures.push(failure)
      }
    }
  }

  #step(target: Target, objects: Map<string, Stored>): void {
    const { step } = target
    const sent = isObject(step.body) ? step.body : undefined
    const body = step.expect.body
    const answer = isStored(body) ? body : step.method === 'POST' && target.succeeded ? this.#creates.get(this.#createKey(step)) : undefined
    const name = target.name ?? nameOf(answer) ?? nameOf(sent)
    const key = `${target.apiVersion} ${target.plural} ${name}`
    if (step.method === 'DELETE') {
      objects.delete(key)
      return
    }
    const live = objects.get(key)
    const kind = answer?.['kind'] ?? sent?.['kind'] ?? live?.object['kind']
    if (kind === 'CustomResourceDefinition' && target.succeeded && sent !== undefined && isObject(sent['spec'])) this.#define(sent)
    const schema = typeof kind === 'string' && name !== undefined ? target.schemaOf(kind) : undefined
    const custom = this.#custom.get(`${target.apiVersion} ${target.plural}`)
    if ((schema === undefined && custom === undefined) || typeof kind !== 'string') return
    const filter = filterOf(kind, target.subresource, custom?.hasStatus ?? schema?.fieldsByName.has('status') === true)
    const manager = new FieldManager({
      apiVersion: target.apiVersion,
      kind,
      type: schema === undefined ? (custom?.type ?? deducedType) : mergeTypeOf(schema),
      ...(schema === undefined ? {} : { empty: emptyObject(schema) }),
      subresource: target.subresource,
      filterAt: () => filter,
    })
    const result = target.isApply ? this.#apply(target, manager, live, schema) : this.#update(target, manager, live, answer, schema)
    if (!target.succeeded || target.query.has('dryRun') || result === undefined) return
    if (answer !== undefined) objects.set(key, { object: frozen(answer), exact: true })
    else if (target.subresource === '') objects.set(key, { object: frozen(withUid(result)), exact: false })
  }

  #apply(target: Target, manager: FieldManager, live: Stored | undefined, schema: TypeSchema | undefined): JsonObject | undefined {
    const { step } = target
    const body = step.expect.body
    const message = String(body?.['message'] ?? '')
    // Validated before or after the part that is replayed here.
    if (!isObject(step.body) || target.manager === 'replay' || /does not match the name|is immutable|uid mismatch/.test(message))
      return undefined
    if (!target.succeeded && ![400, 409, 500].includes(step.expect.status)) return undefined
    let result: JsonObject
    try {
      const options = { manager: target.manager, time, force: target.query.get('force') === 'true' }
      result = manager.applied(live?.object as KubernetesObject | undefined, step.body, options) as JsonObject
    } catch (error) {
      if (!(error instanceof PatchError || error instanceof ApplyConflictError)) throw error
      if (live?.exact === false && error instanceof ApplyConflictError) return undefined
      if (target.succeeded) throw new Error(`refused: ${error.message}`)
      assert.deepEqual(error.status, body)
      this.counts[error instanceof ApplyConflictError ? 'conflicts' : 'refusals']++
      return undefined
    }
    if (!target.succeeded) {
      if (live?.exact === false) return undefined
      throw new Error(`accepted, expected: ${message}`)
    }
    if (isStored(body) && live?.exact !== false) {
      expectOwners(ownersOf(body), ownersOf(result))
      expectKept(asTyped(result, schema), body, '', target.subresource)
      this.counts.applies++
    }
    return result
  }

  #update(
    target: Target,
    manager: FieldManager,
    live: Stored | undefined,
    answer: JsonObject | undefined,
    schema: TypeSchema | undefined,
  ): JsonObject | undefined {
    const { step } = target
    let next: JsonObject
    if (step.method === 'PATCH') {
      if (live === undefined) return undefined
      const patched = this.#patch(target, live, answer, schema)
      if (patched === undefined) return undefined
      next = answer === undefined ? patched : { ...deepCopy(answer), metadata: { ...(deepCopy(answer)['metadata'] as JsonObject) } }
      carryOwners(patched, next)
    } else {
      if (!target.succeeded || !isObject(step.body) || !isObject(step.body['metadata'])) return undefined
      next =
        answer === undefined ? deepCopy(step.body) : schema === undefined ? deepCopy(answer) : asSent(asTyped(step.body, schema), answer)
      carryOwners(step.body, next)
    }
    const tracked = manager.updated(live?.object as KubernetesObject | undefined, next as KubernetesObject, {
      manager: target.manager,
      time,
    })
    const result = tracked as JsonObject
    if (answer !== undefined && live?.exact !== false) {
      if (live === undefined) expectCreator(ownersOf(answer), ownersOf(result), step.body ?? null)
      else expectOwners(ownersOf(answer), ownersOf(result))
      this.counts.updates++
    }
    return result
  }

  #patch(target: Target, live: Stored, answer: JsonObject | undefined, schema: TypeSchema | undefined): JsonObject | undefined {
    const { step } = target
    if (step.body === undefined || step.expect.status === 415) return undefined
    try {
      const patched = applyPatch(target.patchKind, live.object, step.body, schema)
      if (target.succeeded && answer !== undefined && live.exact) {
        expectKept(asTyped(patched, schema), answer, '', target.subresource)
        this.counts.patches++
      }
      return target.succeeded ? patched : undefined
    } catch (error) {
      if (!(error instanceof PatchError)) throw error
      if (target.succeeded) throw new Error(`refused: ${error.message}`)
      assert.deepEqual(error.status, step.expect.body)
      this.counts.refusals++
      return undefined
    }
  }
}

function isStored(body: JsonValue | undefined): body is JsonObject {
  return isObject(body) && isObject(body['metadata']) && typeof body['metadata']['uid'] === 'string'
}

function nameOf(object: JsonObject | undefined): string | undefined {
  const metadata = object?.['metadata']
  return isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : undefined
}

function ownersOf(object: JsonObject): V1ManagedFieldsEntry[] {
  return (object as KubernetesObject).metadata?.managedFields ?? []
}

/** What a client sent in managedFields goes with the update. */
function carryOwners(from: JsonObject, to: JsonObject): void {
  const metadata = to['metadata'] as JsonObject
  const sent = isObject(from['metadata']) ? from['metadata']['managedFields'] : undefined
  if (sent === undefined) delete metadata['managedFields']
  else metadata['managedFields'] = sent
}

function withUid(object: JsonObject): JsonObject {
  return { ...object, metadata: { uid: 'guessed', ...(object['metadata'] as JsonObject) } }
}

/** The answer, with what the client sent and the server dropped after it had noted the owners. */
function asSent(sent: JsonObject, answer: JsonObject): JsonObject {
  const merged = deepCopy(answer)
  for (const key in sent) {
    const [mine, theirs] = [sent[key], merged[key]]
    if (mine === undefined) continue
    if (theirs === undefined || theirs === null) setField(merged, key, deepCopy(mine))
    else if (isObject(mine) && isObject(theirs)) merged[key] = asSent(mine, theirs)
  }
  return merged
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inside of Object.values(value)) frozen(inside)
  return Object.freeze(value)
}

test('patches, applies and the owners they leave are those an upstream server answered with', (context) => {
  const all = scenarios()
  const replay = new Replay(all)
  for (const scenario of all) replay.run(scenario)
  context.diagnostic(JSON.stringify(replay.counts))
  assert.deepEqual(replay.failures, [])
})
