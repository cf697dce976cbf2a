/** The official JavaScript client's informer beside a server that restarts, forgets, and cannot be reached for a while. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from '@kubernetes/client-node'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { type Random, seededRandom } from '#base/random.ts'
import { openEtcdStore } from '#store/etcd/etcd-store.ts'
import { type CuttableProxy, startProxy } from '../contracts/cuttable-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const objectCount = 10_000
const seed = 20_260
const path = '/api/v1/namespaces/default/configmaps'

type Stored = { metadata: { name: string; resourceVersion: string } }

function connected({ url }: RunningCluster): ClientHttp2Session {
  // Requests under way learn of it by themselves.
  return connect(url, { rejectUnauthorized: false }).on('error', () => {})
}

/** Writes over one connection, many at once, and remembers what must be there: the versions by name. */
class Writer implements Disposable {
  readonly versions = new Map<string, string>()
  readonly #random: Random
  #session: ClientHttp2Session
  #headers: Record<string, string>
  #made = 0

  constructor(cluster: RunningCluster, random: Random) {
    this.#random = random
    this.#session = connected(cluster)
    this.#headers = { authorization: `Bearer ${cluster.token}` }
  }

  use(cluster: RunningCluster): void {
    this.#session.destroy()
    this.#session = connected(cluster)
  }

  async create(count: number): Promise<void> {
    let left = count
    const one = async () => {
      while (left-- > 0) await this.#write('POST', '', { metadata: { name: `map-${this.#made++}` }, data: { round: '0' } })
    }
    await Promise.all(Array.from({ length: 64 }, one))
  }

  /** Random changes, one after the other; returns how many of each kind. */
  async change(count: number): Promise<{ added: number; updated: number; deleted: number }> {
    const done = { added: 0, updated: 0, deleted: 0 }
    for (let change = 0; change < count; change++) {
      const names = [...this.versions.keys()]
      const name = names[this.#random.int(names.length)] ?? ''
      const dice = this.#random.int(10)
      if (dice < 2) {
        await this.create(1)
        done.added++
      } else if (dice < 4) {
        await this.#send('DELETE', `/${name}`)
        this.versions.delete(name)
        done.deleted++
      } else {
        await this.update(name, { round: String(this.#random.int(1_000_000_000)) })
        done.updated++
      }
    }
    return done
  }

  update(name: string, data: Record<string, string>): Promise<void> {
    return this.#write('PATCH', `/${name}`, { data }, 'application/merge-patch+json')
  }

  async #write(method: string, rest: string, body: object, contentType = 'application/json'): Promise<void> {
    const { metadata } = (await this.#send(method, rest, body, contentType)) as Stored
    this.versions.set(metadata.name, metadata.resourceVersion)
  }

  #send(method: string, rest: string, body?: object, contentType = 'application/json'): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ':method': method,
        ':path': `${path}${rest}`,
        'content-type': contentType,
        ...this.#headers,
      })
      let status = 0
      const chunks: Buffer[] = []
      stream.on('response', (headers) => {
        status = headers[':status'] ?? 0
      })
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('error', reject)
      stream.on('close', () => reject(new Error('the connection is gone')))
      stream.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (status >= 300) reject(new Error(`${method} ${rest}: ${status} ${text}`))
        else resolve(JSON.parse(text))
      })
      stream.end(body && JSON.stringify(body))
    })
  }

  [Symbol.dispose](): void {
    this.#session.destroy()
  }
}

