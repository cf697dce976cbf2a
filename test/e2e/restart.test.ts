/** Ends and beginnings: kills in the middle of writes, second starts, signals. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeBridgeName } from '#network/clusters-on-machine.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const repository = join(import.meta.dirname, '..', '..')
const alone = ['--runtime', 'none', '--controllers=', '--scheduler=false']
const configMaps = '/api/v1/namespaces/default/configmaps'

type Answer = { status: number; body: { metadata: { resourceVersion: string; name?: string }; items?: Answer['body'][]; code?: number } }

class Client implements Disposable {
  readonly #session: ClientHttp2Session
  readonly #token: string

  constructor({ url, token }: RunningCluster) {
    this.#session = connect(url, { rejectUnauthorized: false })
    this.#session.on('error', () => {})
    this.#token = token
  }

  /** Rejects when the server is gone before it has answered. */
  send(method: string, path: string, body?: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stream = this.#open(method, path, body)
      let text = ''
      let status = 0
      stream.on('response', (headers) => {
        status = headers[':status'] ?? 0
      })
      stream.on('data', (chunk: Buffer) => {
        text += chunk
      })
      stream.on('error', reject)
      stream.on('end', () => (status === 0 ? reject(new Error('no answer')) : resolve({ status, body: JSON.parse(text) })))
      stream.on('close', () => reject(new Error('the server is gone')))
    })
  }

  /** The events of a watch, until it ends, or there are as many. */
  async watch(path: string, enough = Number.POSITIVE_INFINITY): Promise<{ type: string; object: Answer['body'] }[]> {
    const stream = this.#open('GET', path)
    let text = ''
    stream.on('data', (chunk: Buffer) => {
      text += chunk
      if (text.split('\n').length > enough) stream.close()
    })
    await new Promise<void>((resolve) => {
      stream.on('close', resolve)
      stream.on('error', () => {})
    })
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }

  #open(method: string, path: string, body?: object) {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' }
    const stream = this.#session.request({ ':method': method, ':path': path, ...headers })
    stream.end(body && JSON.stringify(body))
    return stream
  }

  [Symbol.dispose](): void {
    this.#session.destroy()
  }
}

/** Writes as fast as it can until the server is gone; gives what was acknowledged. Calls `onEnough` in the middle of it. */
async function writeUntilGone(cluster: RunningCluster, run: number, onEnough: () => void): Promise<Map<string, string>> {
  using client = new Client(cluster)
  const acknowledged = new Map<string, string>()
  let number = 0
  const writer = async () => {
    for (;;) {
      const name = `run-${run}-${number++}`
      const { status, body } = await client.send('POST', configMaps, { metadata: { name }, data: { text: 'x'.repeat(500) } })
      assert.equal(status, 201)
      acknowledged.set(name, body.metadata.resourceVersion)
      if (acknowledged.size === 300) onEnough()
    }
  }
  await Promise.allSettled(Array.from({ length: 16 }, writer))
  return acknowledged
}

