import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Event as CoreEvent } from '#api/core/v1/types.gen.ts'
import { fromCoreEvent, toCoreEvent } from '#api/events/v1/convert-event.ts'
import { eventResource } from '#api/events/v1/event.ts'
import type { V1Event } from '#api/events/v1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'
import { seededRandom } from '#base/random.ts'

const metadata = { name: 'a', namespace: 'default', resourceVersion: '1' }
const eventTime = '2026-01-01T00:00:00.000000Z'
const given: V1Event = {
  metadata,
  eventTime,
  reportingController: 'example.com/c',
  reportingInstance: 'c-0',
  action: 'Did',
  reason: 'Because',
  type: 'Normal',
  regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
}
const definition = eventResource.storedAs?.definition
assert.ok(definition)
const modern = { requestVersion: 'events.k8s.io/v1' }
const validated = (fields: object, options = modern) => tryCreate(definition, toCoreEvent({ ...given, ...fields }), options).errors

test('events of the group need all of the new fields, and none of the old ones', () => {
  const cases: [string, object, string[]][] = [
    ['all there', {}, []],
    ['a series', { series: { count: 2, lastObservedTime: eventTime } }, []],
    ['no time', { eventTime: undefined }, ['eventTime: Required value']],
    ['no reason', { reason: '' }, ['reason: Required value']],
    ['no kind of event', { type: 'Odd' }, ['type: Invalid value: "": has invalid value: Odd']],
    ['a count', { deprecatedCount: 2 }, ['count: Invalid value: "": needs to be unset']],
    ['a source', { deprecatedSource: { host: 'h' } }, ['source: Invalid value: "": needs to be unset']],
    ['a series of one', { series: { count: 1, lastObservedTime: eventTime } }, ['series.count: Invalid value: "": should be at least 2']],
    ['a long note', { note: 'x'.repeat(1025) }, ['message: Invalid value: "": can have at most 1024 characters']],
  ]
  for (const [name, fields, errors] of cases) assert.deepEqual(validated(fields), errors, name)
})

test('events of the core group may be as they always were', () => {
  const old: CoreEvent = { metadata: { ...metadata, name: 'Any_Name' }, involvedObject: { namespace: 'default' }, count: 3 }
  assert.deepEqual(tryCreate(definition, old).errors, [])
  assert.deepEqual(tryCreate(definition, { ...old, involvedObject: { namespace: 'other' } }).errors, [
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ])
})

test('an event is history', () => {
  const prev = toCoreEvent(given)
  const next = toCoreEvent({ ...given, note: 'other', series: { count: 2, lastObservedTime: eventTime } })
  assert.deepEqual(tryUpdate(definition, prev, next, modern).errors, ['message: Invalid value: "other": field is immutable'])
  assert.deepEqual(tryUpdate(definition, prev, next).errors, [])
})

test('whatever goes to the core group comes back unchanged', () => {
  const seed = 7
  const random = seededRandom(seed)
  for (let round = 0; round < 1000; round++) {
    const event: V1Event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata,
      eventTime,
      regarding: { kind: 'Pod', name: `p${random.int(9)}` },
      ...(random.int(2) && { note: 'n', type: 'Warning' }),
      ...(random.int(2) && { series: { count: random.int(9), lastObservedTime: eventTime } }),
      ...(random.int(2) && { deprecatedCount: random.int(9), deprecatedFirstTimestamp: '2026-01-01T00:00:00Z' }),
      ...(random.int(2) && { deprecatedSource: { component: 'c' }, deprecatedLastTimestamp: '2026-01-01T00:00:00Z' }),
      ...(random.int(2) && { reportingController: 'c', reportingInstance: 'i', action: 'a', reason: 'r' }),
      ...(random.int(2) && { related: { kind: 'Node', name: 'n' } }),
    }
    assert.deepEqual(fromCoreEvent(toCoreEvent(structuredClone(event))), event, `seed ${seed}, round ${round}`)
  }
})
