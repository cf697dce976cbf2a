/** Requests that no sensible client sends, from a seed. */
import { encodeProtobuf } from '#api/codec/protobuf.ts'
import { randomObject } from '#api/codec/testing/random-object.ts'
import type { Kind } from '#api/kind.ts'
import { builtInKinds } from '#api/kinds.ts'
import { schemaOf } from '#api/schema/schema.ts'
import type { Random } from '#base/random.ts'
import { brokenJson, mutated, oddValue } from './odd-values.ts'
import { soundObjects } from './sound-objects.ts'

export type MalformedRequest = {
  method: string
  target: string
  headers: Record<string, string>
  body?: Buffer
  /** Where only these are right; else any code will do that is no failure of the server. */
  expected?: readonly number[]
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'BREW', 'get']
const segments = [
  ...['api', 'apis', 'v1', 'v2', 'apps', 'batch', 'namespaces', 'default', 'kube-system', 'pods', 'nodes', 'watch', 'proxy', 'status'],
  ...['', '.', '..', '%', '%2', '%2f', '%2e%2e', '%00', '%ff%fe', '%F0%9F%98%80', '\u00e9', 'a b', 'a;b', 'a:b', '{}', '*', '~', '@'],
  ...['__proto__', 'constructor', 'toString', 'x'.repeat(300), 'A'.repeat(5000), '-', '0', 'healthz', 'openapi', 'metrics', 'version'],
]
const parameters = [
  ...[
    'limit',
    'continue',
    'resourceVersion',
    'resourceVersionMatch',
    'labelSelector',
    'fieldSelector',
    'timeoutSeconds',
    'sendInitialEvents',
  ],
  ...['allowWatchBookmarks', 'dryRun', 'fieldManager', 'fieldValidation', 'force', 'pretty', 'propagationPolicy', 'gracePeriodSeconds'],
  ...[
    'orphanDependents',
    'timeout',
    'includeObject',
    'watch',
    '__proto__',
    '',
    'container',
    'follow',
    'tailLines',
    'path',
    'shardSelector',
  ],
]
const parameterValues = [
  ...['', '0', '1', '-1', 'true', 'false', 'maybe', '1e400', '99999999999999999999', '0x10', 'NaN', 'All', 'None', 'Exact', 'NotOlderThan'],
  ...[
    'a=b',
    'a in (',
    'a in (b,c)',
    '!a',
    '!',
    'a==',
    ',,',
    'a notin (,)',
    'metadata.name=x',
    'metadata.name',
    'spec.nodeName!=',
    'status.phase=Running',
  ],
  ...[
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0',
    'e30',
    '%',
    '%zz',
    '%00',
    '%e2%82',
    '%22',
    'Background',
    'Foreground',
    'Strict',
    'x'.repeat(3000),
  ],
]
const mediaTypes = [
  ...[
    'application/json',
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    'application/cbor',
    'text/plain',
    '*/*',
    'application/*',
    '',
  ],
  ...[
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=Table;v=v9;g=meta.k8s.io',
    'application/json;as=Nothing',
    'json',
  ],
  ...[
    'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  ],
  ...[
    'application/json; charset=',
    ';;;',
    'application/json;q=2',
    'a/b, application/json;q=0',
    'application/json, application/yaml;q=0.1',
    '/',
    'x'.repeat(2000),
  ],
]
const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]
const sound = builtInKinds.filter(
  ({ group, version, kind, plural }) => soundKey(group, version, kind) in soundObjects && !plural.includes('/'),
)
const writable = builtInKinds.filter(({ verbs, schema }) => schema !== '' && (verbs === undefined || verbs.includes('create')))

export class MalformedRequests {
  readonly #random: Random
  readonly #credential: Record<string, string>

  constructor(random: Random, credential: Record<string, string>) {
    this.#random = random
    this.#credential = credential
  }

  next(): MalformedRequest {
    const makers = [
      () => this.#strangePath(),
      () => this.#strangeQuery(),
      () => this.#strangeHeaders(),
      () => this.#strangeObject(),
      () => this.#spoiledObject(),
      () => this.#spoiledObject(),
      () => this.#strangeBytes(),
      () => this.#strangePatch(),
      () => this.#strangePatch(),
      () => this.#knownMistake(),
    ]
    return this.#pick(makers)()
  }

