/** Sends requests with long fields to a cluster and measures what each costs. */
import { Agent, request } from 'node:https'
import type { RunningCluster } from '../../support/running-cluster.ts'
import { type FieldObject, type LongField, type Variant, withValue } from './long-fields.ts'

export const verbs = ['create', 'update', 'json patch', 'merge patch', 'strategic patch', 'apply'] as const
/** Of what was stored. */
export const readVerbs = ['read as YAML', 'read as a table'] as const
export type Verb = (typeof verbs)[number] | (typeof readVerbs)[number]

export type Attack<V extends string = Variant> = { field: LongField<V>; variant: V; count: number }
export type Cost<V extends string = Variant> = Attack<V> & {
  verb: Verb
  status: number
  ms: number
  sentBytes: number
  answeredBytes: number
  text: string
}

export type Target = Pick<RunningCluster, 'url' | 'token'>
export type Answer = { status: number; bytes: number; text: string }

/** What objects of these kinds do once they are stored would change the run: nothing of them is. */
const onlyTried = /admissionregistration|apiregistration|apiextensions|flowcontrol|^v1 (Namespace|Node)$|certificates|coordination/

/** The verbs with one field filled: creates it, and goes at what it created, or at a sound object where that was refused. */
export async function* attackField<V extends string>(
  target: Target,
  attack: Attack<V>,
  place: string,
  chosen: readonly Verb[] = verbs,
): AsyncGenerator<Cost<V>> {
  const { field, variant, count } = attack
  const long = field.value(count, variant)
  const name = 'attack'
  const isStored = chosen.length > 1 && !onlyTried.test(`${field.apiVersion} ${field.kind}`)
  const named = (object: FieldObject): FieldObject => {
    object.metadata['name'] ??= name
    return object
  }
  const whole = (value: unknown) => withValue(named(field.sound()), field.path, value)
  const measured = async (verb: Verb, method: string, path: string, text: string, contentType: string, accept = json): Promise<Cost<V>> => {
    const startedMs = performance.now()
    const { status, bytes, text: answer } = await send(target, method, path, text, contentType, { accept })
    return {
      ...attack,
      verb,
      status,
      ms: performance.now() - startedMs,
      sentBytes: text.length,
      answeredBytes: bytes,
      // What went wrong is said at the beginning or at the end. A copy, since a part of a text keeps all of it in memory.
      text: answer.length < 2000 ? answer : Buffer.from(`${answer.slice(0, 1000)} … ${answer.slice(-1000)}`).toString(),
    }
  }
  const created = await measured('create', 'POST', `${place}${isStored ? '' : '?dryRun=All'}`, JSON.stringify(whole(long)), json)
  if (chosen.includes('create')) yield created
  if (chosen.length === 1 && chosen[0] === 'create') return
  if (created.status !== 201 || !isStored) {
    const { status } = await send(target, 'POST', place, JSON.stringify(named(field.sound())))
    // Reviews and the like are never stored.
    if (status !== 201 && status !== 409) return
  }
  const subresource = field.path[0] === 'status' ? '/status' : ''
  const at = (more = '') => `${place}/${name}${subresource}?dryRun=All${more}`
  if (created.status === 201 && isStored) {
    const at = `${place}/${name}`
    if (chosen.includes('read as YAML')) yield await measured('read as YAML', 'GET', at, '', json, 'application/yaml')
    if (chosen.includes('read as a table')) yield await measured('read as a table', 'GET', at, '', json, asTable)
  }
  const turned = Array.isArray(long)
    ? long.toReversed()
    : typeof long === 'string'
      ? long
      : Object.fromEntries(Object.entries(long as object).reverse())
  if (chosen.includes('update')) yield await measured('update', 'PUT', at(), JSON.stringify(whole(turned)), json)
  if (chosen.includes('json patch')) {
    yield await measured('json patch', 'PATCH', at(), JSON.stringify(operations(field, long)), 'application/json-patch+json')
  }
  const patch = (value: unknown) => JSON.stringify(withValue({}, field.path, value))
  if (chosen.includes('merge patch')) yield await measured('merge patch', 'PATCH', at(), patch(turned), 'application/merge-patch+json')
  if (chosen.includes('strategic patch')) {
    yield await measured('strategic patch', 'PATCH', at(), strategic(field, turned), 'application/strategic-merge-patch+json')
  }
  if (chosen.includes('apply')) {
    yield await measured(
      'apply',
      'PATCH',
      at('&fieldManager=attack&force=true'),
      JSON.stringify(whole(turned)),
      'application/apply-patch+yaml',
    )
  }
  await send(target, 'DELETE', `${place}/${name}`, JSON.stringify({ gracePeriodSeconds: 0, propagationPolicy: 'Background' }))
}

const json = 'application/json'
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io'

/** An operation for every entry. */
function operations({ path }: Pick<LongField, 'path'>, long: unknown): object[] {
  const pointer = path.map((part) => `/${part}`).join('')
  if (typeof long === 'string') return [{ op: 'add', path: pointer, value: long }]
  const empty = { op: 'add', path: pointer, value: Array.isArray(long) ? [] : {} }
  if (Array.isArray(long)) return [empty, ...long.map((value) => ({ op: 'add', path: `${pointer}/0`, value }))]
  const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')
  return [empty, ...Object.entries(long as object).map(([key, value]) => ({ op: 'add', path: `${pointer}/${escaped(key)}`, value }))]
}

/** With an order of the entries, where they are merged by a key. */
function strategic({ path, mergeKey }: Pick<LongField, 'path' | 'mergeKey'>, long: unknown): string {
  const patch = withValue({}, path, long)
  const last = path.at(-1) ?? ''
  if (mergeKey !== undefined && Array.isArray(long)) {
    const order = long.map((each) => ({ [mergeKey]: (each as Record<string, unknown>)[mergeKey] }))
    withValue(patch, [...path.slice(0, -1), `$setElementOrder/${last}`], order)
  }
  return JSON.stringify(patch)
}

/** By apiVersion and kind, where its objects are. */
export async function placesOf(target: Target, apiVersions: ReadonlySet<string>): Promise<Map<string, string>> {
  const places = new Map<string, string>()
  for (const apiVersion of apiVersions) {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const { status, text } = await send(target, 'GET', root)
    if (status !== 200) continue
    const { resources = [] } = JSON.parse(text) as { resources?: { name: string; kind: string; namespaced: boolean }[] }
    for (const { name, kind, namespaced } of resources) {
      if (!name.includes('/')) places.set(`${apiVersion} ${kind}`, `${root}/${namespaced ? 'namespaces/default/' : ''}${name}`)
    }
  }
  return places
}

const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })

/** A server that refuses a body may have closed the connection before all of it was sent, and the answer is lost: it is asked again. */
export async function send(
  target: Target,
  method: string,
  path: string,
  body: string | Buffer = '',
  contentType = json,
  more: Record<string, string> = {},
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendOnce(target, method, path, body, { 'content-type': contentType, ...more })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (attempt === 50 || (code !== 'EPIPE' && code !== 'ECONNRESET')) throw error
    }
  }
}

function sendOnce(
  { url, token }: Target,
  method: string,
  path: string,
  body: string | Buffer,
  more: Record<string, string>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { ...(token === '' ? {} : { authorization: `Bearer ${token}` }), 'content-length': Buffer.byteLength(body), ...more }
    const sent = request(`${url}${path}`, { method, headers, agent }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.on('error', reject)
      answer.on('end', () => {
        const whole = Buffer.concat(pieces)
        resolve({ status: answer.statusCode ?? 0, bytes: whole.length, text: whole.toString('utf8') })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