test('everything acknowledged is there after a kill and after a stop, and versions go on rising', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tn restart '))
  try {
    const all = new Map<string, string>()
    let newest = 0
    for (const [run, signal] of (['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL'] as const).entries()) {
      const cluster = await startCluster(alone, directory)
      await using _end = { [Symbol.asyncDispose]: () => cluster.stop('SIGKILL').then(() => {}) }
      const enough = Promise.withResolvers<void>()
      const writing = writeUntilGone(cluster, run, enough.resolve)
      await Promise.race([enough.promise, writing])
      const before = newest
      const exitCode = await cluster.stop(signal)
      if (signal === 'SIGTERM') assert.equal(exitCode, 0, cluster.output())
      const acknowledged = await writing
      assert.ok(acknowledged.size > 0)
      for (const [name, resourceVersion] of acknowledged) {
        assert.ok(Number(resourceVersion) > before, `${name} has a version above those of the run before`)
        all.set(name, resourceVersion)
        newest = Math.max(newest, Number(resourceVersion))
      }
    }
    await using cluster = await startCluster(alone, directory)
    using client = new Client(cluster)
    const { body } = await client.send('GET', configMaps)
    const found = new Map(body.items?.map(({ metadata: { name = '', resourceVersion } }) => [name, resourceVersion]))
    for (const [name, resourceVersion] of all) assert.equal(found.get(name), resourceVersion, name)
    assert.ok(Number(body.metadata.resourceVersion) > newest)

    const [first] = [...all.values()]
    const [event] = await client.watch(`${configMaps}?watch=true&resourceVersion=${first}`)
    assert.deepEqual([event?.type, event?.object.code], ['ERROR', 410], 'a watch from before the restart is told to start over')
    const { resourceVersion } = body.metadata
    const watching = client.watch(`${configMaps}?watch=true&resourceVersion=${resourceVersion}`, 1)
    const made = await client.send('POST', configMaps, { metadata: { name: 'after' } })
    assert.deepEqual(
      (await watching).map(({ type, object }) => [type, object.metadata.resourceVersion]),
      [['ADDED', made.body.metadata.resourceVersion]],
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

test('a stop ends with 0, though clients watch and stay connected', async () => {
  await using cluster = await startCluster([...alone, '--store', 'memory'])
  using client = new Client(cluster)
  const watching = client.watch(`${configMaps}?watch=true`)
  await client.send('GET', configMaps)
  // A stop that waits for clients does not end before the test's time is up.
  assert.equal(await cluster.stop('SIGTERM'), 0, cluster.output())
  await watching
})

test('a second interrupt ends it at once', async () => {
  await using cluster = await startCluster([...alone, '--store', 'memory'])
  using client = new Client(cluster)
  const watching = client.watch(`${configMaps}?watch=true`)
  await client.send('GET', configMaps)
  cluster.process.kill('SIGINT')
  // The first has been heard: watches end.
  await watching
  const code = await cluster.stop('SIGINT')
  // A process on its last steps no longer listens for signals, and is ended by this one.
  assert.ok(code === 130 || code === 0 || cluster.process.signalCode === 'SIGINT', `${code} ${cluster.process.signalCode}`)
})

function typernetes(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(repository, 'bin/typernetes.js'), ...args], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('what stands in the way of a start is said in one line', async () => {
  await using cluster = await startCluster(alone)
  const dataDir = join(cluster.directory, 'data')
  const again = typernetes('up', '--data-dir', dataDir, '--api-port', String(await freePort()))
  assert.equal(again.status, 1)
  assert.match(again.stderr, /^typernetes: a cluster runs in .* already \(process \d+, https:.*\); stop it with typernetes down, .*\n$/)

  const other = mkdtempSync(join(tmpdir(), 'tn other '))
  try {
    const taken = typernetes('up', '--data-dir', other, '--api-port', new URL(cluster.url).port)
    assert.equal(taken.status, 1)
    // Where another cluster has this machine as its node, a line of the log says so.
    assert.match(taken.stderr.replaceAll(/^\{"level":"info".*\n/gm, ''), /^typernetes: port \d+ on 127\.0\.0\.1 is in use; .*\n$/)
    // A machine that could have run containers has had a bridge made for them by then.
    for (const directory of [dataDir, other]) assert.ok(!existsSync(`/sys/class/net/${nodeBridgeName(directory)}`), 'no bridge is left')
  } finally {
    rmSync(other, { recursive: true })
  }
})

test('a directory whose owner hangs is refused too', { skip: process.platform === 'win32' && 'processes cannot be halted' }, async () => {
  await using cluster = await startCluster(alone)
  cluster.process.kill('SIGSTOP')
  const dataDir = join(cluster.directory, 'data')
  const second = typernetes('up', '--data-dir', dataDir, '--api-port', String(await freePort()), ...alone)
  assert.equal(second.status, 1)
  assert.match(second.stderr, new RegExp(`^typernetes: .*process ${cluster.process.pid}.*\n$`))
})

test('a cluster in the background: up -d twice, status, logs, down, in a directory with spaces', async (t) => {
  const parent = mkdtempSync(join(tmpdir(), 'tn in the background '))
  const dataDir = join(parent, 'my data')
  const place = ['--data-dir', dataDir]
  t.after(() => {
    typernetes('down', ...place)
    rmSync(parent, { recursive: true, maxRetries: 20 })
  })
  const up = ['up', '-d', ...place, '--api-port', String(await freePort()), ...alone]
  assert.deepEqual(typernetes('status', ...place), { status: 1, stdout: `No cluster runs in ${dataDir}\n`, stderr: '' })

  const first = typernetes(...up)
  assert.equal(first.status, 0, first.stderr)
  assert.match(
    first.stdout,
    /^Store started .*\nAPI server started .*\nThe cluster is ready at https:.*\n {2}API +Kubernetes v1\.[\s\S]*\n {2}Nodes +none\n[\s\S]*\nNext: export KUBECONFIG='.*my data\/admin\.kubeconfig' && kubectl get namespaces\n$/,
  )
  if (process.platform === 'linux') {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'ready'), 'utf8')) as { pid: number }
    assert.match(readFileSync(`/proc/${pid}/environ`, 'utf8'), /(?:^|\0)MALLOC_ARENA_MAX=/)
  }
  const second = typernetes(...up)
  assert.equal(second.status, 0, second.stderr)
  assert.match(second.stdout, /^It is running already\.\nThe cluster is ready at https:/)
  assert.match(typernetes('status', ...place).stdout, /has been running for (?:less than a minute|\d+ minutes?)\n {2}API +https:/)
  assert.match(typernetes('logs', ...place).stdout, /^The cluster is ready/m)
  assert.match(typernetes('snapshot', 'save', join(dataDir, 'saved'), ...place).stdout, /^saved /)
  assert.match(typernetes('certs', 'status', ...place).stdout, /^NAME +SIGNER +SUBJECT/)
  assert.deepEqual(typernetes('down', ...place), { status: 0, stdout: `The cluster in ${dataDir} is stopped\n`, stderr: '' })
  assert.equal(typernetes('status', ...place).status, 1)

  const blocked = createServer().listen(0, '127.0.0.1')
  t.after(() => void blocked.close())
  await once(blocked, 'listening')
  const { port } = blocked.address() as { port: number }
  const failed = typernetes('up', '-d', ...place, '--api-port', String(port), ...alone)
  assert.equal(failed.status, 1)
  assert.match(failed.stderr, /^typernetes: port \d+ on 127\.0\.0\.1 is in use; .*\n$/)
})
