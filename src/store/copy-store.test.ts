import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { copyStore } from '#store/copy-store.ts'
import { MemoryStore } from '#store/memory/memory-store.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

test('every key is copied as it is, more than a page of them, with what is left of its lease', async () => {
  const clock = new VirtualClock(0)
  await using from = new MemoryStore({ clock })
  await using to = new MemoryStore({ clock })
  const count = 1234
  for (let number = 0; number < count; number++) {
    await from.txn({ success: [{ put: { key: `/registry/configmaps/default/${number}`, value: bytes(`value ${number}`) } }] })
  }
  const lease = await from.grantLease(100)
  await from.txn({ success: [{ put: { key: '/registry/events/default/e', value: bytes('event'), lease: lease.id } }] })
  await from.txn({ success: [{ put: { key: '/elsewhere', value: bytes('not ours') } }] })
  await from.txn({ success: [{ delete: { key: '/registry/configmaps/default/7' } }] })
  await clock.advance(40_000)

  assert.equal(await copyStore({ from, to, prefix: '/registry/' }), count)
  const there = (await to.range({ prefix: '/' })).kvs
  const expected = (await from.range({ prefix: '/registry/' })).kvs
  assert.deepEqual(
    there.map(({ key, value }) => [key, Buffer.from(value).toString()]),
    expected.map(({ key, value }) => [key, Buffer.from(value).toString()]),
  )
  await assert.rejects(copyStore({ from, to, prefix: '/registry/' }), /holds 1234 keys below \/registry\/ already/)
  await clock.advance(50_000)
  assert.equal((await to.range({ key: '/registry/events/default/e' })).count, 1)
  await clock.advance(20_000)
  assert.equal((await to.range({ key: '/registry/events/default/e' })).count, 0)
})
