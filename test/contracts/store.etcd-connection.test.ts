import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { systemClock } from '#base/clock.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { type EtcdStoreOptions, openEtcdStore } from '#store/etcd/etcd-store.ts'
import { freePort } from '../support/free-port.ts'
import { testCertificates } from './certificates.ts'
import { startProxy } from './cuttable-proxy.ts'
import { type EtcdServer, etcdMissing, startEtcd } from './etcd-server.ts'
import { put, remove, shown, stored, watched } from './store.ts'

let shared: Promise<EtcdServer> | undefined
after(async () => (await shared)?.[Symbol.asyncDispose]())
const server = () => {
  shared ??= startEtcd()
  return shared
}
const open = (endpoints: string[], options: Partial<EtcdStoreOptions> = {}) =>
  openEtcdStore({ clock: systemClock, logger: silentLogger, endpoints, patienceMs: 120_000, ...options })

describe('store: the way to etcd', { skip: etcdMissing ?? false }, () => {
  test('[ST30] a watch goes on at its revision after the connection broke: nothing missed, nothing twice', async () => {
    const { endpoint } = await server()
    await using proxy = await startProxy(endpoint)
    await using direct = await open([endpoint])
    await using store = await open([proxy.endpoint])
    const seen = watched(store, { prefix: '/cut/' })
    const { revision } = await put(direct, '/cut/a', '1')
    await seen.progress()
    for (let round = 0; round < 3; round++) {
      proxy.cut()
      await put(direct, '/cut/a', `during ${round}`)
      await remove(direct, '/cut/a')
      proxy.heal()
      await put(direct, '/cut/a', `after ${round}`)
      await seen.until(() => seen.events.length === 4 + 3 * round)
    }
    const expected = [0, 1, 2].flatMap((round) => [`/cut/a=during ${round}`, '-/cut/a', `/cut/a=after ${round}`])
    assert.deepEqual(
      shown(seen.events),
      ['/cut/a=1', ...expected].map((text, index) => `${revision + index} ${text}`),
    )
  })

  test('[ST30] a watch whose next change was compacted while it was cut off is ended, and a new one works', async () => {
    const { endpoint } = await server()
    await using proxy = await startProxy(endpoint)
    await using direct = await open([endpoint])
    await using store = await open([proxy.endpoint])
    const ended = Promise.withResolvers<Error>()
    watched(store, { prefix: '/gap/', onEnd: ended.resolve })
    await put(store, '/gap/a', '1')
    proxy.cut()
    await put(direct, '/gap/a', '2')
    const { revision } = await put(direct, '/gap/a', '3')
    await direct.compact(revision)
    proxy.heal()
    assert.equal((await ended.promise).name, 'CompactedError')
    assert.ok(store.compactedRevision >= revision)
    const again = watched(store, { prefix: '/gap/' })
    await put(direct, '/gap/a', '4')
    await again.until(() => again.events.length === 1)
    assert.equal(await stored(store, '/gap/a'), '4')
  })

  test('[ST30] a write whose answer is lost is reported as unknown, not as failed', async () => {
    const { endpoint } = await server()
    await using proxy = await startProxy(endpoint)
    await using direct = await open([endpoint])
    await using store = await open([proxy.endpoint])
    const went = proxy.swallowAnswers()
    const writing = assert.rejects(put(store, '/lost', '1'), { name: 'OutcomeUnknownError' })
    await went
    const seen = watched(direct, { key: '/lost', fromRevision: direct.revision })
    await seen.until(() => seen.events.length === 1)
    proxy.cut()
    await writing
    assert.equal(await stored(direct, '/lost'), '1')
  })

  test('[ST30] reads and writes wait for an etcd that restarts, and its data is there', async () => {
    await using own = await startEtcd()
    await using store = await open([own.endpoint])
    const seen = watched(store, { prefix: '/r/' })
    await put(store, '/r/a', '1')
    await own.kill()
    const reading = stored(store, '/r/a')
    await own.start()
    assert.equal(await reading, '1')
    await put(store, '/r/a', '2')
    await seen.until(() => seen.events.length === 2)
    assert.equal(store.trouble, undefined)
  })

  test('[ST30] with several endpoints, those that do not answer are passed over', async () => {
    const { endpoint } = await server()
    await using proxy = await startProxy(endpoint)
    const dead = `127.0.0.1:${await freePort()}`
    await using store = await open([dead, proxy.endpoint, `http://${endpoint}`])
    const seen = watched(store, { prefix: '/several/' })
    await put(store, '/several/a', '1')
    proxy.cut()
    await put(store, '/several/a', '2').catch(() => put(store, '/several/a', '2'))
    await seen.until(() => seen.events.length >= 2)
    assert.equal(await stored(store, '/several/a'), '2')
    await assert.rejects(open([dead], { patienceMs: 300 }), { name: 'StoreUnavailableError', message: new RegExp(dead) })
  })

  test('[ST30] of several endpoints, one that falls silent without a word is given up: reads go elsewhere, a watch goes on', async () => {
    const { endpoint } = await server()
    await using proxy = await startProxy(endpoint)
    await using store = await open([proxy.endpoint, endpoint])
    await using direct = await open([endpoint])
    const seen = watched(store, { prefix: '/silent/' })
    await put(store, '/silent/a', '1')
    await seen.until(() => seen.events.length === 1)
    // As a machine that has lost its power: what is sent is never answered, and connections are never closed.
    void proxy.swallowAnswers()
    const reading = stored(store, '/silent/a')
    const writing = assert.rejects(put(store, '/silent/lost', '1'), { name: 'OutcomeUnknownError' })
    await put(direct, '/silent/a', '2')
    assert.match((await reading) ?? '', /^[12]$/)
    await writing
    await seen.until(() => seen.events.some(({ kv }) => Buffer.from(kv.value).toString() === '2'))
    await put(store, '/silent/a', '3')
    assert.equal(await stored(direct, '/silent/a'), '3')
  })

  test('[ST7] a watch may start before this process did', async () => {
    const { endpoint } = await server()
    await using first = await open([endpoint])
    const { revision } = await put(first, '/past/0', '0')
    for (let index = 1; index < 30; index++) await put(first, `/past/${index}`, String(index))
    await using second = await open([endpoint])
    const seen = watched(second, { prefix: '/past/', fromRevision: revision + 5 })
    await put(first, '/past/now', '1')
    await seen.progress()
    const expected = Array.from({ length: 25 }, (_, index) => `${revision + 5 + index} /past/${index + 5}=${index + 5}`)
    assert.deepEqual(shown(seen.events), [...expected, `${revision + 30} /past/now=1`])
  })

  test('[ST31] etcd is compacted each five minutes, up to what was the newest five minutes before', async () => {
    const { endpoint } = await server()
    const clock = Object.assign(new VirtualClock(), { soon: systemClock.soon })
    await using store = await open([endpoint], { clock })
    await using other = await open([endpoint])
    const { revision } = await put(store, '/old', '1')
    const seen = watched(other, { key: 'compact_rev_key' })
    const rounds = async (count: number) => {
      await clock.advance({ minutes: 5 })
      await seen.until(() => seen.events.length === count)
    }
    await rounds(1)
    await put(store, '/old', '2')
    await rounds(2)
    const agreed = Number(Buffer.from(seen.events[1]?.kv.value ?? Buffer.of()).toString())
    assert.ok(agreed > revision && agreed <= store.revision)
    // The agreement is written first, then it is done.
    while (store.compactedRevision < agreed) await other.range({ key: '/old' })
    await assert.rejects(other.range({ key: '/old', revision }), { name: 'CompactedError' })
    assert.equal(await stored(other, '/old'), '2')
  })

  test('[ST32] TLS with certificates on both sides; without one etcd is not to be had', async () => {
    const { authority, server: serving, client, stranger } = testCertificates()
    const directory = mkdtempSync(join(tmpdir(), 'typernetes-tls-'))
    using _ = { [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }) }
    const file = (name: string, text: string) => {
      writeFileSync(join(directory, name), text)
      return join(directory, name)
    }
    await using own = await startEtcd([
      ...['--cert-file', file('server.crt', serving.certificate), '--key-file', file('server.key', serving.key)],
      ...['--client-cert-auth', '--trusted-ca-file', file('ca.crt', authority)],
    ])
    const endpoints = [`https://${own.endpoint}`]
    await using store = await open(endpoints, { tls: { authority, ...client } })
    await put(store, '/tls', '1')
    assert.equal(await stored(store, '/tls'), '1')
    for (const tls of [{ authority }, { authority, ...stranger }, { ...client }]) {
      await assert.rejects(open(endpoints, { tls, patienceMs: 300 }), { name: 'StoreUnavailableError' })
    }
  })
})