  #strangePath(): MalformedRequest {
    const parts = Array.from({ length: 1 + this.#random.int(9) }, () => this.#pick(segments))
    if (this.#oneIn(2)) parts.unshift(...this.#pick([['api', 'v1'], ['apis', 'apps', 'v1'], ['apis'], ['api'], ['apis', 'batch']]))
    return {
      method: this.#pick(methods),
      target: `/${parts.join('/')}${this.#oneIn(4) ? this.#query() : ''}`,
      headers: { ...this.#credential },
    }
  }

  #strangeQuery(): MalformedRequest {
    const definition = this.#pick(builtInKinds)
    const target = this.#oneIn(2) ? collectionOf(definition) : objectOf(definition, this.#name())
    const method = this.#pick(['GET', 'GET', 'GET', 'DELETE', 'POST', 'PUT'])
    return { method, target: `${target}${this.#query()}`, headers: { ...this.#credential } }
  }

  #strangeHeaders(): MalformedRequest {
    const definition = this.#pick(builtInKinds)
    const headers: Record<string, string> = { ...this.#credential, accept: this.#pick(mediaTypes) }
    if (this.#oneIn(3)) headers['accept-encoding'] = this.#pick(['gzip', 'gzip;q=0', 'br', '*', ',,', 'x'.repeat(500)])
    if (this.#oneIn(3)) headers['user-agent'] = this.#pick(['', 'kubectl/v1.36', 'Mozilla/5.0', 'x'.repeat(4000), 'a/b/c/d', '\u00ff'])
    if (this.#oneIn(6))
      headers['authorization'] = this.#pick([
        '',
        'Bearer',
        'Bearer ',
        'Bearer a.b.c',
        'Basic !!!',
        'Negotiate',
        'Bearer eyJhbGciOiJub25lIn0.e30.',
      ])
    if (this.#oneIn(5))
      headers[this.#pick(['impersonate-user', 'impersonate-group', 'impersonate-uid', 'impersonate-extra-%zz', 'impersonate-extra-a'])] =
        this.#word()
    if (this.#oneIn(5))
      headers[
        this.#pick(['x-remote-user', 'if-none-match', 'content-encoding', 'expect', 'range', 'x-forwarded-for', 'traceparent', 'audit-id'])
      ] = this.#word()
    if (this.#oneIn(6)) headers['content-type'] = this.#pick(mediaTypes)
    const target = this.#pick([
      collectionOf(definition),
      '/openapi/v2',
      '/openapi/v3',
      '/apis',
      '/api',
      '/version',
      '/metrics',
      '/healthz?verbose',
      '/openapi/v3/apis/apps/v1',
    ])
    return { method: 'GET', target, headers }
  }

  /** An object of the right kind, more or less, with something wrong in it. */
  #strangeObject(): MalformedRequest {
    const definition = this.#pick(writable)
    const type = schemaOf(definition.schema)
    const name = this.#name()
    const object = randomObject(type, this.#random)
    Object.assign(object, typeMeta(definition))
    object['metadata'] = {
      ...(object['metadata'] as object | undefined),
      name,
      ...(definition.scope === 'Namespaced' ? { namespace: 'default' } : {}),
    }
    const metadata = object['metadata'] as Record<string, unknown>
    for (const field of [
      'resourceVersion',
      'deletionTimestamp',
      'deletionGracePeriodSeconds',
      'uid',
      'generateName',
      'ownerReferences',
      'finalizers',
    ])
      if (!this.#oneIn(5)) delete metadata[field]
    if (!this.#oneIn(5)) for (const field of ['labels', 'annotations', 'managedFields']) delete metadata[field]
    const isCreate = !this.#oneIn(4)
    const method = isCreate ? 'POST' : 'PUT'
    const subresource =
      !isCreate && this.#oneIn(3) ? this.#pick(['/status', '/scale', '/finalize', '/approval', '/resize', '/ephemeralcontainers']) : ''
    const target = isCreate ? collectionOf(definition) : `${objectOf(definition, name)}${subresource}`
    const query = this.#oneIn(3) ? '?dryRun=All&fieldValidation=Strict' : ''
    if (this.#oneIn(5)) {
      const bytes = protobufOf(object, definition.schema)
      if (bytes !== undefined) {
        const headers = { ...this.#credential, 'content-type': 'application/vnd.kubernetes.protobuf' }
        return { method, target: `${target}${query}`, headers, body: this.#oneIn(2) ? bytes : this.#damaged(bytes) }
      }
    }
    for (let round = this.#random.int(4); round > 0; round--) mutated(object, this.#random)
    return { method, target: `${target}${query}`, headers: this.#json(), body: bytesOf(object) }
  }

  /** An object that would have been taken but for one thing. */
  #spoiledObject(): MalformedRequest {
    const definition = this.#pick(sound)
    const { group, version, kind, scope } = definition
    const name = this.#name()
    const object = {
      ...typeMeta(definition),
      metadata: { name, ...(scope === 'Namespaced' ? { namespace: 'default' } : {}), labels: { app: 'a' } },
      ...structuredClone(soundObjects[soundKey(group, version, kind)]),
    }
    for (let round = this.#random.int(3); round > 0; round--) mutated(object, this.#random)
    const isCreate = this.#random.int(3) > 0
    const target = isCreate ? collectionOf(definition) : objectOf(definition, name)
    return { method: isCreate ? 'POST' : 'PUT', target, headers: this.#json(), body: bytesOf(object) }
  }

  /** What cannot be read at all. */
  #strangeBytes(): MalformedRequest {
    const definition = this.#pick(writable)
    const body = this.#oneIn(3) ? Buffer.from(this.#random.bytes(1 + this.#random.int(400))) : brokenJson(this.#random)
    const type = this.#pick([
      'application/json',
      'application/yaml',
      'application/vnd.kubernetes.protobuf',
      'application/json;charset=utf-8',
    ])
    const method = this.#pick(['POST', 'POST', 'PUT', 'DELETE'])
    const target = method === 'POST' ? collectionOf(definition) : objectOf(definition, this.#name())
    return { method, target, headers: { ...this.#credential, 'content-type': type }, body }
  }

  #strangePatch(): MalformedRequest {
    const definition = this.#oneIn(4) ? this.#pick(writable) : this.#pick(sound)
    const type = this.#pick(patchTypes)
    const query = type.includes('apply')
      ? `?fieldManager=fuzz${this.#pick(['', '&force=true', '&force=maybe'])}`
      : this.#oneIn(4)
        ? this.#query()
        : ''
    const subresource = this.#oneIn(4) ? this.#pick(['/status', '/scale', '/nothing', '/resize']) : ''
    const target = `${objectOf(definition, this.#name())}${subresource}${query}`
    return { method: 'PATCH', target, headers: { ...this.#credential, 'content-type': type }, body: this.#patchBody(type, definition) }
  }

  #patchBody(type: string, definition: Kind): Buffer {
    if (this.#oneIn(8)) return brokenJson(this.#random)
    if (type === 'application/json-patch+json') {
      const pointer = () =>
        this.#pick([
          '',
          '/',
          '/metadata',
          '/metadata/name',
          '/metadata/labels/a~1b',
          '/spec/containers/0',
          '/spec/containers/-',
          '/data/a',
          '/data',
          '/a/b/c',
          '/metadata/~2',
          'x',
          '/spec/ports/99999999999',
          '/__proto__/a',
          '/metadata/annotations/a',
        ])
      const operations = Array.from({ length: this.#random.int(6) }, () => ({
        op: this.#pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'nope', '']),
        path: pointer(),
        ...(this.#oneIn(2) ? { value: oddValue(this.#random) } : {}),
        ...(this.#oneIn(3) ? { from: pointer() } : {}),
      }))
      return bytesOf(this.#oneIn(6) ? oddValue(this.#random) : operations)
    }
    const { group, version, kind } = definition
    const base = this.#oneIn(2) ? soundObjects[soundKey(group, version, kind)] : undefined
    const object: Record<string, unknown> = { ...structuredClone(base ?? randomObject(schemaOf(definition.schema), this.#random)) }
    if (type.includes('apply')) Object.assign(object, typeMeta(definition))
    if (!this.#oneIn(4)) delete object['metadata']
    for (let round = this.#random.int(4); round > 0; round--) mutated(object, this.#random)
    if (type === 'application/strategic-merge-patch+json' && this.#oneIn(2)) {
      const directive = this.#pick([
        '$patch',
        '$retainKeys',
        '$setElementOrder/containers',
        '$deleteFromPrimitiveList/finalizers',
        '$nothing',
      ])
      const places = [object, object['spec'], object['metadata']].filter((each) => typeof each === 'object' && each !== null)
      const place = this.#pick(places) as Record<string, unknown>
      place[directive] = this.#oneIn(2) ? this.#pick(['delete', 'replace', 'merge']) : oddValue(this.#random)
    }
    return bytesOf(object)
  }

  /** Mistakes with one right answer. */
  #knownMistake(): MalformedRequest {
    const json = this.#json()
    const maps = '/api/v1/namespaces/default/configmaps'
    const map = bytesOf({ metadata: { name: 'a' } })
    const known: MalformedRequest[] = [
      { method: 'GET', target: '/api/v1/nothings', headers: json, expected: [404] },
      { method: 'GET', target: '/apis/nothing.example.com/v1/things', headers: json, expected: [404] },
      { method: 'GET', target: `${maps}/nothing`, headers: json, expected: [404] },
      { method: 'POST', target: `${maps}/a`, headers: json, body: map, expected: [405] },
      { method: 'PUT', target: maps, headers: json, body: map, expected: [405] },
      { method: 'POST', target: maps, headers: json, body: Buffer.from('{'), expected: [400] },
      { method: 'POST', target: maps, headers: json, body: Buffer.from('[]'), expected: [400] },
      { method: 'POST', target: maps, headers: json, body: bytesOf({ metadata: { name: 'Not A Name' } }), expected: [422] },
      {
        method: 'POST',
        target: maps,
        headers: json,
        body: bytesOf({ kind: 'Secret', apiVersion: 'v1', metadata: { name: 'a' } }),
        expected: [400],
      },
      {
        method: 'POST',
        target: maps,
        headers: json,
        body: bytesOf({ metadata: { name: 'a' }, data: { a: 'x'.repeat(3 << 20) } }),
        expected: [413],
      },
      { method: 'POST', target: maps, headers: { ...json, 'content-type': 'text/html' }, body: map, expected: [415] },
      { method: 'PATCH', target: `${maps}/a`, headers: json, body: map, expected: [415] },
      { method: 'GET', target: maps, headers: { ...json, accept: 'text/html' }, expected: [406] },
      { method: 'GET', target: maps, headers: { ...json, authorization: 'Bearer nobody' }, expected: [401] },
      { method: 'GET', target: maps, headers: {}, expected: [403] },
      { method: 'GET', target: `${maps}?limit=many`, headers: json, expected: [400] },
      { method: 'GET', target: `${maps}?limit=5&continue=nonsense`, headers: json, expected: [400] },
      { method: 'GET', target: `${maps}?labelSelector=a+in+(`, headers: json, expected: [400] },
      { method: 'GET', target: `${maps}?fieldSelector=spec.color=red`, headers: json, expected: [400] },
      { method: 'GET', target: `${maps}?resourceVersionMatch=Sometimes`, headers: json, expected: [422] },
      { method: 'POST', target: `${maps}?dryRun=Some`, headers: json, body: map, expected: [422] },
      { method: 'GET', target: `${maps}?resourceVersion=99999999&timeoutSeconds=1`, headers: json, expected: [504] },
    ]
    return this.#pick(known)
  }

  #query(): string {
    const pairs = Array.from({ length: 1 + this.#random.int(4) }, () => `${this.#pick(parameters)}=${this.#pick(parameterValues)}`)
    return `?${pairs.join('&')}`
  }

  /** Some exist, most do not. */
  #name(): string {
    return this.#pick(['a', 'a', 'b', `fuzz-${this.#random.int(50)}`, 'kubernetes', 'default', 'x'.repeat(260), 'UPPER', '%00', 'a.b', '-'])
  }

  #word(): string {
    return this.#pick([
      '',
      'a',
      'root',
      'system:masters',
      '"',
      'x'.repeat(1000),
      '%00',
      '\u00e9',
      '0',
      '-1',
      '100-continue',
      'gzip',
      '00-0-0-00',
    ])
  }

  #damaged(bytes: Buffer): Buffer {
    const copy = Buffer.from(bytes.subarray(0, this.#oneIn(3) ? this.#random.int(bytes.length) : bytes.length))
    for (let round = 1 + this.#random.int(8); round > 0 && copy.length > 0; round--)
      copy[this.#random.int(copy.length)] = this.#random.int(256)
    return copy
  }

  #json(): Record<string, string> {
    return { ...this.#credential, 'content-type': 'application/json' }
  }
  #oneIn(count: number): boolean {
    return this.#random.int(count) === 0
  }
  #pick<T>(from: readonly T[]): T {
    return from[this.#random.int(from.length)] as T
  }
}

function collectionOf({ group, version, plural, scope }: Kind): string {
  return `${group === '' ? '/api' : `/apis/${group}`}/${version}${scope === 'Namespaced' ? '/namespaces/default' : ''}/${plural}`
}

function objectOf(definition: Kind, name: string): string {
  return `${collectionOf(definition)}/${name}`
}

function soundKey(group: string, version: string, kind: string): string {
  return `${group === '' ? version : `${group}/${version}`} ${kind}`
}

function typeMeta({ group, version, kind }: Kind) {
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind }
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? Number(each) : each)) ?? 'null')
}

/** Not every object that can be made up can be written so. */
function protobufOf(object: object, schema: string): Buffer | undefined {
  try {
    return encodeProtobuf(object, schema)
  } catch {
    return undefined
  }
}
