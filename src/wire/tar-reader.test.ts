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
