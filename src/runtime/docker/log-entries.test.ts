import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogEntries } from '#runtime/docker/log-entries.ts'
import { positionIn } from '#runtime/docker/log-resume.ts'

const time = (second: number) => `2026-01-02T03:04:0${second}.000000007Z`

function frame(stream: 1 | 2, text: string): Buffer {
  const head = Buffer.alloc(8)
  head[0] = stream
  head.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([head, Buffer.from(text)])
}

/** As long as Docker lets one be. */
const long = 'x'.repeat(16 * 1024)

/** Bytes come as the network likes. */
function inPieces(entries: LogEntries, bytes: Buffer, size: number): string {
  let written = ''
  for (let at = 0; at < bytes.length; at += size) written += entries.add(bytes.subarray(at, at + size)).toString()
  return written
}

const all = Buffer.concat([
  frame(1, `${time(1)} one\n`),
  frame(2, `${time(2)} trouble\n`),
  frame(1, `${time(3)} ${long}`),
  frame(1, `${time(3)} end of a long line\n`),
])
const lines = [
  `${time(1)} stdout F one`,
  `${time(2)} stderr F trouble`,
  `${time(3)} stdout P ${long}`,
  `${time(3)} stdout F end of a long line`,
]
const text = `${lines.join('\n')}\n`

test("Docker's output becomes lines of a pod's log, wherever it is cut", () => {
  for (const size of [1, 7, 40, 1000]) assert.equal(inPieces(new LogEntries(false, undefined), all, size), text)
})

test('what an agent before has written is not written again', () => {
  for (let count = 0; count <= lines.length; count++) {
    const before = lines.slice(0, count).join('\n')
    const entries = new LogEntries(false, positionIn(`${before}\n`))
    const rest = lines.slice(count)
    assert.equal(inPieces(entries, all, 13), rest.length === 0 ? '' : `${rest.join('\n')}\n`)
    assert.deepEqual(entries.position, { time: time(3), count: 2 })
  }
})

test('output of a terminal has no frames, and long lines of it are cut where Docker cuts them', () => {
  const raw = Buffer.from(`${time(1)} one\r\n${time(2)} ${long}${time(2)} rest\r\n${time(3)} unfinished`)
  const wanted = `${time(1)} stdout F one\r\n${time(2)} stdout P ${long}\n${time(2)} stdout F rest\r\n`
  for (const size of [1000, 100_000]) assert.equal(inPieces(new LogEntries(true, undefined), raw, size), wanted)
})

test('what a container has written last need not end a line', () => {
  const entries = new LogEntries(false, undefined)
  assert.equal(entries.add(frame(2, `${time(1)} bye`)).toString(), `${time(1)} stderr F bye\n`)
})

test('output that is no output of Docker is refused', () => {
  assert.throws(() => new LogEntries(false, undefined).add(Buffer.from('HTTP/1.1 200 OK\r\n')), /of a form that is not known/)
})
