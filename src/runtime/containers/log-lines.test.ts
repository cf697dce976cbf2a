import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogLines } from '#runtime/containers/log-lines.ts'

const micros = 1_600_000_000_123_456
const text = (written: Uint8Array) => Buffer.from(written).toString()

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

test('pieces of any size come to the same lines', () => {
  const whole = Buffer.from(`\n\n${'x'.repeat(16_000)}\nab\n${'y'.repeat(40_000)}\n\nend`)
  const alone = new LogLines('stdout')
  const expected = text(alone.add(whole, micros)) + text(alone.end(micros))
  assert.deepEqual(
    expected.split('\n').map((line) => line.slice(38, 40) + line.slice(40).length),
    ['F 0', 'F 0', 'F 16000', 'F 2', 'P 16384', 'P 16384', 'F 7232', 'F 0', 'F 3', '0'],
  )
  for (const size of [5, 7, 16_383, 16_384, 16_385]) {
    const lines = new LogLines('stdout')
    let written = ''
    const reused = Buffer.alloc(size)
    for (let at = 0; at < whole.length; at += size) {
      const length = whole.copy(reused, 0, at, at + size)
      written += text(lines.add(reused.subarray(0, length), micros))
    }
    assert.equal(written + text(lines.end(micros)), expected, `pieces of ${size} bytes`)
  }
})

test('many empty lines are one buffer', () => {
  const written = new LogLines('stdout').add(Buffer.alloc(65_536, '\n'), micros)
  assert.equal(written.length, 65_536 * '2020-09-13T12:26:40.123456000Z stdout F \n'.length)
})
