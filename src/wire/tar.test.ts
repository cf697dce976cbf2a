import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { listTar, type TarEntry, writeTar } from '#wire/tar.ts'

const sourceOf = (bytes: Uint8Array) => ({ readAt: async (position: number, size: number) => bytes.subarray(position, position + size) })

const long = `${'directory/'.repeat(12)}file`
const entries: TarEntry[] = [
  { path: 'bin/', kind: 'directory' },
  { path: 'bin/tool', content: Buffer.from('x'.repeat(600)), mode: 0o755 },
  { path: 'bin/link', kind: 'symlink', target: 'tool' },
  { path: 'empty' },
  { path: long, content: Buffer.from('ä') },
]

test('what is written is found again, where it lies', async () => {
  const archive = writeTar(entries)
  const places = await listTar(sourceOf(archive))
  assert.deepEqual(
    places.map(({ path, kind, mode, sizeBytes, target }) => [path, kind, mode, sizeBytes, target]),
    [
      ['bin/', 'directory', 0o755, 0, undefined],
      ['bin/tool', 'file', 0o755, 600, undefined],
      ['bin/link', 'symlink', 0o755, 0, 'tool'],
      ['empty', 'file', 0o644, 0, undefined],
      [long, 'file', 0o644, 2, undefined],
    ],
  )
  const last = places.at(-1)
  assert.ok(last)
  assert.equal(Buffer.from(archive.subarray(last.position, last.position + last.sizeBytes)).toString(), 'ä')
})

const hasTar = spawnSync('tar', ['--version']).stdout?.includes('GNU tar')

test('the tar program reads what is written', { skip: hasTar ? false : 'there is no GNU tar' }, () => {
  const { stdout, status } = spawnSync('tar', ['-tv'], {
    input: writeTar(entries),
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC', LC_ALL: 'C' },
  })
  assert.equal(status, 0)
  assert.match(stdout, /-rwxr-xr-x 0\/0\s+600 1970-01-01 00:00 bin\/tool\n/)
  assert.match(stdout, /lrwxr-xr-x 0\/0\s+0 1970-01-01 00:00 bin\/link -> tool\n/)
  assert.ok(stdout.includes(long))
})

test('names of GNU and pax archives are read in full', { skip: hasTar ? false : 'there is no GNU tar' }, async () => {
  const name = `${'n'.repeat(200)}`
  for (const format of ['gnu', 'pax']) {
    const made = spawnSync('tar', ['-c', `--format=${format}`, `--transform=s/null/${name}/`, '-C', '/dev', '--dereference', 'null'])
    assert.equal(made.status, 0, made.stderr.toString())
    const [place] = await listTar(sourceOf(made.stdout))
    assert.equal(place?.path, name, format)
  }
})

test('what is no archive is refused', async () => {
  await assert.rejects(listTar(sourceOf(Buffer.from('something else'))), /not a valid tar archive/)
  await assert.rejects(listTar(sourceOf(Buffer.alloc(2000, 7))), /not a valid tar archive/)
  assert.deepEqual(await listTar(sourceOf(Buffer.alloc(0))), [])
  assert.throws(() => writeTar([{ path: 'x'.repeat(300) }]), /too long/)
})
