import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { grpcChannel } from '#base/grpc.ts'
import { silentLogger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import { nodeSqlite } from '#base/sqlite.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { openEtcdStore } from '#store/etcd/etcd-store.ts'
import { EtcdServer } from '#store/etcd-server/etcd-server.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'
import { restoreSnapshot, snapshotStatus } from '#store/snapshot.ts'
import { openSqliteStore, type SqliteStore } from '#store/sqlite/sqlite-store.ts'
import type { Store } from '#store/store.ts'
import { testCertificates } from './certificates.ts'
import { etcdctlMissing } from './etcd-server.ts'
import { describeStore, put, stored } from './store.ts'

const { authority, server, client, stranger } = testCertificates()

const startFace = (store: Store) => EtcdServer.start({ store, address: '127.0.0.1:0', tls: { authority, ...server }, logger: silentLogger })

// Our client of etcd over our face of etcd: what holds for a store holds through both.
describeStore({
  name: 'memory, through the face and the client of etcd',
  async open() {
    const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
    const memory = new MemoryStore({ clock })
    const face = await startFace(memory)
    const tls = { authority, ...client }
    const store = await openEtcdStore({ clock, logger: silentLogger, endpoints: [`127.0.0.1:${face.port}`], tls, patienceMs: 0 })
    return {
      store,
      clock,
      async [Symbol.asyncDispose]() {
        await store.close()
        await face.close()
        await memory.close()
      },
    }
  },
})

describe('store: etcdctl on the face of etcd', { skip: etcdctlMissing ?? false }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'typernetes-face-'))
  after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }))
  /** Written once for each text: a program that is starting reads it while the next one is given it. */
  const file = (name: string, text: string) => {
    const path = join(directory, `${createHash('sha256').update(text).digest('hex').slice(0, 8)}-${name}`)
    if (!existsSync(path)) writeFileSync(path, text)
    return path
  }
  const flags = (port: number, identity = client) => [
    `--endpoints=https://127.0.0.1:${port}`,
    ...['--dial-timeout=60s', '--command-timeout=60s', '--keepalive-timeout=60s'],
    `--cacert=${file('ca.crt', authority)}`,
    `--cert=${file('client.crt', identity.certificate)}`,
    `--key=${file('client.key', identity.key)}`,
  ]
  const environment = { ETCDCTL_API: '3' }

  async function serving(): Promise<
    { store: SqliteStore; face: EtcdServer; ctl(...args: string[]): Promise<string>; port: number } & AsyncDisposable
  > {
    const dataDir = mkdtempSync(join(directory, 'data-'))
    const store = await openSqliteStore({ dataDir, clock: systemClock, logger: silentLogger, processId: process.pid })
    const face = await startFace(store)
    return {
      store,
      face,
      port: face.port,
      async ctl(...args) {
        const { exitCode, stdout, stderr } = await nodeProcesses.run('etcdctl', [...flags(face.port), ...args], { environment })
        assert.equal(exitCode, 0, `etcdctl ${args.join(' ')}: ${stderr}`)
        return stdout
      },
      async [Symbol.asyncDispose]() {
        await face.close()
        await store.close()
      },
    }
  }

  test('[ST50] get, put, del, and keys of a prefix', async () => {
    await using it = await serving()
    await put(it.store, '/registry/pods/default/a', '{"kind":"Pod"}')
    await put(it.store, '/registry/pods/default/b', '{}')
    await put(it.store, '/registry/services/default/a', '{}')
    assert.equal(
      (await it.ctl('get', '--prefix', '--keys-only', '/registry/pods')).replace(/\n+/g, '\n'),
      '/registry/pods/default/a\n/registry/pods/default/b\n',
    )
    assert.equal(await it.ctl('get', '/registry/pods/default/a', '--print-value-only'), '{"kind":"Pod"}\n')
    assert.match(await it.ctl('put', '/registry/x', 'from etcdctl'), /OK/)
    assert.equal(await stored(it.store, '/registry/x'), 'from etcdctl')
    assert.match(await it.ctl('put', '--prev-kv', '/registry/x', 'again'), /from etcdctl/)
    assert.match(await it.ctl('put', '--ignore-value', '/registry/x'), /OK/)
    assert.equal(await stored(it.store, '/registry/x'), 'again')
    assert.equal(
      (await it.ctl('get', '--prefix', '/registry', '--sort-by=MODIFY', '--order=DESCEND', '--limit=1', '--keys-only')).trim(),
      '/registry/x',
    )
    assert.equal((await it.ctl('get', '--from-key', '/registry/services', '--keys-only')).trim().split(/\n+/).length, 2)
    assert.equal((await it.ctl('del', '--prefix', '/registry/pods/')).trim(), '2')
    assert.equal((await it.store.range({ prefix: '/registry/pods/' })).count, 0)
  })

  test('[ST50] a transaction', async () => {
    await using it = await serving()
    await put(it.store, '/t', '1')
    const { stdout, exitCode, stderr } = await nodeProcesses.run('etcdctl', [...flags(it.port), 'txn'], {
      environment,
      input: 'value("/t") = "1"\nmod("/t") > "0"\n\nput /t 2\nput /u 3\n\nget /t\n\n',
    })
    assert.equal(exitCode, 0, stderr)
    assert.match(stdout, /SUCCESS/)
    assert.deepEqual([await stored(it.store, '/t'), await stored(it.store, '/u')], ['2', '3'])
  })

  test('[ST50] a lock, which sorts within a transaction: one holder at a time, each in turn', async () => {
    await using it = await serving()
    const hold = () => nodeProcesses.run('etcdctl', [...flags(it.port), 'lock', '--ttl=60', 'door', 'echo', 'held'], { environment })
    const held = await Promise.all([hold(), hold(), hold()])
    for (const { exitCode, stdout, stderr } of held) {
      assert.equal(exitCode, 0, stderr)
      assert.match(stdout, /held/)
    }
    assert.equal((await it.store.range({ prefix: 'door' })).count, 0)
  })

  test('[ST50] a watch of a prefix, from now and from a revision', async () => {
    await using it = await serving()
    const { revision } = await put(it.store, '/registry/pods/default/before', '1')
    const past = spawn('etcdctl', [...flags(it.port), 'watch', '--prefix', '/registry/pods/default/', `--rev=${revision}`], {
      env: { ...process.env, ...environment },
    })
    using _ = killing(past)
    const seen = output(past)
    await seen.has('/registry/pods/default/before\n1\n')
    await put(it.store, '/registry/pods/default/web', 'spec')
    await put(it.store, '/registry/pods/other/web', 'spec')
    await it.store.txn({ success: [{ delete: { key: '/registry/pods/default/web' } }] })
    await seen.has('PUT\n/registry/pods/default/web\nspec\nDELETE\n/registry/pods/default/web\n')
    assert.doesNotMatch(seen.text(), /other/)
  })

  test('[ST50] leases: grant, list, put with one, time to live, keep-alive, revoke', async () => {
    await using it = await serving()
    const granted = await it.ctl('lease', 'grant', '600')
    const id = /lease ([0-9a-f]+) granted with TTL\(600s\)/.exec(granted)?.[1] ?? ''
    assert.ok(id, granted)
    await it.ctl('put', `--lease=${id}`, '/leased', 'x')
    assert.match(
      await it.ctl('lease', 'timetolive', '--keys', id),
      /granted with TTL\(600s\), remaining\(\d+s\), attached keys\(\[\/leased\]\)/,
    )
    assert.match(await it.ctl('lease', 'list'), new RegExp(id))
    assert.match(await it.ctl('lease', 'keep-alive', '--once', id), /keepalived with TTL\(600\)/)
    await it.ctl('lease', 'revoke', id)
    assert.equal(await stored(it.store, '/leased'), undefined)
    assert.match(await it.ctl('lease', 'timetolive', id), /already expired/)
  })

  test('[ST50] members, status, health, compaction, defragmentation', async () => {
    await using it = await serving()
    for (let index = 0; index < 20; index++) await put(it.store, '/a', String(index))
    assert.match(await it.ctl('member', 'list'), /started, typernetes/)
    const status = await it.ctl('endpoint', 'status', '--write-out=json')
    assert.equal(JSON.parse(status)[0].Status.header.revision, it.store.revision)
    const health = await nodeProcesses.run('etcdctl', [...flags(it.port), 'endpoint', 'health'], { environment })
    assert.match(health.stdout + health.stderr, /is healthy/)
    assert.match(await it.ctl('compaction', String(it.store.revision)), /compacted revision/)
    const past = await nodeProcesses.run('etcdctl', [...flags(it.port), 'get', '/a', '--rev=3'], { environment })
    assert.match(past.stderr, /required revision has been compacted/)
    assert.match(await it.ctl('defrag'), /Finished defragmenting/)
  })

  test('[ST50] a snapshot saved by etcdctl is one of ours', async () => {
    await using it = await serving()
    for (let index = 0; index < 500; index++)
      await it.store.txn({ success: [{ put: { key: `/key/${index}`, value: Buffer.alloc(2000, 'x') } }] })
    const saved = join(directory, 'saved.snap')
    assert.match(await it.ctl('snapshot', 'save', saved), /saved/i)
    const status = await snapshotStatus(saved, nodeFiles)
    assert.deepEqual([status.keys, status.revision], [500, it.store.revision])
    const restored = join(directory, 'restored')
    await restoreSnapshot(saved, restored, { sqlite: nodeSqlite, files: nodeFiles, processId: process.pid })
    await using store = await openSqliteStore({ dataDir: restored, clock: systemClock, logger: silentLogger, processId: process.pid })
    assert.equal((await store.range({ prefix: '/key/' })).count, 500)
  })

  test('[ST51] clients without a certificate of our authority are turned away', async () => {
    await using it = await serving()
    const ask = ['--dial-timeout=1s', '--command-timeout=1s', 'get', '/a']
    const strange = await nodeProcesses.run('etcdctl', [...flags(it.port, stranger), ...ask], { environment })
    assert.notEqual(strange.exitCode, 0)
    const bare = await nodeProcesses.run('etcdctl', [...flags(it.port).slice(0, -2), ...ask], { environment })
    assert.notEqual(bare.exitCode, 0)
  })
})

