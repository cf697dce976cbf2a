import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogLines } from '#runtime/containers/log-lines.ts'

const micros = 1_600_000_000_123_456
const text = (pieces: Uint8Array[]) => Buffer.concat(pieces).toString()

test('whole lines are written with their time to the microsecond', () => {
  assert.equal(
    text(new LogLines('stdout').add(Buffer.from('one\ntwo\nthr'), micros)),
    '2020-09-13T12:26:40.123456000Z stdout F one\n2020-09-13T12:26:40.123456000Z stdout F two\n',
  )
})

test('a line in pieces is one line, and what has no end comes at the end', () => {
  const lines = new LogLines('stderr')
  assert.equal(text(lines.add(Buffer.from('ha'), micros)), '')
  assert.match(text(lines.add(Buffer.from('lf\nrest'), micros)), / stderr F half\n$/)
  assert.match(text(lines.end(micros)), / stderr F rest\n$/)
  assert.equal(text(lines.end(micros)), '')
})

test('a line that is too long comes in parts', () => {
  const written = text(new LogLines('stdout').add(Buffer.from(`${'x'.repeat(20_000)}\n`), micros)).split('\n')
  assert.deepEqual(
    written.filter(Boolean).map((line) => [line.split(' ')[2], line.split(' ')[3]?.length]),
    [
      ['P', 16_384],
      ['F', 3616],
    ],
  )
})
