import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzip } from '#base/compression.ts'
import { nodeFiles } from '#base/files.ts'
import { imageArchive } from '#cmd/images/image-archive-of.ts'
import { writeImageArchive } from '#wire/oci/image-archive.ts'
import { readImageArchive } from '#wire/oci/read-image-archive.ts'

const directory = mkdtempSync(join(tmpdir(), 'image sources '))
after(() => rmSync(directory, { recursive: true, force: true }))
const at = (...names: string[]) => join(directory, ...names)

const layers = [[{ path: 'hello', content: Buffer.alloc(3000, 'x') }]]
const tar = writeImageArchive([{ name: 'registry/app:1', architecture: 'amd64', layers, config: {} }])
writeFileSync(at('app.tar'), tar)
writeFileSync(at('app.tar.gz'), await gzip(tar))
mkdirSync(at('layout'))
spawnSync('tar', ['xf', at('app.tar'), '-C', at('layout')])

async function namesIn(source: string, name = ''): Promise<string[]> {
  await using archive = await imageArchive(source, { name, onProgress() {} })
  await using file = await nodeFiles.open(archive.path, 'r')
  const [image] = await readImageArchive(file)
  assert.equal(image?.blobs.length, 3, 'manifest, config and a layer')
  return image.names
}

for (const source of ['app.tar', 'app.tar.gz', 'layout']) {
  test(`images are read from ${source}`, async () => assert.deepEqual(await namesIn(at(source)), ['registry/app:1']))
}

test('an image of a layout directory takes the name that it is given', async () => {
  assert.deepEqual(await namesIn(at('layout'), 'other/app:2'), ['other/app:2'])
})

test("images are read from the stores of docker and podman, in these programs' own words", async (t) => {
  const path = process.env['PATH']
  t.after(() => {
    process.env['PATH'] = path
  })
  process.env['PATH'] = `${directory}:${path}`
  for (const program of ['docker', 'podman']) {
    const script = `#!/bin/sh\n[ "$1 $2 $4" = "save -o app:1" ] || { echo "no such image" >&2; exit 1; }\ncp '${at('app.tar')}' "$3"\n`
    writeFileSync(at(program), script)
    chmodSync(at(program), 0o755)
    assert.deepEqual(await namesIn(`${program}:app:1`), ['registry/app:1'])
    await assert.rejects(namesIn(`${program}:gone`), new RegExp(`${program} save gone: no such image`))
  }
})

test('what is no source of images is refused by name', async () => {
  await assert.rejects(namesIn(at('nothing.tar')), /there is no file .*nothing\.tar/)
  mkdirSync(at('folder'))
  await assert.rejects(namesIn(at('folder')), /folder is not an OCI layout: it has no index\.json/)
})

test('images come from the standard input, packed or not, and it is told how much has come', async () => {
  for (const bytes of [tar, await gzip(tar)]) {
    const told: number[] = []
    const input = async function* () {
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000)
    }
    await using archive = await imageArchive('-', { name: '', onProgress: (doneBytes) => told.push(doneBytes) }, { input })
    await using file = await nodeFiles.open(archive.path, 'r')
    assert.deepEqual((await readImageArchive(file))[0]?.names, ['registry/app:1'])
    assert.equal(told.at(-1), tar.length)
  }
})
