/** Sends requests with long fields to a cluster and measures what each costs. */
import { request } from 'node:https'
import type { RunningCluster } from '../../support/running-cluster.ts'
import { type LongField, longFields, type Variant, variants } from './long-fields.ts'

export type Attack = { field: LongField; variant: Variant; count: number }
export type Cost = Attack & { status: number; ms: number; sentBytes: number; answeredBytes: number }

type Target = Pick<RunningCluster, 'url' | 'token'>
type Answer = { status: number; bytes: number; text: string }

/** Every field of every kind that the cluster serves; `isChosen` leaves some out. */
export async function* attackAll(target: Target, counts: readonly number[], isChosen: (index: number) => boolean): AsyncGenerator<Cost> {
  const fields = longFields()
  const places = await placesOf(target, new Set(fields.map(({ apiVersion }) => apiVersion)))
  let index = 0
  for (const field of fields) {
    const place = places.get(`${field.apiVersion} ${field.kind}`)
    if (place === undefined) continue
    for (const count of counts) {
      for (const variant of variants) if (isChosen(index++)) yield attack(target, { field, variant, count }, place)
    }
  }
}

async function attack(target: Target, { field, variant, count }: Attack, place: string): Promise<Cost> {
  const body = field.fill(count, variant) as { metadata: Record<string, unknown> }
  body.metadata['name'] ??= 'attack'
  const text = JSON.stringify(body)
  const startedMs = performance.now()
  const { status, bytes } = await send(target, 'POST', `${place}?dryRun=All`, text)
  return { field, variant, count, status, ms: performance.now() - startedMs, sentBytes: text.length, answeredBytes: bytes }
}

/** By apiVersion and kind, where its objects are. */
async function placesOf(target: Target, apiVersions: ReadonlySet<string>): Promise<Map<string, string>> {
  const places = new Map<string, string>()
  for (const apiVersion of apiVersions) {
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const { resources = [] } = JSON.parse((await send(target, 'GET', root)).text) as {
      resources?: { name: string; kind: string; namespaced: boolean }[]
    }
    for (const { name, kind, namespaced } of resources) {
      if (!name.includes('/')) places.set(`${apiVersion} ${kind}`, `${root}/${namespaced ? 'namespaces/default/' : ''}${name}`)
    }
  }
  return places
}

export function send({ url, token }: Target, method: string, path: string, body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request(`${url}${path}`, { method, headers, rejectUnauthorized: false }, (answer) => {
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
