import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeTar } from '#wire/tar.ts'
import { type TarHeader, TarReader } from '#wire/tar-reader.ts'

function read(bytes: Uint8Array, pieceBytes: number): { headers: TarHeader[]; contents: string[] } {
  const headers: TarHeader[] = []
  const contents: string[] = []
  const reader = new TarReader({
    onEntry: (header) => {
      headers.push(header)
      contents.push('')
    },
    onData: (data) => {
      contents[contents.length - 1] += Buffer.from(data).toString()
    },
    onEntryEnd() {},
  })
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.push(bytes.subarray(at, at + pieceBytes))
  reader.end()
  return { headers, contents }
}

const archive = writeTar([
  { path: 'd/', kind: 'directory' },
  { path: 'd/file', content: Buffer.from('x'.repeat(700)), mode: 0o4755, modifiedSeconds: 5 },
  { path: 'd/link', kind: 'symlink', target: '/etc' },
])

for (const pieceBytes of [1, 100, 512, 100_000]) {
  test(`an archive in pieces of ${pieceBytes} bytes is read as it was written`, () => {
    const { headers, contents } = read(archive, pieceBytes)
    assert.deepEqual(
      headers.map(({ path, kind, mode, target }) => [path, kind, mode, target]),
      [
        ['d/', 'directory', 0o755, ''],
        ['d/file', 'file', 0o4755, ''],
        ['d/link', 'symlink', 0o755, '/etc'],
      ],
    )
    assert.equal(contents[1], 'x'.repeat(700))
  })
}

test('an archive that is cut short or damaged is refused', () => {
  assert.throws(() => read(archive.subarray(0, 1300), 100), /cut short/)
  const damaged = Uint8Array.from(archive)
  damaged[0] = 65
  assert.throws(() => read(damaged, 100), /damaged/)
})

/** A block that says how large what follows is, with the sum that goes with it. */
function header(type: string, sizeBytes: number, path = 'pax'): Buffer {
  const block = Buffer.alloc(512)
  block.write(path, 0)
  block.write('0000644\0', 100)
  block.write(`${sizeBytes.toString(8).padStart(11, '0')}\0`, 124)
  block.write(type, 156)
  block.write('        ', 148)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}
const padded = (content: string): Buffer => Buffer.concat([Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)])
const withPax = (type: string, content: string) => Buffer.concat([header(type, content.length), padded(content), header('0', 0, 'f')])

test('records of a header end where they say, and are refused where they do not', () => {
  const [first] = read(withPax('x', '15 path=renamed\n'.replace('15', '16')), 512).headers
  assert.equal(first?.path, 'renamed')
  for (const content of ['2 '.repeat(1000).concat('=\n'), '10 path=abc', '5 a=\n'.replace('5', '400')])
    assert.throws(() => read(withPax('x', content), 512), /damaged/)
})

test('what a header says for all entries to come is left alone', () => {
  assert.equal(read(withPax('g', '16 path=renamed\n'), 512).headers[0]?.path, 'f')
})