/** An informer as its users write it: started again after each error. */
function startInformer({ kubeconfig }: RunningCluster, { endpoint }: CuttableProxy) {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  for (const cluster of config.clusters as { server: string }[]) cluster.server = `https://${endpoint}`
  const core = config.makeApiClient(CoreV1Api)
  const seen = { lists: 0, added: 0, updated: 0, deleted: 0 }
  const informer = makeInformer<V1ConfigMap>(config, path, () => {
    seen.lists++
    return core.listNamespacedConfigMap({ namespace: 'default' })
  })
  let onEvent = () => {}
  let isOver = false
  for (const [verb, count] of [
    ['add', 'added'],
    ['update', 'updated'],
    ['delete', 'deleted'],
  ] as const) {
    informer.on(verb, () => {
      seen[count]++
      onEvent()
    })
  }
  // A list that fails as well is no error of the informer's, but one of its start.
  const startAgain = () => {
    if (!isOver) setTimeout(() => void informer.start().catch(startAgain), 50).unref()
  }
  informer.on('error', startAgain)
  const start = informer.start()
  const versions = () => new Map(informer.list().map(({ metadata }) => [metadata?.name ?? '', metadata?.resourceVersion ?? '']))
  return {
    start,
    seen,
    /** Waits for a last change to arrive, and compares everything then. */
    async isInStep(writer: Writer): Promise<void> {
      await writer.create(1)
      const last = [...writer.versions.keys()].at(-1) ?? ''
      await new Promise<void>((resolve) => {
        onEvent = () => {
          if (informer.get(last, 'default') !== undefined) resolve()
        }
        onEvent()
      })
      // What a list brings is told in the list's order; the rest of it comes in the same turn.
      await new Promise((resolve) => setImmediate(resolve))
      const held = versions()
      const wrong = [...writer.versions].filter(([name, version]) => held.get(name) !== version)
      assert.deepEqual(wrong, [], `seed ${seed}`)
      assert.equal(held.size, writer.versions.size, `seed ${seed}`)
    },
    async stop() {
      isOver = true
      await informer.stop()
    },
  }
}

async function compact({ directory }: RunningCluster, endpoint: string): Promise<void> {
  const pem = (name: string) => readFileSync(join(directory, 'data', 'pki', name), 'utf8')
  const tls = { authority: pem('etcd-ca.crt'), certificate: pem('etcd-client.pem'), key: pem('etcd-client.pem') }
  await using store = await openEtcdStore({
    clock: systemClock,
    logger: silentLogger,
    endpoints: [endpoint],
    tls,
    compactEveryMs: Infinity,
  })
  await store.compact(store.revision)
}

test('an informer keeps in step with 10,000 objects through 1,000 changes, a restart and a compaction', { timeout: 600_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn informer '))
  const [port, etcdPort] = [await freePort(), await freePort()]
  const flags = ['--runtime', 'none', '--controllers=', '--scheduler=false', '--etcd-listen', `127.0.0.1:${etcdPort}`]
  await using cleaning = new AsyncDisposableStack()
  cleaning.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }))
  let cluster = await startCluster(flags, directory, port)
  cleaning.defer(() => cluster.stop('SIGKILL').then(() => {}))
  const proxy = cleaning.use(await startProxy(`127.0.0.1:${port}`))
  const writer = cleaning.use(new Writer(cluster, seededRandom(seed)))
  await writer.create(objectCount)
  const informer = startInformer(cluster, proxy)
  cleaning.defer(() => informer.stop())
  await informer.start
  await informer.isInStep(writer)

  const before = { ...informer.seen }
  const done = await writer.change(500)
  await informer.isInStep(writer)
  assert.deepEqual(informer.seen, {
    lists: before.lists,
    added: before.added + done.added + 1,
    updated: before.updated + done.updated,
    deleted: before.deleted + done.deleted,
  })

  assert.equal(await cluster.stop('SIGTERM'), 0, cluster.output())
  cluster = await startCluster(flags, directory, port)
  writer.use(cluster)
  await writer.change(250)
  await informer.isInStep(writer)

  proxy.cut()
  const { lists } = informer.seen
  await writer.change(250)
  await compact(cluster, `127.0.0.1:${etcdPort}`)
  // Until the server's own memory of what happened before is gone as well.
  const [name = ''] = writer.versions.keys()
  const text = 'x'.repeat(700_000)
  for (let round = 0; round < 110; round++) await writer.update(name, { round: String(round), text })
  await writer.update(name, { round: '', text: '' })
  proxy.heal()
  await informer.isInStep(writer)
  assert.equal(informer.seen.lists, lists + 1, 'what it missed was forgotten: it was told to list again')
})
