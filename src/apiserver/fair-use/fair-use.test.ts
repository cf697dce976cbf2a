import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatusError } from '#api/meta/status-error.ts'
import { FairUse } from '#apiserver/fair-use/fair-use.ts'
import { defaultLimits } from '#apiserver/fair-use/limits.ts'
import { MeasuredCosts } from '#apiserver/fair-use/measured-costs.ts'
import { requestInfo } from '#apiserver/http/request-info.ts'
import { Metrics } from '#base/metrics.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

const refusal = (code: number, words: RegExp) => (error: unknown) =>
  error instanceof StatusError && error.status.code === code && words.test(error.status.message ?? '')

test('what is too much is refused with the name of its limit, and counted', () => {
  const metrics = new Metrics()
  const fairUse = new FairUse({ ...defaultLimits, objectsPerNamespace: 2, watchesPerClient: 1, listItems: 5 }, metrics)
  const secrets = { group: '', plural: 'secrets' }
  fairUse.requireRoomInNamespace(secrets, 'dev', 's', 1)
  fairUse.requireRoomInNamespace(secrets, '', 's', 9)
  assert.throws(() => fairUse.requireRoomInNamespace(secrets, 'dev', 's', 2), refusal(403, /--max-objects-per-namespace is 2/))
  fairUse.requireShortList(5)
  assert.throws(() => fairUse.requireShortList(6), refusal(413, /--max-list-items is 5; ask for pages/))
  const first = fairUse.watch('eve')
  fairUse.watch('adam')
  assert.throws(() => fairUse.watch('eve'), refusal(429, /--max-watches-per-client is 1/))
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  fairUse.watch('eve')
  assert.match(metrics.text(), /^apiserver_fair_use_refusals_total\{limit="watches_per_client"\} 1$/m)
  assert.match(metrics.text(), /^apiserver_fair_use_limit\{limit="list_items"\} 5$/m)
})

test('bodies have limits by resource', () => {
  const metrics = new Metrics()
  const fairUse = new FairUse({ ...defaultLimits, bodyBytesOf: { secrets: 10, 'widgets.example.com': 20, widgets: 30 } }, metrics)
  assert.match(metrics.text(), /^apiserver_fair_use_limit\{limit="body_bytes_of",resource="widgets.example.com"\} 20$/m)
  assert.equal(fairUse.bodyBytesFor({ group: '', plural: 'secrets' }), 10)
  assert.equal(fairUse.bodyBytesFor({ group: 'example.com', plural: 'widgets' }), 20)
  assert.equal(fairUse.bodyBytesFor({ group: 'example.org', plural: 'widgets' }), 30)
  assert.equal(fairUse.bodyBytesFor({ group: '', plural: 'pods' }), 3 * 1024 * 1024)
})

test('a client whose requests hold up others takes more seats with the same ones, for a while', async () => {
  const clock = new VirtualClock()
  const costs = new MeasuredCosts(clock)
  const create = requestInfo('POST', '/api/v1/namespaces/a/configmaps', new URLSearchParams())
  const get = requestInfo('GET', '/api/v1/namespaces/a/configmaps/x', new URLSearchParams())
  costs.observe('adam', create, 1)
  assert.equal(costs.seatsFor('adam', create), 1)
  costs.observe('eve', create, 100)
  assert.equal(costs.seatsFor('eve', create), 6)
  assert.equal(costs.seatsFor('eve', get), 1)
  assert.equal(costs.seatsFor('adam', create), 1)
  for (let index = 0; index < 20; index++) costs.observe('eve', create, 1)
  assert.equal(costs.seatsFor('eve', create), 1)
  costs.observe('eve', create, 10_000)
  assert.equal(costs.seatsFor('eve', create), 10)
  await clock.advance({ seconds: 61 })
  assert.equal(costs.seatsFor('eve', create), 1)
})
