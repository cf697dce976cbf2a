/** A sample of the requests that `npm run attack` sends in full. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningCluster, startCluster } from '../../support/running-cluster.ts'
import { attackFields } from './attack-fields.ts'
import { send, verbs } from './attack-run.ts'
import { attackStrings } from './attack-strings.ts'
import { cutOffAfter } from './connection-attacks.ts'
import { isExpectedFailure } from './expected-failure.ts'
import { shapeNames } from './long-strings.ts'
import { otherAttacks } from './other-attacks.ts'

/** An answer quotes what is wrong; it may be larger than the request, but not without end. */
const answerLimitBytes = 4 << 20
const sampleEvery = 90
const stringSampleEvery = 600

let cluster: RunningCluster
before(async () => {
  cluster = await startCluster(['--store', 'memory', '--runtime-config', 'api/all=true'])
})
after(() => cluster?.[Symbol.asyncDispose]())

test('lists and maps of thousands of entries are answered, and the server lives', { timeout: 600_000 }, async () => {
  const sent = new Set<string>()
  let count = 0
  const isChosen = ({ kind }: { kind: string }, index: number) => index % (kind === 'Attacked' ? 4 : sampleEvery) === 0
  for await (const cost of attackFields(cluster, { counts: [3000], isChosen })) {
    const what = `${cost.verb} ${cost.field.kind} ${cost.field.path.join('.')} ${cost.variant}`
    assert.ok(cost.status < 500 || isExpectedFailure(cost), `${what}: ${cost.status} ${cost.text}`)
    assert.ok(cost.answeredBytes < answerLimitBytes, `${what}: ${cost.answeredBytes} bytes`)
    sent.add(cost.verb)
    count++
  }
  assert.deepEqual([...sent].sort(), [...verbs].sort())
  assert.ok(count > 50, `${count} requests`)
  assert.equal((await send(cluster, 'GET', '/livez')).text, 'ok')
})

test('texts of a megabyte are answered, and the server lives', { timeout: 600_000 }, async () => {
  const shapes = new Set<string>()
  const isChosen = ({ kind }: { kind: string }, index: number) => index % (kind === 'Attacked' ? 11 : stringSampleEvery) === 0
  for await (const cost of attackStrings(cluster, { sizes: [100_000, 1_000_000], isChosen })) {
    const what = `${cost.verb} ${cost.field.kind} ${cost.field.path.join('.')} ${cost.variant}`
    assert.ok(cost.status < 500 || isExpectedFailure(cost), `${what}: ${cost.status} ${cost.text}`)
    if (cost.status >= 400) assert.ok(cost.answeredBytes < 2 << 20, `${what}: ${cost.answeredBytes} bytes`)
    shapes.add(cost.variant)
  }
  assert.deepEqual([...shapes].sort(), shapeNames.toSorted())
  assert.equal((await send(cluster, 'GET', '/livez')).text, 'ok')
})

test('a small sample of every other attack is survived', { timeout: 600_000 }, async () => {
  for (const [name, attack] of Object.entries(otherAttacks)) {
    const { requests } = await attack(cluster, 0.004)
    assert.ok(requests > 0, name)
  }
  assert.equal((await send(cluster, 'GET', '/livez')).text, 'ok')
})

test('a client that sends pings or settings without end is cut off, one that sends some is not', { timeout: 600_000 }, async () => {
  assert.equal(await cutOffAfter(cluster, 'ping', 1000), true)
  assert.equal(await cutOffAfter(cluster, 'settings', 1000), true)
  assert.equal(await cutOffAfter(cluster, 'ping', 20), false)
})
