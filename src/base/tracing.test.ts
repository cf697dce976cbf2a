import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '#base/random.ts'
import { type FinishedSpan, parseTraceparent, Tracer } from '#base/tracing.ts'
import { VirtualClock } from '#base/virtual-clock.ts'

function tracer(sampling: number) {
  const clock = new VirtualClock()
  const spans: FinishedSpan[] = []
  return { clock, spans, tracer: new Tracer({ clock, random: seededRandom(1), sampling, onEnd: (span) => spans.push(span) }) }
}

test('a span knows its parent, its length and its error', async () => {
  const { clock, spans, tracer: traces } = tracer(1)
  const root = traces.span('request')
  root.setAttribute('verb', 'get')
  const child = root.child('store')
  await clock.advance(30)
  child.end(new Error('no space'))
  root.end()
  root.end()
  assert.equal(spans.length, 2)
  assert.deepEqual(
    spans.map(({ name, durationMs, error }) => [name, durationMs, error]),
    [
      ['store', 30, 'Error: no space'],
      ['request', 30, undefined],
    ],
  )
  assert.equal(spans[0]?.parentId, root.spanId)
  assert.equal(spans[0]?.traceId, root.traceId)
})

test('a trace of the caller is gone on with, whatever our own sampling', () => {
  const { spans, tracer: traces } = tracer(0)
  const header = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const span = traces.span('request', header)
  assert.match(span.traceparent, /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/)
  span.end()
  assert.equal(spans[0]?.parentId, '00f067aa0ba902b7')
  traces.span('unsampled', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00').end()
  traces.span('unsampled').child('either').end()
  assert.equal(spans.length, 1)
})

for (const bad of [
  '',
  '00-0-0-01',
  '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
  'xx-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
]) {
  test(`the traceparent ${JSON.stringify(bad)} is ignored`, () => {
    assert.equal(parseTraceparent(bad), undefined)
  })
}