test('a renewal of a lease that cannot be read ends its stream alone', async () => {
  const store = new MemoryStore({ clock: new VirtualClock() })
  const face = await startFace(store)
  using channel = await grpcChannel(`127.0.0.1:${face.port}`, { tls: { authority, certificate: client.certificate, key: client.key } })
  try {
    for (let attempt = 0; attempt < 2; attempt++) {
      const error = await new Promise((resolve) => {
        const stream = channel.stream('/etcdserverpb.Lease/LeaseKeepAlive', { onMessage: () => {}, onEnd: resolve })
        stream.send(Uint8Array.of(0xff, 0xff, 0xff))
      })
      assert.ok(error instanceof Error)
    }
  } finally {
    await face.close()
    await store.close()
  }
})

function killing(child: ChildProcessWithoutNullStreams): Disposable {
  return { [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

function output(child: ChildProcessWithoutNullStreams) {
  let text = ''
  const waiting: { part: string; resolve(): void }[] = []
  child.stdout.on('data', (chunk) => {
    text += chunk
    for (const { part, resolve } of waiting) if (text.includes(part)) resolve()
  })
  return {
    text: () => text,
    has: (part: string) => (text.includes(part) ? Promise.resolve() : new Promise<void>((resolve) => waiting.push({ part, resolve }))),
  }
}
