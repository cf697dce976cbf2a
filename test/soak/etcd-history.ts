/** What etcd itself says has happened, from the first revision on: nothing of ours stands between. */
import { request } from 'node:http'
import type { StoredChange } from '#testing/history/stored-changes.ts'

type KeyValue = { key: string; value?: string; create_revision?: string; mod_revision: string }
type Answer = { result?: { events?: { type?: string; kv: KeyValue }[]; compact_revision?: string; canceled?: boolean } }

const limitMs = 60_000
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A change of something below a prefix; the bytes are as stored, none for a deletion. */
type RawChange = { revision: number; name: string; bytes: Buffer | undefined; isNew: boolean }

/** Everything below a prefix, up to the change of `lastName`. */
async function rawChanges(endpoint: string, prefix: string, lastName: string): Promise<RawChange[]> {
  // The last byte of the prefix is a slash; the one after it is the end of the range.
  const body = { create_request: { key: base64(prefix), range_end: base64(`${prefix.slice(0, -1)}0`), start_revision: '1' } }
  const { promise, resolve, reject } = Promise.withResolvers<RawChange[]>()
  const changes: RawChange[] = []
  let rest = ''
  const sent = request(`${endpoint}/v3/watch`, { method: 'POST' }, (answer) => {
    answer.setEncoding('utf8')
    answer.on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const { result } = JSON.parse(line) as Answer
        if (result?.canceled) reject(new Error(`etcd gives no history of ${prefix}: compacted at ${result.compact_revision}`))
        for (const { type, kv } of result?.events ?? []) {
          const name = Buffer.from(kv.key, 'base64').toString('utf8').slice(prefix.length)
          const isNew = type !== 'DELETE' && kv.create_revision === kv.mod_revision
          const bytes = type === 'DELETE' ? undefined : Buffer.from(kv.value ?? '', 'base64')
          changes.push({ revision: Number(kv.mod_revision), name, bytes, isNew })
          if (name === lastName) resolve(changes)
        }
      }
    })
    answer.on('close', () => reject(new Error(`etcd ended the history of ${prefix}`)))
  })
  sent.on('error', reject)
  sent.end(JSON.stringify(body))
  const limit = setTimeout(() => reject(new Error(`etcd did not tell of ${prefix}${lastName} in time`)), limitMs)
  return promise.finally(() => {
    clearTimeout(limit)
    sent.destroy()
  })
}

/** `pattern` finds what an object holds in the bytes that are stored; others are somebody else's. */
export async function storedChanges(endpoint: string, prefix: string, lastName: string, pattern: RegExp): Promise<StoredChange[]> {
  const known = new Set<string>()
  return (await rawChanges(endpoint, prefix, lastName)).flatMap(({ revision, name, bytes, isNew }) => {
    const value = bytes === undefined ? undefined : pattern.exec(bytes.toString('latin1'))?.[0]
    if (value !== undefined) known.add(name)
    return known.has(name) ? [{ revision, key: name, value, isNew }] : []
  })
}
